#!/usr/bin/env bash
# Fetches ERFA, Essential Routines for Fundamental Astronomy, into src-erfa-2.0.0 beside this script. Does nothing if the directory is
# complete.
#
# usage: fetch.sh [erfa_2.0.0.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

debian_source erfa 2.0.0-1 \
    e40f5175604c50c46fded7f9f76565dd5879a7f4ee27fa4484c2af217b7dfeb4 \
    "$here/src-erfa-2.0.0" "$@"
