#!/usr/bin/env python3
"""The worst known errors of a libm, and the share of them that `penfuzz accuracy` finds.

usage: accuracy.py LIBRARY [--seeds N] [--cpu SECONDS] [--functions a,b] [--search extremes|moves|structured|uniform]
LIBRARY is musl or newlib: its sources must have been fetched (harnesses/musl/fetch.sh, harnesses/fdlibm/fetch.sh).
PENFUZZ names the program; by default the release build, else that of PATH.

The figures to reach are errors in ulps of published inputs, evaluated again with 400 bits; the inputs themselves are not here.
Near zeros of lgamma, j0, j1, y0 and y1 errors have no bound: for these it prints ulps.
One line per function: the figure, then for 1 s, 10 s, ... of CPU time up to --cpu the median over the seeds of the share of it
that was found, the smallest share, and the worst error found of all seeds with its input.
"""
import argparse, json, re, statistics, subprocess, sys, tomllib
from pathlib import Path

from linked import program

HERE = Path(__file__).resolve().parent.parent
# Function: musl 1.2.3, newlib 3.3.0.
KNOWN = {
    "acos": (0.930, 0.930), "asin": (0.981, 0.981), "acosh": (2.241, 2.241), "asinh": (1.912, 1.914),
    "atan": (0.860, 0.860), "atanh": (1.799, 1.805), "cbrt": (0.667, 0.669), "sin": (0.831, 0.887),
    "cos": (0.833, 0.886), "tan": (1.012, 1.012), "sinh": (1.874, 2.662), "cosh": (1.034, 2.663),
    "tanh": (2.215, 2.215), "exp": (0.510, 0.948), "exp2": (0.510, 0.896), "exp10": (4.139, 0.896),
    "expm1": (0.908, 0.908), "log1p": (0.900, 0.896), "log": (0.520, 0.945), "log2": (0.554, 2.055),
    "log10": (0.813, 2.076), "erf": (1.020, 1.020), "erfc": (3.718, 4.077), "tgamma": (15.9, 2263),
    "pow": (None, 635.3),
}
# Near zeros of these nothing limits the error: what is printed for them are ulps and no shares.
UNBOUNDED = ("lgamma", "j0", "j1", "y0", "y1")


def library(name):
    """The sources and the options that compile them, as the recipe of the library has them."""
    directory = HERE / name
    recipe = tomllib.loads((directory / "recipe.toml").read_text())
    sources = (directory / recipe["sources"]).resolve()
    if not sources.is_dir():
        sys.exit(f"{sources} is missing: run {recipe['fetch']} in {directory}")
    build = recipe["build"]
    options = ["--cflag=" + flag.replace("{sources}", str(sources)) for flag in build["flags"]]
    options += ["--lib=" + lib for lib in build["libs"]]
    files = sorted({f for pattern in build["support"] for f in sources.glob(pattern)})
    return files, options


def defining(files, function):
    """The file that defines the function: by its name (sin.c, s_sin.c, the wrapper w_exp.c), else by its text."""
    for prefix in ("w_", "s_", ""):
        found = [f for f in files if f.name == f"{prefix}{function}.c"]
        if found:
            return found[0]
    definition = re.compile(rf"^\s*double\s+{function}\s*\(double", re.MULTILINE)
    return next((f for f in files if definition.search(f.read_text(errors="replace"))), None)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else sys.exit(done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=["musl", "newlib"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cpu", type=float, default=10)
    parser.add_argument("--functions", default=",".join([*KNOWN, *UNBOUNDED]))
    parser.add_argument("--search", default="extremes")
    args = parser.parse_args()
    files, options = library(args.library)
    times = [t for t in (1, 10, 60) if t <= args.cpu] or [args.cpu]
    print("function", "known", *[f"{t}s" for t in times], "least", "worst", "at", sep="\t")
    for function in args.functions.split(","):
        known = 1 if function in UNBOUNDED else KNOWN[function][args.library == "newlib"]
        file = defining(files, function)
        if known is None or file is None:
            continue
        others = [o for f in files if f != file for o in ("--with", str(f))]
        command = [program(), "accuracy", str(file), "-f", function, *others, *options, "--reference", f"mpfr:{function}"]
        command += ["--search", args.search, "--max-cpu", f"{args.cpu}s", "--max-time", f"{20 * args.cpu + 20}s", "--json"]
        answers = [run([*command, "--seed", str(seed)]) for seed in range(1, args.seeds + 1)]
        shares = {t: [max([p["ulp"] for p in a["progress"] if p["cpu_seconds"] <= t], default=0) / known for a in answers]
                  for t in times}
        best = max(answers, key=lambda a: a["worst"]["ulp"])["worst"]
        medians = [f"{statistics.median(shares[t]):.4f}" for t in times]
        at = ", ".join(a["hex"] for a in best["args"])
        figure = "-" if function in UNBOUNDED else known
        print(function, figure, *medians, f"{min(shares[times[-1]]):.4f}", f"{best['ulp']:.4f}", at, sep="\t", flush=True)


if __name__ == "__main__":
    main()
