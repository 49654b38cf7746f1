#!/usr/bin/env python3
"""Compares searches on ordinary branches: does each reach what any of them reaches?

usage: ceilings.py SUITE.toml EVALUATIONS SEEDS [SEARCH]...    (default: targeted targeted/random structured havoc)

A SEARCH is a name of --search, or `targeted/random` for the search targeted with the minimizer random: moves without a distance.
The joint ceiling of a function is the set of branches that any search covered at any of the seeds 1 to SEEDS. Prints for each
search the runs (one function at one seed) at the joint ceiling, the branches per seed (mean), and the functions where it covers
less, summed over the seeds, than another search.

environment: PENFUZZ  the program; by default the release build, else from PATH
             JOBS     functions at the same time (one per processor)
             RESULTS  a directory that keeps the results of runs; what is found there is not run again
"""

import json
import os
import sys
from pathlib import Path

from effort import run

SEARCHES = ["targeted", "targeted/random", "structured", "havoc"]


def options(search):
    name, _, minimizer = search.partition("/")
    jobs = ["--jobs", os.environ["JOBS"]] if "JOBS" in os.environ else []
    return ["--search", name, *(["--minimizer", minimizer] if minimizer else []), *jobs]


def kept(suite, evaluations, seed, search):
    """The set of branches that each function covers, as numbers in the order of the report."""
    name = f"{Path(suite).resolve().parent.name}-{search.replace('/', '+')}-{evaluations}-{seed}.json"
    file = Path(os.environ["RESULTS"]) / name if "RESULTS" in os.environ else None
    if file and file.exists():
        return json.loads(file.read_text())
    found = run(suite, evaluations, seed, options(search))
    taken = {function: [i for i, at in enumerate(branches) if at is not None] for function, branches in found.items()}
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(taken))
    return taken


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    suite, evaluations, seeds = sys.argv[1], sys.argv[2], range(1, int(sys.argv[3]) + 1)
    searches = sys.argv[4:] or SEARCHES
    runs = {search: [kept(suite, evaluations, seed, search) for seed in seeds] for search in searches}
    functions = sorted({f for of_search in runs.values() for found in of_search for f in found})
    joint = {f: set().union(*(found.get(f, []) for of_search in runs.values() for found in of_search)) for f in functions}
    sums = {s: {f: sum(len(found.get(f, [])) for found in of_search) for f in functions} for s, of_search in runs.items()}
    print(f"joint ceiling {sum(map(len, joint.values()))} branches, {len(functions)} functions, {len(seeds)} seeds, {evaluations} evaluations")
    print(f"{'search':<18}{'runs at it':>16}{'branches':>11}  functions where another search covers more (by how many, all seeds)")
    for search, of_search in runs.items():
        at = sum(len(found.get(f, [])) == len(joint[f]) for found in of_search for f in functions)
        less = {f: max(s[f] for s in sums.values()) - sums[search][f] for f in functions}
        named = ", ".join(f"{f} {n}" for f, n in sorted(less.items(), key=lambda item: -item[1]) if n)
        mean = sum(sums[search].values()) / len(seeds)
        print(f"{search:<18}{f'{at} of {len(seeds) * len(functions)}':>16}{mean:>11.1f}  {named}")


main()
