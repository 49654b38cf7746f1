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

/// Checks that share a handler fail at different places, although the compiler could merge their calls.
#[test]
fn each_check_that_calls_a_common_handler_is_a_crash() {
    for (handler, signal) in [("__builtin_trap()", "SIGILL"), ("abort()", "SIGABRT")] {
        let dir = Dir::new();
        let source = format!(
            "#include <stdlib.h>
__attribute__((noinline)) static void fail(void) {{ {handler}; }}
#define CHECK(c) ((c) ? (void)0 : fail())
int checked(int a, int b) {{ CHECK(a != 1000); CHECK(b != 2000); return a / 3 + b; }}
"
        );
        dir.file("checked.c", &source);
        dir.fuzz("checked.c", "--max-evals 20000 --no-prove").exits(3);
        let report = dir.report("out");
        assert_eq!(report.crashes.len(), 2, "{handler}: {:?}", report.crashes);
        assert!(report.crashes.iter().all(|c| c.reason == signal), "{:?}", report.crashes);
        assert_eq!(report.branches.covered_by_crash_only, 2, "{handler}");
    }
}
