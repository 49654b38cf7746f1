#!/usr/bin/env bash
# Fetches cJSON, a parser of JSON, into src-cjson-1.7.15 beside this script. Does nothing if the directory is
# complete.
#
# usage: fetch.sh [cjson_1.7.15.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

debian_source cjson 1.7.15-1+deb12u4 \
    5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2 \
    "$here/src-cjson-1.7.15" "$@"
