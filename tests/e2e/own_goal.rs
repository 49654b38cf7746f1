//! `penfuzz TARGET --goal FILE`: goals that a C file defines.

use std::path::PathBuf;

use penfuzz_report::{Report, goal::GoalResult};

use crate::support::{Dir, fixture, workspace};

/// Enough for each of the small programs.
const EVALUATIONS: &str = "--max-evals 100000";

fn harness(name: &str) -> PathBuf {
    workspace().join("harnesses/goals").join(name)
}

fn result(report: &Report) -> GoalResult {
    report.goal.clone().expect("the report has the result for the goal")
}

/// The argument of the input of a function of one number.
fn argument(goal: &GoalResult) -> f64 {
    goal.input.as_ref().expect("an input")[0].decimal.parse().expect("a number")
}

fn search(dir: &Dir, function: &str, goal: &str, seed: u32) -> GoalResult {
    let out = format!("{goal}-{seed}");
    dir.penfuzz("--quiet --function")
        .arg(function)
        .arg(harness("two_conditions.c"))
        .arg("--goal")
        .arg(harness(goal))
        .args(&format!("--seed {seed} -o {out} {EVALUATIONS}"))
        .exits(0);
    result(&dir.report(&out))
}

#[test]
fn a_path_is_the_sum_of_its_distances() {
    let dir = Dir::new();
    for seed in 0..5 {
        let goal = search(&dir, "two_conditions", "path.c", seed);
        assert!(goal.found && goal.r == Some(0.0), "seed {seed}: {goal:?}");
        let x = argument(&goal);
        assert!(x > 1.0 && x * x <= 4.0, "seed {seed}: {x} is above 1, and its square is at most 4");
    }
}

#[test]
fn boundary_values_are_a_product_of_distances() {
    let dir = Dir::new();
    for seed in 0..5 {
        let goal = search(&dir, "two_conditions", "boundary.c", seed);
        let x = argument(&goal);
        // 0.9999999999999999 + 1 is rounded to 2.
        assert!(goal.found && [-3.0, 1.0, 2.0, 1f64.next_down()].contains(&x), "seed {seed}: {goal:?}");
    }
}

#[test]
fn a_formula_that_only_rounding_satisfies_has_a_model() {
    let dir = Dir::new();
    for seed in 0..5 {
        let goal = search(&dir, "formula", "satisfiable.c", seed);
        assert!(goal.found, "seed {seed}: {goal:?}");
        assert_eq!(argument(&goal).to_bits(), 1f64.next_down().to_bits(), "seed {seed}: the only model");
    }
}

#[test]
fn a_find_is_kept_shown_and_tested() {
    let dir = Dir::new();
    let run = dir
        .penfuzz("--function formula -o out")
        .arg(harness("two_conditions.c"))
        .arg("--goal")
        .arg(harness("satisfiable.c"))
        .exits(0);
    run.expect(run.stdout.contains("r = 0 for the goal ") && run.stdout.contains("satisfiable.c"), "the goal");
    run.expect(run.stdout.contains("formula(0.9999999999999999)"), "the call");
    run.expect(dir.files("out/queue").keys().any(|name| name.starts_with("id:000000")), "the input is kept");
    let test = std::fs::read_to_string(dir.path("out/tests/test_formula.c")).expect("the test");
    run.expect(test.contains("formula(0.9999999999999999)"), "the emitted test has the argument");
    let again = dir.penfuzz("report out").exits(0);
    again.expect(again.stdout.contains("r = 0 for the goal "), "the report shows it again");
}

#[test]
fn the_smallest_r_is_told_if_no_input_is_wanted() {
    let dir = Dir::new();
    let target = dir.file("t.c", "int t(double x) { if (x * x == 2) return 1; return 0; }\n");
    let text = "#include <pen_goal.h>\ndouble pen_r0 = 9;\n\
                double pen(const struct pen_condition *at, double r, double a, double b) {\n\
                return 0.25 + fabs(a - b); }\n";
    dir.file("goal.c", text);
    let run = dir.penfuzz("--goal goal.c --max-evals 20000 -o out").arg(target).exits(0);
    run.expect(run.stdout.contains("no input with r = 0 was found"), "none was found");
    run.expect(run.stdout.contains("smallest r = 0.25"), "the smallest value");
    let goal = result(&dir.report("out"));
    assert!(!goal.found && goal.r.is_some_and(|r| (0.25..0.25 + 1e-12).contains(&r)), "{goal:?}");
}

