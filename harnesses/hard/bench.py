#!/usr/bin/env python3
"""Measures searches on hard goals: branches with a witness that structured sampling does not meet.

usage: bench.py EVALUATIONS SEEDS [SEARCH]...      (default: targeted, and the controls random moves and structured)

Writes the goals of families.py to goals/ beside this script, runs every witness as a program of gcc, and leaves out the goals that
`--search structured` meets within 100000 evaluations at one of the seeds 1001 to 1005. Each search then runs with the seeds
1 to SEEDS. Prints for each search how many goals it has solved after 1000, 10000, ... evaluations (median over the seeds), and how often
it needs more evaluations than targeted (Vargha and Delaney's A12, mean over the goals; 0.5 is equal).

A SEARCH is a name of --search, or `targeted/random` for the search targeted with the minimizer random: moves without a distance.

environment: PENFUZZ  the program; by default the release build, else from PATH
             SPLIT    test (default), tuning, or all: goals are in one of two halves by a hash of their names
             JOBS     functions at the same time (one per processor)
             FAMILY   only goals of this family; all of them are shown one by one
"""

import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import families

HERE = Path(__file__).resolve().parent
GOALS = HERE / "goals"
RELEASED = HERE / "../../target/release/penfuzz"
PENFUZZ = os.environ.get("PENFUZZ") or (str(RELEASED) if RELEASED.exists() else shutil.which("penfuzz") or "penfuzz")
FILTER_SEEDS = range(1001, 1006)
FILTER_EVALUATIONS = 100_000
SEARCHES = ["targeted", "targeted/random", "structured"]
TAKEN = ("covered", "saturated")


def is_test(name):
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def selected():
    split, family = os.environ.get("SPLIT", "test"), os.environ.get("FAMILY")
    for goal in families.goals():
        if family not in (None, goal.family) or (split != "all" and is_test(goal.name) != (split == "test")):
            continue
        yield goal


def literal(kind, value):
    if kind in ("double", "float"):
        return float(value).hex()
    return f"({kind}){value}u" if kind.startswith("u") else f"({kind}){value}"


def write(goals):
    GOALS.mkdir(exist_ok=True)
    suite = ['name = "hard"', 'sources = "."', "", "[build]", 'flags = ["-ffp-contract=off", "-w"]', 'libs = ["-lm"]']
    for goal in goals:
        (GOALS / f"{goal.name}.c").write_text(goal.source())
        suite += ["", "[[target]]", f'name = "{goal.name}"', f'file = "{goal.name}.c"', f'function = "{goal.name}"']
    path = GOALS / f"suite-{os.getpid()}.toml"
    path.write_text("\n".join(suite) + "\n")
    return path


def check_witnesses(goals):
    """Each function returns 1 at its witness, without penfuzz."""
    calls = []
    for goal in goals:
        values = ", ".join(literal(kind, value) for (kind, _), value in zip(goal.parameters, goal.witness))
        calls.append(f'  if ({goal.name}({values}) != 1) puts("{goal.name}");')
    with tempfile.TemporaryDirectory() as out:
        main = Path(out) / "main.c"
        declared = "".join(f"int {g.name}({', '.join(k for k, _ in g.parameters)});\n" for g in goals)
        main.write_text("#include <stdint.h>\n#include <stdio.h>\n" + declared + "int main(void)\n{\n" + "\n".join(calls) + "\n}\n")
        sources = [str(GOALS / f"{goal.name}.c") for goal in goals]
        command = ["gcc", "-w", "-ffp-contract=off", "-o", str(Path(out) / "main"), str(main), *sources, "-lm"]
        subprocess.run(command, check=True)
        wrong = subprocess.run([str(Path(out) / "main")], capture_output=True, text=True, check=True).stdout.split()
    if wrong:
        sys.exit(f"these witnesses do not reach their goals: {', '.join(wrong)}")


