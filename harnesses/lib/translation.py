#!/usr/bin/env python3
"""Checks the translation of functions for solvers against what their tests do, over whole suites.

usage: translation.py SUITE.toml... [option of penfuzz prove]...        (for example --solver-time 1s)

Runs each suite with EVALS evaluations a function and seed 1, and `penfuzz prove DIR --check` on each campaign: every branch that an emitted
test takes must be satisfiable where the arguments are those of the test, and so must the first 64 branches that it takes, as a path. Prints
two rows per suite, of branches and of paths:

  functions       with a campaign that has tests
  possible        branches or paths of tests of which a solver finds that
  unknown         no solver had an answer in time
  no query        what the test does cannot be asked
  contradictions  a solver finds that no execution with these arguments takes the branch: the translation is wrong

and each contradiction below. Exits with status 1 if there is one, or if a check failed.

environment: PENFUZZ, JOBS, DRAW as for proofs.py; EVALS  evaluations of a campaign, 20000 if it is not set
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import claims
import proofs

RESULT = re.compile(r"(\d+) (branches|paths) of tests are possible, (\d+) unknown, (\d+) without a query, (\d+) contradictions")
COLUMNS = ["functions", "possible", "unknown", "no query", "contradictions"]


def checked(directory, options):
    """(counts, lines of contradictions and failures)"""
    command = [claims.PENFUZZ, "prove", directory, "--check", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    found = list(RESULT.finditer(done.stdout))
    if not found:
        return {}, [f"{directory.name}: {(done.stderr.splitlines() or ['no message'])[-1]}"]
    counts = {}
    for possible, what, *others in (row.groups() for row in found):
        counts[what] = {"functions": 1} | dict(zip(COLUMNS[1:], map(int, [possible, *others])))
    lines = [f"{directory.name}: {line}" for line in done.stderr.splitlines() if "contradict" in line]
    return counts, lines


def main():
    suites = [a for a in sys.argv[1:] if a.endswith(".toml")]
    options = [a for a in sys.argv[1:] if not a.endswith(".toml")]
    if not suites:
        sys.exit(__doc__)
    os.environ.setdefault("EVALS", "20000")
    print(f"{'suite':<20}" + "".join(f"{c:>16}" for c in COLUMNS), flush=True)
    is_wrong = False
    for suite in suites:
        with tempfile.TemporaryDirectory() as temporary:
            output = pathlib.Path(temporary) / "suite"
            found = proofs.each_campaign(suite, output, lambda directory: checked(directory, options))
        for what in ("branches", "paths"):
            total = sum((collections.Counter(counts.get(what, {})) for counts, _ in found), collections.Counter())
            name = f"{pathlib.Path(suite).resolve().parent.name}, {what}"
            print(f"{name:<20}" + "".join(f"{total[c]:>16}" for c in COLUMNS), flush=True)
        for line in (line for _, lines in found for line in lines):
            print(f"  {line}", flush=True)
            is_wrong = True
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
