"""Families of hard goals with a dial for difficulty, for bench.py.

Each goal is the true side of the last conditional of one C function. Its constants follow from a *witness*: arguments that are
drawn first, so that the goal is feasible. bench.py runs every witness. Random numbers come from the name of the goal alone.
"""

import math
import random
import struct
from dataclasses import dataclass

MASK = 0xFFFFFFFF


@dataclass
class Goal:
    """One function. `conditions` are nested from the first to the last, which is the goal."""

    name: str
    family: str
    parameters: list  # (C type, name)
    conditions: list
    witness: list
    before: str = ""  # statements before the conditions
    outside: str = ""  # declarations before the function

    def source(self):
        declared = ", ".join(f"{kind} {name}" for kind, name in self.parameters)
        lines = ["#include <math.h>", "#include <stdint.h>", ""]
        lines += self.outside.strip("\n").split("\n") if self.outside else []
        lines += [f"int {self.name}({declared})", "{"]
        lines += ["  " + line for line in self.before.strip("\n").split("\n") if line]
        for depth, condition in enumerate(self.conditions):
            mark = " /* goal */" if depth + 1 == len(self.conditions) else ""
            lines.append("  " * (depth + 1) + f"if ({condition}){mark}")
        lines.append("  " * (len(self.conditions) + 1) + "return 1;")
        return "\n".join([*lines, "  return 0;", "}", ""])


def doubles(names):
    return [("double", name) for name in names]


def quarter(rng, most=1000):
    """A number with few bits, so that sums and products of several are exact."""
    return rng.randrange(-64 * most, 64 * most) / 64


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def linear(rng, level):
    """A chain of equalities over `level` coupled arguments."""
    names = [f"x{i}" for i in range(level)]
    w = [quarter(rng) for _ in names]
    conditions = []
    for i in range(level - 1):
        k = rng.choice([2, 3, 5, -2, -3])
        conditions.append(f"x{i} + {k} * x{i + 1} == {w[i] + k * w[i + 1]!r}")
    if level == 2:
        conditions.append(f"x0 - 7 * x1 == {w[0] - 7 * w[1]!r}")
    else:
        conditions.append(f"x0 - x{level - 1} == {w[0] - w[-1]!r}")
    return dict(parameters=doubles(names), conditions=conditions, witness=w)


def quadratic(rng, level):
    """Symmetric functions of two or three arguments."""
    a, b, c = (quarter(rng, 30) for _ in range(3))
    if level == 2:
        return dict(
            parameters=doubles("ab"), conditions=[f"a * b == {a * b!r}", f"a + b == {a + b!r}"], witness=[a, b]
        )
    conditions = [f"a * b * c == {a * b * c!r}", f"a * b + b * c + c * a == {a * b + b * c + c * a!r}"]
    return dict(parameters=doubles("abc"), conditions=[*conditions, f"a + b + c == {a + b + c!r}"], witness=[a, b, c])


def narrowing(rng, level):
    """Linear forms of three arguments within ever smaller bounds."""
    w = [rng.uniform(-100, 100) for _ in range(3)]
    conditions = []
    for i in range(level):
        k = [rng.randrange(-9, 10) or 1 for _ in w]
        form = f"{k[0]} * a + {k[1]} * b + {k[2]} * c"
        value = k[0] * w[0] + k[1] * w[1] + k[2] * w[2]
        conditions.append(f"fabs({form} - {value!r}) < {10.0 ** (1 - 1.5 * i)!r}")
    return dict(parameters=doubles("abc"), conditions=conditions, witness=w)


def nested(rng, level):
    """Elementary functions of each other, within a relative error of 1e-13."""
    a, b = rng.uniform(1, 4), rng.uniform(0.5, 3)
    steps = [
        ("exp(a) * b", lambda: math.exp(a) * b),
        ("sin(exp(a)) + log(b + 1)", lambda: math.sin(math.exp(a)) + math.log(b + 1)),
        ("fmod(exp(a) * 100, 7) * sqrt(b)", lambda: math.fmod(math.exp(a) * 100, 7) * math.sqrt(b)),
        ("atan2(sin(a * b), cos(exp(b)))", lambda: math.atan2(math.sin(a * b), math.cos(math.exp(b)))),
    ]
    chosen = rng.sample(steps, min(level, 2))
    tolerance = [1e-4, 1e-9, 1e-12, 1e-13][level - 1]
    conditions = [f"fabs({text} - {value()!r}) <= {abs(value()) * tolerance!r}" for text, value in chosen]
    return dict(parameters=doubles("ab"), conditions=[*conditions, "a > 1 && a < 4"], witness=[a, b])


