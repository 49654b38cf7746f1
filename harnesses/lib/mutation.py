#!/usr/bin/env python3
"""Mutation scores of the emitted tests of a suite, before and after the search for killing inputs.

usage: mutation.py SUITE.toml NAME[,NAME]... TIME SEARCH_TIME [SEED] [OPTION]...

Runs `penfuzz suite SUITE.toml` on the named targets (NAME may have * and ?) for TIME each,
and `penfuzz mutate` on each of the campaigns with SEARCH_TIME. Prints one line per target:
mutants without duplicates, the share that the tests of branches kill, the share that is
killed after the search, the shares that are proved equivalent and unknown, how many
mutants per second the tests were run on, and the cost of that: the time for 100 mutants,
divided by that of a run of the tests without mutants in a process of the same kind; then
the sums. Scores are shares of the mutants that are not proved equivalent.
Options (--no-prove) are passed on to `penfuzz mutate`.

environment: PENFUZZ  the program; by default the release build, else from PATH
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from linked import program


def share(part, total):
    return f"{100 * part / total:6.2f}" if total else "     -"


def line(name, counts, score_seconds, plain_seconds, search_seconds, tests):
    n = counts["total"] - counts["proved_equivalent"]
    rate = n / score_seconds if score_seconds else 0
    cost = 100 * score_seconds / (n * plain_seconds) if n and plain_seconds else 0
    print(
        f"{name:24} {counts['total']:7} {counts['duplicates']:6} {tests:6} {share(counts['killed_by_tests'], n)} "
        f"{share(counts['killed'], n)} {share(counts['proved_equivalent'], counts['total'])} "
        f"{share(counts['unknown'], counts['total'])} {rate:9.0f} {cost:6.2f} {search_seconds:8.1f}",
        flush=True,
    )


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(arguments) not in (4, 5):
        sys.exit(__doc__)
    suite, names, seconds, search = arguments[:4]
    seed = arguments[4] if len(arguments) == 5 else "1"
    with tempfile.TemporaryDirectory() as top:
        out = Path(top) / "out"
        command = [program(), "suite", suite, "--only", names, "--max-time", seconds, "--seed", seed]
        done = subprocess.run([*command, "-o", str(out), "--quiet", "--json"], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        print(f"{'target':24} mutants  dupl.  tests  tests% search% equal% unknwn% mutants/s   cost search s")
        sums, times = {}, [0.0, 0.0, 0.0, 0]
        for target in json.loads(done.stdout)["targets"]:
            if target.get("error"):
                print(f"{target['name']:24} {target['error'].splitlines()[0]}")
                continue
            command = [program(), "mutate", str(out / target["name"]), "--search-time", search, "--seed", seed, "--json", *options]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode not in (0, 3):
                print(f"{target['name']:24} {done.stderr.splitlines()[-1] if done.stderr else done.returncode}")
                continue
            report = json.loads(done.stdout)
            counts = report["mutants"]
            row = [report["score_seconds"], report["plain_seconds"], report["search_seconds"], len(report["tests"])]
            line(target["name"], counts, *row)
            for key, value in counts.items():
                sums[key] = sums.get(key, 0) + value
            n = counts["total"] - counts["proved_equivalent"]
            row[1] *= n
            times = [before + now for before, now in zip(times, row)]
        if sums:
            times[1] /= max(sums["total"] - sums["proved_equivalent"], 1)
            line("all", sums, *times)


main()
