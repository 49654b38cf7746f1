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
        let program = report.test_program.as_ref().expect("commands");
        let text = std::fs::read_to_string(dir.path("out").join(&program.file)).expect("a test program");
        run.expect(text.contains("penfuzz_check_signal(SIGABRT, 1)"), "an expected failure in the tests");
        dir.other(Command::new("sh").args(["-c", &format!("cd out && {} && {}", program.build, program.run)]));
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

/// Same as [`ASSUMED`], with the assumption on the command line.
#[test]
fn the_command_line_has_assumptions_too() {
    for name in NAMES {
        let dir = Dir::new();
        let source = "// f(\nint g(int n) { return n > 3; }\nint f(int lo, int hi, int n) { \
                      if (hi - lo == 3) return 1;\n  \
                      return n == 123007 ? 2 : 3; }\n";
        let file = dir.file(name, source);
        let options = "-f f --assume lo<hi&&n%1000==7 --assume n>100000 --max-evals 100000";
        let run = dir.fuzz(&file, options).exits(0);
        let report = dir.report("out");
        run.expect(report.branches.total == 4 && report.branches.covered == 4, "the branches of the function alone");
        let places: Vec<_> = report.sites.iter().map(|s| (s.line, s.column)).collect();
        run.expect(places == [(3, 44), (4, 10)], &format!("places of the unchanged source: {places:?}"));
        for test in &report.tests {
            let value = |i: usize| test.args[i].decimal.parse::<i64>().expect("an integer");
            run.expect(value(0) < value(1) && value(2) % 1000 == 7 && value(2) > 100_000, "they hold in each test");
        }
        let program = report.test_program.expect("a program");
        let build = format!("cd out && {} && {}", program.build, program.run);
        dir.other(Command::new("sh").arg("-c").arg(build));
        dir.penfuzz("report out").exits(0);
        // The resumed campaign keeps its assumptions and accepts no others.
        dir.fuzz(&file, options).exits(0);
        let other = dir.fuzz(&file, "-f f --assume lo<hi --max-evals 1000").exits(1);
        other.says("use --fresh to start over");
    }
}

#[test]
fn an_assumption_that_cannot_be_meant_is_refused_in_one_line() {
    let dir = Dir::new();
    let file = dir
        .file("f.c", "#define G int g(int a) {\nint f(int a) { if (a > 7) return 2; return 1; }\nG return a > 4; }\n");
    dir.fuzz(&file, "-f f --assume b<3").exits(1).says("--assume:1:12: error: use of undeclared identifier 'b'");
    let unmet = dir.fuzz(&file, "-f f --assume a<3&&a>4 --max-evals 1000").exits(0);
    unmet.expect(unmet.stdout.contains("No input met the assumptions (--assume)"), "a line about it");
    dir.fuzz(&file, "-f g --assume a<3").exits(2).says("has no definition of `g` in its text");
    dir.fuzz(&file, "-f f --assume=").exits(1).says("write it as FUNCTION:EXPRESSION");
    let linked = dir.path("f.pen");
    dir.other(Command::new(pen_cc()).args(["-O1", "-o"]).arg(&linked).arg(&file));
    dir.fuzz(&linked, "-f f --assume a<3").exits(2).says("compile the source with pen-cc '-fpen-assume=f:a<3'");
}

/// A build system passes the option with every file, of which one contains the function.
#[test]
fn pen_cc_compiles_assumptions_into_the_code() {
    let dir = Dir::new();
    let header = dir.file("limits/limit.h", "#define LIMIT 1000\n");
    let f = dir.file("f.c", "#include \"limits/limit.h\"\nint f(int a)\n{ if (a == LIMIT + 5) return 2; return 1; }\n");
    let g = dir.file("g.c", "int g(int a) { return a > 5; }\n");
    let linked = dir.path("all.pen");
    let assume = "-fpen-assume=f:a > LIMIT";
    for level in ["-O0", "-O2"] {
        dir.other(Command::new(pen_cc()).args([level, assume, "-o"]).arg(&linked).args([&f, &g]));
        let run = dir.fuzz(&linked, "-f f --max-evals 20000 --fresh").exits(0);
        let report = dir.report("out");
        run.expect(report.branches.total == 2 && report.branches.covered == 2, "both sides");
        let all: Vec<i64> = report.tests.iter().map(|t| t.args[0].decimal.parse().expect("an integer")).collect();
        run.expect(all.iter().all(|a| *a > 1000), &format!("the assumption holds: {all:?}"));
    }
    assert!(header.exists());
}

#[test]
fn a_function_without_branches_has_a_test_that_meets_the_assumption_or_none() {
    let dir = Dir::new();
    let file = dir.file("f.c", "int f(int a) { return a + 1; }\n");
    for (assume, number) in [("a<3", 1), ("a>3", 0)] {
        let run = dir.fuzz(&file, &format!("-f f --fresh --assume {assume}")).exits(0);
        run.expect(dir.report("out").tests.len() == number, "the input that is tried is 0");
    }
}

#[test]
fn a_replay_names_the_assumption_that_does_not_hold() {
    let dir = Dir::new();
    dir.file("f.c", ASSUMED);
    dir.file("zeros", [0; 12]);
    let run = dir.penfuzz("replay f.c zeros").exits(0);
    run.expect(run.stdout.contains("  the input violates the assumption at "), "one line about the assumption");
    run.expect(run.stdout.contains("f.c:4: the evaluation is rejected there\n"), "its place");
    run.expect(!run.stdout.contains("returned") && !run.stdout.contains('<'), "no result and no branches");
    dir.file("g.c", "int g(int lo, int hi)\n{\n  if (lo == 3) return 1;\n  return hi;\n}\n");
    let run = dir.penfuzz("replay g.c zeros -f g --assume").arg("lo < hi").exits(0);
    run.expect(run.stdout.contains("the input violates the assumption at "), "the same of one that the user gave");
}
