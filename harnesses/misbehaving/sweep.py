#!/usr/bin/env python3
"""Runs penfuzz on targets that harm the process that runs them, and checks each run from outside.

usage: sweep.py [--seeds 10] [--only GLOB] [--limit SECONDS] [--jobs N] [--keep DIR]

Each accident of accidents.toml makes two targets: behind a wide condition, which half of all inputs fulfil, and behind a
narrow one. A run is good if penfuzz ends with status 0 or 3 within `--max-time` and two seconds, if it writes a report, and
if gcov, on the tests that it emits, takes as many branches as the report claims. Prints a line per run that is not, and a
summary. Where gcov is known to count less, `uncounted` says why: the target disturbs gcov itself, or fails only later in a
test program.

The runs have a process namespace of their own (`unshare`, which needs root), because some targets send signals to all.

environment: PENFUZZ  the program; by default the release build
"""

import argparse
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
PENFUZZ = os.environ.get("PENFUZZ") or str(HERE / "../../target/release/penfuzz")
INSIDE = "PENFUZZ_SWEEP_INSIDE"  # set in the namespace
SPARE = 2.0  # seconds that a run may take after its limit
CONDITIONS = {"wide": "x > 5.0", "narrow": "x > 1000.0 && x < 1001.0"}
EMPTY = open("/dev/null")  # for reading only, as `</dev/null` in a shell
HEADERS = """alloca assert errno fcntl fenv locale math poll pthread sched signal stdio stdlib string time unistd
sys/file sys/mman sys/prctl sys/ptrace sys/resource sys/socket sys/stat sys/syscall sys/time sys/wait""".split()
FUNCTION = """
int accident(int i, double x) {
  if (x < 0.0) return 1;
  if (%s) {
    %s
  }
  if (x == 77.25) return 2;
  if (x * 3.0 == 1234.5) return 3;
  if (i == 1234567) return 4;
  return 0;
}
"""


def source(accident, condition):
    """The C text of a target."""
    includes = "".join(f"#include <{h}.h>\n" for h in HEADERS)
    before = accident.get("before", "")
    declared = "int accident(int i, double x);\n"
    return "#define _GNU_SOURCE\n" + includes + declared + before + FUNCTION % (CONDITIONS[condition], accident["does"].strip())


def sweep(options):
    """Runs all; returns whether every run was good."""
    accidents = tomllib.loads((HERE / "accidents.toml").read_text())
    names = [f"{a}-{c}" for a in accidents for c in CONDITIONS]
    chosen = [n for n in names if not options.only or fnmatch.fnmatch(n, options.only)]
    work = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="sweep-"))
    work.mkdir(exist_ok=True)
    jobs = [(name, seed) for seed in range(1, options.seeds + 1) for name in chosen]

    def one(job):
        name, seed = job
        accident, condition = name.rsplit("-", 1)
        result = run(accidents[accident], condition, seed, work / f"{name}-{seed}", options.limit)
        if not result["good"]:
            print(f"{name} seed {seed}: {result['text']}", flush=True)
        if result["good"] and not options.keep:
            shutil.rmtree(work / f"{name}-{seed}", ignore_errors=True)
        return result

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(one, jobs))
    count = lambda key: sum(bool(r[key]) for r in results)
    print(
        f"{len(chosen)} targets, {len(results)} runs: {count('in_time')} ended within {options.limit} + {SPARE} s"
        f" (the longest took {max(r['seconds'] for r in results):.1f} s), {count('report')} wrote a report, for {count('agrees')}"
        f" gcov counts what it claims; it is known to count less for {sum(not r['agrees'] and bool(r['uncounted']) for r in results)}"
    )
    return all(r["good"] for r in results)


def run(accident, condition, seed, directory, limit):
    """One campaign and its check."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    (directory / "t.c").write_text(source(accident, condition))
    command = [PENFUZZ, "t.c", "--function", "accident", "-o", "out", "--seed", str(seed), "--max-time", f"{limit}s"]
    began = time.monotonic()
    try:
        ended = limited([*command, "--timeout", "500ms"], directory, limit + 60)
    except subprocess.TimeoutExpired:
        ended = None
    seconds = time.monotonic() - began
    result = {"seconds": seconds, "in_time": seconds < limit + SPARE, "report": False, "agrees": False}
    result["uncounted"] = accident.get("uncounted")
    if ended is None or ended.returncode not in (0, 3):
        how = "no end" if ended is None else f"status {ended.returncode}: {ended.stderr.strip()[-300:]}"
        return result | {"good": False, "text": f"{how} after {seconds:.1f} s"}
    try:
        claimed = json.loads((directory / "out/report.json").read_text())["branches"]["covered"]
    except (OSError, ValueError) as error:
        return result | {"good": False, "text": f"no report: {error}"}
    counted = counted_by_gcov(directory / "out/tests")
    result |= {"report": True, "agrees": counted == claimed}
    good = result["in_time"] and (result["agrees"] or bool(result["uncounted"]))
    return result | {"good": good, "text": f"{seconds:.1f} s, {claimed} branches claimed, gcov counts {counted}"}


def limited(command, directory, seconds):
    """Runs a command with a limit of time, in a process group of its own that is ended with it."""
    process = subprocess.Popen(
        command, cwd=directory, stdin=EMPTY, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def counted_by_gcov(tests):
    """How many branches of the function the emitted tests take; a text if they cannot be built or run."""
    programs = list(tests.glob("test_*.c"))
    if not programs:
        return 0
    line = next(l for l in programs[0].read_text().splitlines() if "--coverage" in l).lstrip(" *")
    build, _, rest = line.partition(" && ./")
    try:
        ended = limited(["sh", "-c", f"{build} && ./{rest.split(' && ')[0]}; gcov -b -t *.gcda"], tests, 120)
    except subprocess.TimeoutExpired:
        return "nothing: the tests do not end"
    lines = ended.stdout.splitlines()
    starts = [n for n, l in enumerate(lines) if l.startswith("function accident called")]
    if not starts:
        return f"nothing: {ended.stdout[-200:]} {ended.stderr[-300:]}"
    own = []
    for text in lines[starts[0] + 1 :]:
        if text.startswith("function "):
            break
        own.append(text)
    return sum(l.startswith("branch ") and "never executed" not in l and "taken 0%" not in l for l in own)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", help="targets whose names match, for example 'close_*-wide'")
    parser.add_argument("--limit", type=int, default=3, help="seconds of --max-time")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--keep", help="keep all files in this directory")
    options = parser.parse_args()
    if not os.environ.get(INSIDE):
        os.environ[INSIDE] = "1"
        namespace = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        os.execvp(namespace[0], [*namespace, sys.executable, "-B", *sys.argv])
    sys.exit(0 if sweep(options) else 1)


if __name__ == "__main__":
    main()
