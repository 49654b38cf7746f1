//! `--test-format`: the emitted tests are built, run and counted with each real framework, by the printed commands and
//! by the fragments for make, `CMake` and Meson; and they fail when the function changes.

use std::{fs, path::Path, process::Command, sync::OnceLock};

use penfuzz_report::{End, Report};

use crate::support::{Dir, Run, skip};

/// Returns the directory of Unity's source, which is fetched once.
fn unity() -> &'static str {
    static UNITY: OnceLock<String> = OnceLock::new();
    UNITY.get_or_init(|| {
        let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harnesses/cjson");
        let fetched = Command::new(harness.join("fetch.sh")).output().expect("the script can be started");
        let errors = String::from_utf8_lossy(&fetched.stderr).into_owned();
        assert!(fetched.status.success(), "{errors}");
        harness.join("src-cjson-1.7.15/tests/unity/src").display().to_string()
    })
}

/// Whether the framework is installed. In CI it must be.
fn has_framework(format: &str) -> bool {
    let header = match format {
        "googletest" => "gtest/gtest.h",
        "catch2" if Path::new("/usr/include/catch2/catch_all.hpp").exists() => "catch2/catch_all.hpp",
        "catch2" => "catch2/catch.hpp",
        "cmocka" => "cmocka.h",
        "check" => "check.h",
        _ => return true,
    };
    let is_there = Path::new("/usr/include").join(header).exists();
    if !is_there {
        skip(format, "its header is not in /usr/include; run ./setup --peers");
    }
    is_there
}

/// Runs a command in a directory of the test; returns its output and exit status.
fn shell(dir: &Dir, place: &str, command: &str) -> (String, Option<i32>) {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(dir.path(place)).env("UNITY", unity());
    let run = shell.output().expect("sh runs");
    let printed = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    (format!("{command}\n{printed}"), run.status.code())
}

/// The command must succeed; returns its output.
fn succeeds(dir: &Dir, run: &Run, place: &str, command: &str) -> String {
    let (printed, status) = shell(dir, place, command);
    run.expect(status == Some(0), &format!("exit status 0:\n{printed}"));
    printed
}

/// Returns the text of the test program.
fn text(dir: &Dir) -> String {
    let file = dir.report("out").test_program.expect("the report has commands").file;
    fs::read_to_string(dir.path("out").join(file)).expect("there is a test program")
}

/// Fuzzes a target. The emitted tests, built with gcov's counters, must succeed, and gcov's figures must be those of
/// the report.
fn succeeds_and_counts(dir: &Dir, target: &Path, format: &str, arguments: &str, status: i32) -> Report {
    let run = dir.fuzz(target, &format!("--fresh --test-format {format} {arguments}")).exits(status);
    let report = dir.report("out");
    let commands = report.test_program.clone().expect("the report has commands");
    run.expect(commands.format == report.test_format, "the format beside the commands");
    let counted = succeeds(dir, &run, "out", &commands.coverage);
    succeeds(dir, &run, "out", commands.run.trim_start_matches("tests/").replace("test_", "./test_").as_str());
    let (covered, total) = (report.branches.covered, report.branches.total);
    let expected = format!("Taken at least once:{:.2}% of {total}", 100.0 * covered as f64 / total as f64);
    run.expect(counted.contains(&expected), &format!("`{expected}` in\n{counted}"));
    run.expect(report.tests.len() > 1, "several tests");
    report
}

/// The commands `build` and `run` must work.
fn builds_and_runs(dir: &Dir, report: &Report) {
    let run = dir.penfuzz("--version").exits(0);
    let commands = report.test_program.as_ref().expect("the report has commands");
    succeeds(dir, &run, "out", &commands.build);
    succeeds(dir, &run, "out", &commands.run);
}