/// The members of `struct pen_condition`: each `return 0` needs another property, so the goal is found only if all
/// hold.
#[test]
fn conditions_have_their_place_relation_and_operands() {
    let dir = Dir::new();
    let target = "int t(int n, unsigned c, float f, double *p) {\n  if (n < -2)\n    if (c >= 200)\n      \
                  if (f != 0.5f)\n        if (p)\n          if (n == -7 && f > 2) return 1;\n  return 0;\n}\n";
    let goal = r#"#include <pen_goal.h>
double pen_r0 = 0;
static int is(const struct pen_condition *at, unsigned line, unsigned relation, unsigned operands) {
  return pen_is_at(at, "t", line) && at->relation == relation && at->operands == operands;
}
double pen(const struct pen_condition *at, double r, double a, double b) {
  int right = at->column > 0 && strstr(at->file, "t.c") && (at->to_true == 0) != (at->to_false == 0);
  switch (at->line) {
  case 2: right &= is(at, 2, PEN_LT, PEN_OF_SIGNED) && b == -2 && pen_holds(at) == (a < b); break;
  case 3: right &= is(at, 3, PEN_GE, PEN_OF_UNSIGNED) && b == 200 && pen_holds(at) == (a >= b); break;
  case 4: right &= is(at, 4, PEN_NE, PEN_OF_FLOAT) && b == 0.5 && pen_holds(at) == (a != b); break;
  case 5: right &= is(at, 5, PEN_NE, PEN_OF_POINTER) && b == 0; break;
  default: right &= at->line == 6 && (at->relation == PEN_EQ || at->relation == PEN_GT);
  }
  return right ? r + at->to_true : r + 1e300;
}
"#;
    dir.file("t.c", target);
    dir.file("goal.c", goal);
    dir.penfuzz("t.c --goal goal.c --quiet -o out --max-evals 300000").exits(0);
    let goal = result(&dir.report("out"));
    assert!(goal.found, "{goal:?}");
    let args = goal.input.expect("an input");
    assert_eq!(args[0].decimal, "-7", "{args:?}");
}

#[test]
fn a_goal_in_cxx_sees_a_harness() {
    let dir = Dir::new();
    let target = "#include <stddef.h>\n#include <stdint.h>\n\
                  int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) {\n  if (n > 1 && d[0] == 'p') return 0;\n  \
                  return 0;\n}\n";
    dir.file("h.c", target);
    let goal = "#include <pen_goal.h>\nextern \"C\" { double pen_r0 = 1e9; }\n\
                double pen(const pen_condition *at, double r, double a, double b) {\n\
                return b == 'p' ? pen_distance(at, 1) : r; }\n";
    dir.file("goal.cc", goal);
    dir.penfuzz("h.c --goal goal.cc --quiet -o out --max-evals 300000").exits(0);
    assert!(result(&dir.report("out")).found, "an input that begins with p");
}

#[test]
fn another_goal_is_another_campaign() {
    let dir = Dir::new();
    let target = harness("two_conditions.c");
    let with = |goal: &str| {
        let run = dir.penfuzz("--function formula --quiet -o out --max-evals 1000").arg(&target);
        run.arg("--goal").arg(harness(goal))
    };
    with("satisfiable.c").exits(0);
    with("satisfiable.c").exits(0);
    with("boundary.c").exits(1).says("--fresh");
    dir.penfuzz("--function formula --quiet -o out").arg(&target).exits(1).says("another goal");
}

#[test]
fn unusable_goals_are_refused_in_one_sentence() {
    let dir = Dir::new();
    dir.file("folder/a", "");
    let head = "#include <pen_goal.h>\n";
    let pen = "double pen(const struct pen_condition *at, double r, double a, double b) { return r; }\n";
    dir.file("syntax.c", format!("{head}double pen_r0 = 1 +;\n{pen}"));
    dir.file("no_pen.c", format!("{head}double pen_r0 = 1;\n"));
    dir.file("no_r0.c", format!("{head}{pen}"));
    dir.file("no_header.c", "double pen_r0 = 1;\n");
    dir.file("empty.c", "");
    dir.file("text.txt", "pen");
    let target = harness("two_conditions.c");
    for (goal, message) in [
        ("missing.c", "missing.c cannot be read"),
        ("folder", "folder is a directory"),
        ("empty.c", "empty.c is empty"),
        ("text.txt", "text.txt is neither C or C++ source"),
        ("syntax.c", "syntax.c does not compile"),
        ("no_pen.c", "no_pen.c defines no function `double pen("),
        ("no_r0.c", "no_r0.c defines no `double pen_r0`"),
        ("no_header.c", "no_header.c is no goal: it does not include pen_goal.h"),
    ] {
        let run = dir.penfuzz("--function formula -o out --goal").arg(goal).arg(&target).exits(1);
        let last = run.stderr.lines().last().unwrap_or_default();
        run.expect(last.starts_with("error: ") && last.contains(message), message);
        run.expect(run.stdout.is_empty(), "nothing on standard output");
        run.expect(goal == "syntax.c" || run.stderr.lines().count() == 1, "one line");
    }
    for (command, message) in [("boundary", "--goal is an option of"), ("exceptions", "--goal is an option of")] {
        let run = dir.penfuzz(command).args("--goal no_pen.c").arg(fixture("floats.c")).exits(2);
        run.says(message);
    }
}
