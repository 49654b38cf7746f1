#!/usr/bin/env python3
"""Confirms the worst errors that accuracy.py has found, without penfuzz: by mpmath, in a library that another compiler has made.

usage: worst.py musl|newlib TABLE          (TABLE is what `accuracy.py LIBRARY` has printed)

The library is compiled with cc as a shared object. One line per function: the error of its result at the input of the table, in ulps of the
exact value, by mpmath with 120 digits; the result and the exact value. Fails if an error is not that of the table.
"""

import ctypes
import math
import sys
import tempfile
from pathlib import Path

import mpmath
from mpmath import mpf

from linked import HERE, share

mpmath.mp.dps = 120
EXACT = {
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "exp2": lambda x: mpf(2) ** x,
    "exp10": lambda x: mpf(10) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "tgamma": mpmath.gamma,
    "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))),
    "j0": lambda x: mpmath.besselj(0, x),
    "j1": lambda x: mpmath.besselj(1, x),
    "y0": lambda x: mpmath.bessely(0, x),
    "y1": lambda x: mpmath.bessely(1, x),
    "pow": lambda x, y: x**y,
}
# The table has four places, and large errors have no more digits in a double.
ROUNDING = 0.00006


def ulp(r):
    """The unit in the last place of the binade of r, as a double."""
    return mpf(2) ** (max(mpmath.frexp(r)[1], -1021) - 53)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    library, table = sys.argv[1:]
    others = []
    with tempfile.TemporaryDirectory() as directory:
        made = ctypes.CDLL(str(share(HERE.parent / library / "recipe.toml", Path(directory) / "library.so")))
        print("function", "error", "result", "exact", sep="\t")
        for line in Path(table).read_text().splitlines()[1:]:
            name, *_, found, at = line.split("\t")
            args = [float.fromhex(x) for x in at.split(", ")]
            function = getattr(made, name)
            function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * len(args)
            y = function(*args)
            exact = EXACT.get(name, getattr(mpmath, name, None))(*map(mpf, args))
            error = abs(mpf(y) - exact) / ulp(exact) if math.isfinite(y) else mpmath.inf
            print(name, mpmath.nstr(error, 8), repr(y), mpmath.nstr(exact, 25), sep="\t")
            if abs(error - float(found)) > ROUNDING + 1e-15 * error:
                others.append(name)
    if others:
        sys.exit(f"another error than in {table}: {', '.join(others)}")


if __name__ == "__main__":
    main()
