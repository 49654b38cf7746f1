"""Goals of real libraries (harvest.toml), and searches on them.

A goal is a branch, a boundary value, an exception of an operation, or a path of a function of a suite in harnesses/, with the bytes
of an input that reaches it. Evaluations of a branch, boundary value or exception are those of a campaign over all goals of its kind in
the function, as a user runs it. A path has a search of its own.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from linked import TAKEN, compiler, link, program
from measure import search_options

HERE = Path(__file__).resolve().parent
FILE = HERE / "harvest.toml"
COMMANDS = {"branch": [], "boundary": ["boundary"], "exception": ["exceptions"]}


@dataclass(frozen=True)
class Goal:
    """`site` and `outcome` are those of a report; a path is the one that the witness takes."""

    suite: str
    function: str
    kind: str
    witness: str  # bytes in hexadecimal
    found: str  # how
    site: str = ""
    outcome: str = ""

    @property
    def name(self):
        what = f"{self.site} {self.outcome}" if self.site else self.witness
        return f"{self.suite} {self.function} {self.kind} {what}"

    @property
    def family(self):
        return f"{self.kind} {self.suite}"


def goals():
    return [Goal(**table) for table in tomllib.loads(FILE.read_text())["goal"]] if FILE.exists() else []


def branches(report):
    """The branches of a report by (site, outcome). A number tells apart sites in the same place with the same operator."""
    found, seen = {}, Counter()
    for site in report["sites"]:
        place = f"{Path(site['file']).name}:{site['line']}:{site['column']}"
        text = f"{place} {site['predicate'] or site.get('operation') or site['kind']}"
        seen[text] += 1
        text += f" #{seen[text]}" if seen[text] > 1 else ""
        found |= {(text, b["outcome"]): b for b in site["branches"]}
    return found


def penfuzz(arguments, statuses=(0, 3)):
    done = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, errors="replace")
    if done.returncode not in statuses:
        sys.exit(f"{' '.join(map(str, done.args))}\n{done.stderr}")
    return done


def campaign(target, function, kind, options):
    """One campaign; returns its report."""
    with tempfile.TemporaryDirectory() as out:
        penfuzz([*COMMANDS[kind], target, "--function", function, "--quiet", "-o", f"{out}/out", *options])
        return json.loads(Path(out, "out", "report.json").read_text())


def evaluated(target, function, kind, inputs):
    """A report of inputs alone, without a search."""
    with tempfile.TemporaryDirectory() as seeds:
        for i, data in enumerate(inputs):
            Path(seeds, f"{i:06}").write_bytes(data)
        return campaign(target, function, kind, ["-i", seeds, "--max-evals", 1, "--search", "random", "--seed", 1])


def path_of(target, function, data):
    """The path that an input takes, in the syntax of `penfuzz reach`."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "input")
        file.write_bytes(data)
        printed = penfuzz(["replay", target, "--function", function, "--path", file]).stdout
    found = re.search(r"^ *path *[=:]? *(.*)$", printed, re.M)
    return found.group(1) if found else sys.exit(f"penfuzz replay --path printed no path:\n{printed}")


def reached(target, function, path, search, evaluations, seed):
    """The evaluation that took the path, or None."""
    with tempfile.NamedTemporaryFile("w", suffix=".path") as file:
        file.write(path)
        file.flush()
        asked = ["reach", target, "--function", function, "--path", f"@{file.name}", "--json", "--no-simplify"]
        asked += ["--max-evals", evaluations, "--max-time", "1h", "--seed", seed, "--search", search]
        answer = json.loads(penfuzz(asked, (0, 1, 3)).stdout)
    return answer["evaluations"] if answer["found"] else None


class Targets:
    """Target files of suites, linked when they are first needed by this pen-cc, and kept beside this script (git ignores src-*)."""

    def __init__(self):
        self.linked = {}

    def of(self, suite, kind="branch"):
        more = ["-fpen-exceptions"] if kind == "exception" else []
        if (suite, *more) not in self.linked:
            table = HERE.parent / suite / "suite.toml"
            made_of = hashlib.sha256(Path(compiler()).read_bytes() + table.read_bytes()).hexdigest()[:12]
            file = HERE / "src-targets" / "-".join([suite, *more, made_of])
            if not file.exists():
                file.parent.mkdir(exist_ok=True)
                link(table, file, *more)
            self.linked[suite, *more] = file
        return self.linked[suite, *more]


class Harvested:
    """The goals of harvest.toml that `chosen` accepts."""

    def __init__(self, chosen):
        self.all = [g for g in goals() if chosen(g.name, g.family)]
        self.family_of = {g.name: g.family for g in self.all}
        self.names = []
        self.targets = Targets()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def grouped(self, names):
        """Goals of one campaign together; a path is alone."""
        groups = {}
        for goal in self.all:
            if goal.name in names:
                key = (goal.suite, goal.function, goal.kind, goal.witness if goal.kind == "path" else "")
                groups.setdefault(key, []).append(goal)
        return groups

    def prepare(self, _):
        """Evaluates every witness."""
        for (suite, function, kind, _), members in self.grouped([g.name for g in self.all]).items():
            if kind == "path":
                continue
            report = branches(evaluated(self.targets.of(suite, kind), function, kind, [bytes.fromhex(g.witness) for g in members]))
            for goal in members:
                if report.get((goal.site, goal.outcome), {}).get("status") not in TAKEN:
                    sys.exit(f"the witness of {goal.name} does not reach it")
        self.names = [g.name for g in self.all]

    def run(self, names, search, evaluations, seed):
        """The evaluation that solved each goal, or None, by name."""
        groups = self.grouped(names)
        for suite, _, kind, _ in groups:
            self.targets.of(suite, kind)
        one = lambda item: self.solved(*item, search, evaluations, seed)
        with ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count())) as pool:
            return {name: at for found in pool.map(one, groups.items()) for name, at in found.items()}

    def solved(self, key, members, search, evaluations, seed):
        suite, function, kind, witness = key
        target = self.targets.of(suite, kind)
        if kind == "path":
            if "/" in search or search == "havoc":
                return {}  # penfuzz reach does not have them
            path = path_of(target, function, bytes.fromhex(witness))
            return {members[0].name: reached(target, function, path, search, evaluations, seed)}
        options = ["--max-evals", evaluations, "--seed", seed, *search_options(search)]
        report = branches(campaign(target, function, kind, options))
        status = {g.name: report[(g.site, g.outcome)] for g in members}
        return {name: b["covered_at"] if b["status"] in TAKEN else None for name, b in status.items()}