/// make, `CMake` and Meson must build and run the tests, each from a project that includes the unchanged directory.
fn fragments_work(dir: &Dir) {
    let run = dir.penfuzz("--version").exits(0);
    succeeds(dir, &run, "out/tests", "make -s check && make -s clean");
    dir.file(
        "out/CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.16)\nproject(p C CXX)\nenable_testing()\nadd_subdirectory(tests)\n",
    );
    let cmake =
        "cmake -S . -B built-cmake && cmake --build built-cmake && ctest --test-dir built-cmake --output-on-failure";
    let printed = succeeds(dir, &run, "out", cmake);
    run.expect(printed.contains("100% tests passed, 0 tests failed out of 1"), &printed);
    dir.file("out/meson.build", "project('p', 'c')\nsubdir('tests')\n");
    let printed = succeeds(dir, &run, "out", "meson setup built-meson && meson test -C built-meson --print-errorlogs");
    run.expect(printed.lines().any(|l| l.starts_with("Ok:") && l.trim_end().ends_with(" 1")), &printed);
}

/// gcc and clang must not warn about the program, at a level that includes unused and uninitialized variables.
fn has_no_warnings(dir: &Dir, report: &Report) {
    let run = dir.penfuzz("--version").exits(0);
    let file = &report.test_program.as_ref().expect("the report has commands").file;
    let flags = report.header.as_ref().map_or(String::new(), |h| h.flags.join(" "));
    for compiler in ["gcc", &clang()] {
        // gcc detects uninitialized variables only when it optimizes, which takes 15 s for Catch2's header.
        let level = if report.test_format.name() == "catch2" { "-fsyntax-only" } else { "-O2 -c -o /dev/null" };
        let warnings = format!("-Wall -Wextra -Wpedantic -Werror {level}");
        let command = format!("{compiler} {warnings} {flags} -I\"$UNITY\" $(pkg-config --cflags check) {file}");
        succeeds(dir, &run, "out", &command);
    }
}

/// Returns the clang that penfuzz uses.
fn clang() -> String {
    penfuzz_cc::find_clang(penfuzz_cc::Language::C).expect("penfuzz has a clang").display().to_string()
}

/// Every kind of value, and every way in which a call can end.
const LIBRARY: &str = "#include \"lib.h\"
#include <math.h>
#include <stdlib.h>
int lib_f(double x, float *half, struct pair *out, unsigned char *small) {
  *half = (float)x / 2;
  out->value = -x;
  out->n = 3;
  if (x != x) { *small = 255; return -1; }
  if (x > 1e300) { errno = ERANGE; return -2147483647 - 1; }
  if (x == 0) { *half = -0.0f; return 4; }
  if (x == 12.5) exit(7);
  if (x == 13.5) abort();
  if (x == 14.5) return *(volatile int *)0;
  return 5;
}
";

const FLOATS: &str = "#include \"lib.h\"
#include <math.h>
double lib_g(double x) { if (x < 0) return NAN; if (x > 100) return INFINITY; return (x + 1) / 3; }
";

const LIBRARY_HEADER: &str = "#include <errno.h>
struct pair { double value; int n; };
int lib_f(double x, float *half, struct pair *out, unsigned char *small);
double lib_g(double);
";

/// Changes of the library that a test must detect.
const CHANGES: [(&str, &str); 9] = [
    ("*half = -0.0f", "*half = 0.0f"),
    ("exit(7)", "exit(8)"),
    ("exit(7)", "return 7"),
    ("abort()", "exit(0)"),
    ("abort()", "return 6"),
    ("ERANGE", "EDOM"),
    ("out->n = 3", "out->n = 4"),
    ("*small = 255", "*small = 254"),
    ("return -1", "return 1"),
];

/// Returns the steps of the build that compile a source, and the last step.
fn rebuild(build: &str, source: &str) -> String {
    let steps: Vec<_> = build.split(" && ").collect();
    let (last, others) = steps.split_last().expect("there is a step");
    let again = others.iter().filter(|step| step.contains(&format!("/{source} ")));
    again.chain([last]).copied().collect::<Vec<_>>().join(" && ")
}