def table(rng, level):
    """An index into a table, and a factor."""
    n = 16 << level
    values = [rng.randrange(1, 1 << 20) / 16 for _ in range(n)]
    i, b = rng.randrange(n), quarter(rng, 20)
    a = i * 1.0
    text = ", ".join(repr(v) for v in values)
    condition = [f"table[i] == {values[i]!r}", f"table[i] * b + a == {values[i] * b + a!r}"]
    return dict(
        outside=f"static const double table[{n}] = {{{text}}};",
        parameters=doubles("ab"),
        before=f"if (!(a >= 0 && a < {n})) return 0;\nint i = (int)a;",
        conditions=condition,
        witness=[a, b],
    )


def cube_root(p, start):
    """Iterations of Newton's method for x**3 == p from `start` until a step is below 1e-10, and the end."""
    x = start
    for i in range(60):
        if x == 0:
            return i, x
        step = (x * x * x - p) / (3 * x * x)
        x -= step
        if abs(step) < 1e-10:
            return i, x
    return 60, x


def newton(rng, level):
    """An iteration that must converge after so many steps, to a root within bounds."""
    while True:
        p, start = rng.uniform(1, 1e4), rng.uniform(-50, 50)
        n, x = cube_root(p, start)
        if n == 4 * level + 2:
            break
    before = """
int i = 0;
double x = start;
for (; i < 60; i++) {
  if (x == 0) break;
  double step = (x * x * x - p) / (3 * x * x);
  x -= step;
  if (fabs(step) < 1e-10) break;
}
"""
    return dict(
        parameters=doubles(["p", "start"]),
        before=before,
        conditions=[f"i == {n}", f"fabs(x - {x!r}) < {10.0 ** (-2 * level)!r}"],
        witness=[p, start],
    )


def mixed(x, rounds):
    for _ in range(rounds):
        x = (x ^ (x >> 15)) * 0x2C1B3C6D & MASK
        x ^= x >> 12
    return x


def hashed(rng, level):
    """Bits of a mixing function of one or two integers."""
    bits = [8, 12, 16, 20, 24][level - 1]
    x, y = rng.getrandbits(32), rng.getrandbits(32)
    value = mixed(x ^ (y << 1 & MASK), 1 + level % 2)
    before = f"""
uint32_t h = x ^ y << 1;
for (int i = 0; i < {1 + level % 2}; i++) {{
  h = (h ^ h >> 15) * 0x2c1b3c6du;
  h ^= h >> 12;
}}
"""
    return dict(
        parameters=[("uint32_t", "x"), ("uint32_t", "y")],
        before=before,
        conditions=[f"h >> {32 - bits} == {value >> (32 - bits)}u"],
        witness=[x, y],
    )


def checksum(rng, level):
    """Bytes with a head, and a checksum over them: a sum or a rotated exclusive or over digits, or Fletcher's sum."""
    n, kind = 2 + 2 * level, level % 3
    data = [rng.randrange(256) for _ in range(n)]
    data[:2] = [rng.randrange(65, 91) for _ in range(2)]
    if kind != 2:
        data[2:] = [rng.randrange(48, 58) for _ in data[2:]]
    names = [f"b{i}" for i in range(n)]
    one = {0: "s += {0};", 1: "s ^= {0}; s = (uint8_t)(s << 1 | s >> 7);", 2: "s = (s + {0}) % 255; t = (t + s) % 255;"}
    s = t = 0
    for b in data:
        if kind == 0:
            s += b
        elif kind == 1:
            s = ((s ^ b) << 1 | (s ^ b) >> 7) & 255
        else:
            s = (s + b) % 255
            t = (t + s) % 255
    digits = [f"b{i} >= 48 && b{i} <= 57" for i in range(2, n)] if kind != 2 else []
    last = f"s == {s} && t == {t}" if kind == 2 else f"s == {s}"
    return dict(
        parameters=[("uint8_t", name) for name in names],
        before="unsigned s = 0, t = 0;\n" + "\n".join(one[kind].format(name) for name in names) + "\n(void)t;",
        conditions=[f"b0 == {data[0]}", f"b1 == {data[1]}", *digits, last],
        witness=data,
    )


def decimal(rng, level):
    """Digits of a number: a sum, a residue, equal places."""
    n = rng.randrange(10**8, 10**9)
    digits = [int(d) for d in str(n)]
    conditions = ["n >= 100000000 && n <= 999999999", f"n % 97 == {n % 97}"]
    if level > 1:
        conditions.append(f"n / 10000 % 1000 == {n // 10000 % 1000}")
    if level > 2:
        conditions.append(f"n / 100000000 + n / 10000000 % 10 + n % 10 == {digits[0] + digits[1] + digits[-1]}")
    if level > 3:
        conditions.append(f"n / 10 % 1000 * 7 % 1009 == {n // 10 % 1000 * 7 % 1009}")
    return dict(parameters=[("int", "n")], conditions=conditions, witness=[n])


