#!/usr/bin/env python3
"""Checks what penfuzz claims against gcov, on the tests that it emits.

usage: claims.py SUITE.toml [option of penfuzz suite]...

Runs the suite. For each function it then builds the emitted test program by the command of
report.json, runs it, and counts the branches of the function by gcov. Prints a row per
suite: functions, branches claimed and counted, test programs that build and that pass.
Below it every function whose counts differ, with the lines and the reason:

  lines     as many branches, as many of them taken, under other line numbers
  compiler  the compilers see different branches on these lines, as in `c ? 1 : 0`,
            and the counts differ by no more than these
  -O0       penfuzz tests the code as -O2 makes it, and gcov counts at -O0. Searched for
            at -O0 as well, the function has no such difference
  WRONG     none of these: gcov takes fewer branches than penfuzz claims, or more

Ends with status 1 if a program does not build or does not pass, or a count is WRONG.

environment: PENFUZZ  the program; by default the release build, else from PATH
             JOBS     test programs at the same time (one per processor)
             DRAW     so many functions of each suite, drawn by a hash of their names
             KEEP     a directory for the output of the suites
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
RELEASED = HERE / "../../target/release/penfuzz"
PENFUZZ = os.environ.get("PENFUZZ") or (str(RELEASED) if RELEASED.exists() else shutil.which("penfuzz") or "penfuzz")
SECONDS = 300


def main():
    suites = [a for a in sys.argv[1:] if a.endswith(".toml")]
    options = [a for a in sys.argv[1:] if not a.endswith(".toml")]
    if not suites:
        sys.exit("usage: claims.py SUITE.toml [option of penfuzz suite]...")
    print(f"{'suite':<12} {'functions':>9} {'claimed':>13} {'counted':>13} {'build':>9} {'pass':>9}")
    good = True
    for suite in suites:
        with tempfile.TemporaryDirectory() as temporary:
            output = pathlib.Path(os.environ.get("KEEP") or temporary) / pathlib.Path(suite).resolve().parent.name
            good &= check(suite, output, options)
    sys.exit(0 if good else 1)


def check(suite, output, options):
    """Runs one suite, and prints its row. Does everything hold?"""
    name = tomllib.loads(pathlib.Path(suite).read_text())["name"]
    only = ["--only", ",".join(drawn(suite))] if os.environ.get("DRAW") else []
    ended = subprocess.run([PENFUZZ, "suite", suite, "--quiet", "-o", output, *only, *options], stdout=subprocess.DEVNULL)
    # With status 1 some targets could not be run: their errors stand in their rows, and the others count.
    if ended.returncode not in (0, 1, 3) or not (output / "suite.json").exists():
        sys.exit(f"penfuzz suite {suite} ended with {ended.returncode}")
    rows = json.loads((output / "suite.json").read_text())["targets"]
    jobs = int(os.environ.get("JOBS") or os.cpu_count())
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        verdicts = list(pool.map(lambda row: verdict(output / row["name"], row), rows))
    explain(suite, output, options, verdicts)
    total = lambda key: sum(v[key] for v in verdicts)
    of = lambda a, b: f"{a} of {b}"
    print(
        f"{name:<12} {len(rows):>9} {of(total('claimed'), total('sites')):>13} {of(total('counted'), total('branches')):>13}"
        f" {of(total('builds'), len(rows)):>9} {of(total('passes'), len(rows)):>9}",
        flush=True,
    )
    for v in verdicts:
        if v["text"]:
            print(f"  {v['name']}: {v['text']}", flush=True)
    return all(v["good"] for v in verdicts)


def drawn(suite):
    names = [t["name"] for t in tomllib.loads(pathlib.Path(suite).read_text())["target"]]
    return sorted(names, key=lambda n: hashlib.sha256(n.encode()).digest())[: int(os.environ["DRAW"])]


def explain(suite, output, options, verdicts):
    """Searches for what is WRONG once more without optimization."""
    wrong = [v for v in verdicts if v["wrong"]]
    if not wrong:
        return
    suite = pathlib.Path(suite).resolve()
    with tempfile.NamedTemporaryFile("w", dir=suite.parent, prefix="src-claims-", suffix=".toml") as file:
        file.write(suite.read_text().replace("flags = [", 'flags = ["-O0", ', 1))
        file.flush()
        plain = output.with_name(output.name + "-O0")
        names = ",".join(v["name"] for v in wrong)
        subprocess.run([PENFUZZ, "suite", file.name, "-q", "-o", plain, "--only", names, *options], stdout=subprocess.DEVNULL)
    rows = {row["name"]: row for row in json.loads((plain / "suite.json").read_text())["targets"]}
    for v in wrong:
        again = verdict(plain / v["name"], rows[v["name"]])
        if not again["wrong"]:
            v |= dict(good=bool(v["passes"]), text=v["text"].replace("WRONG", "-O0"))


def verdict(directory, row):
    """What came of one function's tests."""
    v = dict(name=row["name"], claimed=0, sites=0, counted=0, branches=0, builds=0, passes=0, good=False, wrong=False, text="")
    if row["error"]:
        return v | dict(text=row["error"].splitlines()[0])
    report = json.loads((directory / "report.json").read_text())
    own = claims(report)
    v |= dict(claimed=sum(c for _, c in own.values()), sites=sum(n for n, _ in own.values()))
    program = report["test_program"]
    built = shell(program["build"], directory)
    if built.returncode:
        return v | dict(text="does not build: " + first_error(built))
    ran = shell(program["run"], directory)
    v |= dict(builds=1, passes=int(ran.returncode == 0))
    if ran.returncode:
        v["text"] = f"ends with {ran.returncode}: " + first_error(ran)
    shell(program["coverage"], directory)
    counted = counts(report, directory)
    v |= dict(counted=sum(c for _, c in counted.values()), branches=sum(n for n, _ in counted.values()))
    reason, lines = difference(own, counted)
    if reason:
        v["text"] = "; ".join(filter(None, [v["text"], f"{reason}, " + ", ".join(lines)]))
    return v | dict(good=bool(v["passes"]) and reason != "WRONG", wrong=reason == "WRONG")


