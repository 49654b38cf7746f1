#!/usr/bin/env python3
"""Do the tests of a corrected function fail on the release that has the fault?

usage: faults.py [NAME]... [--seeds N] [--time T] [--search-time T] [--differ-time T] [--option OPTION]...

Reads harnesses/faults/faults.toml (NAME: these functions only; * and ? match any). For each
fault and each seed 1..N (3):

  1. penfuzz on the fixed function for T (3s); builds the emitted test with gcc and
     the fixed source, where it must pass;
  2. builds the same test with the faulty source in its place, and runs it: the
     fault is noticed if the program fails, crashes or hangs;
  3. penfuzz mutate on the campaign with --search-time (2s): the tests, with the inputs
     that kill mutants, are run on both sources again.

Then, once for each fault, penfuzz differ on the fixed and the faulty function, with
--differ-time (2s) for each of two searches: is there an input on which they differ? Functions
that it does not take have `-`. `witness`: the call in faults.toml has another result in the faulty one.

--option gives the campaign of step 1 a further option: --option=--criterion=boundary.

With --seeds 0 only penfuzz differ is run.

Prints one row of a Markdown table for each fault: seeds at which it is noticed, and for each
seed how many tests of how many fail; both after step 2 and after step 3; then the
seconds of the steps 1 to 3, mean of the seeds.

environment: PENFUZZ  the program; by default the release build, else from PATH
             KEEP     a directory for the campaigns
             JSON     a file that gets the rows
"""

