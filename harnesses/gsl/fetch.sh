#!/usr/bin/env bash
# Fetches the GNU Scientific Library (as Debian repacks it, without its manual)
# into src-gsl-2.7.1 beside this script. Does nothing if the directory is complete.
#
# usage: fetch.sh [gsl_2.7.1+dfsg.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

debian_source gsl 2.7.1+dfsg-5+deb12u1 \
    e560d6b9c6e254e46769bbb03583c00ecafbdd51b062c55db23b3b9612868567 \
    "$here/src-gsl-2.7.1" "$@"
