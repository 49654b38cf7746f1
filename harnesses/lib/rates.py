#!/usr/bin/env python3
"""Compares evaluations per second of `penfuzz reach` and of a campaign, on branches that the campaign leaves.

usage: rates.py SUITE.toml FUNCTIONS TIME        (for example harnesses/gsl/suite.toml 5 2s)

Functions are drawn by a hash of their names, until FUNCTIONS have a branch that a campaign of TIME reaches and does not take, at a conditional that
is alone on its column. `penfuzz reach` then searches for the last such branch for as long. Prints a row per function, and the median of
the ratios.

environment: PENFUZZ  the program; by default the release build, else from PATH
"""

import hashlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import tomllib

import claims

OUTCOMES = dict(true="T", false="F")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    suite, wanted, time = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    names = [t["name"] for t in tomllib.loads(pathlib.Path(suite).read_text())["target"]]
    ratios = []
    print(f"{'function':<32}{'campaign/s':>12}{'reach/s':>12}{'ratio':>8}")
    for name in sorted(names, key=lambda n: hashlib.sha256(n.encode()).digest()):
        if len(ratios) == wanted:
            break
        with tempfile.TemporaryDirectory() as temporary:
            rates = both(suite, name, time, pathlib.Path(temporary) / "suite")
        if rates:
            ratios.append(rates[1] / rates[0])
            print(f"{name:<32}{rates[0]:>12.0f}{rates[1]:>12.0f}{ratios[-1]:>8.2f}", flush=True)
    if ratios:
        print(f"{'median':<56}{statistics.median(ratios):>8.2f}")


def both(suite, name, time, output):
    """Evaluations per second of a campaign and of reach; None if the function has no such branch."""
    command = [claims.PENFUZZ, "suite", suite, "--only", name, "--max-time", time, "--seed", "1", "--quiet", "-o", output]
    subprocess.run(command, stdout=subprocess.DEVNULL)
    report = output / name / "report.json"
    if not report.exists():
        return None
    report = json.loads(report.read_text())
    path = left(report)
    if path is None:
        return None
    target = json.loads((output / name / "campaign.json").read_text())["linked"]
    command = [claims.PENFUZZ, "reach", target, "--function", report["function"], "--path", path, "--max-time", time, "--seed", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        return None
    answer = json.JSONDecoder().raw_decode(done.stdout)[0]
    return None if answer["found"] else (report["evaluations"] / report["seconds"], answer["evaluations"] / answer["seconds"])


def left(report):
    """The path to the last branch of the function that is reached and not taken."""
    for site in reversed([s for s in report["sites"] if s["function"] == report["function"]]):
        for branch in site["branches"]:
            if branch["status"] in ("uncovered", "given_up") and branch["best_distance"] and branch["outcome"] in OUTCOMES:
                return f"*,{pathlib.Path(site['file']).name}:{site['line']}:{site['column']}:{OUTCOMES[branch['outcome']]}"
    return None


if __name__ == "__main__":
    main()
