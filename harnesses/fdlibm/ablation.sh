#!/usr/bin/env bash
# Compares the searches on a suite at the same number of evaluations: what each
# covers, and how many evaluations it needs. ../lib/effort.py explains the output.
# `without optimizer` is the targeted search with random moves in place of its minimizer.
#
# usage: ablation.sh [EVALUATIONS [SEEDS [SUITE.toml [option]...]]]
#        default 200000 per function, 20 seeds, this directory's suite
#
# environment: PENFUZZ  the program; by default the release build, else from PATH
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
evaluations=${1:-200000} seeds=${2:-20} suite=${3:-$here/suite.toml}
shift $(($# < 3 ? $# : 3))
CEILING=$(mktemp -u)
export CEILING
trap 'rm -f "$CEILING"' EXIT

# show NAME OPTION...
show() {
    local name=$1
    shift
    printf '\n%s\n' "$name"
    "$here/../lib/effort.py" "$suite" "$evaluations" "$seeds" "$@"
}

show targeted "$@"
show 'without optimizer' --minimizer random "$@"
for search in structured havoc paper random; do
    show "$search" --search "$search" "$@"
done
