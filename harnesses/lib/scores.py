#!/usr/bin/env python3
"""Mutation scores of tests from several sources, on the same mutants.

usage: scores.py SUITE.toml NAME[,NAME]... TIME [SEED]

Runs `penfuzz suite` on the named targets (NAME may have * and ?) for TIME each: once for branches, and once with each of the criteria boundary and mcdc.
Runs `penfuzz compare --tools afl++,libfuzzer` with a budget of TIME of CPU time. Then `penfuzz mutate --no-search --no-prove` measures, for each target,
how many mutants are killed by the tests of each campaign, and by all that each fuzzer has kept (its queue; too short inputs are filled up with zeros, as
its harness does). Prints one line per target: mutants, then for each source the percentage that is killed, and how many inputs it has; then the sums.

environment: PENFUZZ  the program; by default the release build, else from PATH
"""

import csv
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from linked import program

CAMPAIGNS = {"branch": [], "boundary": ["--criterion", "boundary"], "mcdc": ["--criterion", "mcdc"]}
FUZZERS = ["afl++", "libfuzzer"]


def run(command):
    done = subprocess.run([program(), *command], capture_output=True, text=True)
    return done.stdout if done.returncode in (0, 3) else sys.exit(done.stderr)


def emitted(campaign, into):
    """The inputs of the emitted tests, as files."""
    into.mkdir(parents=True)
    for test in json.loads((campaign / "report.json").read_text())["tests"]:
        if test.get("file"):
            shutil.copy(campaign / test["file"], into)
    return into


def queue(trial, size, into):
    """What a fuzzer has kept, as files of the size of an input."""
    into.mkdir(parents=True)
    with open(trial / "corpus.csv", newline="") as rows:
        kept = {bytes.fromhex(row["bytes"])[:size].ljust(size, b"\0") for row in csv.DictReader(rows)}
    for number, content in enumerate(sorted(kept)):
        (into / f"{number:06}").write_bytes(content)
    return into


def killed(base, inputs):
    """Mutants, those that the inputs kill, and the number of inputs."""
    command = ["mutate", str(base), "--no-search", "--no-prove", "--json", "--tests", str(inputs)]
    counts = json.loads(run(command))["mutants"]
    return counts["total"] - counts["proved_equivalent"], counts["killed_by_tests"], len(list(inputs.iterdir()))


def line(name, n, scores):
    cells = (f"{100 * dead / n if n else 100:9.2f} ({inputs:4})" for dead, inputs in scores)
    print(f"{name:32} {n:8} {' '.join(cells)}", flush=True)


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    suite, names, seconds = sys.argv[1:4]
    seed = sys.argv[4] if len(sys.argv) == 5 else "1"
    with tempfile.TemporaryDirectory() as top:
        top = Path(top)
        done = {}
        for criterion, options in CAMPAIGNS.items():
            command = ["suite", suite, "--only", names, "--max-time", seconds, "--seed", seed, "--quiet", "--json", *options]
            done[criterion] = json.loads(run([*command, "-o", str(top / criterion)]))["targets"]
        command = ["compare", suite, "--only", names, "--tools", ",".join(FUZZERS), "--trials", "1", "--budget", seconds]
        run([*command, "--seed", seed, "--quiet", "-o", str(top / "compare")])
        print(f"{'target':32} mutants {' '.join(f'{s:>16}' for s in [*CAMPAIGNS, *FUZZERS])}")
        sums, total = [[0, 0] for _ in [*CAMPAIGNS, *FUZZERS]], 0
        for target in done["branch"]:
            name = target["name"]
            trials = [top / "compare/trials" / name / tool / "0" for tool in FUZZERS]
            if target.get("error") or not all((trial / "corpus.csv").exists() for trial in trials):
                print(f"{name:32} {target.get('error') or 'the fuzzers have no inputs of it'}")
                continue
            base = top / "branch" / name
            sets = [emitted(top / criterion / name, top / "inputs" / name / criterion) for criterion in CAMPAIGNS]
            size = max((f.stat().st_size for f in sets[0].iterdir()), default=0)
            sets += [queue(trial, size, top / "inputs" / name / tool) for tool, trial in zip(FUZZERS, trials)]
            rows = [killed(base, inputs) for inputs in sets]
            n = rows[0][0]
            line(name, n, [row[1:] for row in rows])
            total += n
            for before, row in zip(sums, rows):
                before[0] += row[1]
                before[1] += row[2]
        line("all", total, sums)


if __name__ == "__main__":
    main()
