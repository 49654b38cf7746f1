//! penfuzz works with the parts of a build: shared or instrumented libraries, undefined symbols, sources that do not
//! compile, compilation databases, and C++ names.

use std::{fs, process::Command};

use penfuzz_report::Report;
use serde_json::Value;

use crate::support::{Dir, Run, pen_cc};

/// Builds and runs the emitted tests with the printed commands; returns the report.
fn tests_pass(dir: &Dir, run: &Run, out: &str) -> Report {
    let report = dir.report(out);
    let program = report.test_program.clone().expect("commands");
    for command in [&program.build, &program.run] {
        let done = Command::new("sh").args(["-c", command]).current_dir(dir.path(out)).output().expect("sh runs");
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        run.expect(done.status.success(), &format!("{command}\n{text}"));
    }
    report
}

/// Returns what `penfuzz functions` prints, which must contain this function.
fn lists(dir: &Dir, arguments: &str, function: &str) -> String {
    let run = dir.penfuzz("functions").args(arguments).exits(0);
    run.expect(run.stdout.contains(function), function);
    run.stdout.clone()
}

const USER: &str = "int helper(int n);\nint user(int n) { return helper(n) > 5 ? 1 : 0; }\n";
const HELPER: &str = "int helper(int n) { if (n == 1234567) return 9; return n & 3; }\n";

#[test]
fn a_shared_library_is_found_again() {
    let dir = Dir::new();
    dir.file("user.c", USER);
    dir.file("lib/helper.c", HELPER);
    let build = |name: &str, soname: &str| {
        let file = dir.path("lib").join(name);
        dir.other(Command::new("gcc").args(["-shared", "-fPIC", "lib/helper.c", "-o"]).arg(&file).arg(soname));
    };
    build("libhelper.so", "-Wl,-soname,libhelper.so");
    build("libplain.so", "-O1");
    for (i, lib) in ["--lib lib/libhelper.so", "--lib lib/libplain.so", "--lib=-Llib --lib=-lhelper"].iter().enumerate()
    {
        let out = format!("out{i}");
        let run = dir.penfuzz("user.c --max-evals 1000 -o").arg(&out).args(lib).exits(0);
        tests_pass(&dir, &run, &out);
        dir.penfuzz("report").arg(&out).exits(0);
    }
}

#[test]
fn a_function_with_a_name_of_the_c_library_is_called() {
    let dir = Dir::new();
    // The type makes the test program include the source. gcc would otherwise replace the call by its built-in square
    // root.
    dir.file(
        "own.c",
        "long double sqrtl(long double x) {\n    if (x > 16) return 1;\n    if (x < 0) return 2;\n    return x / 3;\n\
         }\n",
    );
    let run = dir.fuzz("own.c", "-f sqrtl").exits(0);
    let report = tests_pass(&dir, &run, "out");
    run.expect(report.branches.covered == 4, &format!("4 branches covered: {:?}", report.branches));
    dir.other(Command::new(pen_cc()).args(["-g", "-ffreestanding", "own.c", "-o", "own.pen"]));
    let run = dir.penfuzz("own.pen -f sqrtl --max-evals 20000 -o linked").exits(0);
    let report = tests_pass(&dir, &run, "linked");
    let build = report.test_program.map(|program| program.build).unwrap_or_default();
    run.expect(build.contains("-ffreestanding"), "the program is compiled as the function was");
}

#[test]
fn an_archive_of_pen_cc_gives_tests_their_sources() {
    let dir = Dir::new();
    dir.file("user.c", USER);
    dir.file("lib/helper.c", HELPER);
    dir.other(Command::new(pen_cc()).args(["-g", "-O1", "-c", "lib/helper.c", "-o", "helper.o"]));
    dir.other(Command::new("ar").args(["rcs", "libhelper.a", "helper.o"]));
    let run = dir.fuzz("user.c", "-f user --lib libhelper.a --scope calls").exits(0);
    let report = tests_pass(&dir, &run, "out");
    run.expect(report.branches.covered == 4, &format!("4 branches covered: {:?}", report.branches));
    // The archive itself can be a target, too.
    let run = dir.penfuzz("libhelper.a -f helper -o whole").exits(0);
    tests_pass(&dir, &run, "whole");
    lists(&dir, "libhelper.a", "int helper(int n)");
}

