//! The emitted tests are compiled and run before they are reported. What fails outside of the campaign is set aside.

use std::time::{Duration, Instant};

use penfuzz_report::{Status, test_check::Checked};

use crate::support::Dir;

/// A function that another compiler translates differently in three places.
const DIFFERENT: &str = "#include <stdlib.h>
#ifdef __clang__
#define ELSE(clang, gcc) clang
#else
#define ELSE(clang, gcc) gcc
#endif
int different(int x)
{
  if (x == 12345) return ELSE(1, 2);
  if (x == 777) { ELSE(, abort()); return 3; }
  if (x == 4711) { ELSE(abort(), ); return 4; }
  return 0;
}
";

#[test]
fn tests_that_fail_with_another_compiler_are_set_aside() {
    let dir = Dir::new();
    dir.file("different.c", DIFFERENT);
    let run = dir.fuzz_and_check("different.c", "--max-evals 20000 --no-prove").exits(3);
    let report = dir.report("out");
    assert_eq!((report.branches.covered, report.branches.without_test, report.tests.len()), (3, 2, 1));
    let reasons: Vec<_> = report.failed_tests.iter().map(|t| (t.args[0].decimal.as_str(), t.reason.as_str())).collect();
    assert_eq!(reasons, [("12345", "result is not 1"), ("777", "it ends by SIGABRT")]);
    assert!(report.failed_tests.iter().all(|t| t.compiler.starts_with("gcc ")), "{:?}", report.failed_tests);
    let without = report.sites.iter().flat_map(|s| &s.branches).filter(|b| b.status == Status::WithoutTest).count();
    assert_eq!(without, 2);
    let crash = report.crashes[0].in_test_program.as_deref().unwrap_or_default();
    assert!(
        crash.starts_with("it does not occur in the test program: it returned, and did not end by signal "),
        "{crash}"
    );
    let results: Vec<_> = report.test_checks.iter().map(|c| c.result).collect();
    assert_eq!(results, [Checked::Passed, Checked::Passed]);
    run.expect(run.stdout.contains("Built and passed with gcc "), "the compilers in the summary");
    run.expect(run.stdout.contains("Set aside: 2 tests that fail outside of the campaign"), "the failed tests");
    let commands = report.test_program.expect("the report has commands");
    dir.other(
        std::process::Command::new("sh").args(["-c", &format!("cd out && {} && {}", commands.build, commands.run)]),
    );
}

#[test]
fn a_test_that_fails_with_both_compilers_is_set_aside_once() {
    let dir = Dir::new();
    let source = "int other(int x)
{
#ifdef __PENFUZZ__
  if (x == 12345) return 1;
#endif
  if (x == 12345) return 2;
  return x > 100 ? 3 : 4;
}
";
    dir.file("other.c", source);
    dir.fuzz_and_check("other.c", "--max-evals 20000 --no-prove").exits(0);
    let report = dir.report("out");
    assert_eq!((report.failed_tests.len(), report.tests.len()), (1, 2));
    assert!(report.test_checks.iter().all(|c| c.result == Checked::Passed), "{:?}", report.test_checks);
}

#[test]
fn a_program_that_no_compiler_builds_is_named_and_kept() {
    let dir = Dir::new();
    dir.file("sign.c", "int sign(double x) { return x < 0 ? -1 : x > 0; }\n");
    let run = dir.fuzz_and_check("sign.c", "--test-format unity").env("UNITY", dir.path("none")).exits(0);
    let report = dir.report("out");
    assert_eq!((report.branches.covered, report.failed_tests.len()), (report.branches.total, 0));
    assert!(report.test_checks.iter().all(|c| c.result == Checked::NotBuilt), "{:?}", report.test_checks);
    run.expect(run.stdout.contains("The test program does not build with gcc "), "the compiler in the summary");
    run.expect(run.stdout.contains("unity"), "the missing file");
}

#[test]
fn tests_that_may_end_other_processes_do_not() {
    let dir = Dir::new();
    let source = "#include <signal.h>
#include <unistd.h>
int ends(int x)
{
#ifndef __clang__
  kill(getppid(), SIGKILL);
  kill(-1, SIGTERM);
#endif
  return x == 99;
}
";
    dir.file("ends.c", source);
    dir.fuzz_and_check("ends.c", "--max-evals 20000").exits(0);
    let report = dir.report("out");
    assert!(report.test_checks.iter().all(|c| c.result == Checked::Passed), "{:?}", report.test_checks);
}

#[test]
fn the_check_ends_at_the_time_limit() {
    let dir = Dir::new();
    let source = "#include <unistd.h>
int late(int x)
{
#ifndef __clang__
  sleep(60);
#endif
  return x * x == 3 ? 1 : 0;
}
";
    dir.file("late.c", source);
    let begun = Instant::now();
    let run = dir.fuzz_and_check("late.c", "--max-time 1s --no-prove").exits(0);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let report = dir.report("out");
    let gcc = report.test_checks.iter().find(|c| c.compiler.starts_with("gcc ")).expect("gcc is installed");
    assert_eq!((gcc.result, gcc.message.as_str()), (Checked::NotChecked, "there is no time left"));
    assert_eq!((report.branches.covered, report.tests.len()), (1, 1), "what was found is reported");
    run.expect(run.stdout.contains("The test program was not checked with gcc "), "the reason in the summary");
}
