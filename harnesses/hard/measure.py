"""What all scripts of hard goals share: the split, kept results, statistics and tables."""

import hashlib
import json
import os
import statistics
from pathlib import Path

from linked import program


def is_test(name):
    """Is the goal in the half of which figures are claimed?"""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 0


def search_options(search):
    """`targeted/random`: the search targeted with the minimizer random."""
    search, _, minimizer = search.partition("/")
    return ["--search", search] + (["--minimizer", minimizer] if minimizer else [])


def kept(run):
    """A function like `run(goals, names, search, evaluations, seed)` that keeps results in the directory $RESULTS, if there is one."""
    directory = os.environ.get("RESULTS")
    if not directory:
        return run
    binary = hashlib.sha256(Path(program()).read_bytes()).hexdigest()[:12]

    def repeated(goals, names, search, evaluations, seed):
        asked = hashlib.sha256(json.dumps([type(goals).__name__, sorted(names)]).encode()).hexdigest()[:12]
        file = Path(directory) / f"{binary}-{asked}-{search.replace('/', '+')}-{evaluations}-{seed}.json"
        if file.exists():
            return json.loads(file.read_text())
        found = run(goals, names, search, evaluations, seed)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found))
        return found

    return repeated


def a12(ours, theirs):
    """Vargha and Delaney's A12: how often `theirs` needs more than `ours`; without a solution it is infinity."""
    pairs = [(x if x is not None else float("inf"), y if y is not None else float("inf")) for x in ours for y in theirs]
    return sum(1.0 if y > x else 0.5 if y == x else 0.0 for x, y in pairs) / len(pairs)


def table(results, names, evaluations):
    """Goals solved after 1000, 10000, ... evaluations (median over the seeds), and A12 of the first search against each.

    A search that a kind of goal does not have lacks these goals in its results.
    """
    first = next(iter(results.values()))
    steps = [10**k for k in range(3, 9) if 10**k < evaluations] + [evaluations]
    print(f"{'search':<18}{'seeds':>6}{'goals':>7}" + "".join(f"{step:>10}" for step in steps) + f"{'share':>9}{'A12':>7}")
    for search, seeds in results.items():
        own = [n for n in names if n in seeds[0]]
        if not own:
            continue
        solved = [[sum(1 for n in own if r[n] is not None and r[n] <= step) for r in seeds] for step in steps]
        against = statistics.mean(a12([r[n] for r in first], [r[n] for r in seeds]) for n in own)
        share = 100 * statistics.mean(solved[-1]) / len(own)
        cells = "".join(f"{statistics.median(counts):>10g}" for counts in solved)
        print(f"{search:<18}{len(seeds):>6}{len(own):>7}{cells}{share:>8.1f}%{against:>7.3f}")


def by_family(results, names, family_of):
    print(f"\n{'mean share':<18}{'goals':>6}" + "".join(f"{search:>18}" for search in results))
    for family in sorted({family_of[n] for n in names}):
        own = [n for n in names if family_of[n] == family]
        cells = ""
        for runs in results.values():
            met = [r[n] is not None for n in own for r in runs if n in r]
            cells += f"{100 * statistics.mean(met):>17.1f}%" if met else f"{'-':>18}"
        print(f"{family:<18}{len(own):>6}{cells}")
