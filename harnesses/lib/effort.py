#!/usr/bin/env python3
"""Measures the evaluations that a search needs, from the reports of a suite at many seeds.

usage: effort.py SUITE.toml EVALUATIONS SEEDS [option of penfuzz suite]...

A run is one function at one seed, with at most EVALUATIONS. The ceiling of a
function is the set of branches that any of its runs covered. Prints the number of
runs at the ceiling, the evaluations that they needed (median, 90th percentile,
worst; "-" if too few runs got there), the branches covered per seed (median,
least, most), and the mean branch coverage after 100, 1000, ... evaluations.
Seeds are 1 to SEEDS.

environment: PENFUZZ  the program; by default the release build, else from PATH
             CEILING  a file that keeps the ceilings, so that each search is compared
                      with the branches that any search covered
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from linked import program

TAKEN = ("covered", "saturated")


def branches(report):
    """The evaluation at which each branch was covered, None if never, in the order of the report."""
    return [b.get("covered_at", 0) if b["status"] in TAKEN else None for s in report["sites"] for b in s["branches"]]


def run(suite, evaluations, seed, options):
    with tempfile.TemporaryDirectory() as out:
        out = Path(out) / "suite"
        command = [program(), "suite", suite, "--max-evals", evaluations, "--seed", str(seed), "--quiet", "-o", str(out)]
        done = subprocess.run(command + options, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        return {p.parent.name: branches(json.loads(p.read_text())) for p in sorted(out.glob("*/report.json"))}


def ceilings(seeds):
    """Per function, a flag for each branch: any run covered it."""
    kept = Path(os.environ["CEILING"]) if "CEILING" in os.environ else None
    best = json.loads(kept.read_text()) if kept and kept.exists() else {}
    for functions in seeds:
        for name, found in functions.items():
            before = best.get(name, [False] * len(found))
            best[name] = [was or at is not None for was, at in zip(before, found)]
    if kept:
        kept.write_text(json.dumps(best))
    return best


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    suite, evaluations, n_seeds = sys.argv[1:4]
    seeds = [run(suite, evaluations, seed, sys.argv[4:]) for seed in range(1, int(n_seeds) + 1)]
    best = ceilings(seeds)
    runs = [(name, found) for functions in seeds for name, found in functions.items()]
    effort = []
    for name, found in runs:
        needed = [at for at, wanted in zip(found, best[name]) if wanted]
        effort.append(None if None in needed else max(needed, default=0))
    reached = sorted(e for e in effort if e is not None)
    show = lambda share: str(reached[int(share * len(runs))]) if int(share * len(runs)) < len(reached) else "-"
    covered = [sum(at is not None for found in functions.values() for at in found) for functions in seeds]
    total = sum(map(len, seeds[0].values()))
    print(f"ceiling {sum(map(sum, best.values()))} of {total} branches, {len(seeds[0])} functions, {n_seeds} seeds")
    print(f"runs at the ceiling {len(reached)} of {len(runs)}")
    worst = reached[-1] if len(reached) == len(runs) else "-"
    print(f"evaluations to it: median {show(0.5)}, 90th percentile {show(0.9)}, worst {worst}")
    print(f"branches per seed: median {statistics.median(covered):g}, {min(covered)} to {max(covered)}")
    limit = 100
    while limit <= int(evaluations):
        shares = [sum(at is not None and at <= limit for at in found) / max(1, len(found)) for _, found in runs]
        print(f"mean coverage after {limit}: {100 * statistics.mean(shares):.2f} %")
        limit *= 10


if __name__ == "__main__":
    main()
