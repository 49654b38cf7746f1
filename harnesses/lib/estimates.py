#!/usr/bin/env python3
"""Searches for inputs on which functions of GSL exceed their own estimates of the error, and prints the worst.

usage: estimates.py TIME SEEDS [FUNCTION]...        (TIME of CPU of each search, for example 10s)

GSL's functions `gsl_sf_NAME_e` return a value and an estimate of its error. `penfuzz accuracy --estimate` searches for the largest error as a multiple of
the estimate, against MPFR, or against the definition in 113 bits (harnesses/gsl/exact.c). Prints for each function the median over the
seeds and the most, with its input, the error, the estimate, and the error by mpmath with 60 digits, which shares nothing with penfuzz. Then how many functions exceed their
estimates. A result whose status is not success does not count.

environment: PENFUZZ  the program, with MPFR; by default the release build, else from PATH
             TARGET   a file linked from the suite of GSL; made if it is not there
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import mpmath
from mpmath import mpf

from linked import HERE, link, program

SUITE = HERE / "../gsl/suite.toml"
EXACT = (HERE / "../gsl/exact.c").resolve()
mpmath.mp.dps = 60

normal_z = lambda x: mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi)
normal_q = lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2
lnbeta = lambda x, y: mpmath.loggamma(x) + mpmath.loggamma(y) - mpmath.loggamma(x + y)

# NAME: (reference, domains of the arguments, the value by mpmath)
FUNCTIONS = {
    "bessel_J0": ("mpfr:j0", ["finite"], lambda x: mpmath.besselj(0, x)),
    "bessel_J1": ("mpfr:j1", ["finite"], lambda x: mpmath.besselj(1, x)),
    "bessel_Y0": ("mpfr:y0", ["finite"], lambda x: mpmath.bessely(0, x)),
    "bessel_Y1": ("mpfr:y1", ["finite"], lambda x: mpmath.bessely(1, x)),
    "gamma": ("mpfr:tgamma", ["finite"], mpmath.gamma),
    "lngamma": ("mpfr:lgamma", ["finite"], lambda x: mpmath.log(abs(mpmath.gamma(x)))),
    "psi": ("mpfr:digamma", ["finite"], mpmath.digamma),
    "zeta": ("mpfr:zeta", ["-100..100"], mpmath.zeta),
    "expint_Ei": ("mpfr:eint", ["1e-300..700"], mpmath.ei),
    "dilog": ("mpfr:li2", ["-1e300..1e300"], lambda x: mpmath.re(mpmath.polylog(2, x))),
    "erf": ("mpfr:erf", ["finite"], mpmath.erf),
    "erfc": ("mpfr:erfc", ["finite"], mpmath.erfc),
    "exp": ("mpfr:exp", ["finite"], mpmath.exp),
    "expm1": ("mpfr:expm1", ["finite"], mpmath.expm1),
    "log": ("mpfr:log", ["finite"], mpmath.log),
    "log_1plusx": ("mpfr:log1p", ["finite"], mpmath.log1p),
    "sin": ("mpfr:sin", ["finite"], mpmath.sin),
    "cos": ("mpfr:cos", ["finite"], mpmath.cos),
    "hypot": ("mpfr:hypot", ["finite", "finite"], mpmath.hypot),
    "sinc": ("sinc", ["-1e6..1e6"], lambda x: mpmath.sincpi(x)),
    "lnsinh": ("lnsinh", ["1e-300..10000"], lambda x: mpmath.log(mpmath.sinh(x))),
    "lncosh": ("lncosh", ["-10000..10000"], lambda x: mpmath.log1p(2 * mpmath.sinh(x / 2) ** 2)),
    "log_erfc": ("log_erfc", ["-100..100"], lambda x: mpmath.log(mpmath.erfc(x))),
    "exprel": ("exprel", ["-700..700"], lambda x: mpmath.expm1(x) / x),
    "bessel_j0": ("spherical_j0", ["-1e6..1e6"], mpmath.sinc),
    "bessel_j1": ("spherical_j1", ["0.01..1e6"], lambda x: mpmath.sin(x) / x**2 - mpmath.cos(x) / x),
    "bessel_y0": ("spherical_y0", ["1e-300..1e6"], lambda x: -mpmath.cos(x) / x),
    "bessel_y1": ("spherical_y1", ["1e-100..1e6"], lambda x: -mpmath.cos(x) / x**2 - mpmath.sin(x) / x),
    "bessel_i0_scaled": ("i0_scaled", ["-1e300..1e300"], lambda x: -mpmath.expm1(-2 * abs(x)) / (2 * abs(x))),
    "bessel_k0_scaled": ("k0_scaled", ["1e-300..1e300"], lambda x: mpmath.pi / (2 * x)),
    "bessel_k1_scaled": ("k1_scaled", ["1e-100..1e100"], lambda x: mpmath.pi / 2 * (1 / x + 1 / x**2)),
    "legendre_P2": ("legendre_2", ["-1..1"], lambda x: (3 * x * x - 1) / 2),
    "legendre_P3": ("legendre_3", ["-1..1"], lambda x: x * (5 * x * x - 3) / 2),
    "legendre_Q0": ("legendre_q0", ["0..1e300"], lambda x: mpmath.atanh(x) if x < 1 else mpmath.log1p(2 / (x - 1)) / 2),
    "gegenpoly_2": ("gegenbauer_2", ["1e-6..100", "-1..1"], lambda a, x: a * (2 * (1 + a) * x * x - 1)),
    "fermi_dirac_m1": ("fermi_dirac_m1", ["-700..700"], lambda x: 1 / (1 + mpmath.exp(-x))),
    "fermi_dirac_0": ("fermi_dirac_0", ["-700..700"], lambda x: mpmath.log1p(mpmath.exp(x))),
    "log_1plusx_mx": ("log_1plusx_mx", ["1e-6..1e300"], lambda x: mpmath.log1p(x) - x),
    "pow_int": ("power", ["-1e10..1e10", "-20..20"], lambda x, n: x ** int(n)),
    "exp_mult": ("exp_mult", ["-700..700", "-1e3..1e3"], lambda x, y: y * mpmath.exp(x)),
    "hydrogenicR_1": ("hydrogenic_1", ["1e-6..100", "0..100"], lambda z, r: 2 * z * mpmath.sqrt(z) * mpmath.exp(-z * r)),
    "beta": ("beta", ["0.01..100", "0.01..100"], lambda x, y: mpmath.exp(lnbeta(x, y))),
    "lnbeta": ("lnbeta", ["0.01..100", "0.01..100"], lnbeta),
    "erf_Q": ("normal_q", ["-100..100"], normal_q),
    "erf_Z": ("normal_z", ["-100..100"], normal_z),
    "hazard": ("hazard", ["-100..100"], lambda x: normal_z(x) / normal_q(x)),
}


def parameters(target):
    """The names of the arguments of each function."""
    listed = json.loads(subprocess.run([program(), "functions", target, "--json"], capture_output=True, text=True, check=True).stdout)
    inside = lambda text: text[text.index("(") + 1 : text.rindex(")")].split(",")
    return {f["name"]: [word.split()[-1].strip("*") for word in inside(f["signature"])] for f in listed}


def worst(target, names, name, time, seed):
    reference, domains, _ = FUNCTIONS[name]
    function = f"gsl_sf_{name}_e"
    command = [program(), "accuracy", target, "-f", function, "--estimate", "err", "--json", "--seed", seed, "--max-cpu", time, "--max-time", "10min"]
    command += ["--reference", reference if ":" in reference else f"{EXACT}:{reference}"]
    for argument, domain in zip(names[function], domains):
        command += ["--arg", f"{argument}: {domain}"]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr.strip()}")
    return json.loads(done.stdout)["worst"]


def number(text):
    return float.fromhex(text) if "0x" in text else float(text)


def confirmed(name, found):
    """The error by mpmath."""
    args = [mpf(number(a["decimal"])) for a in found["args"]]
    return abs(mpf(number(found["result"]["decimal"])) - FUNCTIONS[name][2](*args))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    time, seeds, chosen = sys.argv[1], range(1, int(sys.argv[2]) + 1), sys.argv[3:] or list(FUNCTIONS)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(os.environ.get("TARGET") or temporary + "/gsl")
        if not target.exists():
            link(SUITE, target)
        names = parameters(target)
        for name in chosen:
            found = [f for f in (worst(target, names, name, time, seed) for seed in seeds) if f]
            if not found:
                print(f"{name}: no error", file=sys.stderr)
                continue
            most = max(found, key=lambda f: f["times_estimate"])
            rows.append((statistics.median(f["times_estimate"] for f in found), name, most))
            print(".", end="", file=sys.stderr, flush=True)
    print(f"\n{'function':<18}{'median':>10}{'most':>10}{'error':>12}{'by mpmath':>12}{'estimate':>12}{'ulp':>10}  arguments")
    for median, name, most in sorted(rows, key=lambda row: -row[2]["times_estimate"]):
        args = ", ".join(a["decimal"] for a in most["args"])
        error = confirmed(name, most)
        shown = most.get("absolute")
        own = "" if shown is None else f"{shown:.3e}"
        ulp = "" if most.get("ulp") is None else f"{most['ulp']:.3g}"
        print(f"{name:<18}{median:>10.3g}{most['times_estimate']:>10.3g}{own:>12}{float(error):>12.3e}{most['estimate']:>12.3e}{ulp:>10}  {args}")
    above = sum(most["times_estimate"] > 1 for _, _, most in rows)
    print(f"{above} of {len(rows)} functions exceed their estimate")


if __name__ == "__main__":
    main()
