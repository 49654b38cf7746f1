#!/usr/bin/env python3
"""Measures searches on hard goals: goals with a witness that structured sampling does not meet.

usage: bench.py EVALUATIONS SEEDS [SEARCH[:SEEDS]]...      (default: targeted, and the controls random moves and structured)

Synthetic goals are those of families.py. Every witness is run as a program of gcc, and the goals are left out that
`--search structured` meets within 100000 evaluations at one of the seeds 1001 to 1005. Harvested goals are those of harvest.toml:
branches, boundary values, exceptions and paths of libraries, which harvest.py has filtered by the same rule; penfuzz evaluates each
witness first. Each search then runs with the seeds 1 to SEEDS. Prints for each search how many goals it has solved after 1000, 10000,
... evaluations (median over the seeds), and how often it needs more evaluations than targeted (Vargha and Delaney's A12, mean over
the goals; 0.5 is equal). Harvested goals of one function share its campaigns. Paths have no random moves and no havoc: `penfuzz reach`
offers neither.

A SEARCH is a name of --search, or `targeted/random` for the search targeted with the minimizer random: moves without a distance.

environment: PENFUZZ  the program; by default the release build, else from PATH
             PEN_CC   the compiler wrapper for harvested goals; by default beside PENFUZZ
             GOALS    synthetic (default), harvested, or all
             SPLIT    test (default), tuning, or all: goals are in one of two halves by a hash of their names
             JOBS     functions at the same time (one per processor)
             FAMILY   only goals of this family, or of this kind and library as in `branch gsl`; all of them are shown one by one
             ONLY     only goals whose name contains this; likewise
             RESULTS  a directory that keeps the results of runs; what is found there is not run again
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "../lib"))

from harvested import Harvested
from measure import by_family, is_test, kept, table
from synthetic import FILTER_EVALUATIONS, Synthetic

SEARCHES = ["targeted", "targeted/random", "structured"]
GOALS = {"synthetic": [Synthetic], "harvested": [Harvested], "all": [Synthetic, Harvested]}


def chosen(name, family):
    split = os.environ.get("SPLIT", "test")
    if os.environ.get("FAMILY", family) != family or os.environ.get("ONLY", "") not in name:
        return False
    return split == "all" or is_test(name) == (split == "test")


def searches(arguments, seeds):
    """The seeds of each search; targeted comes first."""
    asked = {a.partition(":")[0]: int(a.partition(":")[2] or seeds) for a in arguments or SEARCHES}
    return {"targeted": asked.get("targeted", seeds)} | asked


def main():
    kinds = GOALS.get(os.environ.get("GOALS", "synthetic"))
    if len(sys.argv) < 3 or not kinds:
        sys.exit(__doc__)
    evaluations = int(sys.argv[1])
    results, names, family_of = {}, [], {}
    for kind in kinds:
        with kind(chosen) as goals:
            run = kept(kind.run)
            goals.prepare(run)
            text = f"{kind.__name__.lower()}: {len(goals.all)} goals, {len(goals.names)} hard"
            print(f"{text}: not met by structured values in {FILTER_EVALUATIONS} evaluations", flush=True)
            names += goals.names
            family_of |= goals.family_of
            for search, seeds in searches(sys.argv[3:], int(sys.argv[2])).items():
                runs = results.setdefault(search, [{} for _ in range(seeds)])
                for seed in range(1, seeds + 1):
                    runs[seed - 1] |= run(goals, goals.names, search, evaluations, seed)
    if not names:
        sys.exit("no goal is chosen")
    table(results, names, evaluations)
    by_family(results, names, family_of)
    if "FAMILY" in os.environ or "ONLY" in os.environ:
        for n in names:
            counts = [f"{s}: {sum(r[n] is not None for r in runs)} of {len(runs)}" for s, runs in results.items() if n in runs[0]]
            print(f"  {n:<18}", *counts)


if __name__ == "__main__":
    main()
