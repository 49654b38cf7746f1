#!/usr/bin/env python3
"""Draws paths from random executions, and measures the share that penfuzz reach finds again.

usage: paths.py SUITE.toml [option of penfuzz reach]...

For each function of the suite, COUNT distinct paths are drawn from structured and
uniform random inputs. A path has the function's own conditionals, from the first to
the return. `penfuzz reach` then searches for each path with another seed. Prints per
function: paths drawn, paths found, median and largest number of steps, median time
and evaluations of those found. Then the totals, and the paths that were not found
with penfuzz's message.

environment: PENFUZZ  the program; by default the release build, else from PATH
             COUNT    paths per function (20)
             TIME     --max-time for each search (1s)
             SEED     of the draws (1); the searches use seeds from 1000
             ONLY     names of functions, separated by commas
             JSON     a file to write all answers to
             DRAWN    a file written by JSON: search for its paths instead of new ones
             JOBS     functions at the same time (1)
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from linked import program


def targets(path):
    """For every function of a suite: its name, and the arguments of penfuzz that make its target."""
    suite = tomllib.loads(path.read_text())
    sources = (path.parent / suite.get("sources", ".")).resolve()
    build = suite.get("build", {})
    place = lambda text: text.replace("{sources}", str(sources))
    only = [n for n in os.environ.get("ONLY", "").split(",") if n]
    for target in suite["target"]:
        if only and target["name"] not in only:
            continue
        arguments = [str(sources / target["file"]), "-f", target.get("function", target["name"])]
        for flag in build.get("flags", []) + target.get("flags", []):
            arguments.append("--cflag=" + place(flag))
        for support in build.get("support", []):
            if support != target["file"]:
                arguments += ["--with", str(sources / place(support))]
        for lib in build.get("libs", []):
            arguments.append("--lib=" + lib)
        yield target["name"], arguments


def reach(arguments):
    done = subprocess.run([program(), "reach"] + arguments, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3) or not done.stdout and done.returncode == 1:
        sys.exit(done.stderr)
    return done


def measure(name, arguments, options):
    count, time, seed = (os.environ.get(k, d) for k, d in (("COUNT", "20"), ("TIME", "1s"), ("SEED", "1")))
    if "DRAWN" in os.environ:
        drawn = [a["drawn"] for a in json.loads(Path(os.environ["DRAWN"]).read_text()) if a["name"] == name]
    else:
        lines = reach(arguments + ["--draw", count, "--seed", seed]).stdout.splitlines()
        drawn = [json.loads(line) for line in lines]
    answers = []
    with tempfile.TemporaryDirectory() as here:
        for number, path in enumerate(drawn):
            file = Path(here) / str(number)
            file.write_text(path["path"])
            asked = ["--path", f"@{file}", "--seed", str(1000 + number), "--max-time", time, "--json", "--no-simplify"]
            done = reach(arguments + asked + options)
            answers.append({"name": name, "drawn": path, "answer": json.loads(done.stdout), "said": done.stderr.strip()})
    return name, answers


def show(name, answers):
    found = [a["answer"] for a in answers if a["answer"]["found"]]
    steps = [a["drawn"]["steps"] for a in answers] or [0]
    median = lambda key: statistics.median([f[key] for f in found] or [float("nan")])
    print(
        f"{name:<20} {len(answers):>5} {len(found):>5} {statistics.median(steps):>7g} {max(steps):>6}"
        f" {median('seconds'):>9.4f} {median('evaluations'):>12g}",
        flush=True,
    )


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(f"{'function':<20} {'drawn':>5} {'found':>5} {'steps':>7} {'most':>6} {'seconds':>9} {'evaluations':>12}")
    everything = []
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        for name, answers in pool.map(lambda t: measure(*t, sys.argv[2:]), targets(Path(sys.argv[1]))):
            show(name, answers)
            everything += answers
    found = sum(a["answer"]["found"] for a in everything)
    print(f"found {found} of {len(everything)} paths ({100 * found / max(1, len(everything)):.2f} %)")
    for a in everything:
        if not a["answer"]["found"]:
            print(f"lost: {a['name']}, {a['drawn']['steps']} steps, input {a['drawn']['input']}: {a['said']}")
    if "JSON" in os.environ:
        Path(os.environ["JSON"]).write_text(json.dumps(everything))


main()
