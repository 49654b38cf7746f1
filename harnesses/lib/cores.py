#!/usr/bin/env python3
"""Compares campaigns on one core with the same campaigns on several cores.

usage: cores.py SUITE.toml NAMES [--seconds 30] [--seeds 3] [--cores 0-1] [--scope all]

NAMES are functions of the suite, separated by commas. Each function runs with --cores 0 and then with all of --cores, for
the same wall time and with the same seeds. Prints per function the branches covered, the ratio of evaluations per second, and
the ratio of times; at the end the geometric means. The times are those after which each run had covered as many branches as
the weaker of the two in the end. They come from status.json, which penfuzz writes every second.

environment: PENFUZZ  the program; by default the release build
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = os.environ.get("PENFUZZ", "target/release/penfuzz")


def campaign(about, cores, seed, options, out):
    """Runs one campaign; returns evaluations per second, and pairs (seconds, branches covered until then)."""
    command = [PROGRAM, about["linked"], "-f", about["symbol"], "--scope", options.scope, "--cores", cores]
    command += ["--seed", str(seed), "--max-time", f"{options.seconds}s", "-q", "-o", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    curve = [(0.0, 0)]
    while process.poll() is None:
        try:
            status = json.loads((out / "status.json").read_text())
            curve.append((status["seconds"], status["branches"]["covered"]))
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    if process.returncode not in (0, 3):
        sys.exit(process.stderr.read())
    report = json.loads((out / "report.json").read_text())
    curve.append((report["seconds"], report["branches"]["covered"]))
    return report["evaluations"] / report["seconds"], curve


def reached(curve, branches):
    return next(seconds for seconds, covered in curve if covered >= branches)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("suite")
    parser.add_argument("names")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cores", default="0-1")
    parser.add_argument("--scope", default="all")
    options = parser.parse_args()
    rates, times = [], []
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        build = [PROGRAM, "suite", options.suite, "--only", options.names, "--max-evals", "10", "-q", "-o", str(work / "suite")]
        subprocess.run(build, check=False, capture_output=True)
        for manifest in sorted(work.glob("suite/*/campaign.json")):
            about = json.loads(manifest.read_text())
            rate, speedup, counts = [], [], []
            for seed in range(1, options.seeds + 1):
                one_rate, one = campaign(about, "0", seed, options, work / f"{about['function']}.1.{seed}")
                many_rate, many = campaign(about, options.cores, seed, options, work / f"{about['function']}.n.{seed}")
                common = min(one[-1][1], many[-1][1])
                rate.append(many_rate / one_rate)
                speedup.append(max(reached(one, common), 0.1) / max(reached(many, common), 0.1))
                counts.append(f"{one[-1][1]}/{many[-1][1]}")
            rates += rate
            times += speedup
            print(
                f"{about['function']:32} covered {' '.join(counts):24} evaluations/s x{mean(rate):.2f}"
                f"  time x{mean(speedup):.2f} ({', '.join(f'{s:.2f}' for s in speedup)})",
                flush=True,
            )
    print(f"{'geometric mean':32} evaluations/s x{mean(rates):.2f}  time to the common level x{mean(times):.2f}")


if __name__ == "__main__":
    main()
