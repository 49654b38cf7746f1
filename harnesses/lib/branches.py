#!/usr/bin/env python3
"""Measures evaluations per second against the number of open branches.

usage: branches.py [option]... [BRANCHES]...

Generates functions with that many branches that no input takes, so that they stay
open, and runs each search on them. BRANCHES are 10, 100, ... 100000 by default.

  switch   one switch, whose cases are even numbers side by side; its operand is odd
  sparse   the same with numbers that are far apart: clang compares them one after the other
           at -O0, and searches among them from -O1 on
  table    a jump through a table to one comparison each, of an odd with an even number
  tree     the same behind nested comparisons, as many as the tree is deep

  --kind NAME      only this kind, several times for several
  --search NAME    only this search, likewise; by default targeted and structured
  --seconds N      by which the longer campaign is longer, 3 by default
  --after N        the seconds of the shorter campaign, 1 by default; more where branches are
                   found in the first seconds, since a find costs more than an evaluation
  --level=-O2      optimizes; by default -O0, because clang's optimizer takes time that is
                   quadratic in the number of cases (12 s for 10,000)
  --limit PERCENT  exit status 1 if a rate is so much below the highest of its line

Each rate is the difference between a short campaign and a longer one, so that loading
does not count. On x86-64 only.

environment: PENFUZZ  the program; by default the release build, else from PATH
             PEN_CC   the compiler; by default beside PENFUZZ
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from linked import compiler, program


# The compiler does not know that bit 0 of the result is set.
ODD = """static int odd(int x) { __asm__("orl $1, %0" : "+r"(x)); return x; }\n"""


def switch(values):
    cases = "\n".join(f"    case {v}: return {(v * 7919) % 10007};" for v in values)
    return f"{ODD}int subject(int x) {{\n  switch (odd(x)) {{\n{cases}\n    default: return -1;\n  }}\n}}\n"


def even_numbers(n):
    return [2 * v for v in random.Random(1).sample(range(-(2**30), 2**30), n)]


def dense(n):
    return switch(range(0, 2 * n, 2))


def sparse(n):
    """Values that no jump table holds: the compiler searches among them."""
    return switch(sorted(even_numbers(n)))


def table(n):
    addresses = ", ".join(f"&&l{i}" for i in range(n))
    code = "\n".join(f"l{i}:\n  return odd(y) == {v} ? {i} : -1;" for i, v in enumerate(even_numbers(n)))
    return (
        f"{ODD}int subject(unsigned x, int y) {{\n  static const void *const to[] = {{{addresses}}};\n"
        f"  goto *to[x % {n}];\n{code}\n}}\n"
    )


def tree(n):
    values = even_numbers(n)

    def node(low, high):
        if high - low < 2:
            return f"return odd(y) == {values[low]} ? {low} : -1;"
        middle = (low + high) // 2
        return f"if (x < {middle}) {{ {node(low, middle)} }} else {{ {node(middle, high)} }}\n"

    return f"{ODD}int subject(unsigned x, int y) {{\nx %= {n};\n{node(0, n)}\n}}\n"


KINDS = {"switch": dense, "sparse": sparse, "table": table, "tree": tree}


def rate(target, search, after, seconds, out):
    """Evaluations per second between two campaigns of different length, with the same seed."""
    counts = []
    for i, limit in enumerate((after, after + seconds)):
        directory = out / f"{search}-{i}"
        command = [program(), str(target), "--search", search, "--seed", "1", "--max-time", f"{limit}s", "--quiet"]
        done = subprocess.run(command + ["-o", str(directory)], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr)
        report = json.loads((directory / "report.json").read_text())
        counts.append((report["evaluations"], report["seconds"], report["branches"]))
    (e0, s0, _), (e1, s1, branches) = counts
    return (e1 - e0) / max(s1 - s0, 1e-9), branches


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [option]... [BRANCHES]...", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("branches", nargs="*", type=int, default=[10, 100, 1000, 10_000, 100_000])
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--search", action="append")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--after", type=float, default=1)
    parser.add_argument("--level", default="-O0")
    parser.add_argument("--limit", type=float)
    asked = parser.parse_args()
    slow = False
    for kind in asked.kind or KINDS:
        rates = {search: [] for search in asked.search or ["targeted", "structured"]}
        times = []
        for n in asked.branches:
            with tempfile.TemporaryDirectory() as directory:
                source, target = Path(directory) / "subject.c", Path(directory) / "subject"
                source.write_text(KINDS[kind](n))
                begun = time.monotonic()
                subprocess.run([compiler(), asked.level, str(source), "-o", str(target)], check=True)
                times.append(time.monotonic() - begun)
                for search, found in rates.items():
                    found.append(rate(target, search, asked.after, asked.seconds, Path(directory)))
        print(f"{kind:10} {'branches':>12}" + "".join(f"{n:>12,}" for n in asked.branches))
        print(f"{'':10} {'compile, s':>12}" + "".join(f"{t:>12.1f}" for t in times))
        for search, found in rates.items():
            print(f"{'':10} {search:>12}" + "".join(f"{r:>12,.0f}" for r, _ in found), flush=True)
            print(f"{'':10} {'  covered':>12}" + "".join(f"{b['covered']:>12,}" for _, b in found), flush=True)
            highest = max(r for r, _ in found)
            slow |= asked.limit is not None and any(r < highest * (1 - asked.limit / 100) for r, _ in found)
    return 1 if slow else 0


sys.exit(main())
