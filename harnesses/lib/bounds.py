#!/usr/bin/env python3
"""The error that is found in straight-line cores of FPBench, and the bound that none exceeds.

usage: bounds.py SECONDS FILE.fpcore...

Runs `penfuzz accuracy` on each core, for SECONDS (search) with errors in ulps and for SECONDS with absolute errors. Prints the largest error of each
that the search has found, the upper bounds, and the share that is found of what is possible. A found error above its bound is a contradiction:
it is marked, and the exit status is 1.

environment: PENFUZZ  the program; by default the release build, else from PATH
             JOBS     cores at the same time (one per processor)
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from effort import program


def names(file):
    """Numbers of the cores of a file, with their names."""
    text = re.sub(r"^\s*;.*$", "", Path(file).read_text(), flags=re.M)
    named = [re.search(r':name "([^"]*)"', core) for core in text.split("(FPCore")[1:]]
    return [(str(number), name[1] if name else "") for number, name in enumerate(named, 1)]


def measured(file, number, seconds):
    reports = {}
    for unit in ("ulp", "absolute"):
        command = [program(), "accuracy", file, "-f", number, "--max-time", f"{seconds}s", "--error", unit, "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or ["no message"])[-1]
        reports[unit] = json.loads(done.stdout)
    worst = {unit: (report["worst"] or {unit: 0.0}).get(unit) for unit, report in reports.items()}
    return {**reports["ulp"], "worst": worst}


def shown(value):
    return f"{value:>12.4g}" if value is not None else f"{'-':>12}"


def row(name, report):
    """Prints a line; what kind of answer it is."""
    if isinstance(report, str):
        print(f"{name:<26}  {report[:100]}", flush=True)
        return "refused"
    worst = report["worst"]
    bound = report.get("bound")
    if not bound:
        print(f"{name:<26}{shown(worst['ulp'])}{'':>12}{shown(worst.get('absolute'))}  no bound: {report.get('no_bound')}", flush=True)
        return "no bound"
    share = lambda found, most: f"{found / most:>8.1%}" if found is not None and most else f"{'-':>8}"
    contradicts = any(found is not None and most is not None and found > most * (1 + 1e-9)
                      for found, most in ((worst["ulp"], bound["ulp"]), (worst.get("absolute"), bound["absolute"])))
    text = f"{shown(worst['ulp'])}{shown(bound['ulp'])}{shown(worst.get('absolute'))}{shown(bound['absolute'])}"
    text += share(worst["ulp"], bound["ulp"]) + share(worst.get("absolute"), bound["absolute"])
    print(f"{name:<26}{text}{'  CONTRADICTION' if contradicts else ''}", flush=True)
    return "contradiction" if contradicts else "bounded"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    seconds, files = sys.argv[1], sys.argv[2:]
    cores = [(file, number, name) for file in files for number, name in names(file)]
    print(f"{'core':<26}{'found, ulp':>12}{'bound, ulp':>12}{'found':>12}{'bound':>12}{'share':>8}{'share':>8}")
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count())) as pool:
        reports = pool.map(lambda c: measured(c[0], c[1], seconds), cores)
        kinds = [row(name or number, report) for (_, number, name), report in zip(cores, reports)]
    print(", ".join(f"{kinds.count(kind)} {kind}" for kind in ("bounded", "no bound", "refused", "contradiction")))
    sys.exit("contradiction" in kinds)


main()
