#!/usr/bin/env python3
"""How many of a directory's satisfiable formulas `penfuzz solve` finds models of, and in what time.

    harnesses/lib/formulas.py DIR SEEDS [OPTION...]

DIR has *.smt2 files. If it has a labels.csv (columns `file` and `label`: sat, unsat, unknown), that is what they are; else the
`:status` of each file. Options go to `penfuzz solve` (`--minimizer random`, `--max-time 2s`). Prints a line for each formula that
was not found at all seeds, and totals: models found of the satisfiable formulas, models of formulas that have none, and the median
of the seconds of all models, compilation included. With $CHECK_WITH (a solver), each model is given to it, too.
With $ONLY (sat, unsat, unknown), only formulas with this label are solved. $JOBS run at the same time (2). Programs are those of
target/release, or of $PENFUZZ_BIN.
"""
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("PENFUZZ_BIN", ROOT / "target/release")) / "penfuzz"
CHECKER = os.environ.get("CHECK_WITH")


def labels(directory):
    """Of each file, by labels.csv or by the :status."""
    table = directory / "labels.csv"
    if table.is_file():
        with table.open() as rows:
            return {row["file"]: row["label"] for row in csv.DictReader(rows)}
    status = re.compile(r"\(set-info\s+:status\s+(\w+)")
    found = {f.name: status.search(f.read_text()) for f in directory.glob("*.smt2")}
    return {name: match.group(1) if match else "unknown" for name, match in found.items()}


def solve(file, seed, options, cache):
    """The answer as penfuzz prints it. Each call compiles: its cache is new."""
    with tempfile.TemporaryDirectory(dir=cache) as own:
        command = [PROGRAM, "solve", file, "--seed", str(seed), "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": own})
    if not done.stdout.strip():
        sys.exit(f"{file}: {done.stderr}")
    return json.loads(done.stdout)


def is_accepted(file, answer, cache):
    """Does the solver of $CHECK_WITH find the formula true with the values of the model?"""
    values = "".join(f"(define-fun {m['name']} () {m['sort']} {m['value']})\n" for m in answer["model"])
    text = re.sub(r"\(declare-(?:fun|const) [^\n]*\n", "", Path(file).read_text())
    logic = re.search(r"\(set-logic [^\n]*\n", text)
    text = text.replace(logic.group(0), logic.group(0) + values, 1) if logic else values + text
    with tempfile.NamedTemporaryFile("w", suffix=".smt2", dir=cache) as question:
        question.write(text)
        question.flush()
        said = subprocess.run([CHECKER, question.name], capture_output=True, text=True).stdout
    return said.strip() == "sat"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    directory, seeds, options = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    only = os.environ.get("ONLY")
    known = {name: label for name, label in labels(directory).items() if only in (None, label)}
    jobs = [(name, seed) for name in sorted(known) for seed in range(seeds)]
    with tempfile.TemporaryDirectory() as cache, ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        answers = list(pool.map(lambda job: solve(directory / job[0], job[1], options, cache), jobs))
        found, seconds, evaluations, wrong, refused = Counter(), [], [], [], 0
        for (name, seed), answer in zip(jobs, answers):
            if answer["answer"] != "unknown" and known[name] not in ("unknown", answer["answer"]):
                wrong.append((name, seed, answer["answer"]))
            if answer["answer"] == "sat":
                found[name] += 1
                seconds.append(answer["seconds"])
                evaluations.append(answer["evaluations"])
                refused += bool(CHECKER) and not is_accepted(directory / name, answer, cache)
    for label in sorted(set(known.values())):
        names = [n for n in known if known[n] == label]
        for name in names:
            if found[name] < seeds if label == "sat" else found[name]:
                print(f"{name} ({label}): {found[name]} of {seeds}")
        print(f"{label}: models of {sum(found[n] > 0 for n in names)} of {len(names)} at any seed, "
              f"{sum(found[n] for n in names) / seeds:.1f} on average")
    for name, seed, answer in wrong:
        print(f"WRONG: {name} at seed {seed} is {known[name]}, and the answer is {answer}")
    if CHECKER:
        print(f"{refused} of {len(seconds)} models refused by {CHECKER}")
    if seconds:
        print(f"seconds to a model: median {statistics.median(seconds):.3f}, "
              f"90th percentile {sorted(seconds)[len(seconds) * 9 // 10]:.3f}, worst {max(seconds):.3f}; "
              f"evaluations: median {statistics.median(evaluations):.0f}")
    print(f"{len(wrong)} wrong answers, {sum(a['rejected'] for a in answers)} candidates rejected by the check")
    sys.exit(bool(wrong or refused))


if __name__ == "__main__":
    main()
