//! The emitted test program, built by the command in its first lines, with gcov's counts.

use std::{fs, path::Path, process::Command};

use penfuzz_report::{End, Report};

use crate::support::{Dir, Run, open_branches, pen_cc};

/// Runs the program's own command in the program's directory; returns its output and exit status.
fn follow_the_header(dir: &Dir, name: &str) -> (String, Option<i32>) {
    let text = fs::read_to_string(dir.path("out/tests").join(name)).expect("there is a test program");
    let command = text.lines().find_map(|l| l.strip_prefix(" *   ")).expect("its head has a command");
    let run = Command::new("sh").args(["-c", command]).current_dir(dir.path("out/tests")).output().expect("sh runs");
    let printed = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    (format!("{command}\n{printed}"), run.status.code())
}

/// gcov's line `of … Taken at least once` must have the report's figures: the number of branches, and of those that it
/// claims as covered. In the file, only the function under test has branches.
fn expect_same_count(run: &Run, report: &Report, printed: &str) {
    let (covered, total) = (report.branches.covered, report.branches.total);
    if total == 0 {
        return;
    }
    let expected = format!("Taken at least once:{:.2}% of {total}", 100.0 * covered as f64 / total as f64);
    run.expect(printed.contains(&expected), &format!("`{expected}` in what gcov prints:\n{printed}"));
    run.expect(!printed.contains("FAILED"), &format!("no failed check in\n{printed}"));
}

/// Fuzzes a source. The emitted program must build, succeed, and take the branches that the report claims.
fn claims_hold(name: &str, source: &str, arguments: &str, status: i32) -> (Report, String) {
    let dir = Dir::new();
    let target = dir.file(name, source);
    let run = dir.fuzz(target, arguments).exits(status);
    let report = dir.report("out");
    let program = penfuzz_testgen::file_name(&report);
    let (printed, ended) = follow_the_header(&dir, &program);
    run.expect(ended == Some(0), &format!("the command to succeed:\n{printed}"));
    expect_same_count(&run, &report, &printed);
    (report, printed)
}

fn ends(report: &Report) -> Vec<u8> {
    let mut all: Vec<_> = report.tests.iter().filter_map(|t| t.ends).map(|End::Exit(status)| status).collect();
    all.sort_unstable();
    all
}

/// Each of the four calls ends a path; one status exceeds the range that a parent process sees.
const EXITS: &str = "#include <stdlib.h>
#include <unistd.h>
int checked(int n, double x) {
  if (n < 0) exit(2);
  if (n == 77) _exit(3);
  if (n == 78) quick_exit(4);
  if (x == 12.5) { if (n > 1000) _Exit(5 + 256); return 1; }
  return 0;
}
";

#[test]
fn paths_that_end_in_exit_are_tests() {
    let (report, printed) = claims_hold("exits.c", EXITS, "", 0);
    assert_eq!((report.branches.covered, report.branches.total), (10, 10), "{printed}");
    assert_eq!(ends(&report), [2, 3, 4, 5], "{printed}");
    assert!(report.crashes.is_empty(), "an exit is no crash");
    assert!(printed.contains("exit status = 3"), "{printed}");
}

#[test]
fn a_static_function_that_exits_is_counted() {
    let source = EXITS.replace("int checked", "static int checked") + "int main(void) { return checked(0, 0); }\n";
    let (report, printed) = claims_hold("exits.c", &source, "--function checked", 0);
    assert_eq!((report.branches.covered, ends(&report)), (10, vec![2, 3, 4, 5]), "{printed}");
}

#[test]
fn a_cxx_function_that_exits_is_counted() {
    let source = EXITS.replace("int checked", "namespace n { int checked") + "}\n";
    let (report, printed) = claims_hold("exits.cc", &source, "", 0);
    assert_eq!((report.branches.covered, ends(&report)), (10, vec![2, 3, 4, 5]), "{printed}");
}

