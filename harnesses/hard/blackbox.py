"""A goal of families.py as a black box in C: an objective for optimizers, and an entry for fuzzers.

The objective is the usual one of search-based testing: approach level plus normalized branch distance, summed over the whole chain. Of
k conditions, `a && b` being two of them, an input that fails the i-th has the value k - i + d / (d + 1), where d is the distance of the
operands: |a - b| for ==, how far a is beyond b for an order, 1 for !=. It is 0 for the goal only. NaN counts as infinitely far.
"""

import ctypes
import re
import subprocess
from pathlib import Path

OPERATORS = re.compile(r"==|!=|<=|>=|<<|>>|<|>")
LIMITS = {"int": (-(2**31), 2**31 - 1), "uint8_t": (0, 255), "uint32_t": (0, 2**32 - 1)}

DISTANCES = """
#define SIDES(a, b) __auto_type A = (a); __auto_type B = (b)
#define FAR(d) (isnan(d) ? 1e300 : fmax(fabs(d), 1e-300))
#define EQ(a, b) ({ SIDES(a, b); A == B ? 0 : FAR(A > B ? (double)(A - B) : (double)(B - A)); })
#define NE(a, b) ({ SIDES(a, b); A != B ? 0 : 1.0; })
#define LT(a, b) ({ SIDES(a, b); A < B ? 0 : FAR((double)(A - B)); })
#define LE(a, b) ({ SIDES(a, b); A <= B ? 0 : FAR((double)(A - B)); })
#define STEP(level, d) { double D = (d); if (D != 0) return (level) + (D < 1e300 ? D / (D + 1) : 1); }
"""


def top_level(text, pattern):
    """The matches of a pattern outside of parentheses."""
    depth = [0]
    for c in text:
        depth.append(depth[-1] + (c in "([") - (c in ")]"))
    return [m for m in re.finditer(pattern, text) if depth[m.start()] == 0]


def conjuncts(text):
    ends = [m.span() for m in top_level(text, "&&")]
    starts = [0, *(e for _, e in ends)]
    return [text[a:b].strip() for a, b in zip(starts, [*(s for s, _ in ends), len(text)])]


def distance(condition):
    """An expression in C for the distance of a comparison."""
    (m,) = [m for m in top_level(condition, OPERATORS) if m.group() not in ("<<", ">>")]
    a, b = condition[: m.start()].strip(), condition[m.end() :].strip()
    if m.group() in (">", ">="):
        a, b = b, a
    return f"{ {'==': 'EQ', '!=': 'NE', '<': 'LT', '>': 'LT', '<=': 'LE', '>=': 'LE'}[m.group()] }({a}, {b})"


def steps(conditions, level):
    """Statements that return the value of the first condition that fails."""
    return [f"STEP({level - i}, {distance(c)});" for i, c in enumerate(conditions)]


def rounded(i, kind):
    """The i-th coordinate as a value of the type: integers are rounded, within the limits of their type."""
    if kind not in LIMITS:
        return f"X[{i}]"
    low, high = LIMITS[kind]
    return f"(X[{i}] >= {high}.0 ? ({kind}){high}u : X[{i}] > {low}.0 ? ({kind})rint(X[{i}]) : ({kind}){low})"


def coordinates(goal):
    """The type of each coordinate. A double does not hold 64 bits, so such an integer has two coordinates, its halves."""
    return [k for kind, _ in goal.parameters for k in (["uint32_t"] * 2 if kind == "uint64_t" else [kind])]


def objective(goal):
    """`double NAME_objective(const double *x)`; a guard that returns before the conditions is the first of them."""
    guard = re.search(r"if \(!\((.*)\)\) return 0;", goal.before)
    first = conjuncts(guard.group(1)) if guard else []
    chain = [c for condition in goal.conditions for c in conjuncts(condition)]
    last = len(first) + len(chain) - 1
    before = goal.before.replace(guard.group(), "\n".join(steps(first, last))) if guard else goal.before
    lines = [f"double {goal.name}_objective(const double *X)", "{"]
    place = iter(range(size(goal)))
    for kind, name in goal.parameters:
        if kind == "uint64_t":
            value = f"(uint64_t){rounded(next(place), 'uint32_t')} << 32 | {rounded(next(place), 'uint32_t')}"
        else:
            value = rounded(next(place), kind)
        lines.append(f"  {kind} {name} = {value};")
    return "\n".join([*lines, before, *steps(chain, last - len(first)), "  return 0;", "}", ""])


def entry(goal):
    """libFuzzer's entry point: the bytes are the arguments one after the other, and the goal ends the process."""
    lines = ["#include <stdlib.h>", "#include <string.h>", "int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)", "{"]
    lines += [f"  {kind} {name};" for kind, name in goal.parameters]
    lines.append("  if (size < " + " + ".join(f"sizeof {name}" for _, name in goal.parameters) + ") return 0;")
    for _, name in goal.parameters:
        lines.append(f"  memcpy(&{name}, data, sizeof {name}); data += sizeof {name};")
    names = ", ".join(name for _, name in goal.parameters)
    return "\n".join([*lines, f"  if ({goal.name}({names}) == 1) abort();", "  return 0;", "}", ""])


def size(goal):
    return sum({"double": 8, "uint64_t": 8, "uint8_t": 1}.get(kind, 4) for kind, _ in goal.parameters)


class Objective:
    """The objective of a goal, compiled. Calls are counted by the caller."""

    def __init__(self, goal, directory):
        source, library = Path(directory, f"{goal.name}_objective.c"), Path(directory, f"{goal.name}.so")
        head = "#include <math.h>\n#include <stdint.h>\n" + DISTANCES
        source.write_text(head + goal.outside + "\n" + objective(goal))
        flags = ["-O2", "-fwrapv", "-w", "-ffp-contract=off", "-shared", "-fPIC"]
        subprocess.run(["gcc", *flags, source, "-o", library, "-lm"], check=True)
        self.call = getattr(ctypes.CDLL(str(library)), f"{goal.name}_objective")
        self.call.restype = ctypes.c_double
        self.kinds = coordinates(goal)
        self.buffer = (ctypes.c_double * len(self.kinds))()

    def __call__(self, x):
        self.buffer[:] = x
        return self.call(self.buffer)
