#!/usr/bin/env python3
"""Compares the floating-point exceptions that searches find at equal evaluations.

usage: exceptions.py SUITE.toml NAME[,NAME]... EVALUATIONS SEEDS SEARCH[,SEARCH]...

Runs `penfuzz suite SUITE.toml --exceptions` on the named targets (NAME may have * and ?)
at seeds 1 to SEEDS with at most EVALUATIONS each. Prints per search: the input-site pairs
of each exception over all targets, as mean over the seeds (least to most); and for how
many pairs of seed and target the search found as many as the best search.

environment: PENFUZZ  the program; by default the release build, else from PATH
"""

import json
import statistics
import subprocess
import sys
import tempfile

from linked import program

CLASSES = ("invalid", "divide-by-zero", "overflow", "conversion", "underflow", "subnormal")


def run(suite, names, evaluations, seed, search):
    """Runs the suite once; returns the number of pairs per target and exception."""
    with tempfile.TemporaryDirectory() as out:
        command = [program(), "suite", suite, "--exceptions", "--only", names, "--max-evals", evaluations]
        command += ["--seed", str(seed), "--search", search, "-o", out + "/out", "--quiet", "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        found = {}
        for target in json.loads(done.stdout)["targets"]:
            if target.get("error"):
                sys.exit(f"{target['name']}: {target['error']}")
            found[target["name"]] = {c["exception"]: c["pairs"] for c in target["counts"]}
        return found


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    suite, names, evaluations, seeds, searches = sys.argv[1:]
    seeds, searches = range(1, int(seeds) + 1), searches.split(",")
    found = {search: [run(suite, names, evaluations, seed, search) for seed in seeds] for search in searches}
    total = lambda counts: sum(counts.values())
    cases = [(i, name) for i in range(len(seeds)) for name in found[searches[0]][i]]
    best = {(i, name): max(total(found[s][i][name]) for s in searches) for i, name in cases}
    print(f"{len(found[searches[0]][0])} targets, {evaluations} evaluations each, {len(seeds)} seeds")
    for search in searches:
        cells = []
        for exception in CLASSES:
            sums = [sum(counts.get(exception, 0) for counts in run.values()) for run in found[search]]
            cells.append(f"{exception} {statistics.mean(sums):.1f} ({min(sums)} to {max(sums)})")
        as_many = sum(total(found[search][i][name]) == best[i, name] for i, name in cases)
        print(f"{search:11} {', '.join(cells)}; as many as the best: {as_many} of {len(cases)}")


main()
