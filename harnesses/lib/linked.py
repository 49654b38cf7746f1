"""The programs under measurement, and target files with all functions of a suite. For the scripts of harnesses/."""

import glob
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TAKEN = ("covered", "saturated")


def program():
    """penfuzz: $PENFUZZ, else the release build, else from PATH."""
    released = HERE / "../../target/release/penfuzz"
    return os.environ.get("PENFUZZ") or (str(released) if released.exists() else shutil.which("penfuzz") or "penfuzz")


def compiler():
    """pen-cc: $PEN_CC, else the one beside penfuzz."""
    return os.environ.get("PEN_CC") or str(Path(program()).with_name("pen-cc"))


def files(directory, patterns):
    """The files of globs, in their order. A pattern with ! takes files out again, as in suite.toml."""
    chosen = {}
    for pattern in patterns:
        for file in sorted(glob.glob(str(directory / pattern.removeprefix("!")))):
            if pattern.startswith("!"):
                chosen.pop(file, None)
            else:
                chosen[file] = True
    return list(chosen)


def read(suite):
    """A suite or a recipe, its directory of sources, which are fetched if they are missing, and the flags of its compiler."""
    table = tomllib.loads(suite.read_text())
    sources = suite.parent / table["sources"]
    if not sources.exists():
        subprocess.run([str(suite.parent / table["fetch"])], check=True)
    return table, sources, [f.replace("{sources}", str(sources)) for f in table["build"]["flags"]]


def run(command):
    """Runs a compiler; its messages end the program if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)


def link(suite, to, *more):
    """Links the support sources, what `setup` names and the targets of a suite into one target file; fetches missing sources.
    `more` are flags of pen-cc.
    """
    suite = Path(suite).resolve()
    table, sources, flags = read(suite)
    build = table["build"]
    chosen = files(sources, build.get("support", [])) + files(suite.parent, build.get("setup", []))
    chosen += [str(sources / t["file"]) for t in table["target"]]
    run([compiler(), "-O2", "-g", *more, *flags, *dict.fromkeys(chosen), "-o", str(to), *build.get("libs", [])])


def share(recipe, to):
    """Makes a shared object of a library by its recipe, with the system's compiler; fetches missing sources. Returns its path."""
    table, sources, flags = read(Path(recipe).resolve())
    build = table["build"]
    run(["cc", "-O2", "-shared", "-fPIC", *flags, *files(sources, build["support"]), "-o", str(to), *build.get("libs", [])])
    return to
