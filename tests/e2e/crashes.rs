//! Branches that only crashing inputs take.

use crate::support::Dir;

#[test]
fn a_branch_that_a_crash_has_taken_is_searched_for_an_ordinary_input() {
    let dir = Dir::new();
    // The start points are small numbers; the shift keeps them from reaching the bits that matter.
    dir.file(
        "f.c",
        "int f(double x, unsigned n)\n{\n  if (x > 100.5) return 10 / ((n >> 9 & 3) == 2);\n  return 0;\n}\n",
    );
    let run = dir.fuzz("f.c", "--seed 1").exits(3);
    let b = dir.report("out").branches;
    run.expect((b.covered, b.covered_by_crash_only, b.total) == (2, 0, 2), "an ordinary input for each branch");
}

#[test]
fn the_search_behind_a_crash_ends() {
    let dir = Dir::new();
    dir.file("f.c", "void abort(void);\nint f(double x)\n{\n  if (x > 100.5) abort();\n  return 0;\n}\n");
    let run = dir.fuzz("f.c", "--seed 1").exits(3);
    let report = dir.report("out");
    run.expect(report.branches.covered_by_crash_only == 1, "only crashes take it");
    run.expect(report.evaluations < 80_000, &format!("a part of the budget, not {} evaluations", report.evaluations));
    run.expect(report.crashes.len() == 1, "one crash, however often it occurs");
}
