#!/usr/bin/env python3
"""Compares what leads the search for inputs that kill mutants: the distances to reach, infection and propagation.

usage: distances.py SUITE.toml FUNCTION[,FUNCTION]... SEARCH_EVALUATIONS SEEDS [OPTION]...

Functions are given by their symbols.
For each function and seed there is one campaign of 20,000 evaluations. Its tests are measured three times, and the search for killing inputs has
about SEARCH_EVALUATIONS runs each time: it is led to the place of the mutants (reach), also to operands for which they differ there (infection),
and also to other results (propagation). Prints a row per function: mutants killed, mean over the seeds, by the tests and by each search, of
all without those that are proved equivalent; the sums; the runs in which a search kills as many as the best of the three, and the seconds
of a search (mean). Other options are passed on to `penfuzz mutate`.

environment: PENFUZZ  the program; by default the release build, else from PATH
"""

import collections
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from linked import link, program

DISTANCES = ("reach", "infection", "propagation")
EVALUATIONS = "20000"
LONGEST = "600s"


def run(command):
    done = subprocess.run([program(), *command], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def killed(campaign, out, distances, seed, evaluations, options):
    """What `penfuzz mutate` reports of a copy of a campaign."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(campaign, out)
    command = ["mutate", str(out), "--trust", "--distances", distances, "--search-time", LONGEST, "--search-evals", evaluations]
    return json.loads(run([*command, "--no-prove", "--seed", str(seed), "--json", *options]))


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    suite, functions, evaluations, seeds, options = Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3], int(sys.argv[4]), sys.argv[5:]
    sums, most, seconds = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    print(f"{'function':<24}{'tests':>10}" + "".join(f"{d:>13}" for d in DISTANCES) + f"{'of':>8}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        target, campaign, out = (Path(temporary) / name for name in ("target", "campaign", "out"))
        for function in functions:
            link(suite, target, f"-fpen-mutants={function}")
            of = collections.defaultdict(list)
            for seed in range(1, seeds + 1):
                command = [str(target), "--function", function, "--no-prove", "--quiet", "--fresh", "-o", str(campaign)]
                run([*command, "--seed", str(seed), "--max-evals", EVALUATIONS])
                for distances in DISTANCES:
                    report = killed(campaign, out, distances, seed, evaluations, options)
                    counts = report["mutants"]
                    of[distances].append(counts["killed"])
                    seconds[distances].append(report["search_seconds"])
                of["tests"].append(counts["killed_by_tests"])
                of["all"].append(counts["total"] - counts["proved_equivalent"])
                best = max(of[d][-1] for d in DISTANCES)
                most.update(d for d in DISTANCES if of[d][-1] == best)
            means = {key: statistics.mean(values) for key, values in of.items()}
            sums.update(means)
            print(f"{function:<24}{means['tests']:>10.1f}" + "".join(f"{means[d]:>13.1f}" for d in DISTANCES) + f"{means['all']:>8.0f}", flush=True)
    print(f"{'sum':<24}{sums['tests']:>10.1f}" + "".join(f"{sums[d]:>13.1f}" for d in DISTANCES) + f"{sums['all']:>8.0f}")
    print(f"{'runs with the most':<34}" + "".join(f"{most[d]:>13}" for d in DISTANCES) + f"{seeds * len(functions):>8}")
    print(f"{'seconds of a search':<34}" + "".join(f"{statistics.mean(seconds[d]):>13.2f}" for d in DISTANCES))


if __name__ == "__main__":
    main()
