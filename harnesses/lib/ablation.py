#!/usr/bin/env python3
"""Compares searches of penfuzz at equal evaluations on the functions of an experiment.

usage: ablation.py RESULTS.csv EVALUATIONS SEEDS [SUITE...]

The functions are those of the first column, `suite:function`, of the results.csv of an experiment on several suites (docs/compare). Each
search runs on each function with seeds 1 to SEEDS, and with at most EVALUATIONS. SUITE are only these suites; by default all of the file. Prints one
row of a Markdown table per search: the mean coverage of branches by penfuzz's own count in percent, the functions on which its mean
over the seeds is that of the best search, on how many of them targeted search has a higher, the same and a lower mean, and the runs
that failed. Then the functions on which another search has a higher mean than targeted search.

environment: PENFUZZ  the program; by default the release build, else from PATH
             JOBS     campaigns at a time, 2 if it is not set
"""

import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from linked import program

HERE = Path(__file__).resolve().parent
TAKEN = ("covered", "saturated", "covered_by_crash")
SEARCHES = {
    "targeted": [],
    "targeted, random moves for the minimizer": ["--minimizer=random"],
    "structured": ["--search=structured"],
    "random": ["--search=random"],
}


def functions(file):
    """The functions of each suite."""
    names = {row["function"] for row in csv.DictReader(file.open())}
    suites = {}
    for suite, function in sorted(name.split(":", 1) for name in names):
        suites.setdefault(suite, []).append(function)
    return suites


def share(report):
    branches = [b["status"] in TAKEN for s in report["sites"] for b in s["branches"]]
    return sum(branches) / max(1, len(branches))


def run(suite, names, evaluations, seed, options):
    """Per function the share of branches that its campaign took; a campaign without a report is missing."""
    with tempfile.TemporaryDirectory() as out:
        out = Path(out) / "suite"
        command = [program(), "suite", str(HERE / ".." / suite / "suite.toml"), "--only", ",".join(names)]
        command += ["--max-evals", evaluations, "--seed", str(seed), "--jobs", os.environ.get("JOBS", "2"), "--quiet", "-o", str(out)]
        subprocess.run(command + options, capture_output=True, text=True)
        reports = {name: out / name / "report.json" for name in names}
        return {f"{suite}:{n}": share(json.loads(p.read_text())) for n, p in reports.items() if p.exists()}


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    file, evaluations, seeds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    suites = {s: f for s, f in functions(file).items() if not sys.argv[4:] or s in sys.argv[4:]}
    means, failed = {}, {}
    for search, options in SEARCHES.items():
        runs = {f"{s}:{n}": [] for s, names in suites.items() for n in names}
        for seed in range(1, seeds + 1):
            for suite, names in suites.items():
                for name, taken in run(suite, names, evaluations, seed, options).items():
                    runs[name].append(taken)
        failed[search] = sum(seeds - len(taken) for taken in runs.values())
        means[search] = {name: statistics.mean(taken) if taken else 0 for name, taken in runs.items()}
        print(search, "done", file=sys.stderr)
    best = {name: max(of[name] for of in means.values()) for name in means["targeted"]}
    own = means["targeted"]
    print("| search | mean coverage | functions at the best mean | targeted higher / equal / lower | failed runs |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for search, of in means.items():
        signs = [(own[n] > of[n]) - (own[n] < of[n]) for n in of]
        against = "" if search == "targeted" else f"{signs.count(1)} / {signs.count(0)} / {signs.count(-1)}"
        at_best = sum(of[n] == best[n] for n in of)
        print(f"| {search} | {100 * statistics.mean(of.values()):.2f} % | {at_best} | {against} | {failed[search]} |")
    print()
    for name in sorted(own):
        if own[name] < best[name]:
            print(name + ": " + ", ".join(f"{search} {100 * of[name]:.1f} %" for search, of in means.items()))


main()