const OPEN: &str = "double missing(double x);
extern int table[100];
int complete(int n) { return n > 3 ? 1 : 0; }
double calls(double x) { if (x > 10) return missing(x); return x < -4 ? 1 : 0; }
int reads(int n) { if (n > 3 && n < 50) return table[n] + 1; return 0; }
";

#[test]
fn a_function_that_needs_no_undefined_symbol_is_tested() {
    let dir = Dir::new();
    dir.file("open.c", OPEN);
    lists(&dir, "open.c", "double calls(double x)");
    let run = dir.fuzz("open.c", "-f complete").exits(0);
    run.expect(!run.stderr.contains("not defined"), "nothing is said of what is not reached");
    let report = tests_pass(&dir, &run, "out");
    run.expect(report.branches.covered == 2 && report.undefined.is_empty(), "both branches");
}

#[test]
fn the_need_of_an_undefined_symbol_is_an_end_with_its_name() {
    let dir = Dir::new();
    dir.file("open.c", OPEN);
    for (function, name, reason) in [
        ("calls", "missing", "calls `missing`, which is not defined"),
        ("reads", "table", "uses `table`, which is not defined"),
    ] {
        let run = dir.fuzz("open.c", "--fresh --max-evals 20000 -f").arg(function).exits(3);
        run.says(&format!("penfuzz: not defined: {name}; an evaluation that uses it ends there."));
        let report = tests_pass(&dir, &run, "out");
        run.expect(report.undefined == [name], &format!("`undefined` in report.json is {:?}", report.undefined));
        let [crash] = &report.crashes[..] else { panic!("one place: {:?}", report.crashes) };
        run.expect(crash.reason == reason, &crash.reason);
        run.expect(crash.place.starts_with(&format!("{function} (")), &crash.place);
    }
}

#[test]
fn a_crash_is_replayed_from_its_campaign() {
    let dir = Dir::new();
    dir.file("helper.c", HELPER);
    dir.file(
        "user.c",
        "int helper(int n);\nint user(int n) { if (n == 77) *(volatile int *)0 = FILL; return helper(n); }\n",
    );
    dir.fuzz("user.c", "-f user --with helper.c --cflag -DFILL=1 --fuel 5000").exits(3);
    let crash = dir.report("out").crashes[0].file.clone();
    let triage = dir.penfuzz("triage out").exits(3);
    let command = triage.stdout.lines().find_map(|l| l.trim().strip_prefix("penfuzz ")).expect("a command").to_owned();
    triage.expect(command == format!("replay out/{crash}"), &format!("a short command, is {command}"));
    let run = dir.penfuzz("replay").arg(dir.path("out").join(&crash)).exits(3);
    run.expect(run.stdout.contains("SIGSEGV") && run.stdout.contains("user ("), "the crash");
    // The replay uses the current source.
    dir.file("user.c", "int user(int n) { return n == 77; }\n");
    dir.penfuzz("replay").arg(dir.path("out").join(&crash)).exits(0);
    dir.penfuzz("replay user.c").exits(2).says("is not an input of a campaign");
}

/// The function calls a hook with an invalid pointer.
#[test]
fn a_fault_in_the_runtime_is_named_after_its_caller() {
    let dir = Dir::new();
    let source = "void __pen_on_other_icmp(const unsigned char *, unsigned, unsigned, unsigned long, unsigned long);
int hooked(int n) {
  if (n == 4242)
    __pen_on_other_icmp((const unsigned char *)8, 0, 32, 1, 2); // the call
  return 0;
}
";
    let target = dir.file("hooked.c", source);
    let run = dir.fuzz(&target, "").exits(3);
    let report = dir.report("out");
    let place = format!("hooked ({}:4)", target.display());
    run.expect(report.crashes[0].place == place, &format!("{place}, is {}", report.crashes[0].place));
}