/// Each of the changes to a source must make the built program fail.
fn notices(dir: &Dir, source: &str, text: &str, changes: &[(&str, &str)]) {
    let run = dir.penfuzz("--version").exits(0);
    let commands = dir.report("out").test_program.expect("the report has commands");
    for (old, new) in changes {
        assert!(text.contains(old), "{old}");
        dir.file(source, text.replace(old, new));
        succeeds(dir, &run, "out", &rebuild(&commands.build, source));
        let (printed, status) = shell(dir, "out", &commands.run);
        run.expect(status.is_some_and(|s| s != 0), &format!("{new} instead of {old} to fail:\n{printed}"));
    }
    dir.file(source, text);
}

/// Results, outputs, errno, an exit and crashes of a function that a header declares.
fn library_in(format: &str) {
    if !has_framework(format) {
        return;
    }
    let dir = Dir::new();
    dir.file("lib.h", LIBRARY_HEADER);
    let target = dir.file("lib.c", LIBRARY);
    let report = succeeds_and_counts(&dir, &target, format, "", 3);
    builds_and_runs(&dir, &report);
    let run = dir.penfuzz("--version").exits(0);
    run.expect(report.tests.iter().any(|t| t.ends == Some(End::Exit(7))), "a test that exits");
    run.expect(report.branches.covered_by_crash_only == 2, "two crashes");
    let text = text(&dir);
    run.expect(
        text.contains("#include \"lib.h\"") && !text.contains("extern int lib_f"),
        &format!("its header in\n{text}"),
    );
    run.expect(text.contains("not a specification"), &format!("what the tests are in\n{text}"));
    if format != "plain" {
        run.expect(text.contains("lib_f_returns_"), &format!("a name in\n{text}"));
    }
    has_no_warnings(&dir, &report);
    notices(&dir, "lib.c", LIBRARY, &CHANGES);
    fragments_work(&dir);
    let target = dir.file("floats.c", FLOATS);
    builds_and_runs(&dir, &succeeds_and_counts(&dir, &target, format, "", 0));
    let changes = [("NAN", "0"), ("INFINITY", "1e308"), ("/ 3", "/ 3 * 1.0000000000000002")];
    notices(&dir, "floats.c", FLOATS, &changes);
}

#[test]
fn a_library_in_plain_c() {
    library_in("plain");
}

#[test]
fn a_library_in_googletest() {
    library_in("googletest");
}

#[test]
#[ignore = "nightly"]
fn a_library_in_catch2() {
    library_in("catch2");
}

#[test]
fn a_library_in_unity() {
    library_in("unity");
}

#[test]
fn a_library_in_cmocka() {
    library_in("cmocka");
}

#[test]
fn a_library_in_check() {
    library_in("check");
}

/// The installed formats that need a framework. Without Catch2, where a compilation takes 10 s: its tests are C++ like
/// those of `GoogleTest`, and have the bodies of those of Unity.
fn frameworks() -> impl Iterator<Item = &'static str> {
    ["googletest", "unity", "cmocka", "check"].into_iter().filter(|format| has_framework(format))
}

/// Returns Catch2 if it is installed.
fn catch2() -> Option<&'static str> {
    Some("catch2").filter(|format| has_framework(format))
}

