#!/usr/bin/env python3
"""Recomputes the table of tools of an experiment from its results.csv.

usage: figures.py DIRECTORY...

Prints what stands at the head of table.md, except build times and significance per function: mean coverage in
percent of all branches and of the best known ones, functions at the best known, functions on which penfuzz is
better / equal / worse, pooled A12 and p, medians of evaluations and CPU seconds. table.md defines each of them.
"""

import csv
import sys
from itertools import combinations
from pathlib import Path
from statistics import mean, median

REFERENCE = "penfuzz"


def read(file):
    """Tools, and per function its branches, its best known ones, and per figure and tool one value per trial."""
    rows = list(csv.DictReader(file.read_text().splitlines()))
    tools = list(rows[0])[4:]
    functions = {}
    for row in rows:
        function = functions.setdefault(row["function"], {"branches": int(row["branches"]), "best": int(row["best_known"])})
        function[row["figure"]] = {t: [float(v) for v in row[t].split()] for t in tools}
    return tools, list(functions.values())


def a12(x, y):
    """The probability that a value of x is above one of y; ties count half."""
    return mean((a > b) + (a == b) / 2 for a in x for b in y)


def p_value(x, y):
    """Two-sided Mann-Whitney U test, exact: all ways to draw len(x) of the values, given the ties."""
    values = x + y
    doubled = [2 * sum(w < v for w in values) + values.count(v) + 1 for v in values]
    observed = sum(doubled[: len(x)])
    sums = [sum(drawn) for drawn in combinations(doubled, len(x))]
    tail = min(sum(s <= observed for s in sums), sum(s >= observed for s in sums))
    return min(1, 2 * tail / len(sums))


def trials(functions, tool):
    """One value per trial: its mean coverage over the functions, in percent."""
    shares = [[100 * c / f["branches"] for c in f["covered"][tool]] for f in functions]
    return [mean(column) for column in zip(*shares)]


def line(functions, tool):
    covered = [(f["covered"][tool], f) for f in functions]
    cells = [
        f"{mean(100 * mean(c) / f['branches'] for c, f in covered):.2f}",
        f"{mean(100 * mean(c) / f['best'] for c, f in covered):.2f}",
        f"{sum(median(c) >= f['best'] for c, f in covered)} of {len(functions)}",
    ]
    if tool == REFERENCE:
        cells += ["", "", ""]
    else:
        sides = [a12(f["covered"][REFERENCE], c) for c, f in covered]
        x, y = trials(functions, REFERENCE), trials(functions, tool)
        cells.append(f"{sum(s > 0.5 for s in sides)} / {sides.count(0.5)} / {sum(s < 0.5 for s in sides)}")
        cells += [f"{a12(x, y):.2f}", f"{p_value(x, y):.3f}"]
    middle = {figure: median(v for f in functions for v in f[figure][tool]) for figure in ("evaluations", "cpu_seconds")}
    cells += [str(int(middle["evaluations"] + 0.5)), f"{middle['cpu_seconds']:.2f}"]
    return f"| {tool} | {' | '.join(cells)} |"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for directory in sys.argv[1:]:
        tools, functions = read(Path(directory) / "results.csv")
        head = "tool | coverage, % | of best known, % | at best known | better / equal / worse | A12 | p | evaluations | CPU, s"
        print(f"\n{directory}\n\n| {head} |\n| --- |" + " ---: |" * 8)
        for tool in sorted(tools, key=lambda t: (t != REFERENCE, -mean(trials(functions, t)))):
            print(line(functions, tool))


main()