def claims(report):
    """Branches of the function under test by line: how many, and how many are covered."""
    lines = {}
    for site in report["sites"]:
        if site["function"] == report["function"]:
            for branch in site["branches"]:
                n, covered = lines.get(site["line"], (0, 0))
                lines[site["line"]] = (n + 1, covered + (branch["status"] in ("covered", "saturated")))
    return lines


def counts(report, directory):
    """The same by gcov, from the files that the coverage command leaves."""
    names = {report["signature"]["symbol"], report["function"]}
    source = os.path.realpath(report["signature"]["file"])
    lines = {}
    for data in sorted(directory.glob("*.gcda")):
        made = subprocess.run(["gcov", "-b", "--json-format", "--stdout", data.name], cwd=directory, capture_output=True)
        for text in made.stdout.splitlines():
            unit = json.loads(text)
            for file in unit["files"]:
                # Another file may have a static function of the same name.
                if os.path.realpath(os.path.join(unit["current_working_directory"], file["file"])) != source:
                    continue
                for line in file["lines"]:
                    if line.get("function_name") in names:
                        taken = [b["count"] > 0 for b in line["branches"] if not b["throw"]]
                        n, covered = lines.get(line["line_number"], (0, 0))
                        lines[line["line_number"]] = (n + len(taken), covered + sum(taken))
    return {line: pair for line, pair in lines.items() if pair[0]}


def difference(own, counted):
    differing = [line for line in sorted(own.keys() | counted.keys()) if own.get(line) != counted.get(line)]
    lines = [
        f"line {line}: {own.get(line, (0, 0))[1]} of {own.get(line, (0, 0))[0]} claimed, "
        f"{counted.get(line, (0, 0))[1]} of {counted.get(line, (0, 0))[0]} counted"
        for line in differing
    ]
    if not lines:
        return None, lines
    sums = [tuple(map(sum, zip(*pairs.values()))) or (0, 0) for pairs in (own, counted)]
    (sites, claimed), (branches, taken) = sums
    apart = all(own.get(line, (0, 0))[0] != counted.get(line, (0, 0))[0] for line in differing)
    if apart and sums[0] == sums[1]:
        return "lines", lines
    # Of the branches that only one of the compilers has, each may be taken or not.
    if apart and min(0, sites - branches) <= claimed - taken <= max(0, sites - branches):
        return "compiler", lines
    return "WRONG", lines


def shell(command, directory):
    try:
        return subprocess.run(
            ["sh", "-c", command], cwd=directory, capture_output=True, text=True, errors="replace", timeout=SECONDS
        )
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, "", f"no end within {late.timeout} s")


def first_error(ended):
    lines = (ended.stderr + ended.stdout).splitlines()
    marked = [l for l in lines if "error" in l or "undefined" in l or "FAILED" in l]
    return next(iter(marked or lines), "").strip()[:200]


if __name__ == "__main__":
    main()
