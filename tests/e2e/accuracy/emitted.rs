//! The emitted tests expect the values of the reference, and are built by gcc without penfuzz.

use std::process::Command;

use super::{json, own};
use crate::support::{Dir, fixture};

/// Builds and runs the tests. Returns whether all passed, and what they print.
pub fn check(dir: &Dir) -> (bool, String) {
    let made = Command::new("make").args(["-C", "out/tests", "check"]).current_dir(dir.path("")).output();
    let made = made.expect("make runs");
    (made.status.success(), String::from_utf8_lossy(&made.stdout).into_owned())
}

const OLD: &str = "double f(double x) { return x < 1 ? x : x > 1e10 ? 2 * x : 3 * x; }\n";
const NEW: &str = "double f(double x) { return x < 1 ? x : x > 1e10 ? x + x + 0x1p-13 * x : 3 * x; }\n";

#[test]
fn tests_fail_where_two_implementations_differ_and_pass_without_the_difference() {
    let dir = Dir::new();
    dir.file("old.c", OLD);
    dir.file("new.c", NEW);
    for options in ["--exact", "--arg x:-1e20..1e20"] {
        let status = if options == "--exact" { 3 } else { 0 };
        let run = dir.penfuzz("differ new.c:f old.c:f --max-evals 100000 --json -o out").args(options).exits(status);
        let (passed, text) = check(&dir);
        run.expect(!passed && text.contains("FAILED: result is not"), &format!("the values of old.c: {text}"));
        dir.file("new.c", OLD);
        let (passed, text) = check(&dir);
        run.expect(passed && text.contains("result = "), &format!("nothing differs now: {text}"));
        dir.file("new.c", NEW);
        std::fs::remove_dir_all(dir.path("out")).expect("it is there");
    }
}

#[test]
fn tests_fail_where_a_function_becomes_more_wrong() {
    let dir = Dir::new();
    let reference = own("cubic_wide");
    let target = fixture("accuracy.c");
    let search = |options: &str| {
        let run = dir.penfuzz("accuracy").arg(&target).args("-f cubic --max-evals 100000 --json -o out --reference");
        run.arg(&reference).args(options).exits(0)
    };
    let run = search("--arg x:1.5..1.51");
    let expected = &json(&run)["worst"]["reference"]["rounded"]["bits"];
    run.expect(expected.is_string(), "the value of a reference in C is in the report");
    let (passed, text) = check(&dir);
    run.expect(passed, &format!("no more wrong than now: {text}"));
    let run = search("--arg x:1.5..1.51 --ulp 0");
    let (passed, text) = check(&dir);
    run.expect(!passed, &format!("wrong by a float at least: {text}"));
    dir.penfuzz("accuracy").arg(&target).args("-f cubic --ulp 0 --reference").arg(&reference).exits(2).says("--output");
}

/// The code that penfuzz calls is copied next to the tests, so that they build without the cache.
#[test]
fn cores_and_libraries_that_are_not_instrumented_have_tests() {
    let dir = Dir::new();
    dir.file("wide.c", "#include <math.h>\nlong double wide(double x) { return cbrtl(x); }\n");
    let of_library = "accuracy libm.so.6 -f cbrt --reference wide.c:wide";
    let of_core = format!("accuracy {} -f 1", fixture("accuracy.fpcore").display());
    for (command, file) in [(of_library, "cbrt"), (&of_core, "core")] {
        let search = |options: &str| {
            let run = dir.penfuzz(command).args("--max-evals 200000 -o out").args(options).exits(0);
            let copy = std::fs::read_to_string(dir.path(format!("out/tests/tested_{file}.c"))).expect("it is there");
            run.expect(copy.contains(file), &copy);
            let program =
                std::fs::read_to_string(dir.path(format!("out/tests/test_{file}.c"))).expect("there are tests");
            run.expect(!program.contains("/references/"), &format!("nothing of the cache: {program}"));
            run
        };
        let run = search("");
        let (passed, text) = check(&dir);
        run.expect(passed && text.contains("result = "), &format!("no more wrong than now: {text}"));
        let run = search("--ulp 0");
        let (passed, text) = check(&dir);
        run.expect(!passed, &format!("wrong by a float at least: {text}"));
        std::fs::remove_dir_all(dir.path("out")).expect("it is there");
    }
}

#[test]
fn tests_of_integers_pass_until_the_function_becomes_more_wrong() {
    for file in ["halved.c", "halved.cpp"] {
        let dir = Dir::new();
        dir.file("exact.c", "int halved(int x) { return x / 2 + (x % 2 > 0); }\n");
        dir.file(file, "int halved(int x) { return x / 2; }\n");
        dir.penfuzz("accuracy").arg(file).args("--reference exact.c:halved --max-evals 100000 -o out").exits(0);
        let (passed, text) = check(&dir);
        assert!(passed, "{text}");
        let program = std::fs::read_to_string(dir.path(format!("out/tests/test_{file}"))).unwrap();
        assert!(program.contains("halved, within 1 of each. Build"), "the head says so");
        dir.file(file, "int halved(int x) { return x / 2 - 1; }\n");
        let (passed, text) = check(&dir);
        assert!(!passed && text.contains("FAILED: result is not "), "{text}");
    }
}