def goal_line(name):
    lines = (GOALS / f"{name}.c").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if "/* goal */" in line)


def solved_at(report, line):
    """The evaluation that took the goal, the last true branch of its line; None if there was none."""
    found = [b for s in report["sites"] if s["line"] == line for b in s["branches"] if b["outcome"] == "true"]
    if not found or any(b["status"] not in TAKEN for b in found[-1:]):
        return None
    return found[-1]["covered_at"]


def run(suite, names, search, evaluations, seed):
    search, _, minimizer = search.partition("/")
    options = ["--search", search] + (["--minimizer", minimizer] if minimizer else [])
    options += ["--jobs", os.environ["JOBS"]] if "JOBS" in os.environ else []
    with tempfile.TemporaryDirectory() as out:
        out = Path(out) / "suite"
        command = [PENFUZZ, "suite", str(suite), "--max-evals", str(evaluations), "--seed", str(seed), "--quiet"]
        done = subprocess.run([*command, "--only", ",".join(names), "-o", str(out), *options], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        return {n: solved_at(json.loads((out / n / "report.json").read_text()), goal_line(n)) for n in names}


def a12(ours, theirs):
    """How often `theirs` needs more than `ours`; without a solution it is infinity."""
    pairs = [(x if x is not None else float("inf"), y if y is not None else float("inf")) for x in ours for y in theirs]
    return sum(1.0 if y > x else 0.5 if y == x else 0.0 for x, y in pairs) / len(pairs)


def hard_ones(suite, names):
    for seed in FILTER_SEEDS:
        met = run(suite, names, "structured", FILTER_EVALUATIONS, seed)
        names = [n for n in names if met[n] is None]
    return names


def table(results, names, evaluations):
    steps = [10**k for k in range(3, 9) if 10**k <= evaluations]
    print(f"{'search':<18}" + "".join(f"{step:>10}" for step in steps) + f"{'share':>9}{'A12':>7}")
    for search, seeds in results.items():
        solved = [[sum(1 for n in names if r[n] is not None and r[n] <= step) for r in seeds] for step in steps]
        medians = [statistics.median(counts) for counts in solved]
        against = [a12([r[n] for r in results["targeted"]], [r[n] for r in seeds]) for n in names]
        share = 100 * statistics.mean(solved[-1]) / len(names)
        print(f"{search:<18}" + "".join(f"{m:>10g}" for m in medians) + f"{share:>8.1f}%{statistics.mean(against):>7.3f}")


def by_family(results, names, family_of):
    searches = list(results)
    print(f"\n{'mean share':<18}{'goals':>6}" + "".join(f"{s:>18}" for s in searches))
    for family in sorted(set(family_of.values())):
        own = [n for n in names if family_of[n] == family]
        if not own:
            continue
        share = [statistics.mean(r[n] is not None for n in own for r in results[s]) for s in searches]
        print(f"{family:<18}{len(own):>6}" + "".join(f"{100 * x:>17.1f}%" for x in share))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    evaluations, seeds = int(sys.argv[1]), int(sys.argv[2])
    searches = sys.argv[3:] or SEARCHES
    searches = ["targeted", *(s for s in searches if s != "targeted")]
    goals = list(selected())
    suite = write(goals)
    try:
        check_witnesses(goals)
        names = hard_ones(suite, [g.name for g in goals])
        print(f"{len(goals)} goals, {len(names)} hard: not met by structured values in {FILTER_EVALUATIONS} evaluations")
        results = {s: [run(suite, names, s, evaluations, seed) for seed in range(1, seeds + 1)] for s in searches}
    finally:
        suite.unlink()
    table(results, names, evaluations)
    by_family(results, names, {g.name: g.family for g in goals})
    if "FAMILY" in os.environ:
        for n in names:
            counts = [f"{s}: {sum(r[n] is not None for r in results[s])}" for s in searches]
            print(f"  {n:<18}", *counts)


if __name__ == "__main__":
    main()
