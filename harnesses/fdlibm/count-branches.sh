#!/usr/bin/env bash
# Counts gcov's branches in each target of suite.toml, at -O0, and
# writes them to expected-branches.tsv beside this script: target name, number
# of branches. A test compares the branches that penfuzz reports with these numbers.
#
# usage: count-branches.sh [-]      with "-": to standard output instead
# CC and GCOV choose the compiler and its gcov (default gcc and gcov).
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lib/debian-source.sh
. "$here/../lib/debian-source.sh"
CC=${CC:-gcc} GCOV=${GCOV:-gcov}
need "$CC" gcc
need "$GCOV" gcc
need jq jq

"$here/fetch.sh"
suite=$here/suite.toml
sources=$here/$(awk -F'"' '/^sources = / { print $2; exit }' "$suite")
temp=$(mktemp -d)
trap 'rm -rf -- "$temp"' EXIT

# The strings of the array "flags" in [build], one per line.
mapfile -t flags < <(awk '
    /^\[/ { build = /^\[build\]/ }
    build && /^flags = \[/ { inside = 1; next }
    inside && /^\]/ { exit }
    inside && /^ *"/ { sub(/^ *"/, ""); sub(/",? *$/, ""); print }' "$suite")
flags=("${flags[@]//\{sources\}/$sources}")

targets() {
    awk -F'"' '
        /^\[\[target\]\]/ { name = file = "" }
        /^name = / { name = $2 }
        /^file = / { file = $2 }
        /^function = / { print name "\t" file "\t" $2 }' "$suite"
}

printf 'name\tbranches\n' >"$temp/table"
while IFS=$'\t' read -r name file function; do
    (
        cd "$temp"
        "$CC" -O0 --coverage "${flags[@]}" -c "$sources/$file" -o one.o
        # Without .gcda data gcov prints a warning on standard error, and counts anyway.
        "$GCOV" --stdout --json-format --branch-probabilities one.gcno >one.json 2>log || { cat log >&2; exit 1; }
    )
    # Calls are not counted as branches: the JSON format does not list them.
    branches=$(jq --arg function "$function" \
        '[.files[].lines[] | select(.function_name == $function) | .branches | length] | add // 0' "$temp/one.json")
    [ "$branches" -gt 0 ] || die "gcov finds no branches in $function of $file"
    printf '%s\t%s\n' "$name" "$branches" >>"$temp/table"
done < <(targets)

if [ "${1:-}" = - ]; then
    cat "$temp/table"
else
    cp "$temp/table" "$here/expected-branches.tsv.new"
    mv "$here/expected-branches.tsv.new" "$here/expected-branches.tsv"
fi
