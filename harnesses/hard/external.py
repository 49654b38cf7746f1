#!/usr/bin/env python3
"""Compares penfuzz with optimizers and fuzzers from elsewhere, on the synthetic hard goals, at equal CPU time.

usage: external.py GOALS SECONDS SEEDS [METHOD]...

Draws GOALS of the hard goals of the test half by a hash of their names, and gives each method SECONDS of CPU time for each, at seeds 1
to SEEDS. Prints the goals solved (mean over the seeds), the median CPU seconds and evaluations of what is solved, and how often the
method needs more CPU time, and more evaluations, than penfuzz (Vargha and Delaney's A12, mean over the goals; 0.5 is equal). A METHOD is one of these, by
default all:

  penfuzz                    --search targeted
  libFuzzer, AFL++           -use_value_profile=1; CmpLog (fuzzers.py)
  L-BFGS-B, basinhopping     SciPy's, from random starts (optimizers.py)
  CoverMe                    basinhopping over Powell's method with that paper's settings
  CMA-ES, DE                 the package cma with growing populations; SciPy's differential evolution

The optimizers minimize approach level plus normalized branch distance, computed in C (blackbox.py). They are Python packages:

  python3 -m venv DIR && DIR/bin/pip install scipy cma && DIR/bin/python harnesses/hard/external.py 30 10 1

environment: PENFUZZ        the program; by default the release build, else from PATH
             PENFUZZ_PEERS  where ./setup --peers has installed AFL++
             CLANG          the compiler with libFuzzer (clang)
             RESULTS        a directory that keeps the results of runs; what is found there is not run again
             SPLIT          as for bench.py
"""

import hashlib
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "../lib"))

from blackbox import Objective
from fuzzers import FUZZERS
from measure import a12, is_test, kept
from synthetic import Synthetic

OPTIMIZERS = ["L-BFGS-B", "basinhopping", "CoverMe", "CMA-ES", "DE"]


def drawn(number):
    split = os.environ.get("SPLIT", "test")
    with Synthetic(lambda name, _: split == "all" or is_test(name) == (split == "test")) as goals:
        goals.prepare(kept(Synthetic.run))
        hard = [g for g in goals.all if g.name in goals.names]
    return sorted(hard, key=lambda g: hashlib.sha256(f"draw {g.name}".encode()).digest())[:number]


def attempt(method, goal, seconds, seed):
    """[met, evaluations, CPU seconds]"""
    keeps = os.environ.get("RESULTS")
    file = Path(keeps or ".", f"external-{method}-{goal.name}-{seconds:g}-{seed}.json")
    if keeps and file.exists():
        return json.loads(file.read_text())
    with tempfile.TemporaryDirectory() as directory:
        if method in FUZZERS:
            result = FUZZERS[method](goal, directory, seconds, seed)
        else:
            import optimizers  # only here: the packages may be missing

            result = optimizers.run(method, Objective(goal, directory), seconds, seed)
    if keeps:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(result))
    return list(result)


def row(method, own, reference):
    """`own` and `reference`: results by goal, one for each seed."""
    seeds = len(next(iter(own.values())))
    met = [r for runs in own.values() for r in runs if r[0]]
    times = lambda runs: [r[2] if r[0] else None for r in runs]
    evaluations = lambda runs: [r[1] if r[0] else None for r in runs]
    against = [statistics.mean(a12(of(reference[name]), of(runs)) for name, runs in own.items()) for of in (times, evaluations)]
    medians = [statistics.median(r[i] for r in met) if met else float("nan") for i in (2, 1)]
    rate = sum(r[1] for runs in own.values() for r in runs) / max(sum(r[2] for runs in own.values() for r in runs), 1e-9)
    solved = f"{len(met) / seeds:>8.4g} of {len(own)}"
    print(f"{method:<14}{solved}{medians[0]:>12.3g}{medians[1]:>14.6g}{rate:>14.0f}{against[0]:>8.3f}{against[1]:>13.3f}", flush=True)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    goals, seconds, seeds = drawn(int(sys.argv[1])), float(sys.argv[2]), range(1, int(sys.argv[3]) + 1)
    methods = sys.argv[4:] or [*FUZZERS, *OPTIMIZERS]
    methods = ["penfuzz", *(m for m in methods if m != "penfuzz")]
    print(f"{'method':<14}{'solved':>14}{'CPU s':>9}{'evaluations':>14}{'a second':>14}{'A12':>8}{'evaluations':>13}", flush=True)
    reference = None
    for method in methods:
        found = {g.name: [attempt(method, g, seconds, seed) for seed in seeds] for g in goals}
        reference = reference or found
        row(method, found, reference)
        missed = [name for name, runs in reference.items() if not any(r[0] for r in runs) and any(r[0] for r in found[name])]
        if missed:
            print(f"  met by {method} only: {', '.join(missed)}")


if __name__ == "__main__":
    main()
