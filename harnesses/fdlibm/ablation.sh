#!/usr/bin/env bash
# Branches of the 40 functions that each search covers with the same number of
# evaluations: median, minimum and maximum over seeds.
#
# usage: ablation.sh [EVALUATIONS [SEEDS]]   default 200000 per function, 20
#
# environment: PENFUZZ  the program; by default the release build, else from PATH
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
released=$here/../../target/release/penfuzz
if [ -x "$released" ]; then PENFUZZ=${PENFUZZ:-$released}; fi
PENFUZZ=${PENFUZZ:-penfuzz}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for search in targeted structured havoc paper random; do
    for seed in $(seq 1 "${2:-20}"); do
        "$PENFUZZ" suite "$here/suite.toml" --max-evals "${1:-200000}" --seed "$seed" \
            --search "$search" -o "$out/suite" --quiet | awk '$1 == "total" { print $3 }'
    done | sort -n | awk -v search="$search" '
        { covered[NR] = $1; total = $1 }
        END { printf "%-12s median %s  min %s  max %s\n", search,
              (covered[int((NR + 1) / 2)] + covered[int(NR / 2) + 1]) / 2, covered[1], covered[NR] }'
done
