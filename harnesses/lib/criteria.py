#!/usr/bin/env python3
"""Counts lines, conditions and MC/DC of the tests that penfuzz emits, with penfuzz and with other tools, and compares.

usage: criteria.py SUITE.toml|TARGET EVALUATIONS [--search NAME] [--seeds N] [--prove] [FUNCTION]...

Runs `penfuzz --criterion line,branch,condition,mcdc` on each function (all targets of a suite by default), and `--criterion branch`
for comparison. Builds the emitted tests, without hooks, with gcc --coverage (gcov counts the lines) and with the clang of penfuzz and
-fcoverage-mcdc (llvm-cov counts outcomes of conditions and MC/DC). Prints a row per function:

  tests      emitted tests: by branches only, by all criteria
  lines      penfuzz / gcov: executed of all lines of the function
  conditions penfuzz / llvm-cov: outcomes of conditions that the tests have
  mcdc       conditions of decisions that the tests show: by the tests of branches only (llvm-cov), penfuzz, llvm-cov
  proved     conditions that solvers prove infeasible; with --prove, else none are asked

and below each row the differences: decisions that only one of the two has or that have other counts, and lines that only one
counts as not executed. The last row has the sums.

environment: PENFUZZ  the program; by default the release build, else from PATH
             CLANG, LLVM_COV, LLVM_PROFDATA  the tools of one LLVM, from 18 on; by default those of version 22
             KEEP     a directory for the campaigns
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from linked import link, program

CLANG = os.environ.get("CLANG", "clang-22")
LLVM_COV = os.environ.get("LLVM_COV", "llvm-cov-22")
LLVM_PROFDATA = os.environ.get("LLVM_PROFDATA", "llvm-profdata-22")
COUNTS = "-fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc -Xclang -fmcdc-max-conditions=64 -Wno-pgo-coverage"
DUMP = """int __llvm_profile_write_file(void);
void __llvm_profile_reset_counters(void);
void __gcov_dump(void) { __llvm_profile_write_file(); }
void __gcov_reset(void) { __llvm_profile_reset_counters(); }
"""
ALL = "line,branch,condition,mcdc"


def campaign(target, function, criteria, out, evaluations, options):
    command = [program(), str(target), "--function", function, "--criterion", criteria, "--quiet", "--fresh"]
    command += ["-o", str(out), "--max-evals", evaluations, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        return None, done.stderr.strip()
    return json.loads((Path(out) / "report.json").read_text()), None


def sh(command, directory, **environment):
    return subprocess.run(["bash", "-c", command], cwd=directory, capture_output=True, text=True, env=os.environ | environment)


def gcov_lines(report, out):
    """Lines of the function by gcov, with their counts."""
    sh(report["test_program"]["coverage"], out)
    own = report["signature"]
    for file in Path(out).glob("*.gcda"):
        done = sh(f"gcov --json-format --stdout {file.name}", out)
        for line in done.stdout.splitlines():
            for entry in json.loads(line)["files"]:
                if Path(entry["file"]).name != Path(own["file"]).name:
                    continue
                lines = [l for l in entry["lines"] if l.get("function_name") == own["symbol"]]
                if lines:
                    return {l["line_number"]: l["count"] for l in lines}
    return None


def llvm(report, out):
    """Of llvm-cov, for the function: ((covered, all) outcomes of conditions, {place: conditions shown or not})."""
    command = re.sub(r"&& \{ \./.*", "", report["test_program"]["coverage"].replace("rm -f *.gcda *.gcno && ", "")).strip()
    command = re.sub(r"(^|&& )gcc ", rf"\1{CLANG} ", command)
    command = re.sub(r"--coverage", COUNTS, command)
    # The tests have gcov's counts written where a process ends otherwise than by exit.
    (Path(out) / "dump.c").write_text(DUMP)
    command += " dump.c"
    built = sh(command, out)
    name = re.search(r"-o (\S+) dump.c$", command).group(1)
    if built.returncode:
        return None, built.stderr.strip().splitlines()[-1] if built.stderr.strip() else "does not build"
    sh(f"./{name}", out, LLVM_PROFILE_FILE="%p.profraw")
    merged = sh(f"{LLVM_PROFDATA} merge -o all.profdata *.profraw && rm -f *.profraw", out)
    if merged.returncode:
        return None, merged.stderr.strip()
    found = sh(f"{LLVM_COV} export -instr-profile all.profdata {name}", out)
    if found.returncode:
        return None, found.stderr.strip()
    for function in json.loads(found.stdout)["data"][0]["functions"]:
        if function["name"].split(":")[-1] == report["signature"]["symbol"]:
            # A branch: four numbers of its place, both counts, and the number of its file. Labels of a switch are branches, too.
            texts = [Path(f).read_text(errors="replace").splitlines() for f in function["filenames"]]
            # Constant conditions (`while (0)`) are folded.
            other = re.compile(r"(case\b|default\b|switch\b|[01](?=\)))")
            is_other = lambda b: other.match(texts[b[6]][b[0] - 1][b[1] - 1 :])
            sides = [n > 0 for b in function["branches"] if not is_other(b) for n in b[4:6]]
            # A decision: four numbers of its place, and somewhere behind them a truth value per condition.
            is_shown = lambda part: isinstance(part, list) and all(isinstance(c, bool) for c in part)
            decisions = {tuple(r[:4]): next(p for p in r[4:] if is_shown(p)) for r in function.get("mcdc_records", [])}
            return (sum(sides), len(sides)), decisions
    return None, "llvm-cov has no such function"


def differences(report, decisions, lines):
    """Decisions and lines that penfuzz and the other tools do not count alike."""
    file = report["signature"]["file"]
    own = {l["line"] for l in report.get("uncovered_lines", []) if l["file"] == file and not l.get("column")}
    theirs = {l for l, n in lines.items() if n == 0}
    if own & set(lines) != theirs:
        yield f"lines not executed: {sorted(own & set(lines))}, by gcov {sorted(theirs)}"
    unmatched = dict(decisions)
    for own in report.get("decisions", []):
        if own["function"].split("::")[-1] != report["function"].split("::")[-1]:
            continue
        first = own["conditions"][0]
        inside = lambda p: (p[0], p[1]) <= (first["line"], first["column"]) <= (p[2], p[3])
        n = len(own["conditions"])
        place = min((p for p in unmatched if inside(p)), key=lambda p: (p[2] - p[0], p[3] - p[1]), default=None)
        shown = [c["pair"] is not None for c in own["conditions"]]
        where = f"{first['line']}:{first['column']}"
        if place is None:
            yield f"{where}: {n} conditions, {sum(shown)} shown; llvm-cov has no such decision"
        elif unmatched[place] != shown:
            yield f"{where}: shown {shown}, by llvm-cov {unmatched[place]}"
        unmatched.pop(place, None)
    for place, shown in unmatched.items():
        yield f"{place[0]}:{place[1]}: only llvm-cov has this decision, {sum(shown)} of {len(shown)} conditions shown"


def pair(counts):
    return "-" if counts is None else f"{counts[0]}/{counts[1]}"


def main():
    arguments, options, seeds = [a for a in sys.argv[1:] if a != "--prove"], [], 1
    while "--search" in arguments:
        at = arguments.index("--search")
        options, arguments = ["--search", arguments[at + 1]], arguments[:at] + arguments[at + 2 :]
    if "--seeds" in arguments:
        at = arguments.index("--seeds")
        seeds, arguments = int(arguments[at + 1]), arguments[:at] + arguments[at + 2 :]
    if len(arguments) < 2:
        sys.exit(__doc__)
    options.append("--prove" if "--prove" in sys.argv else "--no-prove")
    target, evaluations, functions = Path(arguments[0]), arguments[1], arguments[2:]
    with tempfile.TemporaryDirectory() as temporary:
        keep = Path(os.environ.get("KEEP") or temporary)
        if target.suffix == ".toml":
            functions = functions or list(dict.fromkeys(t["function"] for t in tomllib.loads(target.read_text())["target"]))
            linked = Path(temporary) / "target"
            link(target, linked, "-fpen-decisions")
            target = linked
        total, n_differences = collections.Counter(), 0
        print(f"{'function':24}{'tests':>10}{'lines':>16}{'conditions':>18}{'mcdc: branch tests, own, llvm-cov':>36}{'proved':>8}", flush=True)
        for function in functions:
            for seed in range(1, seeds + 1):
                n_differences += row(target, function, seed, evaluations, options, keep, total)
        cell = lambda name: f"{total[name]}/{total[name + ' of']}"
        print(f"{'sum':24}{total['before tests']}/{total['tests']:<6}{cell('line'):>9} {cell('gcov')}{cell('condition'):>12} {cell('llvm')}"
              f"{cell('before'):>14} {cell('mcdc')} {cell('llvm mcdc')} {total['proved']:>7}; {n_differences} differences")


def row(target, function, seed, evaluations, options, keep, total):
    out = keep / f"{function}-{seed}"
    options = ["--seed", str(seed), *options]
    report, error = campaign(target, function, ALL, out, evaluations, options)
    before, _ = campaign(target, function, "branch", keep / f"{function}-{seed}-branch", evaluations, options)
    if report is None or before is None:
        print(f"{function:24} {error}", flush=True)
        return 0
    of_branches, _ = sides_of(before, keep / f"{function}-{seed}-branch")
    sides, decisions = llvm(report, out)
    if sides is None:
        print(f"{function:24} {decisions}", flush=True)
        return 0
    counted = gcov_lines(report, out)
    lines = counted and (sum(n > 0 for n in counted.values()), len(counted))
    count = lambda d: (sum(sum(shown) for shown in d.values()), sum(len(shown) for shown in d.values()))
    own = {name: (c["covered"], c["total"]) for name, c in report["criteria"].items()}
    cells = dict(line=own["line"], gcov=lines, condition=own["condition"], llvm=sides, before=of_branches, mcdc=own["mcdc"])
    cells["llvm mcdc"] = count(decisions)
    for name, counts in cells.items():
        total[name] += counts[0] if counts else 0
        total[name + " of"] += counts[1] if counts else 0
    total["tests"] += len(report["tests"])
    total["before tests"] += len(before["tests"])
    proved = report["criteria"]["mcdc"].get("proved_infeasible", 0)
    total["proved"] += proved
    print(f"{function:24}{len(before['tests']):>5}/{len(report['tests']):<4}{pair(own['line']):>10} {pair(lines):<9}{pair(own['condition']):>9} "
          f"{pair(sides):<9}{pair(of_branches):>9} {pair(own['mcdc']):>7} {pair(cells['llvm mcdc']):>7}{proved:>8}", flush=True)
    found = list(differences(report, decisions, counted or {}))
    for line in found:
        print(f"    {line}", flush=True)
    return len(found)


def sides_of(report, out):
    """(shown, all) conditions of MC/DC by llvm-cov for the tests of a campaign."""
    sides, decisions = llvm(report, out)
    if sides is None:
        return None, None
    return (sum(sum(s) for s in decisions.values()), sum(len(s) for s in decisions.values())), sides


if __name__ == "__main__":
    main()