const CXX: &str = "#include <algorithm>
#include <vector>
namespace geo {
namespace { int hidden(int n) { return n > 2 ? 1 : 0; } }
class Angle {
public:
  static double normalized(double x) { std::vector<double> all{x, 1.0}; return x > 180 ? std::max(all[0], all[1]) : x; }
  static int filled(double &x, int n) { if (n > 3) x = 1; return hidden(n); }
};
}
double use(double x, int n) { return geo::Angle::normalized(x) + geo::Angle::filled(x, n); }
";

#[test]
fn names_of_cxx_have_their_scopes() {
    let dir = Dir::new();
    dir.file("geo.cc", CXX);
    for function in [
        "double geo::Angle::normalized(double x)",
        "int geo::Angle::filled(double & x, int n)",
        "static int geo::hidden(int n)",
    ] {
        let text = lists(&dir, "geo.cc --cflag -O0", function);
        assert!(!text.contains("std::") && !text.contains("/c++/"), "nothing of the library in {text}");
    }
    for (i, name) in ["geo::Angle::normalized", "Angle::filled", "normalized"].iter().enumerate() {
        let out = format!("out{i}");
        let run = dir.penfuzz("geo.cc --cflag -O0 -o").arg(&out).arg("-f").arg(name).exits(0);
        let report = tests_pass(&dir, &run, &out);
        run.expect(report.function.starts_with("geo::Angle::"), &report.function);
    }
}

/// Generates a suite; returns its text and the names of its targets.
fn suite(dir: &Dir, arguments: &str) -> (String, Vec<String>) {
    dir.penfuzz("generate").args(arguments).args("-o suite.toml").exits(0);
    let text = fs::read_to_string(dir.path("suite.toml")).expect("the suite");
    let names = text.lines().filter_map(|l| l.strip_prefix("name = ")).skip(1);
    let names = names.map(|n| n.trim_matches('"').to_owned()).collect();
    (text, names)
}

/// All targets of the suite must be covered.
fn suite_runs(dir: &Dir) {
    let run = dir.penfuzz("suite suite.toml -o all --max-evals 20000 --json -q").exits(0);
    let rows: Value = serde_json::from_str(&run.stdout).expect("JSON");
    for row in rows["targets"].as_array().expect("targets") {
        run.expect(row["branches"]["covered"] == row["branches"]["total"], &row.to_string());
    }
}

/// Each source has its own copy of the function in the header.
#[test]
fn a_library_with_a_static_function_in_a_header() {
    let dir = Dir::new();
    dir.file("common.h", "static inline int common(int n) { if (n > 3) return n; return 0; }\n");
    for name in ["one", "two"] {
        let text = format!("#include \"common.h\"\nint {name}(int n) {{ if (n < 9) return common(n); return 1; }}\n");
        let source = dir.file(&format!("{name}.c"), text);
        dir.other(Command::new(pen_cc()).args(["-g", "-c", "-O0"]).arg(source));
    }
    dir.other(Command::new("ar").args(["rcs", "libboth.a", "one.o", "two.o"]));
    let (_, names) = suite(&dir, "libboth.a");
    assert_eq!(names, ["common", "one", "two"]);
    suite_runs(&dir);
}

