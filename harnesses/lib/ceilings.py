#!/usr/bin/env python3
"""Compares searches on ordinary branches: does each reach what any of them reaches?

usage: ceilings.py SUITE.toml EVALUATIONS SEEDS [SEARCH]...    (default: targeted targeted/random structured havoc)

A SEARCH is a name of --search, or `targeted/random` for the search targeted with the minimizer random: moves without a distance.
A run is one function at one seed. The joint ceiling of a function is the set of branches that any of its runs covered. All runs make a
tenth of EVALUATIONS first; those that are below the joint ceiling are made again with all of them, until each is at the ceiling or was
made in full. Prints for each search the runs at the joint ceiling, the branches per seed (mean), and the functions where it covers
less, summed over the seeds, than another search.

environment: PENFUZZ  the program; by default the release build, else from PATH
             JOBS     functions at the same time (one per processor)
             RESULTS  a directory that keeps the results of runs; what is found there is not run again
"""

import hashlib
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


class Runs:
    """The branches that each function covers in one search at one seed, as numbers in the order of the report."""

    def __init__(self, suite, evaluations, search, seed):
        self.suite, self.evaluations, self.search, self.seed = suite, evaluations, search, seed
        self.of = self.made(evaluations, [], kept_only=True)
        self.full = set(self.of)
        if not self.of:
            self.of = self.made(evaluations // 10, [])

    def made(self, evaluations, only, kept_only=False):
        """Runs functions (`only`; all if it is empty), or takes what is kept of such a run."""
        part = f"-part-{hash_of(only)}" if only else ""
        name = f"{Path(self.suite).resolve().parent.name}-{self.search.replace('/', '+')}-{evaluations}-{self.seed}{part}.json"
        file = Path(os.environ["RESULTS"]) / name if "RESULTS" in os.environ else None
        if file and file.exists():
            return json.loads(file.read_text())
        if kept_only:
            return {}
        named = ["--only", ",".join(only)] if only else []
        found = run(self.suite, str(evaluations), self.seed, [*options(self.search), *named])
        taken = {function: [i for i, at in enumerate(branches) if at is not None] for function, branches in found.items()}
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(taken))
        return taken

    def below(self, joint):
        """The functions below the joint ceiling that were not run in full."""
        return sorted(f for f, ceiling in joint.items() if f not in self.full and len(self.of.get(f, [])) < len(ceiling))

    def complete(self, functions):
        self.full |= set(functions)
        self.of |= self.made(self.evaluations, functions)


def hash_of(names):
    return hashlib.sha256(",".join(names).encode()).hexdigest()[:16]


def ceiling(all_runs):
    functions = sorted({f for runs in all_runs for f in runs.of})
    return {f: set().union(*(runs.of.get(f, []) for runs in all_runs)) for f in functions}


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    suite, evaluations, seeds = sys.argv[1], int(sys.argv[2]), range(1, int(sys.argv[3]) + 1)
    searches = sys.argv[4:] or SEARCHES
    of_search = {search: [Runs(suite, evaluations, search, seed) for seed in seeds] for search in searches}
    every = [runs for of_seeds in of_search.values() for runs in of_seeds]
    joint, grown = ceiling(every), True
    while grown:
        for runs in every:
            if below := runs.below(joint):
                runs.complete(below)
        before, joint = joint, ceiling(every)
        grown = joint != before or any(runs.below(joint) for runs in every)
    show(of_search, joint, len(seeds), evaluations)


def show(of_search, joint, seeds, evaluations):
    functions = list(joint)
    sums = {s: {f: sum(len(runs.of.get(f, [])) for runs in of_seeds) for f in functions} for s, of_seeds in of_search.items()}
    print(f"joint ceiling {sum(map(len, joint.values()))} branches, {len(functions)} functions, {seeds} seeds, {evaluations} evaluations")
    print(f"{'search':<18}{'runs at it':>16}{'branches':>11}  functions where another search covers more (by how many, all seeds)")
    for search, of_seeds in of_search.items():
        at = sum(len(runs.of.get(f, [])) == len(joint[f]) for runs in of_seeds for f in functions)
        less = {f: max(s[f] for s in sums.values()) - sums[search][f] for f in functions}
        named = ", ".join(f"{f} {n}" for f, n in sorted(less.items(), key=lambda item: -item[1]) if n)
        mean = sum(sums[search].values()) / seeds
        print(f"{search:<18}{f'{at} of {seeds * len(functions)}':>16}{mean:>11.1f}  {named}")


main()
