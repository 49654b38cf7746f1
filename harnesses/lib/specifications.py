#!/usr/bin/env python3
"""Generates tests of the specifications in FPCore files (`penfuzz mutate`), and prints Magneto's table of mutants.

usage: specifications.py SEEDS FILE.fpcore... [-- OPTIONS OF PENFUZZ]

All cores that are straight lines with bounds of each variable are examined at the seeds 1 to SEEDS. Prints a row for each
class of mutants: all of them, and how many are killed, proved equivalent, below the kill threshold, and left (means over the
seeds). Then the adequacy, the mean over the specifications of the share that is killed: of all mutants, of those that are not
proved equivalent, and of those that are not below the threshold either; its spread over the seeds, the seconds and tests of a
specification, and the specifications that have live mutants.

environment: PENFUZZ  the program; by default the release build, else from PATH
"""

import collections
import json
import statistics
import subprocess
import sys

from effort import program


def examined(file, seed, options):
    """What is known of each specification of a file; nothing if it has none."""
    command = [program(), "mutate", file, "--json", "--seed", str(seed), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 and "no such specification" not in done.stderr:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["specifications"] if done.returncode == 0 else []


def adequacy(answers, without):
    share = lambda m: m["killed"] / max(m["total"] - sum(m[key] for key in without), 1)
    return statistics.mean(share(a["mutants"]) for a in answers)


def row(name, counts, seeds):
    of = lambda key: counts[key] / seeds
    left = of("total") - of("killed") - of("proved_equivalent") - of("below_threshold")
    print(
        f"{name:<10}{of('total'):>9.0f}{of('killed'):>10.1f}{of('proved_equivalent'):>12.1f}{of('below_threshold'):>8.1f}"
        f"{left:>8.1f}"
    )


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    seeds, files, options = int(sys.argv[1]), sys.argv[2:end], sys.argv[end + 1 :]
    runs = [[answer for file in files for answer in examined(file, seed, options)] for seed in range(1, seeds + 1)]
    classes = collections.defaultdict(collections.Counter)
    for answer in (a for run in runs for a in run):
        for name, counts in [*answer["classes"], ("all", answer["mutants"])]:
            classes[name].update(counts)
    print(f"{len(runs[0])} specifications, {seeds} seeds")
    print(f"{'class':<10}{'mutants':>9}{'killed':>10}{'equivalent':>12}{'below':>8}{'left':>8}")
    for name, counts in classes.items():
        row(name, counts, seeds)
    for text, without in (
        ("adequacy", ()),
        ("of those not proved equivalent", ("proved_equivalent",)),
        ("of those not below the threshold either", ("proved_equivalent", "below_threshold")),
    ):
        all_seeds = [adequacy(run, without) for run in runs]
        print(f"{text}: {statistics.mean(all_seeds):.4f} ({min(all_seeds):.4f} to {max(all_seeds):.4f})")
    answers = [a for run in runs for a in run]
    seconds = [a["seconds"] for a in answers]
    print(f"seconds: mean {statistics.mean(seconds):.2f}, median {statistics.median(seconds):.2f}, most {max(seconds):.2f}")
    print(f"evaluations: {sum(a['evaluations'] for a in answers) / seeds:.0f}")
    print(f"tests: mean {statistics.mean(len(a['tests']) for a in answers):.1f}")
    for answer in runs[0]:
        if answer["live"]:
            print(f"  {answer['name']}: " + "; ".join(change for _, change in answer["live"][:4]))


main()
