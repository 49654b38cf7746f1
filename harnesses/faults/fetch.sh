#!/usr/bin/env bash
# Fetches the releases that faults.toml names, a faulty and a fixed one of each
# library, beside this script, and makes the headers that their builds would
# generate. Does nothing for what is complete. Some are in other releases of Debian than
# the machine's own; if these are no longer offered, put the upstream tarballs
# into a directory and name it.
#
# usage: fetch.sh [DIRECTORY with NAME_VERSION.orig.tar.*]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"
tarballs=${1:-}

# release DEBIAN_RELEASE NAME VERSION UPSTREAM SHA256 DIRECTORY
release() {
    local file='' candidate
    # shellcheck disable=SC2034 # read by debian_source
    debian_releases=$1
    if [ -n "$tarballs" ]; then
        for candidate in "$tarballs/$2_$4.orig.tar".*; do
            if [ -f "$candidate" ]; then file=$candidate; fi
        done
    fi
    echo "$6" >&2
    debian_source "$2" "$3" "$5" "$here/$6" ${file:+"$file"}
}

release bookworm newlib 3.3.0-1.3+deb12u1 3.3.0 \
    "$(sed -n 's/^ *\([0-9a-f]\{64\}\).*/\1/p' "$here/../fdlibm/fetch.sh")" src-newlib-3.3.0
release trixie newlib 4.5.0.20241231-1 4.5.0.20241231 \
    33f12605e0054965996c25c1382b3e463b0af91799001f5bb8c0630f2ec8c852 src-newlib-4.5.0
release bullseye musl 1.2.2-1 1.2.2 \
    9b969322012d796dc23dda27a35866034fa67d8fb67e0e2c45c913c3d43219dd src-musl-1.2.2
release bookworm musl 1.2.3-1 1.2.3 \
    7d5b0b6062521e4627e099e4c9dc8248d32a30285e959b7eecaa780cf8cfd4a4 src-musl-1.2.3
release trixie musl 1.2.5-3.1~deb13u1 1.2.5 \
    a9a118bbe84d8764da0ea0d28b3ab3fae8477fc7e4085d90102b8596fc7c75e4 src-musl-1.2.5
release bookworm erfa 2.0.0-1 2.0.0 \
    "$(sed -n 's/^ *\([0-9a-f]\{64\}\).*/\1/p' "$here/../erfa/fetch.sh")" src-erfa-2.0.0
release trixie erfa 2.0.1-1 2.0.1 \
    4d26bc57aeac3f030e4e1b105843d290f2e48858e687c4d4a8ca7d0b990b334d src-erfa-2.0.1
release bullseye gsl 2.6+dfsg-2 2.6+dfsg \
    012d611d9b565fe3d8e598fc93f38df8a12175669277dbe8c575877a03144712 src-gsl-2.6
release bookworm gsl 2.7.1+dfsg-5+deb12u1 2.7.1+dfsg \
    e560d6b9c6e254e46769bbb03583c00ecafbdd51b062c55db23b3b9612868567 src-gsl-2.7.1
release trixie gsl 2.8+dfsg-5 2.8+dfsg \
    69614b7005133a2d3a75827044164de98670568382e3192888a3185578451a70 src-gsl-2.8
release bullseye r-base 4.0.4-1 4.0.4 \
    523f27d69744a08c8f0bd5e1e6c3d89a4db29ed983388ba70963a3cd3a4a802e src-r-4.0.4
release bookworm r-base 4.2.2.20221110-2 4.2.2.20221110 \
    8976903842d7df1f885c85a820826b8d4e8edef4ce4b49550683b851bd4a3a74 src-r-4.2.2
release trixie r-base 4.5.0-3 4.5.0 \
    3b33ea113e0d1ddc9793874d5949cec2c7386f66e4abfb1cef9aec22846c3ce1 src-r-4.5.0

need sed sed
for source in "$here"/src-musl-1.2.3 "$here"/src-musl-1.2.5; do
    header=$source/obj/include/bits/alltypes.h
    if [ ! -e "$header" ]; then
        mkdir -p "${header%/*}"
        # As in musl's Makefile.
        sed -f "$source/tools/mkalltypes.sed" "$source/arch/x86_64/bits/alltypes.h.in" \
            "$source/include/alltypes.h.in" >"$header.new"
        mv -- "$header.new" "$header"
    fi
done

for source in "$here"/src-r-4.2.2 "$here"/src-r-4.5.0; do
    header=$source/src/include/Rmath.h
    if [ ! -e "$header" ]; then
        # As in R's configure script.
        sed 's/@RMATH_HAVE_LOG1P@/# define HAVE_LOG1P 1/' "$source/src/include/Rmath.h0.in" >"$header.new"
        mv -- "$header.new" "$header"
    fi
done

gsl=$here/src-gsl-2.8
if [ ! -e "$gsl/.configured" ]; then
    need gcc gcc
    need make make
    cd "$gsl"
    # Dates of generated files may be wrong after unpacking. Nothing must be generated again.
    no_tools="AUTOCONF=: AUTOHEADER=: AUTOMAKE=: ACLOCAL=: MAKEINFO=:"
    # shellcheck disable=SC2086 # one argument each
    if ! { ./configure --quiet --disable-shared --disable-dependency-tracking CC=gcc $no_tools && make -C gsl; } >log 2>&1; then
        tail -n 20 log >&2
        die "GSL cannot be configured (the end of its log is above)"
    fi
    touch .configured
fi
