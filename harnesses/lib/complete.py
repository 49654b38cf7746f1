#!/usr/bin/env python3
"""Measures the time until each branch of a suite is covered or proved unreachable.

usage: complete.py SUITE.toml TIME PENFUZZ...        (TIME of each campaign, for example 10s; several programs are compared)

Runs the suite with each PENFUZZ, with proofs, TIME a function and seed 1. Prints its wall time, the seconds of search of all campaigns,
the branches that are covered and that are proved unreachable, of how many, and the functions of which each branch is one of both.

environment: ONLY  only these functions, separated by commas
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    suite, limit, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
    print(f"{'wall s':>8}{'search s':>10}{'covered':>9}{'proved':>8}{'of':>7}{'complete':>10}{'functions':>11}  program")
    for program in programs:
        with tempfile.TemporaryDirectory() as temporary:
            print(measure(program, suite, limit, pathlib.Path(temporary) / "suite"), flush=True)


def measure(program, suite, limit, output):
    only = ["--only", os.environ["ONLY"]] if os.environ.get("ONLY") else []
    began = time.monotonic()
    command = [program, "suite", suite, "--prove", "--max-time", limit, "--seed", "1", "--quiet", "-o", output, *only]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wall = time.monotonic() - began
    if not (output / "suite.json").is_file():
        sys.exit(f"{program}: {done.stderr.strip()}")
    rows = [row for row in json.loads((output / "suite.json").read_text())["targets"] if not row["error"]]
    reports = [json.loads((output / row["name"] / "report.json").read_text()) for row in rows]
    seconds = sum(report["seconds"] for report in reports)
    total, covered, proved = (sum(r["branches"][k] for r in reports) for k in ("total", "covered", "proved_unreachable"))
    complete = sum(r["branches"]["covered"] + r["branches"]["proved_unreachable"] == r["branches"]["total"] for r in reports)
    figures = f"{wall:>8.0f}{seconds:>10.0f}{covered:>9}{proved:>8}{total:>7}{complete:>10}{len(reports):>11}"
    return f"{figures}  {program}"


main()
