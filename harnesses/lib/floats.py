#!/usr/bin/env python3
"""Is the worst error that `penfuzz accuracy` finds in a function of one float the worst there is?

usage: floats.py SUITE.toml EVALUATIONS SEEDS FUNCTION...

Tries all floats (`--exhaust`), and searches with EVALUATIONS at seeds 1 to SEEDS, against MPFR's function of the same name. Prints a row per function:
the worst error there is, the seconds of that, the share of it that the search finds (least and median over the seeds), in how many seeds it is the worst, and the
median evaluations up to the largest error found.

environment: PENFUZZ  the program, with MPFR; by default the release build, else from PATH
             TARGET   a file linked from the suite; made if it is not there
             OUTSIDE  a shared object of the library, or the recipe.toml by which cc makes one: the worst error there is comes from
                      every_float.c, which nothing of penfuzz takes part in, and not from --exhaust (functions with a namesake in
                      this system's libm)
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from linked import link, program, share

# Errors that differ by a smaller share than this are the same: by --exhaust, and by every_float.c, whose functions of double have errors of their own.
SAME, SAME_OUTSIDE = 1e-9, 1e-7


def accuracy(target, function, *options):
    command = [program(), "accuracy", target, "-f", function, "--json", *map(str, options)]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{function}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def outside(library, function, directory):
    """The worst error by every_float.c, in the form of the answer to --exhaust."""
    tried = directory / "every_float"
    if not tried.exists():
        subprocess.run(["cc", "-O2", Path(__file__).with_name("every_float.c"), "-o", tried, "-lm", "-ldl"], check=True)
    begin = time.monotonic()
    done = subprocess.run([tried, Path(library).resolve(), function], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{function}: {done.stderr.strip()}")
    worst = {"ulp": float(done.stdout.split()[0])}
    return {"exhausted": True, "worst": worst, "seconds": time.monotonic() - begin, "wrong": []}


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    suite, evaluations, seeds = sys.argv[1], sys.argv[2], range(1, int(sys.argv[3]) + 1)
    print(f"{'function':<16}{'worst, ulp':>12}{'seconds':>9}{'least':>9}{'median':>9}{'is worst':>10}{'evaluations':>13}  wrong", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(os.environ.get("TARGET") or temporary + "/target")
        if not target.exists():
            link(suite, target)
        library = os.environ.get("OUTSIDE")
        if library and library.endswith(".toml"):
            library = share(library, Path(temporary) / "library.so")
        same = SAME_OUTSIDE if library else SAME
        for function in sys.argv[4:]:
            all_inputs = outside(library, function, Path(temporary)) if library else accuracy(target, function, "--exhaust")
            if not all_inputs.get("exhausted"):
                print(f"{function:<16} not all inputs were tried", flush=True)
                continue
            worst = all_inputs["worst"]["ulp"]
            found = [accuracy(target, function, "--max-evals", evaluations, "--max-time", "10min", "--seed", seed) for seed in seeds]
            shares = [f["worst"]["ulp"] / worst for f in found]
            at = statistics.median(f["progress"][-1]["evaluations"] for f in found)
            wrong = ", ".join(sorted({w["class"] for w in all_inputs["wrong"]})) or "-"
            print(f"{function:<16}{worst:>12.6f}{all_inputs['seconds']:>9.0f}{min(shares):>9.4f}{statistics.median(shares):>9.4f}"
                  f"{sum(s > 1 - same for s in shares):>7} of {len(shares)}{at:>11.0f}  {wrong}", flush=True)


if __name__ == "__main__":
    main()
