#!/usr/bin/env python3
"""Counts which emitted tests were built and passed, from the reports of campaigns.

    penfuzz suite harnesses/gsl/suite.toml --max-time 2s -o out/gsl
    harnesses/lib/tests_checked.py out/gsl [DIR...]

For each directory and compiler: the programs that were built and passed, that fail, that do not build, and that were
not checked; then each reason with the functions that have it, and the tests that were set aside.
"""

import collections
import json
import sys
from pathlib import Path


def reports(directory):
    """The reports of the campaigns below a directory."""
    for path in sorted(Path(directory).rglob("report.json")):
        try:
            report = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        if "test_program" in report:
            yield report


def summary(directory):
    """Prints the counts and reasons of one directory."""
    counts, reasons = collections.Counter(), collections.defaultdict(set)
    functions = tests = set_aside = 0
    for report in reports(directory):
        functions += 1
        tests += len(report["tests"])
        for check in report.get("test_checks", []):
            compiler = check["compiler"].split()[0]
            counts[compiler, check["result"]] += 1
            if check["result"] != "passed":
                reasons[f"{compiler} {check['result']}: {check['message']}"].add(report["function"])
        for test in report.get("failed_tests", []):
            set_aside += 1
            reasons[f"test set aside: {test['reason']} ({test['compiler'].split()[0]})"].add(report["function"])
        for crash in report["crashes"]:
            if crash.get("in_test_program"):
                reasons[f"crash {crash['reason'].split(' at ')[0]}: {crash['in_test_program']}"].add(report["function"])
    print(f"{directory}: {functions} functions, {tests} tests, {set_aside} set aside")
    for (compiler, result), n in sorted(counts.items()):
        print(f"  {compiler:8} {result:12} {n}")
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):4}  {reason}  ({', '.join(sorted(names)[:3])})")


if len(sys.argv) < 2:
    sys.exit(__doc__)
for argument in sys.argv[1:]:
    summary(argument)
