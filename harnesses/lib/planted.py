#!/usr/bin/env python3
"""Counts which changes of a function's source its emitted tests notice, with gcc and without penfuzz's own mutants.

usage: planted.py SUITE.toml NAME[,NAME]... TIME CHANGES [SEED]

Runs `penfuzz suite SUITE.toml` on the named targets (NAME may have * and ?) for TIME each. Then, up to CHANGES times
for each function, one place of its text is changed (a comparison, an operator, an integer, or an assignment that is
left out), and the emitted tests are built with the changed source and run. Prints one line per function: the changes
that compile, those that the tests notice (an exit status other than 0, or no end within 10 s), and their share; then
the sums. SEED draws the changes; they depend on nothing else, so that two programs are compared on the same ones.
Functions whose tests do not pass without a change are named and not counted.

environment: PENFUZZ  the program; by default the release build, else from PATH
"""

import json
import random
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from linked import program

SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "+": "-", "-": "+", "*": "/", "/": "*", "&&": "||", "||": "&&",
}
PLACE = re.compile(
    r"(?<=[\w)\]] )(?P<operator>[<>=!]=|&&|\|\||[<>+*/-])(?= [\w(&*~!-])"
    r"|(?<![\w.'\"])(?P<integer>0[xX][0-9a-fA-F]+|\d+)(?![\w.'\"])"
    r"|(?<=[;{}])(?P<assignment>\s*[\w.\[\]>*()+-]+ *[-+*/|&]?=(?!=)[^;{}]*;)"
)
IGNORED = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)


def blank(text):
    """The text with spaces for comments, literals and directives."""
    return IGNORED.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def closing(text, at, pair):
    """The position of the bracket that closes the one at `at`, or None."""
    depth = 0
    for position in range(at, len(text)):
        depth += (text[position] == pair[0]) - (text[position] == pair[1])
        if depth == 0:
            return position
    return None


def body(text, function):
    """The begin and end of the function's body in the text without comments, or None."""
    name = function.split("::")[-1]
    for found in re.finditer(rf"(?<![\w.>]){re.escape(name)}\s*(?=\()", text):
        end = closing(text, found.end(), "()")
        head = end and re.match(r"\s*(?:(?:const|noexcept|override)\s*|[a-z][\w\s*,\[\]]*;\s*)*(?=\{)", text[end + 1 :])
        if head:
            begin = end + 1 + head.end()
            return begin, closing(text, begin, "{}")
    return None


def changed(text, place):
    """The text with one place changed."""
    kind, old = place.lastgroup, place.group()
    new = {"operator": lambda: SWAPS[old], "integer": lambda: f"({old} + 1)", "assignment": lambda: " "}[kind]()
    return text[: place.start()] + new + text[place.end() :]


class Tests:
    """The emitted program of one campaign, and how it is built with a changed source."""

    def __init__(self, directory, report, top):
        self.report, self.top = report, top
        test = report["test_program"]
        self.text = (directory / test["file"]).read_text()
        self.include = directory / "tests"
        self.suffix = Path(test["file"]).suffix
        *test_part, link_part = test["build"].split(" && ")
        words = shlex.split(link_part)
        self.compiler, self.flags, self.sources, self.libs = words[0], [], [], []
        for word in words[1 : words.index("-o", len(words) - 2)]:
            if word.startswith("tests/"):
                continue
            if Path(word).suffix in (".c", ".cc", ".cpp", ".cxx"):
                self.sources.append(Path(word))
            elif word.startswith(("-l", "-Wl,")):
                self.libs.append(word)
            else:
                self.flags.append(word)
        # A program that includes the source is compiled with the flags of the project.
        self.test_flags = self.flags
        if test_part:
            words = shlex.split(test_part[0])[1:]
            self.test_flags = [word for word in words if word not in ("-c", "-o") and not word.startswith("tests/")]
        self.objects = {}

    def compile(self, source, flags, name):
        """The object of a source, or None."""
        out = self.top / f"{name}.o"
        done = subprocess.run([self.compiler, *flags, "-w", "-c", source, "-o", out], capture_output=True)
        return None if done.returncode else out

    def passes(self, source, text):
        """Whether the tests pass with `text` in the place of the source; None if it does not compile."""
        mutated = self.top / f"changed{source.suffix}"
        mutated.write_text(text)
        near = ["-iquote", source.parent]
        program = self.top / f"test{self.suffix}"
        program.write_text(self.text.replace(str(source.resolve()), str(mutated)).replace(str(source), str(mutated)))
        objects = [self.compile(program, [*self.test_flags, "-I", self.include, *near], "test")]
        if source in self.sources:
            objects.append(self.compile(mutated, [*self.flags, *near], "changed"))
        for number, other in enumerate(self.sources):
            if other != source:
                if other not in self.objects:
                    self.objects[other] = self.compile(other, self.flags, f"other{number}")
                objects.append(self.objects[other])
        run = self.top / "run"
        if None in objects:
            return None
        if subprocess.run([self.compiler, *objects, *self.libs, "-o", run], capture_output=True).returncode:
            return None
        try:
            done = subprocess.run([run], capture_output=True, stdin=subprocess.DEVNULL, timeout=10, cwd=self.top)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def definition(report):
    """The source with the function's body, its text, and the body's begin and end."""
    for source in map(Path, report["sources"]):
        text = source.read_text(errors="replace")
        found = body(blank(text), report["function"])
        if found and found[1]:
            return source, text, found
    return None


def count(directory, report, changes, seed):
    """(changes that compile, changes that are noticed), or the reason why nothing was counted."""
    found = definition(report)
    if not found:
        return "its definition was not found"
    source, text, (begin, end) = found
    plain = blank(text)
    places = [p for p in PLACE.finditer(plain, begin, end)]
    random.Random(f"{seed} {report['function']}").shuffle(places)
    with tempfile.TemporaryDirectory() as top:
        tests = Tests(directory, report, Path(top))
        if not tests.passes(source, text):
            return "its tests do not pass without a change"
        results = []
        for place in places:
            if len(results) == changes:
                break
            result = tests.passes(source, changed(text, place))
            if result is not None:
                results.append(result)
    return len(results), results.count(False)


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    suite, names, seconds, changes = sys.argv[1:5]
    seed = sys.argv[5] if len(sys.argv) == 6 else "1"
    with tempfile.TemporaryDirectory() as top:
        out = Path(top) / "out"
        command = [program(), "suite", suite, "--only", names, "--max-time", seconds, "--seed", "1", "--jobs", "1"]
        done = subprocess.run([*command, "-o", out, "--quiet", "--json"], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(done.stderr or done.stdout)
        print(f"{'function':40} {'changes':>8} {'noticed':>8} {'share':>7}")
        sums = [0, 0]
        for path in sorted(out.rglob("report.json")):
            report = json.loads(path.read_text())
            if "test_program" not in report:
                continue
            counted = count(path.parent, report, int(changes), seed)
            if isinstance(counted, str):
                print(f"{report['function']:40} {counted}", flush=True)
                continue
            sums = [a + b for a, b in zip(sums, counted)]
            print(f"{report['function']:40} {counted[0]:8} {counted[1]:8} {100 * counted[1] / max(1, counted[0]):6.1f}%", flush=True)
        print(f"{'all':40} {sums[0]:8} {sums[1]:8} {100 * sums[1] / max(1, sums[0]):6.1f}%")


if __name__ == "__main__":
    main()