/// An exit status different from the one in the campaign is a failed check.
#[test]
fn another_exit_status_fails() {
    let dir = Dir::new();
    let target = dir.file("exits.c", EXITS);
    let run = dir.fuzz(&target, "").exits(0);
    dir.file("exits.c", EXITS.replace("exit(2)", "exit(6)"));
    let (printed, status) = follow_the_header(&dir, "test_checked.c");
    run.expect(status == Some(1), &format!("exit status 1:\n{printed}"));
    run.expect(
        printed.contains("exit status = 6\n  FAILED: it does not exit with status 2"),
        &format!("why in\n{printed}"),
    );
}

/// Branches that only crashing inputs take have their own figure in every report.
#[test]
fn covered_only_by_a_crash_is_kept_apart() {
    let source = "#include <stdlib.h>
int divided(int a, int b) {
  if (a == 4711) { if (b > 100) abort(); return b; }
  volatile int zero = b;
  if (b == 0) return a / zero;
  return 1;
}
";
    let (report, printed) = claims_hold("crash.c", source, "", 3);
    let b = report.branches;
    assert_eq!((b.total, b.covered, b.covered_by_crash_only), (6, 4, 2), "{printed}");
    assert!(open_branches(&report).is_empty(), "nothing else is open");
    assert!(printed.contains("ended by signal 6") && printed.contains("ended by signal 8"), "{printed}");
}

#[test]
fn every_report_names_what_only_crashes_cover() {
    let dir = Dir::new();
    let target = dir.file("a.c", "#include <stdlib.h>\nint f(int n) { if (n == 9) abort(); return n; }\n");
    let run = dir.fuzz(&target, "").exits(3);
    let headline = "1 of 2 branches covered (50.0 %); 1 covered only by inputs that crash\n";
    run.expect(run.stdout.contains(headline), &format!("`{headline}`"));
    let text = |name: &str| String::from_utf8(dir.files("out")[name].clone()).expect("reports are text");
    let json = text("report.json");
    run.expect(json.contains("\"covered_by_crash_only\": 1"), &format!("the figure in {json}"));
    let lcov = text("coverage.lcov");
    let named = "BRDA:2,0,0,0\nBRDA:2,0,1,1\nBRF:2\nBRH:1\n# only by inputs that crash: BRDA:2,0,0\n";
    run.expect(lcov.contains(named), &format!("the branch in {lcov}"));
    let page = text("report.html");
    run.expect(page.contains("1 covered only by inputs that crash") && page.contains("<b class=\"crash\""), &page);
}

/// The test consists of one kept input with its result.
#[test]
fn a_function_without_branches_has_a_test() {
    let dir = Dir::new();
    let target = dir.file("minus.c", "double minus(double a, double b) { return a - b; }\n");
    let run = dir.fuzz(&target, "").exits(0);
    let report = dir.report("out");
    run.expect(report.tests.len() == 1 && report.tests[0].file.starts_with("queue/"), "one test of a kept input");
    let (printed, status) = follow_the_header(&dir, "test_minus.c");
    run.expect(status == Some(0) && printed.contains("result = -0x1p+0 (-1)"), &format!("its result in\n{printed}"));
    dir.file("minus.c", "double minus(double a, double b) { return b - a; }\n");
    let (printed, status) = follow_the_header(&dir, "test_minus.c");
    run.expect(status == Some(1) && printed.contains("FAILED: result is not -0x1p+0 (-1)"), &printed);
}