#[test]
fn a_suite_survives_files_that_do_not_compile() {
    let dir = Dir::new();
    dir.file(
        "src/good.c",
        "int good(int n) { return n > 3 ? 5 : 6; }\nint choose(int n) { return n > 9 ? 1 : undefined_one(n); }\n",
    );
    dir.file("src/bad.c", "int bad(int n) { return n > ; }\n");
    dir.file("src/worse.c", "#include \"generated.h\"\n");
    dir.file(
        "recipe.toml",
        "name = \"x\"\nsources = \"src\"\n[build]\nflags = [\"-w\", \"-std=c89\"]\n[generate]\n\
                             files = [\"*.c\"]\nfunctions = [\"good\", \"bad\"]\n",
    );
    let run = dir.penfuzz("generate recipe.toml").exits(0);
    for file in ["bad.c", "worse.c"] {
        run.expect(run.stderr.contains(&format!("{file} is left out: ")), file);
    }
    let text = fs::read_to_string(dir.path("suite.toml")).expect("the suite");
    run.expect(text.contains("# - in a file that does not compile: bad.c, worse.c"), &text);
    fs::remove_file(dir.path("src/good.c")).expect("the file is there");
    dir.penfuzz("generate recipe.toml").exits(1).says("does not compile");
}

#[test]
fn a_suite_is_generated_from_the_commands_of_a_build() {
    let dir = Dir::new();
    dir.file("src/a.c", "#include <limit.h>\nint a(int n) { return n > LIMIT ? 1 : LOWEST; }\n");
    dir.file(
        "src/sub/b.c",
        "int a(int);\nstatic int twice(int n) { return n < LOWEST ? 2 : 0; }\n\
                             int b(int n) { return n > 5 ? a(n) : twice(n); }\n",
    );
    dir.file("src/main.c", "int b(int);\nint main(void) { return b(1); }\n");
    dir.file("src/bad.c", "int bad(int n) { return n > ; }\n");
    dir.file("include/limit.h", "#define LIMIT 12\n");
    let here = dir.path("").display().to_string();
    let entry = |file: &str, rest: &str| format!("{{\"directory\": \"{here}/build\", \"file\": \"{file}\", {rest}}}");
    let commands = [
        entry("../src/a.c", r#""command": "cc -I../include '-DLOWEST=(-7)' -O2 -o a.o -c ../src/a.c""#),
        entry("../src/sub/b.c", r#""arguments": ["cc", "-DLOWEST=(-7)", "-c", "../src/sub/b.c"]"#),
        entry("../src/main.c", r#""command": "cc -c ../src/main.c""#),
        entry("../src/bad.c", r#""command": "cc -c ../src/bad.c""#),
    ];
    dir.file("build/compile_commands.json", format!("[{}]", commands.join(",")));
    let (text, names) = suite(&dir, "build/compile_commands.json");
    assert_eq!(names, ["a", "b"], "{text}");
    assert!(text.contains("-DLOWEST=(-7)"), "{text}");
    suite_runs(&dir);
    // The same with a recipe, including static functions.
    dir.file(
        "recipe.toml",
        "name = \"x\"\nsources = \"src\"\n[build]\nsupport = [\"a.c\"]\n[generate]\n\
                             compile_commands = \"build/compile_commands.json\"\nstatic = true\n",
    );
    let (text, names) = suite(&dir, "recipe.toml");
    assert_eq!(names, ["a", "twice", "b"], "{text}");
    assert!(text.contains("function = \"b.c:twice\"\nstatic = true\n"), "{text}");
    suite_runs(&dir);
}

#[test]
fn a_suite_is_generated_from_a_library_that_is_built() {
    let dir = Dir::new();
    dir.file(
        "lib.c",
        "static int twice(int n) { return n < 7 ? 2 : 0; }\nint one(int n) { return n > 5 ? 1 : twice(n); }\n",
    );
    dir.other(Command::new(pen_cc()).args(["-g", "-O1", "-c", "lib.c"]));
    dir.other(Command::new("ar").args(["rcs", "libone.a", "lib.o"]));
    dir.other(Command::new(pen_cc()).args(["-shared", "lib.o", "-o", "libone.so"]));
    for library in ["libone.a", "libone.so"] {
        let (text, names) = suite(&dir, library);
        assert_eq!(names, ["twice", "one"], "{text}");
        suite_runs(&dir);
    }
}
