#!/usr/bin/env python3
"""Are errors found that lie where a difference inside of a function cancels?

usage: cancelling.py [--seeds N] [--cpu SECONDS] [--search extremes|moves|structured|uniform]
PENFUZZ names the program; by default the release build, else that of PATH.

Searches for the largest error of each function in cancelling.c. Prints one line per function: median, least and largest of the seeds, in ulps.
"""
import argparse, json, statistics, subprocess
from pathlib import Path

from linked import program

SOURCE = Path(__file__).resolve().with_name("cancelling.c")
MODERATE = ["--arg", "x: -1e10..1e10"]
FUNCTIONS = {
    "logarithm": MODERATE, "lorentzian": MODERATE, "arctangent": [], "root": [],
    "hyperbola": [*MODERATE, "--arg", "y: -1e10..1e10"], "hill": [], "ramp": [], "step": [],
}


def found(function, seed, options):
    command = [program(), "accuracy", SOURCE, "-f", function, "--reference", f"{SOURCE}:{function}_wide", "--lib", "-lm"]
    limits = ["--max-cpu", f"{options.cpu}s", "--max-time", f"{20 * options.cpu}s", "--search", options.search]
    done = subprocess.run([*command, *limits, "--seed", str(seed), "--json", *FUNCTIONS[function]],
                          capture_output=True, text=True, check=True)
    worst = json.loads(done.stdout)["worst"]
    return worst["ulp"] if worst else 0.0


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=20)
    arguments.add_argument("--cpu", type=int, default=1)
    arguments.add_argument("--search", default="extremes", choices=("extremes", "moves", "structured", "uniform"))
    options = arguments.parse_args()
    print("function\tmedian\tleast\tlargest")
    for function in FUNCTIONS:
        ulps = [found(function, seed, options) for seed in range(1, options.seeds + 1)]
        print(f"{function}\t{statistics.median(ulps):.4g}\t{min(ulps):.4g}\t{max(ulps):.4g}", flush=True)


main()