/// C++ cannot include every C source unchanged: this one converts `void *` implicitly.
#[test]
fn static_functions_of_c() {
    let source = "#include <stdlib.h>
struct pair { int a, b; };
static int apart(double x, long *out, struct pair *p, _Bool flag) {
  int *class = malloc(sizeof *class);
  *class = x > 7.5 && flag;
  int found = *class;
  free(class);
  p->a = found; *out = 3;
  if (found) return 1;
  if (x == 2.25) exit(3);
  return 2;
}
int main(void) { long out; struct pair p; return apart(1, &out, &p, 1); }
";
    for format in frameworks().chain(catch2()) {
        let dir = Dir::new();
        let target = dir.file("lib.c", source);
        let report = succeeds_and_counts(&dir, &target, format, "--function apart", 0);
        assert!(report.header.is_none(), "{format}");
        let build = report.test_program.clone().expect("the report has commands").build;
        if format == "googletest" {
            has_no_warnings(&dir, &report);
            fragments_work(&dir);
        }
        if format != "catch2" {
            let run = dir.penfuzz("--version").exits(0);
            dir.file("lib.c", source.replace("return 2", "return 4"));
            succeeds(&dir, &run, "out", &build);
            let (printed, status) = shell(&dir, "out", "tests/test_apart");
            run.expect(status != Some(0), &format!("{format}: another result to fail:\n{printed}"));
        }
    }
}

/// An overload in a namespace, declared by a header; C frameworks call it, too.
#[test]
#[ignore = "nightly"]
fn overloads_of_cxx() {
    for format in frameworks().chain(catch2()).chain(["plain"]) {
        let dir = Dir::new();
        dir.file("lib.h", "namespace n { int f(int x); bool f(double x, const double &limit, double &out); }\n");
        let target = dir.file(
            "lib.cc",
            "#include \"lib.h\"\n#include <cstdlib>\nnamespace n {\nint f(int x) { return x; }\n\
             bool f(double x, const double &limit, double &out) {
               out = x;\n  if (x > limit && x < 7.5) return true;\n  if (x == 99.5) std::abort();\n  return false;\n\
                 } }\n",
        );
        let report = succeeds_and_counts(&dir, &target, format, "--function _ZN1n1fEdRKdRd", 3);
        let header = report.header.as_ref().map(|h| h.includes.clone());
        assert_eq!(header, Some(vec!["\"lib.h\"".to_owned()]), "{format}");
        assert!(!text(&dir).contains("/lib.cc\""), "{format}: the source is not included");
        if format != "catch2" {
            has_no_warnings(&dir, &report);
            fragments_work(&dir);
        }
    }
}

/// Each test begins with the variables of a fresh process.
#[test]
fn functions_that_keep_values() {
    let source = "#include \"lib.h\"\nstatic int calls;\nint step(int n) { calls++; if (n > 100) return calls; \
                  if (n < -5) return 10 * calls; return 0; }\n";
    for format in frameworks() {
        let dir = Dir::new();
        dir.file("lib.h", "int step(int n);\n");
        let target = dir.file("lib.c", source);
        let report = succeeds_and_counts(&dir, &target, format, "", 0);
        assert!(!report.shared_state.is_empty(), "{format}");
        has_no_warnings(&dir, &report);
        builds_and_runs(&dir, &report);
        notices(&dir, "lib.c", source, &[("10 * calls", "11 * calls")]);
    }
}

/// A C++ exception passes in every framework; an exception of another type fails.
#[test]
fn functions_that_throw() {
    let source = "#include <stdexcept>\nint f(int n) { if (n == 77) throw std::range_error(\"n\"); return n > 5; }\n";
    for format in frameworks() {
        let dir = Dir::new();
        let target = dir.file("lib.cc", source);
        // gcov counts the edges of exceptions as branches, too.
        dir.fuzz(&target, &format!("--test-format {format}")).exits(0);
        let report = dir.report("out");
        builds_and_runs(&dir, &report);
        assert!(report.tests.iter().any(|t| t.throws.is_some()), "{format}");
        let run = dir.penfuzz("--version").exits(0);
        let commands = report.test_program.expect("the report has commands");
        dir.file("lib.cc", source.replace("range_error", "domain_error"));
        succeeds(&dir, &run, "out", &commands.build);
        let (printed, status) = shell(&dir, "out", &commands.run);
        run.expect(status != Some(0), &format!("{format}: another exception to fail:\n{printed}"));
    }
}

