#!/usr/bin/env python3
"""Finds hard goals in the functions of suites, and prints them in the form of harvest.toml.

usage: harvest.py KIND[,KIND]... SUITE...        KIND: branch, boundary, exception, path
       harvest.py inputs FILE                    lines: SUITE FUNCTION ARGUMENT,ARGUMENT...

A goal is hard if `--search structured` does not meet it within 100000 evaluations at any of the seeds 1001 to 1005. It needs a
witness. Long campaigns find witnesses: targeted, random moves, havoc and structured values, LONG evaluations each with seed 2001. So do
inputs from elsewhere (`inputs`): all branches of the function that they take are tried. A path is drawn from random inputs. Every
witness is then evaluated in a process of its own, without a search. Functions in which SLOW seconds are not enough for 100000
evaluations of structured values are left out, with a line on standard error.

environment: PENFUZZ, PEN_CC  as for bench.py
             LONG     evaluations of the long campaigns (1000000)
             SLOW     seconds (10)
             DRAW     so many functions of each suite, drawn by a hash of their names (all)
             PER      at most so many goals of one kind of a function, drawn by a hash of their names (6)
             ONLY     functions whose name contains this
"""

import hashlib
import json
import os
import sys
import tomllib
from pathlib import Path
from struct import pack

sys.path.insert(0, str(Path(__file__).resolve().parent / "../lib"))

from harvested import HERE, Goal, Targets, branches, campaign, evaluated, path_of, penfuzz, reached
from linked import TAKEN
from measure import search_options
from synthetic import FILTER_EVALUATIONS, FILTER_SEEDS

LONG = os.environ.get("LONG", "1000000")
SLOW = float(os.environ.get("SLOW", "10"))
PER = int(os.environ.get("PER", "6"))
LONG_SEARCHES = ["structured", "havoc", "targeted/random", "targeted"]  # the first that finds a witness is named
LONG_SEED = 2001
FORMATS = {"f64": "<d", "f32": "<f", "i32": "<i", "u32": "<I", "i64": "<q", "u64": "<Q", "i16": "<h", "u16": "<H", "i8": "<b", "u8": "<B"}


def log(*text):
    print(*text, file=sys.stderr, flush=True)


def functions(suite):
    table = tomllib.loads((HERE.parent / suite / "suite.toml").read_text())
    names = [t.get("function", t["name"]) for t in table["target"] if os.environ.get("ONLY", "") in t["name"]]
    return drawn(names, int(os.environ.get("DRAW", len(names))))


def drawn(items, number, name=str):
    return sorted(items, key=lambda item: hashlib.sha256(name(item).encode()).digest())[:number]


def met(report):
    return {key: b for key, b in branches(report).items() if b["status"] in TAKEN}


def data_of(branch):
    """The bytes of a branch's input; None if it has parts that are no numbers."""
    numbers = branch.get("input") or []
    if not numbers or not all("bits" in n for n in numbers):
        return None
    return b"".join(bytes.fromhex(n["bits"][2:])[::-1] for n in numbers)


def sampled(target, function, kind, seed):
    """The branches that structured values meet; None if there is no time for them."""
    options = ["--max-evals", FILTER_EVALUATIONS, "--max-time", f"{SLOW}s", "--seed", seed, "--search", "structured"]
    report = campaign(target, function, kind, options)
    if report["stop_reason"] == "max-time":
        log(f"{function}: {report['evaluations']} evaluations of {FILTER_EVALUATIONS} in {SLOW} s, left out")
        return None
    return set(met(report)), set(branches(report))


def searched(target, function, kind, easy):
    """Witnesses of long campaigns for branches that are not easy: {key: (bytes, how)}."""
    found = {}
    for search in LONG_SEARCHES:
        options = ["--max-evals", LONG, "--max-time", "1m", "--seed", LONG_SEED, *search_options(search)]
        for key, branch in met(campaign(target, function, kind, options)).items():
            data = data_of(branch)
            if key not in easy and data is not None:
                found.setdefault(key, (data, f"{search}, seed {LONG_SEED}, evaluation {branch.get('covered_at', 0)}"))
    return found


def harvest(target, suite, function, kind, witnesses=None):
    """The hard goals of one function."""
    first = sampled(target, function, kind, FILTER_SEEDS[0])
    if first is None or first[0] == first[1]:
        return
    easy = first[0]
    found = witnesses if witnesses is not None else searched(target, function, kind, easy)
    for seed in FILTER_SEEDS[1:]:
        if all(key in easy for key in found):
            return
        again = sampled(target, function, kind, seed)
        if again is None:
            return
        easy |= again[0]
    hard = [Goal(suite, function, kind, data.hex(), how, *key) for key, (data, how) in found.items() if key not in easy]
    taken = lambda g: (g.site, g.outcome) in met(evaluated(target, function, kind, [bytes.fromhex(g.witness)]))
    for goal in drawn([g for g in hard if taken(g)], PER, lambda g: g.name):
        show(goal)


def harvest_paths(target, suite, function):
    paths = penfuzz(["reach", target, "--function", function, "--draw", 20, "--seed", LONG_SEED]).stdout.splitlines()
    goal = lambda path: Goal(suite, function, "path", path["input"], f"random inputs, {path['steps']} steps")
    hard = 0
    for path in drawn(map(json.loads, paths), len(paths), lambda path: goal(path).name):
        met_by = (reached(target, function, path["path"], "structured", FILTER_EVALUATIONS, s) for s in FILTER_SEEDS)
        if hard < PER and all(at is None for at in met_by):
            hard += 1
            show(goal(path))


def harvest_inputs(targets, file):
    """Branches that the inputs of a file take."""
    for line in file.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            suite, function, arguments = line.split(maxsplit=2)
            target = targets.of(suite)
            report = campaign(target, function, "branch", ["--max-evals", 1, "--seed", 1])
            kinds = [p["kind"] for p in report["signature"]["parameters"] if not p["pointer"]]
            values = [a.strip() for a in arguments.split(",")]
            number = lambda kind, text: float.fromhex(text) if "0x" in text else float(text) if kind[0] == "f" else int(text)
            data = b"".join(pack(FORMATS[kind], number(kind, text)) for kind, text in zip(kinds, values, strict=True))
            taken = met(evaluated(target, function, "branch", [data]))
            harvest(target, suite, function, "branch", {key: (data, f"an input of {file.name}") for key in taken})


def show(goal):
    print("[[goal]]")
    for key, value in vars(goal).items():
        if value:
            print(f"{key} = {json.dumps(value)}")
    print(flush=True)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    targets = Targets()
    if sys.argv[1] == "inputs":
        return harvest_inputs(targets, Path(sys.argv[2]))
    for suite in sys.argv[2:]:
        for number, function in enumerate(functions(suite)):
            for kind in sys.argv[1].split(","):
                target = targets.of(suite, kind)
                log(f"{suite} {number} {function} {kind}")
                if kind == "path":
                    harvest_paths(target, suite, function)
                else:
                    harvest(target, suite, function, kind)


if __name__ == "__main__":
    main()
