#!/usr/bin/env bash
# Fetches musl into src-musl-1.2.3 beside this script. Its mathematical functions
# include one header that musl's build generates, obj/include/bits/alltypes.h:
# the script makes it by musl's own rules, for x86-64. Does nothing if both are
# complete.
#
# usage: fetch.sh [musl_1.2.3.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

source=$here/src-musl-1.2.3
debian_source musl 1.2.3-1 \
    7d5b0b6062521e4627e099e4c9dc8248d32a30285e959b7eecaa780cf8cfd4a4 \
    "$source" "$@"

header=$source/obj/include/bits/alltypes.h
if [ ! -e "$header" ]; then
    need sed sed
    mkdir -p "${header%/*}"
    # As in musl's Makefile.
    sed -f "$source/tools/mkalltypes.sed" "$source/arch/x86_64/bits/alltypes.h.in" \
        "$source/include/alltypes.h.in" >"$header.new"
    mv -- "$header.new" "$header"
fi