/// The tests detect results, outputs and errno that another version of the function gets wrong.
#[test]
fn results_are_checked_by_their_bits() {
    let source = "#include <errno.h>
#include <math.h>
struct pair { double value; int n; };
double f(double x, float *half, struct pair *out) {
  *half = (float)x / 2;
  out->value = -x;
  out->n = 3;
  if (x != x) return x;
  if (x > 1e300) { errno = ERANGE; return INFINITY; }
  if (x == 0) return -0.0;
  return x;
}
";
    let (report, printed) = claims_hold("f.c", source, "", 0);
    assert!(report.tests.iter().any(|t| t.errno == Some(libc::ERANGE)), "{:#?}", report.tests);
    assert!(printed.contains("errno = 0x22 (34)"), "{printed}");
    let dir = Dir::new();
    let target = dir.file("f.c", source);
    let run = dir.fuzz(&target, "").exits(0);
    for (old, new, message) in [
        ("return -0.0", "return 0.0", "FAILED: result is not -0x0p+0"),
        ("return INFINITY", "return 1e308", "FAILED: result is not inf"),
        ("if (x != x) return x", "if (x != x) return 1", "FAILED: result is not"),
        ("ERANGE", "EDOM", "FAILED: errno is not 34"),
        ("/ 2", "/ 4", "FAILED: *half is not"),
        ("out->n = 3", "out->n = 4", "FAILED: *out is 0x4"),
    ] {
        dir.file("f.c", source.replace(old, new));
        let (printed, status) = follow_the_header(&dir, "test_f.c");
        run.expect(status == Some(1) && printed.contains(message), &format!("{new}: `{message}` in\n{printed}"));
    }
}

/// `--ulp` allows this number of floats between result and expected value, but not an infinity instead of a number.
#[test]
fn a_tolerance_is_in_floats() {
    let source = "#include <math.h>\ndouble f(double x) { return x > 1 ? nextafter(3, 3) : INFINITY; }\n";
    for (ulp, steps, fails) in [(2, 2, false), (2, 3, true), (0, 1, true)] {
        let dir = Dir::new();
        let target = dir.file("f.c", source);
        let run = dir.fuzz(&target, &format!("--ulp {ulp}")).exits(0);
        let other = "nextafter(".repeat(steps) + "3" + &", 4)".repeat(steps);
        dir.file("f.c", source.replace("nextafter(3, 3)", &other));
        let (printed, status) = follow_the_header(&dir, "test_f.c");
        run.expect(status == Some(i32::from(fails)), &format!("--ulp {ulp}, {steps} floats away:\n{printed}"));
    }
    let dir = Dir::new();
    let target = dir.file("f.c", source);
    let run = dir.fuzz(&target, "--ulp 4").exits(0);
    dir.file("f.c", source.replace("INFINITY", "1.7976931348623157e308"));
    let (printed, status) = follow_the_header(&dir, "test_f.c");
    run.expect(status == Some(1), &format!("an infinity is no number:\n{printed}"));
}

/// Runs a command of `test_program` in the output directory; returns its output and exit status.
fn in_output(dir: &Dir, command: &str) -> (String, Option<i32>) {
    let run = Command::new("sh").args(["-c", command]).current_dir(dir.path("out")).output().expect("sh runs");
    let printed = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    (format!("{command}\n{printed}"), run.status.code())
}

/// The three commands of `report.json` must work in the output directory and write gcov's files there. The program must
/// not contain any of penfuzz's code.
fn expect_commands(dir: &Dir, run: &Run) -> String {
    let report = dir.report("out");
    let commands = report.test_program.as_ref().expect("the report has commands");
    let text = fs::read_to_string(dir.path("out").join(&commands.file)).expect("there is a test program");
    run.expect(!text.contains("__asm__") && !text.contains("__pen"), &format!("no private symbol in\n{text}"));
    for command in [&commands.build, &commands.run, &commands.coverage] {
        let (printed, status) = in_output(dir, command);
        run.expect(status == Some(0), &format!("exit status 0:\n{printed}"));
        if command == &commands.coverage {
            expect_same_count(run, &report, &printed);
            let left = dir.files("out").keys().any(|name| Path::new(name).extension().is_some_and(|e| e == "gcov"));
            run.expect(left, "gcov's files in the output directory");
            return text;
        }
    }
    unreachable!("the last command is `coverage`")
}

