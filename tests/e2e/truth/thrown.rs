//! A C++ exception that leaves the function under test is a normal end of an evaluation: the emitted test catches it.

use std::process::Command;

use penfuzz_report::Report;

use crate::{outputs::gcov_agrees, support::Dir};

/// Returns the types that tests throw.
fn thrown(report: &Report) -> Vec<&str> {
    let mut all: Vec<_> = report.tests.iter().filter_map(|t| t.throws.as_deref()).collect();
    all.sort_unstable();
    all
}

const CHECKED: &str = "struct Own { int n; };
EXTERN int checked(int n) {
  if (n == 4711) throw 1.5f;
  if (n == 4712) throw Own();
  if (n == 4713) throw n;
  if (n > 3) return 4;
  return 3;
}
";

fn checked(external: &str, symbol: &str) {
    let dir = Dir::new();
    let target = dir.file("checked.cc", CHECKED.replace("EXTERN", external));
    gcov_agrees(&target, "-f checked", symbol);
    let run = dir.fuzz(&target, "-f checked").exits(0);
    let report = dir.report("out");
    assert_eq!(thrown(&report), ["3Own", "f", "i"], "{:?}", report.tests);
    assert!(report.crashes.is_empty(), "a throw is no crash");
    run.expect(report.branches.covered == 8 && report.branches.total == 8, "all branches");
}

#[test]
fn paths_that_end_in_throw_are_tests() {
    checked("", "_Z7checkedi");
}

#[test]
fn a_function_with_c_linkage_that_throws_is_tested_in_cxx() {
    checked("extern \"C\"", "checked");
}

#[test]
fn another_type_is_a_failed_check() {
    let dir = Dir::new();
    let text = CHECKED.replace("EXTERN", "");
    let target = dir.file("checked.cc", &text);
    dir.fuzz(&target, "-f checked").exits(0);
    let program = dir.report("out").test_program.expect("the commands");
    let run = || {
        let line = format!("{} && ./{}", program.build, program.run);
        let done = Command::new("sh").args(["-c", &line]).current_dir(dir.path("out")).output().expect("sh runs");
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    assert_eq!(run().0, Some(0));
    dir.file("checked.cc", text.replace("throw n;", "throw 1.5;"));
    let (status, printed) = run();
    assert!(status == Some(1) && printed.contains("throws d\n  FAILED: it does not throw i"), "{printed}");
    dir.file("checked.cc", text.replace("throw n;", "return 7;"));
    let (status, printed) = run();
    assert!(status == Some(1) && printed.contains("FAILED: it returned, and did not throw i"), "{printed}");
}

/// Destructors run, and the exception is destroyed, so nothing of it remains in the next evaluation. The counter is in
/// another library, which is not restored.
#[test]
fn thrown_exceptions_are_destroyed() {
    let dir = Dir::new();
    dir.file("live.c", "int live(int more) { static int n; return n += more; }\n");
    dir.other(Command::new("gcc").args(["-shared", "-fPIC", "live.c", "-o", "liblive.so"]));
    let text = "extern \"C\" int live(int);
                struct Counted { Counted() { live(1); } Counted(const Counted &) { live(1); } ~Counted() { live(-1); } \
                  };
                int checked(int n) {
                  Counted counted;
                  if (n == 4711) throw Counted();
                  if (live(0) > 1) return 2;
                  if (n == 4712) throw counted;
                  return 3;
                }";
    let library = dir.path("liblive.so");
    let run = dir.fuzz(dir.file("checked.cc", text), "-f checked --max-evals 100000 --lib").arg(&library).exits(0);
    let report = dir.report("out");
    run.expect(report.branches.depends_on_earlier_calls == 0, "nothing is left behind");
    assert_eq!(thrown(&report), ["7Counted", "7Counted"], "{:?}", report.tests);
}

/// `noexcept` terminates the program, also the emitted one.
#[test]
fn an_exception_that_may_not_leave_is_a_crash() {
    let dir = Dir::new();
    let text = "int checked(int n) noexcept { if (n == 9) throw n; return n; }\n";
    let run = dir.fuzz(dir.file("checked.cc", text), "-f checked").exits(3);
    let report = dir.report("out");
    run.expect(report.branches.covered == 1 && report.branches.covered_by_crash_only == 1, "one of each");
}

/// C code has no handlers and needs no library for exceptions.
#[test]
fn c_with_exceptions_enabled_links() {
    let dir = Dir::new();
    let text = "int other(int); int checked(int n) { if (other(n) == 9) return 1; return 0; }
                int other(int n) { return n + 1; }\n";
    dir.fuzz(dir.file("checked.c", text), "-f checked --cflag=-fexceptions").exits(0);
    assert_eq!(dir.report("out").branches.covered, 2);
}
