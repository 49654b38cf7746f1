#!/usr/bin/env bash
# Builds a project with pen-cc as its users build it with another compiler,
# into DIRECTORY, and runs its own tests there. The sources are fetched first.
#
# usage: build.sh PROJECT DIRECTORY
#
#   cjson-debug, cjson-release      CMake, C: shared and static library, tests
#   double-conversion               CMake, C++, Release: shared library
#   libmseed                        plain make: shared and static library
#   serd                            Meson: library, program, tests
#   speexdsp                        autotools: shared and static library, tests
#
# The compilers are $PEN_CC and $PEN_CXX, by default pen-cc and pen-c++ in PATH.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

if [ $# -ne 2 ]; then
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
    exit 2
fi
project=$1
mkdir -p "$2"
directory=$(cd -- "$2" && pwd)
export CC=${PEN_CC:-pen-cc} CXX=${PEN_CXX:-pen-c++}
jobs=$(nproc)

# with_cmake SOURCE TYPE OPTION...
with_cmake() {
    local source=$1 type=$2
    shift 2
    cmake -S "$here/$source" -B "$directory" -DCMAKE_BUILD_TYPE="$type" "$@"
    cmake --build "$directory" -j "$jobs"
}

# The sources may be read-only, and each build needs its own.
copy_of() {
    cp -r "$here/src-$1/." "$directory"
}

cjson() {
    "$here/../cjson/fetch.sh"
    with_cmake ../cjson/src-cjson-1.7.15 "$1" -DBUILD_SHARED_AND_STATIC_LIBS=On
    (cd "$directory" && ctest --output-on-failure)
}

case $project in
cjson-debug) cjson Debug ;;
cjson-release) cjson Release ;;
double-conversion)
    "$here/fetch.sh" double-conversion
    with_cmake src-double-conversion Release -DBUILD_SHARED_LIBS=On
    ;;
libmseed)
    "$here/fetch.sh" libmseed
    copy_of libmseed
    make -C "$directory" -j "$jobs" CC="$CC" shared static
    ;;
serd)
    "$here/fetch.sh" serd
    meson setup "$directory" "$here/src-serd" -Ddocs=disabled
    meson compile -C "$directory"
    meson test -C "$directory" --print-errorlogs
    ;;
speexdsp)
    "$here/fetch.sh" speexdsp
    cd "$directory"
    "$here/src-speexdsp/configure"
    make -j "$jobs"
    ./libspeexdsp/testjitter
    ./libspeexdsp/testresample2 >/dev/null
    ;;
*)
    printf 'build.sh: error: unknown project %s\n' "$project" >&2
    exit 2
    ;;
esac
