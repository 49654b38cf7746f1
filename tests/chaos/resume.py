#!/usr/bin/env python3
"""Checks that interrupted and resumed campaigns cover the same branches as campaigns without interruption.

    python3 tests/chaos/resume.py harnesses/fdlibm/suite.toml --evaluations 150000

Every function of a suite runs twice with the same seed and the same budget of evaluations. The second run is interrupted ten
times at random moments, alternately by Ctrl-C and by SIGKILL of all its processes. Prints the functions whose covered branches
differ at the end, and a summary. Exit status 1 if there are any.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TAKEN = ("saturated", "covered", "covered_by_crash")


def covered(report: Path) -> set:
    sites = json.loads(report.read_text())["sites"]
    return {(i, b["outcome"]) for i, s in enumerate(sites) for b in s["branches"] if b["status"] in TAKEN}


def interrupted(command: list[str], rng: random.Random, times: int, longest: float) -> int:
    """Runs the command with interruptions, then to its end; returns the number of interruptions."""
    count = 0
    for number in range(times):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(rng.uniform(0.005, longest))
        if process.poll() is None:
            count += 1
            os.killpg(process.pid, signal.SIGINT if number % 2 == 0 else signal.SIGKILL)
        process.wait()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite")
    parser.add_argument("--penfuzz", default="target/release/penfuzz")
    parser.add_argument("--evaluations", type=int, default=150_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    budget = ["--max-evals", str(options.evaluations), "--seed", str(options.seed)]
    with tempfile.TemporaryDirectory() as work:
        whole = Path(work) / "whole"
        run = [options.penfuzz, "suite", options.suite, "--quiet", "-o", str(whole), *budget]
        done = subprocess.run(run, capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        functions = interruptions = 0
        different = []
        for report in sorted(whole.glob("*/report.json")):
            about = json.loads((report.parent / "campaign.json").read_text())
            out = Path(work) / "parts" / report.parent.name
            seconds = json.loads(report.read_text())["seconds"]
            command = [options.penfuzz, about["linked"], "-f", about["symbol"], "-o", str(out), *budget]
            interruptions += interrupted(command, rng, options.times, 0.05 + seconds / options.times * 2)
            functions += 1
            before, after = covered(report), covered(out / "report.json")
            if before != after:
                different.append(report.parent.name)
                print(f"{report.parent.name}: {len(before - after)} branches fewer, {len(after - before)} more")
    print(f"{functions - len(different)} of {functions} functions equal, {interruptions} interruptions")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
