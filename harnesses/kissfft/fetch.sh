#!/usr/bin/env bash
# Fetches kissfft, a small Fourier transform, into src-kissfft-131.1.0 beside this script. Does nothing if the directory is complete.
#
# usage: fetch.sh [kissfft_131.1.0.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

debian_source kissfft 131.1.0-3 \
    76c1aac87ddb7258f34b08a13f0eebf9e53afa299857568346aa5c82bcafaf1a \
    "$here/src-kissfft-131.1.0" "$@"
