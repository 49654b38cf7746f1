#!/usr/bin/env bash
# Fetches Unity, the test framework of ThrowTheSwitch, for the tests of
# `--test-format unity`. Debian has no package of it, but cJSON's source holds it:
# it is put into src-cjson-1.7.15/tests/unity/src beside this script. Does nothing
# if it is complete.
#
# usage: fetch.sh [cjson_1.7.15.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

debian_source cjson 1.7.15-1 \
    5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2 \
    "$here/src-cjson-1.7.15" "$@"
