#!/usr/bin/env bash
# Fetches the projects that build.sh builds into src-NAME beside this script:
# all, or one. Does nothing for a project that is complete. cJSON is fetched by
# ../cjson/fetch.sh.
#
# usage: fetch.sh [PROJECT [TARBALL]]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

# fetch PROJECT [TARBALL]
fetch() {
    local name=$1 source=$here/src-$1
    shift
    case $name in
    double-conversion) debian_source double-conversion 3.2.1-1 \
        e40d236343cad807e83d192265f139481c51fc83a1c49e406ac6ce0a0ba7cd35 "$source" "$@" ;;
    libmseed) debian_source libmseed 2.19.8-1 \
        29080c80ef0bf9dd97056ca20079ad8db75e2d0f283e187ff45065337d3abe05 "$source" "$@" ;;
    serd) debian_source serd 0.30.16-1 \
        f50f486da519cdd8d03b20c9e42414e459133f5a244411d8e63caef8d9ac9146 "$source" "$@" ;;
    speexdsp) debian_source speexdsp 1.2.1-1 \
        8c777343e4a6399569c72abc38a95b24db56882c83dbdb6c6424a5f4aeb54d3d "$source" "$@" ;;
    *) die "unknown project $name; there are double-conversion, libmseed, serd and speexdsp" ;;
    esac
}

if [ $# -gt 0 ]; then
    fetch "$@"
else
    for project in double-conversion libmseed serd speexdsp; do fetch "$project"; done
fi