import argparse
import fnmatch
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
FAULTS = HERE.parent / "faults"
WORK = FAULTS / "src-work"
RELEASED = HERE / "../../target/release/penfuzz"
PENFUZZ = os.environ.get("PENFUZZ") or (str(RELEASED) if RELEASED.exists() else shutil.which("penfuzz") or "penfuzz")
WITNESS = """#include <complex.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
{kind} {function}({parameters});
int main(void)
{{
    fesetround(FE_{mode});
    {kind} r = {function}({values});
    fesetround(FE_TONEAREST);
    printf("%La %La\\n", (long double)r, (long double)cimag(r));
}}
"""
LIMIT = 60  # seconds for one run of a test program; more counts as a hang
SECONDS = 300  # for everything else


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time", default="3s")
    parser.add_argument("--search-time", default="2s")
    parser.add_argument("--differ-time", default="2s")
    parser.add_argument("--option", action="append", default=[])
    options = parser.parse_args()
    table = tomllib.loads((FAULTS / "faults.toml").read_text())
    chosen = [f for f in table["fault"] if not options.names or any(fnmatch.fnmatch(f["function"], n) for n in options.names)]
    print("| function | releases | what was wrong | noticed | failing tests | with mutate | failing tests | differ | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        top = Path(os.environ.get("KEEP") or temporary)
        for fault in chosen:
            fault = Fault(fault, table["tree"][fault["tree"]])
            row = fault.measure(top, options)
            print(shown(row), flush=True)
            rows.append(row)
            if os.environ.get("JSON"):
                Path(os.environ["JSON"]).write_text(json.dumps(rows, indent=1))
    good = [r for r in rows if not r["error"]]
    if not options.seeds:
        sys.exit(1 if len(good) < len(rows) else 0)
    count = lambda key: sum(any(s[key]["noticed"] for s in r["seeds"]) for r in good)
    always = lambda key: sum(all(s[key]["noticed"] for s in r["seeds"]) for r in good)
    print(
        f"\n{len(good)} faults; noticed at each seed {always('tests')}, at one or more {count('tests')}; "
        f"with the tests of mutate {always('mutate')} and {count('mutate')}."
    )
    sys.exit(1 if len(good) < len(rows) else 0)


def shown(row):
    said = "" if row["said"] == "source" else f" ({row['said']})"
    head = f"| `{row['function']}` | {row['releases']} | {row['what'].replace('|', chr(92) + '|')}{said} |"
    if row["error"]:
        return f"{head} {row['error']} | | | | | |"
    cells = []
    for key in ("tests", "mutate"):
        runs = [s[key] for s in row["seeds"]]
        cells.append(f"{sum(r['noticed'] for r in runs)} of {len(runs)}")
        cells.append(", ".join(f"{r['failing']}/{r['tests']}" for r in runs))
    seconds = sum(s["seconds"] for s in row["seeds"]) / max(1, len(row["seeds"]))
    return f"{head} {' | '.join(cells)} | {row['differ']} | {seconds:.1f} |"


class Fault:
    """One entry of faults.toml, with its tree."""

    def __init__(self, fault, tree):
        self.function = fault["function"]
        self.fixed = FAULTS / tree["fixed"]
        self.faulty = FAULTS / fault.get("faulty", tree["faulty"])
        self.tree = tree
        self.file = self.fixed / fault["file"]
        self.target = self.fixed / fault.get("target", fault["file"])
        self.old = WORK / "faulty" / self.function / self.file.name
        self.older = [self.faulty / f for f in [fault["file"], *fault.get("beside", [])]]
        self.options = fault.get("options", [])
        self.witness = fault.get("witness")
        flags = [filled(f, self.fixed) for f in tree["flags"]]
        # The faulty file lies elsewhere, and includes the headers of the fixed release.
        self.flags = [*flags, *fault.get("flags", []), f"-I{self.file.parent}"]
        self.said, self.what = fault["said"], fault["what"]
        self.releases = f"{self.faulty.name[4:]} → {self.fixed.name.rsplit('-', 1)[1]}"

    def measure(self, top, options):
        row = dict(function=self.function, releases=self.releases, said=self.said, what=self.what, error="", seeds=[], differ="")
        try:
            self.prepare()
            for seed in range(1, options.seeds + 1):
                row["seeds"].append(self.seed(top / f"{self.function}.{seed}", seed, options))
            row["differ"] = self.differ(options.differ_time)
        except Failed as failed:
            row["error"] = str(failed).replace("|", "/")[:200]
        return row

    def prepare(self):
        """Compiles the rest of the library, and copies the faulty file."""
        if not (self.fixed.exists() and self.faulty.exists()):
            # What it lacks is on standard error.
            if subprocess.run([str(FAULTS / "fetch.sh")]).returncode != 0:
                sys.exit("faults.py: the releases cannot be fetched")
        self.library = archive(self.tree, self.fixed)
        self.old.parent.mkdir(parents=True, exist_ok=True)
        for file in self.older:
            shutil.copyfile(file, self.old.parent / file.name)

    def arguments(self):
        """Options of penfuzz for both sources."""
        flags = [word for flag in self.flags for word in ("--cflag", flag)]
        # -Bsymbolic: a call is of the function of this library, not of the system's of the same name.
        return [*flags, *(w for lib in (self.library, "-Wl,-Bsymbolic", "-lm") for w in ("--lib", lib))]

    def seed(self, output, seed, options):
        began = time.monotonic()
        extra = [self.file] if self.file != self.target else []
        extra += [FAULTS / f for f in self.tree.get("with", [])]
        command = [PENFUZZ, str(self.target), "-f", self.function, *self.arguments(), *self.options, *options.option]
        command += [w for file in extra for w in ("--with", str(file))]
        command += ["-o", str(output), "--fresh", "--seed", str(seed), "--max-time", options.time, "--no-prove", "--quiet"]
        call(command, good=(0, 3))
        result = dict(tests=self.noticed(output))
        call([PENFUZZ, "mutate", str(output), "--search-time", options.search_time, "--seed", str(seed), "--no-prove", "--json"], good=(0, 3))
        return result | dict(mutate=self.noticed(output), seconds=time.monotonic() - began)

    def noticed(self, output):
        """Runs the emitted tests on the fixed and on the faulty source."""
        program = json.loads((output / "report.json").read_text())["test_program"]
        call(["sh", "-c", program["build"]], cwd=output)
        status, tests, failing, text = run(program["run"], output)
        if status != 0:
            raise Failed(f"the tests fail on the fixed source: {text}")
        # The same program, with the faulty file wherever the fixed one is compiled or included.
        copy = output / "faulty"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(output / "tests", copy / "tests")
        for file in (copy / "tests").iterdir():
            if file.suffix in (".c", ".h"):
                file.write_text(file.read_text().replace(str(self.file), str(self.old)))
        call(["sh", "-c", program["build"].replace(str(self.file), str(self.old))], cwd=copy)
        status, _, failing, text = run(program["run"], copy)
        return dict(noticed=status != 0, tests=tests, failing=max(failing, int(status != 0)), status=status, text=text)

    def differ(self, seconds):
        """Does an input tell the two apart? yes, no (none was found), or - where it cannot be asked."""
        if self.witness:
            fixed, faulty = self.apart()
            if fixed == faulty:
                raise Failed(f"the witness does not tell them apart: {fixed}")
        answer = self.asked(seconds)
        return answer + ", witness" if self.witness else answer

    def asked(self, seconds):
        if self.file != self.target:
            return "-"
        answers = []
        for search in ("extremes", "structured"):
            pair = [f"{file}:{self.function}" for file in (self.file, self.old)]
            command = [PENFUZZ, "differ", *pair, *self.arguments(), "--exact", "--search", search, "--max-time", seconds, "--seed", "1"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
            if done.returncode == 3:
                return "yes"
            # The faulty one may call what no longer is in the library.
            answers.append(done.returncode == 0 and "faulted" not in done.stdout)
        return "no" if any(answers) else "-"

    def apart(self):
        """The call of the witness in both, as text."""
        kind, parameters, values, *mode = self.witness
        text = WITNESS.format(function=self.function, kind=kind, parameters=parameters, values=values, mode=(mode or ["TONEAREST"])[0])
        source = self.old.parent / "witness.c"
        source.write_text(text)
        results = []
        for file in (self.file, self.old):
            program = self.old.parent / "witness"
            files = [str(file), *([str(self.target)] if self.target != self.file else [])]
            call(["gcc", "-O0", "-fno-builtin", "-c", str(source), "-o", str(program) + ".o"])
            call(["gcc", "-O0", *self.flags, str(program) + ".o", *files, self.library, "-lm", "-o", str(program)])
            results.append(subprocess.run([str(program)], capture_output=True, text=True, timeout=LIMIT).stdout.split("\n")[-2])
        return results


def filled(flag, fixed):
    return flag.replace("{fixed}", str(fixed)).replace("{faults}", str(FAULTS))


class Failed(Exception):
    """A step that did not work, with the first line of the reason."""


def archive(tree, fixed):
    """A static library of the fixed release, compiled once by plain gcc. Its members
    are linked where the function calls them."""
    directory = WORK / fixed.name
    library = directory / "library.a"
    if library.exists():
        return str(library)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    chosen = []
    for pattern in tree["archive"]:
        found = sorted(glob.glob(str(fixed / pattern.removeprefix("!"))))
        chosen = [f for f in chosen if f not in found] if pattern.startswith("!") else chosen + found
    flags = [filled(f, fixed) for f in tree["flags"]]
    objects = []
    for own, files in ((False, chosen), (True, [str(FAULTS / f) for f in tree.get("setup", [])])):
        for file in files:
            objects.append(str(directory / (str(len(objects)) + ".o")))
            call(["gcc", "-O2", "-fPIC", *([] if own else flags), "-c", file, "-o", objects[-1]])
    call(["ar", "rcs", str(library) + ".new", *objects])
    os.rename(str(library) + ".new", library)
    return str(library)


def call(command, good=(0,), cwd=None):
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{Path(command[0]).name}: no end within {late.timeout} s") from late
    if done.returncode not in good:
        lines = (done.stderr + done.stdout).splitlines()
        marked = [l for l in lines if "error" in l or "undefined" in l]
        raise Failed(f"{Path(command[0]).name} ended with {done.returncode}: {next(iter(marked or lines), '')}")


def run(command, cwd):
    """Runs a test program. Its status, how many tests it has and how many of them fail, and the first failure."""
    try:
        done = subprocess.run(shlex.split(command), cwd=cwd, capture_output=True, text=True, errors="replace", timeout=LIMIT)
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        status, output = 124, (late.stdout or b"").decode(errors="replace")
    tests, failing, last = 0, set(), ""
    first = ""
    for line in output.splitlines():
        if re.match(r"\d+: ", line):
            tests, last = tests + 1, line
        elif "FAILED:" in line:
            failing.add(tests)
            first = first or f"{last}: {line.strip()}"
        elif "not reproduced by this compiler" in line:
            # A crash that is undefined behaviour: the program may return as well.
            failing.discard(tests)
    return status, tests, len(failing), first


main()