def bits(rng, level):
    """Fields of words, and an exclusive or with a sum."""
    a, b = rng.getrandbits(64), rng.getrandbits(64)
    forms = [
        ("(a ^ b)", a ^ b),
        ("(a + b)", (a + b) & ((1 << 64) - 1)),
        ("(a & 0xff00ff00ff00ff00u)", a & 0xFF00FF00FF00FF00),
        ("(a ^ a >> 7)", a ^ a >> 7),
    ]
    chosen = [forms[:1], forms[:2], forms[1:3], [forms[3], forms[0]]][level - 1]
    conditions = [f"{text} == {value}u" for text, value in chosen]
    return dict(parameters=[("uint64_t", "a"), ("uint64_t", "b")], conditions=conditions, witness=[a, b])


def needle(rng, level):
    """One argument exactly here while another one is near there."""
    b = rng.choice([1.0, 0.5, 2.0, -1.0, 3.0])
    a = 2.0 ** -rng.randrange(44, 54) * rng.uniform(1.1, 1.9)
    c = quarter(rng, 50)
    conditions = ["a > 0", f"a < {2.0**-43!r}", f"(b + a) * b == {(b + a) * b!r}", f"b != 0 && fabs(a / b) > {abs(a / b) / 2!r}"]
    if level > 1:
        conditions.append(f"b == {b!r}")
    if level > 2:
        conditions.append(f"c - b == {c - b!r}")
    return dict(parameters=doubles("abc"), conditions=conditions, witness=[a, b, c])


def plateau(rng, level):
    """Steps by floor, conversion and rounding."""
    a, b = rng.uniform(1, 1e4), rng.uniform(1, 1e4)
    forms = [
        ("floor(a * 10)", math.floor(a * 10)),
        ("floor(b / 3)", math.floor(b / 3)),
        ("(long)(a * b) % 97", int(a * b) % 97),
        ("(int)a % 31 * ((int)b % 17)", int(a) % 31 * (int(b) % 17)),
        ("rint(a + b)", round(a + b)),
    ]
    chosen = rng.sample(forms, level + 1)
    conditions = ["a > 0 && a < 100000 && b > 0 && b < 100000", *(f"{text} == {value}" for text, value in chosen)]
    return dict(parameters=doubles("ab"), conditions=conditions, witness=[a, b])


def pythagoras(rng, level):
    """Whole sides of a right triangle, and more about them."""
    m, n = rng.randrange(20, 60), rng.randrange(2, 19)
    a, b, c = float(m * m - n * n), float(2 * m * n), float(m * m + n * n)
    conditions = [f"a > {float(m)!r} && b > {float(m)!r} && a != b", "a * a + b * b == c * c"]
    if level > 1:
        conditions.append("floor(a) == a && floor(b) == b")
    if level > 2:
        conditions.append(f"a + b + c == {a + b + c!r}")
    return dict(parameters=doubles("abc"), conditions=conditions, witness=[a, b, c])


def residues(rng, level):
    """Residues and a product of integers."""
    x, y = rng.randrange(1000, 30000), rng.randrange(1000, 30000)
    conditions = ["x > 0 && y > 0 && x < 40000 && y < 40000", f"x % 1009 == {x % 1009}"]
    conditions += [f"y % 677 == {y % 677}", f"(x * y) % 4093 == {x * y % 4093}", f"x / 7 + y / 11 == {x // 7 + y // 11}"][:level]
    return dict(parameters=[("int", "x"), ("int", "y")], conditions=conditions, witness=[x, y])


def single(rng, level):
    """Equalities in single precision."""
    a, b = f32(rng.uniform(-100, 100)), f32(rng.uniform(-100, 100))
    product, total = f32(a * b), f32(a + b)
    conditions = [f"a * b == {product!r}f", f"a + b == {total!r}f"][: min(level, 2)]
    if level == 1:
        conditions.append(f"b > {f32(b - 0.01)!r}f && b < {f32(b + 0.01)!r}f")
    if level == 3:
        conditions.append(f"a - b == {f32(a - b)!r}f")
    return dict(parameters=[("float", "a"), ("float", "b")], conditions=conditions, witness=[a, b])


# Family, levels, goals of each level.
FAMILIES = [
    (linear, range(2, 7), 5),
    (quadratic, range(2, 4), 8),
    (narrowing, range(3, 8), 5),
    (nested, range(1, 5), 6),
    (table, range(1, 5), 5),
    (newton, range(1, 5), 5),
    (hashed, range(1, 6), 5),
    (checksum, range(1, 7), 5),
    (decimal, range(1, 5), 6),
    (bits, range(1, 5), 6),
    (needle, range(1, 4), 8),
    (plateau, range(1, 5), 6),
    (pythagoras, range(1, 4), 8),
    (residues, range(1, 5), 6),
    (single, range(1, 4), 8),
]


def goals():
    """All goals, always the same."""
    for make, levels, number in FAMILIES:
        for level in levels:
            for variant in range(number):
                name = f"{make.__name__}_{level}_{variant}"
                yield Goal(name=name, family=make.__name__, **make(random.Random(name), level))
