#!/usr/bin/env bash
# Makes src-suite beside this script for suite.toml: a copy of GSL's sources with
# the files that its configure script writes (config.h, the headers under gsl/).
# Does nothing if src-suite is complete. build.sh has its own directories.
#
# usage: prepare.sh [gsl_2.7.1+dfsg.orig.tar.gz]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"

suite=$here/src-suite
if [ -d "$suite" ]; then exit 0; fi
need gcc gcc
need make make
"$here/fetch.sh" "$@"

# In the directory of the result, so that the last step is a rename within one file system.
temp=$(mktemp -d "$suite.tmp.XXXXXX")
trap 'rm -rf -- "$temp"' EXIT
cp -R -- "$here/src-gsl-2.7.1/." "$temp"
cd "$temp"
# Dates of generated files may be wrong after unpacking. Nothing must be generated again.
no_tools="AUTOCONF=: AUTOHEADER=: AUTOMAKE=: ACLOCAL=: MAKEINFO=:"
# shellcheck disable=SC2086 # one argument each
if ! { ./configure --quiet --disable-shared --disable-dependency-tracking CC=gcc $no_tools && make -C gsl; } >log 2>&1; then
    tail -n 20 log >&2
    die "GSL cannot be configured (the end of its log is above)"
fi
# Another process may have finished in the meantime. Its result is equal.
mv -T -- "$temp" "$suite" 2>/dev/null || [ -d "$suite" ]
trap - EXIT
rm -rf -- "$temp"
