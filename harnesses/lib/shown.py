#!/usr/bin/env python3
"""Compares searches by the conditions of decisions that their tests show (MC/DC), at equal evaluations.

usage: shown.py SUITE.toml EVALUATIONS SEEDS FUNCTION...

Runs `penfuzz --criterion mcdc` on each function at seeds 1 to SEEDS, with minimization (targeted), with moves without a distance in its place
(targeted/random), structured values alone, and havoc alone. Prints a row per function: conditions shown, mean over the seeds, by each search, of
all; and the runs in which a search shows as many as the best run of all.

environment: PENFUZZ  the program; by default the release build, else from PATH
"""

import collections
import statistics
import sys
import tempfile
from pathlib import Path

from criteria import campaign
from linked import link

SEARCHES = {
    "targeted": [],
    "targeted/random": ["--minimizer", "random"],
    "structured": ["--search", "structured"],
    "havoc": ["--search", "havoc"],
}


def shown(target, function, search, seed, evaluations, out):
    """(conditions shown, all)"""
    report, error = campaign(target, function, "mcdc", out, evaluations, [*SEARCHES[search], "--seed", str(seed)])
    if report is None:
        sys.exit(f"{function}: {error}")
    return report["criteria"]["mcdc"]["covered"], report["criteria"]["mcdc"]["total"]


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    suite, evaluations, seeds, functions = Path(sys.argv[1]), sys.argv[2], range(1, int(sys.argv[3]) + 1), sys.argv[4:]
    sums, best_runs, total = collections.Counter(), collections.Counter(), 0
    print(f"{'function':<32}" + "".join(f"{s:>17}" for s in SEARCHES) + f"{'of':>6}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        target, out = Path(temporary) / "target", Path(temporary) / "out"
        link(suite, target, "-fpen-decisions")
        for function in functions:
            runs = {s: [shown(target, function, s, seed, evaluations, out) for seed in seeds] for s in SEARCHES}
            best = max(n for of in runs.values() for n, _ in of)
            for search, of in runs.items():
                sums[search] += statistics.mean(n for n, _ in of)
                best_runs[search] += sum(n == best for n, _ in of)
            total += runs["targeted"][0][1]
            means = "".join(f"{statistics.mean(n for n, _ in of):>17.2f}" for of in runs.values())
            print(f"{function:<32}{means}{runs['targeted'][0][1]:>6}", flush=True)
    print(f"{'sum':<32}" + "".join(f"{sums[s]:>17.2f}" for s in SEARCHES) + f"{total:>6}")
    print(f"{'runs with the most':<32}" + "".join(f"{best_runs[s]:>17}" for s in SEARCHES) + f"{len(seeds) * len(functions):>6}")


if __name__ == "__main__":
    main()
