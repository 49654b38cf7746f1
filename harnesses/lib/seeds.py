#!/usr/bin/env python3
"""Measures each function of a suite at many seeds.

usage: seeds.py SUITE.toml EVALUATIONS SEEDS [option of penfuzz suite]...

Prints one row of a Markdown table per function: the branches, those that any seed covered, the seeds that covered all of
these, and the evaluations and the seconds up to the last of them (median and worst over the seeds, "-" if one failed).
A campaign ends when all branches are covered: only then are its seconds those that it needed. Seeds are 1 to SEEDS.

environment: PENFUZZ  the program; by default the release build, else from PATH
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from linked import program

TAKEN = ("covered", "saturated", "covered_by_crash")


def run(suite, evaluations, seed, options):
    """Per function: the evaluation at which each branch was covered, None if never; and the seconds."""
    with tempfile.TemporaryDirectory() as out:
        out = Path(out) / "suite"
        command = [program(), "suite", suite, "--max-evals", evaluations, "--seed", str(seed), "--quiet", "-o", str(out)]
        done = subprocess.run(command + options, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        reports = {p.parent.name: json.loads(p.read_text()) for p in out.glob("*/report.json")}
    at = lambda b: b.get("covered_at", 0) if b["status"] in TAKEN else None
    return {name: ([at(b) for s in r["sites"] for b in s["branches"]], r["seconds"]) for name, r in reports.items()}


def row(name, runs):
    n = len(runs[0][0])
    ceiling = [any(found[i] is not None for found, _ in runs) for i in range(n)]
    effort = []
    for found, seconds in runs:
        needed = [at for at, wanted in zip(found, ceiling) if wanted]
        if None not in needed:
            effort.append((max(needed, default=0), seconds))
    evaluations, seconds = ([e[i] for e in effort] for i in (0, 1))
    all_seeds = len(effort) == len(runs)
    median = f"{statistics.median(evaluations):.0f}" if effort else "-"
    worst = max(evaluations) if all_seeds else "-"
    time = f"{statistics.median(seconds):.2f}" if all_seeds and all(ceiling) else "-"
    return f"| `{name}` | {n} | {sum(ceiling)} | {len(effort)} of {len(runs)} | {median} | {worst} | {time} |"


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    suite, evaluations, n_seeds = sys.argv[1:4]
    seeds = [run(suite, evaluations, seed, sys.argv[4:]) for seed in range(1, int(n_seeds) + 1)]
    print("| function | branches | covered | seeds | evaluations (median) | worst | seconds (median) |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in seeds[0]:
        print(row(name, [functions[name] for functions in seeds]))


main()
