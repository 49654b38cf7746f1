#!/usr/bin/env bash
# Fetches PROJ, a library of cartographic projections, into src-proj-9.1.1 beside this script. Does nothing if the directory is
# complete.
#
# usage: fetch.sh [proj_9.1.1.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

debian_source proj 9.1.1-1 \
    003cd4010e52bb5eb8f7de1c143753aa830c8902b6ed01209f294846e40e6d39 \
    "$here/src-proj-9.1.1" "$@"
