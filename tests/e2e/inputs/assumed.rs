//! `PEN_ASSUME` and `PEN_CHECK` of `penfuzz.h`.

use std::process::Command;

use crate::support::{Dir, pen_cc};

const ASSUMED: &str = r#"
#include "penfuzz.h"
int f(int lo, int hi, int n) {
  PEN_ASSUME(lo < hi && n % 1000 == 7 && n > 100000);
  if (hi - lo == 3) return 1;
  return n == 123007 ? 2 : 3;
}
"#;

/// A source, compiled as C and as C++.
const NAMES: [&str; 2] = ["f.c", "f.cpp"];

#[test]
fn the_search_goes_where_an_assumption_holds() {
    for name in NAMES {
        let dir = Dir::new();
        let run = dir.fuzz(dir.file(name, ASSUMED), "--max-evals 100000").exits(0);
        let report = dir.report("out");
        run.expect(report.branches.total == 4, "the branches of the assumption are no goals");
        run.expect(report.branches.covered == 4, "all others are covered");
        for test in &report.tests {
            let value = |i: usize| test.args[i].decimal.parse::<i64>().expect("an integer");
            let (lo, hi, n) = (value(0), value(1), value(2));
            run.expect(lo < hi && n % 1000 == 7 && n > 100_000, "the assumption holds in each test");
        }
    }
}

#[test]
fn other_compilers_build_the_tests() {
    let dir = Dir::new();
    dir.fuzz(dir.file("f.c", ASSUMED), "--max-evals 100000").exits(0);
    let program = dir.report("out").test_program.expect("a program");
    dir.other(Command::new("sh").arg("-c").arg(format!("cd out && {}", program.build)));
}

#[test]
fn an_alternative_is_one_assumption() {
    let dir = Dir::new();
    let source = r#"
        #include "penfuzz.h"
        int f(double x, double y) {
          PEN_ASSUME(x > 1e6 || (y > 1 && y < 1.5));
          return x > 0 ? 1 : 2;
        }"#;
    let run = dir.fuzz(dir.file("f.c", source), "--max-evals 50000").exits(0);
    let report = dir.report("out");
    run.expect(report.branches.total == 2 && report.branches.covered == 2, "both sides of the one goal");
}

#[test]
fn an_assumption_that_never_holds_leaves_nothing() {
    let dir = Dir::new();
    let source = r#"
        #include "penfuzz.h"
        int f(int x) {
          if (x == 3) return 4;
          PEN_ASSUME(x * 0 == 1);
          return x > 7 ? 1 : 2;
        }"#;
    let run = dir.fuzz(dir.file("f.c", source), "--max-evals 20000").exits(0);
    let report = dir.report("out");
    run.expect(report.branches.covered == 1, "x == 3 returns before the assumption, and nothing else is covered");
    run.expect(report.tests.len() == 1, "one test");
}

#[test]
fn a_check_that_fails_is_a_crash_with_its_text() {
    for name in NAMES {
        let dir = Dir::new();
        let source = r#"
            #include "penfuzz.h"
            int f(int x) {
              PEN_ASSUME(x > 0);
              PEN_CHECK(x != 123456);
              return x;
            }"#;
        let run = dir.fuzz(dir.file(name, source), "--max-evals 50000").exits(3);
        let report = dir.report("out");
        run.expect(report.crashes.len() == 1, "one crash");
        let crash = &report.crashes[0];
        run.expect(crash.reason == "PEN_CHECK(x != 123456) fails", "the text of the check");
        run.expect(crash.place.contains("f.c") && crash.place.contains(":5"), "its line");
        run.expect(crash.args[0].decimal == "123456", "the value");
    }
}

#[test]
fn a_check_compares_two_algorithms() {
    let dir = Dir::new();
    let source = r#"
        #include <math.h>
        #include "penfuzz.h"
        void f(double x) {
          PEN_ASSUME(x > 0 && x < 1);
          double naive = sqrt(x + 1) - 1, stable = x / (sqrt(x + 1) + 1);
          PEN_CHECK(fabs(stable - naive) <= 1e-6 * fabs(stable));
        }"#;
    let run = dir.fuzz(dir.file("f.c", source), "--max-evals 50000").exits(3);
    run.expect(dir.report("out").crashes.len() == 1, "cancellation makes them differ");
}

#[test]
fn without_pen_cc_a_check_aborts_and_an_assumption_is_nothing() {
    let dir = Dir::new();
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../compiler-wrapper/include");
    let source = r#"
        #include "penfuzz.h"
        int main(int argc, char **argv) {
          (void)argv;
          PEN_ASSUME(argc == 77);
          PEN_CHECK(argc == 1);
          return 0;
        }"#;
    for (name, compiler) in [("f.c", "gcc"), ("f.cpp", "g++")] {
        let file = dir.file(name, source);
        dir.other(Command::new(compiler).args(["-Wall", "-Werror", "-I", header, "-o", "program"]).arg(file));
        dir.other(&mut Command::new(dir.path("program")));
        let failed = Command::new(dir.path("program")).arg("x").output().expect("it starts");
        assert!(!failed.status.success(), "the check fails");
        let text = String::from_utf8_lossy(&failed.stderr).into_owned();
        assert!(text.contains("PEN_CHECK(argc == 1) fails"), "{text}");
    }
}

#[test]
fn a_linked_target_has_assumptions_too() {
    let dir = Dir::new();
    let source = dir.file("f.c", ASSUMED);
    dir.other(Command::new(pen_cc()).args(["-g", "-O2", "-shared", "-o", "f.so"]).arg(source));
    let run = dir.penfuzz("f.so -f f -o out --max-evals 100000").exits(0);
    run.expect(dir.report("out").branches.covered == 4, "as for the source");
}
