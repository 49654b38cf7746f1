#!/usr/bin/env python3
"""Compares the boundary values that searches meet at equal evaluations, for functions of a suite.

usage: boundaries.py SUITE.toml|TARGET EVALUATIONS SEEDS SEARCH[,SEARCH]... FUNCTION...

Runs `penfuzz boundary` on each FUNCTION, with scope "calls", seeds 1 to SEEDS and at most EVALUATIONS each ("-": a run
ends by itself). The functions belong to the sources of a suite, or to a file linked by pen-cc. Prints per function and
search: the number of comparisons, how many were met exactly (a == b), and how many of their neighbours were met (a next
below or above b). These numbers are means over the seeds; in brackets is what any seed met.

environment: PENFUZZ  the program; by default the release build, else from PATH
             PEN_CC   the compiler wrapper; by default beside PENFUZZ
             OPEN     a file to write: what no run met, one line each
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from linked import TAKEN as MET
from linked import link, program


def run(target, function, evaluations, seed, search):
    with tempfile.TemporaryDirectory() as out:
        command = [program(), "boundary", str(target), "--function", function, "--scope", "calls", "--json"]
        command += ["--seed", str(seed), "--search", search, "-o", out + "/out", "--quiet"]
        command += [] if evaluations == "-" else ["--max-evals", evaluations]
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        return json.loads(done.stdout), time.monotonic() - started


def values(report):
    """The branch of the report for each boundary value: key is (number of the site, its name, outcome)."""
    named = lambda s: f"{s['function']} {Path(s['file']).name}:{s['line']}:{s['column']} {s['predicate']}"
    return {(i, named(s), b["outcome"]): b for i, s in enumerate(report["sites"]) for b in s["branches"]}


def share(found, exact):
    asked = [b["status"] in MET for (_, _, outcome), b in found.items() if (outcome == "equal") == exact]
    return sum(asked), len(asked)


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    suite, evaluations, seeds, searches = sys.argv[1:5]
    never = []
    with tempfile.TemporaryDirectory() as directory:
        target = Path(suite)
        if target.suffix == ".toml":
            target = Path(directory) / "target"
            link(suite, target)
        print("function          search      sites  exact met (any)    neighbours met (any)  evaluations  seconds")
        for function in sys.argv[5:]:
            for search in searches.split(","):
                runs = [run(target, function, evaluations, seed, search) for seed in range(1, int(seeds) + 1)]
                found = [values(report) for report, _ in runs]
                best = {k: min((f[k] for f in found), key=lambda b: b["status"] not in MET) for k in found[0]}
                cells = []
                for exact in (True, False):
                    mean = statistics.mean(share(f, exact)[0] for f in found)
                    met, asked = share(best, exact)
                    cells.append(f"{mean:6.1f} of {asked:3d} ({met:3d})")
                work = statistics.median(report["evaluations"] for report, _ in runs)
                seconds = statistics.median(seconds for _, seconds in runs)
                n_sites = len(runs[0][0]["sites"])
                print(f"{function:17} {search:10} {n_sites:6d}  {cells[0]}  {cells[1]:>20}  {work:11.0f} {seconds:8.2f}", flush=True)
                for (_, site, outcome), branch in best.items():
                    if branch["status"] not in MET:
                        gap = min((f[k]["best_distance"] for f in found for k in f if k[1:] == (site, outcome) and f[k]["best_distance"] is not None), default="not reached")
                        never.append(f"{function} {search} {site} {outcome} {gap}")
    if "OPEN" in os.environ:
        Path(os.environ["OPEN"]).write_text("".join(line + "\n" for line in never))


main()