#[test]
fn the_commands_for_one_source_work_in_the_output_directory() {
    let dir = Dir::new();
    dir.file("inc/limit.h", "#define LIMIT 4\n");
    dir.file("other.c", "double scale(double x) { return 2 * x; }\n");
    let target = dir.file(
        "f.c",
        "#include <limit.h>\ndouble scale(double);\ndouble f(double x, long long n) {\n  \
         if (scale(x) > LIMIT + N && n == 77) return 1;\n  return 2;\n}\n",
    );
    let run = dir.fuzz(&target, "--with other.c --function f --cflag -Iinc --cflag -DN=3").exits(0);
    let text = expect_commands(&dir, &run);
    run.expect(text.contains("extern double f(double, long long);"), &text);
}

#[test]
fn cxx_names_overloads_and_references_are_called_as_they_are() {
    let dir = Dir::new();
    let target = dir.file(
        "f.cc",
        "namespace n {
         int f(int x) { return x; }
         bool f(double x, const double &limit, double &out, double *p) {
           out = x; *p = limit;
           if (x > limit && x < 7.5) return true;
           return false;
         } }
         int main() { double a = 0; return n::f(1) + n::f(1, 2, a, &a); }\n",
    );
    let run = dir.fuzz(&target, "--function _ZN1n1fEdRKdRdPd").exits(0);
    let text = expect_commands(&dir, &run);
    run.expect(text.contains("n::f(1.0, penfuzz_at(in2_limit)"), &text);
}

/// A project of two directories with a generated header, a required option, and a library: pen-cc has recorded all of
/// it.
#[test]
fn a_linked_project_is_built_again_from_what_pen_cc_has_noted() {
    let dir = Dir::new();
    dir.file("src/api.h", "double api(double x, int n);\n");
    dir.file(
        "src/api.c",
        "#include \"api.h\"\n#include \"config.h\"\nstatic int inner(int n) { return n + SECRET; }\n\
                          double helper(double);\ndouble api(double x, int n) { if (helper(x) > 4.5) return inner(n); \
                          return x; }\n",
    );
    dir.file(
        "src/helper.c",
        "#include <zlib.h>\ndouble helper(double x) { return x == WANTED ? 5 : crc32(0, 0, 0); }\n",
    );
    dir.file("src/main.c", "#include \"api.h\"\nint main(void) { return (int)api(1, 2); }\n");
    dir.file("build/config.h", "#define SECRET 4711\n");
    let has_zlib = Path::new("/usr/include/zlib.h").exists();
    if !has_zlib {
        dir.file("src/zlib.h", "static double crc32(int a, void *b, int c) { return 0; }\n");
    }
    let build = dir.path("build");
    for (name, flags) in [("api", "-I."), ("helper", "-D WANTED=12.25 -I../src"), ("main", "")] {
        let mut command = Command::new("sh");
        let line = format!("cd build && {} -O2 -c {flags} ../src/{name}.c -o {name}.o", pen_cc().display());
        dir.other(command.args(["-c", &line]));
    }
    let libs = if has_zlib { "-lz -lm" } else { "-lm" };
    let line = format!("cd build && {} api.o helper.o main.o {libs} -o program", pen_cc().display());
    dir.other(Command::new("sh").args(["-c", &line]));
    for function in ["api", "inner"] {
        let run = dir.fuzz(build.join("program"), &format!("--fresh --function {function}")).exits(0);
        let text = expect_commands(&dir, &run);
        run.expect(text.contains("/src/helper.c -o"), &format!("the sibling in\n{text}"));
        let (printed, status) = follow_the_header(&dir, &format!("test_{function}.c"));
        run.expect(status == Some(0), &printed);
    }
}

/// Otherwise the flags that one call raises would stay raised for the next.
#[test]
fn exception_flags_of_one_test_do_not_reach_the_next() {
    let source = "#include <fenv.h>
int flagged(double x) {
  volatile double y = x * x;
  if (fetestexcept(FE_OVERFLOW)) return 1;
  if (y < 4.0) return 2;
  return fetestexcept(FE_INEXACT) ? 3 : 4;
}
";
    let (report, printed) = claims_hold("flagged.c", source, "", 0);
    assert_eq!(report.branches.covered, report.branches.total, "{printed}");
    assert!(report.reads_environment, "{printed}");
}