/// A rounding mode, and the input bytes of a harness.
#[test]
fn modes_and_bytes() {
    let source = "double lib_h(double x) { if (1 / x > 0.1) return x / 3; return -x / 7; }\n";
    let harness = "#include <stddef.h>\nint LLVMFuzzerTestOneInput(const unsigned char *d, size_t n) { \
                   if (n > 2 && d[1] == 9) return 1; return 0; }\n";
    for format in frameworks() {
        let dir = Dir::new();
        let target = dir.file("lib.c", source);
        succeeds_and_counts(&dir, &target, format, "--rounding all", 0);
        has_no_warnings(&dir, &dir.report("out"));
        let target = dir.file("bytes.c", harness);
        succeeds_and_counts(&dir, &target, format, "--max-evals 20000", 0);
        has_no_warnings(&dir, &dir.report("out"));
    }
}

/// The tests of another format are removed; the user's files are not.
#[test]
fn a_campaign_that_goes_on_in_another_format() {
    let dir = Dir::new();
    let target =
        dir.file("lib.c", "static int apart(int n) { return n > 3 ? 1 : 2; }\nint main(void) { return apart(1); }\n");
    dir.fuzz(&target, "--function apart").exits(0);
    dir.file("out/tests/mine.c", "int x;\n");
    let names = || dir.files("out/tests").into_keys().collect::<Vec<_>>();
    let fragments = ["CMakeLists.txt", "Makefile", "meson.build", "mine.c"];
    assert_eq!(names(), [&fragments[..], &["penfuzz_test.h", "test_apart.c"]].concat());
    dir.fuzz(&target, "--function apart --test-format catch2").exits(0);
    assert_eq!(names(), [&fragments[..], &["penfuzz_catch2.h", "test_apart.cpp", "test_apart_wrapper.c"]].concat());
    dir.fuzz(&target, "--function apart --test-format cmocka").exits(0);
    assert_eq!(names(), [&fragments[..], &["penfuzz_cmocka.h", "test_apart.c"]].concat());
}

/// A suite has one format for all targets, which the command line overrides; gcov's count is the same.
#[test]
fn suites_have_a_format() {
    let dir = Dir::new();
    dir.file("floats.c", FLOATS);
    dir.file("lib.h", LIBRARY_HEADER);
    let targets = "\n[[target]]\nname = \"g\"\nfile = \"floats.c\"\nfunction = \"lib_g\"\n";
    dir.file("suite.toml", format!("name = \"s\"\nsources = \".\"\ntest_format = \"unity\"\n{targets}"));
    for (arguments, expected) in [("", "unity"), ("--test-format check", "check")] {
        let run = dir.penfuzz("suite suite.toml -o s --referee gcov").args(arguments).exits(0);
        let report = dir.report("s/g");
        run.expect(report.test_format.name() == expected, expected);
        let suite = String::from_utf8(dir.files("s")["suite.json"].clone()).expect("JSON is text");
        run.expect(suite.contains("\"tool\": \"gcov\""), &format!("gcov's count in {suite}"));
    }
    let run = dir.penfuzz("").arg(dir.path("floats.c")).args("--test-format junit").exits(2);
    run.says("googletest");
}

#[test]
fn tests_of_numbers_in_one_table() {
    let dir = Dir::new();
    let source = dir.file("sign.c", "int sign(double when) { if (when < 0) return -1; return when > 0; }\n");
    for format in frameworks().chain(["plain"]) {
        succeeds_and_counts(&dir, &source, format, "--test-style table --max-evals 2000 --no-prove", 0);
        let text = text(&dir);
        assert!(text.contains("{\"line 1: when < 0 is true\", -1.0, -1},"), "{format}: {text}");
        assert!(text.contains("rows[i].expected") && text.contains("rows[i].when_"), "{format}: {text}");
    }
}
