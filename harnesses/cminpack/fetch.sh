#!/usr/bin/env bash
# Fetches cminpack, MINPACK's least squares and nonlinear equations in C, into src-cminpack-1.3.6 beside this script. Does nothing if
# the directory is complete.
#
# usage: fetch.sh [cminpack_1.3.6.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

debian_source cminpack 1.3.6-4 \
    3c07fd21308c96477a2c900032e21d937739c233ee273b4347a0d4a84a32d09f \
    "$here/src-cminpack-1.3.6" "$@"
