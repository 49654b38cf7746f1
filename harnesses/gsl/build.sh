#!/usr/bin/env bash
# Builds the GNU Scientific Library with pen-cc, outside its source tree, in
# src-build-static (or src-build-shared) beside this script, and checks it.
# Does nothing if a build by the same pen-cc is complete. The static build
# is also linked into one target file with every function, gsl.pen.
#
# usage: build.sh [--shared] [--check DIRECTORY]...
#
#   --shared           a shared library (each has its own pen runtime) instead
#                      of a static one
#   --check DIRECTORY  also run GSL's own tests of this directory, e.g. specfunc
#
# environment: PEN_CC  the compiler; by default pen-cc from this workspace's
#                      release build, else from PATH
#              CFLAGS  by default -O2
#              JOBS    by default one per core
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

kind=static
checks=()
while [ $# -gt 0 ]; do
    case $1 in
    --shared) kind=shared ;;
    --check)
        [ $# -ge 2 ] || die "--check needs a directory"
        checks+=("$2")
        shift
        ;;
    -h | --help)
        sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    *) die "unknown argument '$1' (see --help)" ;;
    esac
    shift
done

# Prints the full path of the compiler, because configure stores it.
compiler() {
    local released=$here/../../target/release/pen-cc
    local chosen=${PEN_CC:-}
    if [ -z "$chosen" ] && [ -x "$released" ]; then chosen=$released; fi
    command -v -- "${chosen:-pen-cc}" || die "'${chosen:-pen-cc}' not found; run 'cargo build --release' first"
}

# run LOG COMMAND...: writes the command's output to the log, and shows the end of the log on failure.
run() {
    local log=$1
    shift
    "$@" >"$log" 2>&1 && return
    tail -n 20 "$log" >&2
    die "'$*' failed in $PWD (the end of $log is above)"
}

need make make
"$here/fetch.sh"
pen_cc=$(readlink -f -- "$(compiler)")
flags=${CFLAGS:--O2}
jobs=${JOBS:-$(nproc)}
source=$here/src-gsl-2.7.1
build=$here/src-build-$kind
stamp="$(sha256sum <"$pen_cc") $flags"

if [ "$(cat -- "$build/.complete" 2>/dev/null)" != "$stamp" ]; then
    rm -rf -- "$build"
    mkdir "$build"
    cd "$build"
    only=--disable-shared
    if [ "$kind" = shared ]; then only=--disable-static; fi
    # Dates of generated files may be wrong after unpacking. Nothing must be generated again.
    run configure.log "$source/configure" --quiet $only --disable-dependency-tracking \
        CC="$pen_cc" CFLAGS="$flags" AUTOCONF=: AUTOHEADER=: AUTOMAKE=: ACLOCAL=: MAKEINFO=:
    # Debian's tarball does not contain the sources of the manual.
    printf 'all check:\n' >doc/Makefile
    run make.log make -j"$jobs"
    if [ "$kind" = static ]; then
        run link.log "$pen_cc" -o gsl.pen -Wl,--whole-archive .libs/libgsl.a cblas/.libs/libgslcblas.a \
            -Wl,--no-whole-archive -lm
    fi
    printf '%s\n' "$stamp" >.complete
fi
printf 'built %s\n' "$build"

for directory in ${checks[@]+"${checks[@]}"}; do
    [ -d "$build/$directory" ] || die "GSL has no directory '$directory'"
    cd "$build/$directory"
    run "$build/check-$directory.log" make -j"$jobs" check
    printf 'checked %s: %s\n' "$directory" "$(sed -n 's/^# \(PASS\|FAIL\): */\1 /p' "$build/check-$directory.log" | paste -sd ' ')"
done
