#!/usr/bin/env python3
"""Asks solvers about the branches that a search leaves, over a whole suite.

usage: proofs.py SUITE.toml [option of penfuzz prove]...        (for example --closed-world, --solver-time 30s)

Runs the suite with 100000 evaluations a function and seed 1, and `penfuzz prove` on what each campaign has left. Prints a row per suite:

  left          branches that no input takes after the search
  proved        two solvers found that no execution takes them
  by one        one solver found it, the others had no answer
  covered       a model of a solver, or the search from it, takes them
  model         a model without free values that was not tried, or took another way
  not proved    a model with values that the query leaves free, each reason counted once per branch below
  undecided     no solver had an answer, or there is no query
  seconds       of all solvers

With --closed-world the queries assume that no code outside of the sources writes their global variables.

environment: PENFUZZ  the program; by default the release build, else from PATH
             EVALS    evaluations of a campaign, 100000 if it is not set
             JOBS     functions at the same time (one per processor)
             DRAW     so many functions of each suite, drawn by a hash of their names
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import claims

UNTAKEN = ("uncovered", "given_up", "proved_unreachable")


def main():
    suites = [a for a in sys.argv[1:] if a.endswith(".toml")]
    options = [a for a in sys.argv[1:] if not a.endswith(".toml")]
    if not suites:
        sys.exit(__doc__)
    columns = ["left", "proved", "by one", "covered", "model", "not proved", "undecided", "seconds"]
    print(f"{'suite':<12}" + "".join(f"{c:>12}" for c in columns))
    for suite in suites:
        with tempfile.TemporaryDirectory() as temporary:
            examine(suite, pathlib.Path(temporary) / "suite", options)


def each_campaign(suite, output, work):
    """`work` of the directory of each campaign of the suite, several at the same time."""
    only = ["--only", ",".join(claims.drawn(suite))] if os.environ.get("DRAW") else []
    command = [claims.PENFUZZ, "suite", suite, "--max-evals", os.environ.get("EVALS", "100000"), "--seed", "1", "--quiet"]
    subprocess.run([*command, "-o", output, *only], stdout=subprocess.DEVNULL)
    rows = json.loads((output / "suite.json").read_text())["targets"]
    jobs = int(os.environ.get("JOBS") or os.cpu_count())
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda row: work(output / row["name"]), (r for r in rows if not r["error"])))


def examine(suite, output, options):
    found = each_campaign(suite, output, lambda directory: proved(directory, options))
    total, reasons = collections.Counter(), collections.Counter()
    for counts, why in found:
        total.update(counts)
        reasons.update(why)
    columns = ["left", "proved", "proved_by_one", "covered", "satisfiable", "satisfiable_if_free", "undecided", "seconds"]
    name = pathlib.Path(suite).resolve().parent.name
    print(f"{name:<12}" + "".join(f"{total[c]:>12.0f}" for c in columns), flush=True)
    for reason, n in reasons.most_common(12):
        print(f"  {n:>4} {reason}")


def proved(directory, options):
    """What became of the branches that the campaign in this directory has left."""
    before = untaken(directory)
    counts, reasons = collections.Counter(left=len(before)), collections.Counter()
    if not before:
        return counts, reasons
    done = subprocess.run([claims.PENFUZZ, "prove", directory, "--json", *options], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        counts["undecided"] += len(before)
        reasons[(done.stderr.splitlines() or ["no message"])[-1]] += len(before)
        return counts, reasons
    after = untaken(directory)
    counts["covered"] += len(before) - len(after)
    for branch in after.values():
        proof = branch.get("proof") or dict(verdict="not_translated", free=["not asked"])
        verdict = proof["verdict"]
        counts["undecided" if verdict in ("not_translated", "contradiction") else verdict] += 1
        counts["seconds"] += sum(a["seconds"] for a in proof.get("answers", []))
        if verdict in ("satisfiable_if_free", "not_translated"):
            reasons.update({re.sub(r" at line \d+", "", reason) for reason in proof["free"]})
    return counts, reasons


def untaken(directory):
    sites = json.loads((directory / "report.json").read_text())["sites"]
    branches = ((i, j, b) for i, s in enumerate(sites) for j, b in enumerate(s["branches"]))
    return {(i, j): b for i, j, b in branches if b["status"] in UNTAKEN}


if __name__ == "__main__":
    main()
