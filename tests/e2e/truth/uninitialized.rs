//! What a function does with variables that it has not written is neither covered nor expected: the emitted test, which
//! gcc compiles without optimization, may read anything there. Each input is replayed with several contents of such
//! memory, and what differs is reported.

use std::{path::Path, process::Command};

use penfuzz_report::{Report, Status};

use crate::{
    outputs::{build_line, gcov},
    support::{Dir, fixture, is_covered, line_of},
};

/// Searches the function, then builds and runs its tests by gcc. They must pass, and gcov must count at least the
/// claimed branches: it also counts those that depend on uninitialized memory, by chance.
fn holds(dir: &Dir, target: &Path, function: &str, options: &str) -> Report {
    dir.fuzz(target, &format!("-f {function} --no-prove {options}")).exits(0);
    let report = dir.report("out");
    let programs = dir.files("out/tests");
    let (_, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    let line = build_line(&String::from_utf8_lossy(text));
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && {line}")]));
    let (counted, _) = gcov(dir, function);
    assert!(counted >= report.branches.covered, "{function}: {counted} counted, {} claimed", report.branches.covered);
    report
}

/// The numbers of covered branches, of those that depend on uninitialized memory, and of all. The statuses must agree.
fn figures(report: &Report) -> (usize, usize, usize) {
    let b = report.branches;
    let statuses = report.sites.iter().flat_map(|s| &s.branches);
    let depend = statuses.filter(|b| b.status == Status::DependsOnUninitialized).count();
    assert_eq!(depend, b.depends_on_uninitialized, "the branches and their number");
    assert_eq!(b.depends_on_earlier_calls, 0, "the reason is uninitialized memory");
    (b.covered, depend, b.total)
}

/// Per test of the function, whether it depends on uninitialized memory, and its result.
fn results(function: &str) -> Vec<(bool, Option<String>)> {
    let dir = Dir::new();
    let report = holds(&dir, &fixture("uninitialized.c"), function, "--max-evals 20000");
    let mut all: Vec<_> = report
        .tests
        .iter()
        .map(|t| (t.depends_on_uninitialized, t.result.as_ref().map(|r| r.decimal.clone())))
        .collect();
    all.sort();
    all
}

#[test]
fn a_result_is_expected_only_where_the_variable_is_written() {
    assert_eq!(results("first_digit"), [(false, Some("3.0".to_owned())), (true, None)]);
}

#[test]
fn a_returned_structure_with_members_that_are_not_written_is_not_expected() {
    assert!(results("cast").iter().any(|(depends, _)| *depends));
}

#[test]
fn an_array_through_which_memory_is_copied_is_not_expected() {
    let all = results("side");
    assert!(all.iter().any(|(depends, _)| *depends) && all.iter().all(|(_, result)| result.is_some()), "{all:?}");
}

#[test]
fn memory_of_the_heap_is_not_expected_before_it_is_written() {
    let dir = Dir::new();
    let report = holds(&dir, &fixture("uninitialized.c"), "of_heap", "--max-evals 20000");
    assert_eq!(figures(&report), (3, 2, 6), "malloc fails in no test, and nothing writes the second number");
}

/// Two variables that scanf leaves as they are at the end of the input.
#[test]
fn a_comparison_of_two_variables_that_are_not_read_is_covered_by_inputs_that_are_read() {
    let dir = Dir::new();
    let report = holds(&dir, &fixture("uninitialized.c"), "larger", "--seed 3 --max-evals 30000 --max-time 60s");
    let line = line_of(&fixture("uninitialized.c"), "if (a > b) return 1") as u32;
    let compared: Vec<_> = report.sites.iter().filter(|s| s.line == line).flat_map(|s| &s.branches).collect();
    assert_eq!(compared.iter().filter(|b| is_covered(b)).count(), 2, "{compared:?}");
}

#[test]
fn variables_that_are_always_written_first_are_not_named() {
    assert_eq!(results("written").iter().filter(|(depends, _)| *depends).count(), 0);
}

/// The branch, the tests, and the reason are in every report.
#[test]
fn reports_name_what_depends_on_uninitialized_memory() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("uninitialized.c"), "-f of_heap --no-prove --max-evals 20000").exits(0);
    run.expect(run.stdout.contains("2 depend on uninitialized memory"), "the number of branches");
    run.expect(run.stdout.contains("tests depend on uninitialized memory: the function reads"), "the tests");
    let text = |name: &str| String::from_utf8(dir.files("out")[name].clone()).expect("reports are text");
    run.expect(text("report.json").contains("\"depends_on_uninitialized\": 2"), "the figure in report.json");
    run.expect(text("coverage.lcov").contains("# depends on uninitialized memory: BRDA:"), "the branch in lcov");
    run.expect(text("report.html").contains("Depends on uninitialized memory: the function reads"), "the page");
}

/// The local variable contains whatever an earlier call has left on the stack.
#[test]
fn a_variable_that_is_not_initialized_has_no_expected_value() {
    let dir = Dir::new();
    let source = "int leftover(int n) {
    volatile int own[16];
    if (n > 5) own[3] = 7;
    return own[3];
}
";
    dir.file("leftover.c", source);
    let run = dir.fuzz("leftover.c", "--max-evals 1000 --seed 1").exits(0);
    let report = dir.report("out");
    let expected: Vec<_> = report.tests.iter().filter_map(|t| t.result.as_ref().map(|r| r.decimal.as_str())).collect();
    run.expect(report.branches.covered == 2 && expected == ["7"], &format!("one expected value, of {expected:?}"));
}

/// Evaluations of a campaign read there what earlier calls have left.
#[test]
fn a_branch_on_a_variable_that_is_not_initialized_is_not_covered() {
    let dir = Dir::new();
    let source = "int leftover(int n) {
    volatile int own[16];
    if (n > 5) own[3] = 7;
    if (n < 0 && own[3] == 0) return 1;
    return 0;
}
";
    dir.file("leftover.c", source);
    dir.fuzz("leftover.c", "--max-evals 20000 --no-prove").exits(0);
    assert_eq!(figures(&dir.report("out")), (4, 2, 6));
}

#[test]
fn the_variable_that_is_read_is_named() {
    let dir = Dir::new();
    let source = "float first(const char *s)
{
  float v;
  for (; *s; s++) if (*s >= '0' && *s <= '9') { v = *s - '0'; break; }
  return v + 1;
}
";
    dir.file("first.c", source);
    let run = dir.fuzz_and_check("first.c", "--max-evals 20000 --seed 1 --no-prove").exits(0);
    run.expect(run.stdout.contains("that it has not written: `v` (first.c:5)"), "the variable");
}

#[test]
fn members_of_a_result_that_are_not_written_are_named() {
    let dir = Dir::new();
    let source = "struct hit { int found; float at; int rounds; };
struct hit cast(float a, float b)
{
  struct hit r;
  r.found = 0;
  if (a > b) { r.found = 1; r.at = a - b; r.rounds = 3; }
  return r;
}
";
    dir.file("cast.c", source);
    let run = dir.fuzz_and_check("cast.c", "--max-evals 20000 --seed 1 --no-prove").exits(0);
    run.expect(run.stdout.contains("that it has not written; `result.at`, `result.rounds` differ"), "the members");
}
