#!/usr/bin/env bash
# Fetches newlib, which contains Fdlibm's functions, into
# src-newlib-3.3.0 beside this script. Does nothing if the directory is complete.
#
# usage: fetch.sh [newlib_3.3.0.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

debian_source newlib 3.3.0-1.3+deb12u1 \
    58dd9e3eaedf519360d92d84205c3deef0b3fc286685d1c562e245914ef72c66 \
    "$here/src-newlib-3.3.0" "$@"
