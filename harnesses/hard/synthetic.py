"""The goals of families.py as files of C, and searches on them."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import families
from linked import TAKEN, program
from measure import search_options

GOALS = Path(__file__).resolve().parent / "goals"
FILTER_SEEDS = range(1001, 1006)
FILTER_EVALUATIONS = 100_000


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
    if not found or found[-1]["status"] not in TAKEN:
        return None
    return found[-1]["covered_at"]


class Synthetic:
    """The goals of families.py that `chosen` accepts. A context manager: the suite that it writes is removed at the end."""

    def __init__(self, chosen):
        self.all = [g for g in families.goals() if chosen(g.name, g.family)]
        self.family_of = {g.name: g.family for g in self.all}
        self.names = []

    def __enter__(self):
        self.suite = write(self.all)
        return self

    def __exit__(self, *_):
        self.suite.unlink()

    def prepare(self, run):
        """Checks the witnesses, and leaves out the goals that structured values meet. `run` is this object's, or keeps its results."""
        if not self.all:
            return
        check_witnesses(self.all)
        names = [g.name for g in self.all]
        for seed in FILTER_SEEDS:
            met = run(self, names, "structured", FILTER_EVALUATIONS, seed)
            names = [n for n in names if met[n] is None]
        self.names = names

    def run(self, names, search, evaluations, seed):
        """One campaign per goal: the evaluation that solved it, or None, by name."""
        if not names:
            return {}
        options = search_options(search) + (["--jobs", os.environ["JOBS"]] if "JOBS" in os.environ else [])
        with tempfile.TemporaryDirectory() as out:
            out = Path(out) / "suite"
            command = [program(), "suite", str(self.suite), "--max-evals", str(evaluations), "--seed", str(seed), "--quiet"]
            command += ["--only", ",".join(names), "-o", str(out), *options]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode not in (0, 3):
                sys.exit(done.stderr)
            return {n: solved_at(json.loads((out / n / "report.json").read_text()), goal_line(n)) for n in names}
