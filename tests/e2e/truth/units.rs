//! The test program is linked from the sources that the function under test needs, and from no others.

use std::{path::Path, process::Command};

use penfuzz_app::report::Report;

use crate::support::{Dir, Run, pen_cc};

/// The function needs `helper.c` by a second name, `table.c` by a constant table of functions, and `early.c` for what a constructor
/// does. Nothing needs `other.c`.
const FILES: [(&str, &str); 5] = [
    (
        "f.c",
        "extern int second_name(int); extern int (*const table[])(int); int level;
int f(int n) { if (second_name(n) == 12) return 1; if (table[n & 1](n) == 23 + level) return 2; return 0; }
int unused(int n);
",
    ),
    (
        "helper.c",
        "static int first_name(int n) { return n - 3; }
int second_name(int n) __attribute__((alias(\"first_name\")));
",
    ),
    (
        "table.c",
        "static int a(int n) { return n + 2; } static int b(int n) { return n + 1; } int (*const table[])(int) = {a, b};\n",
    ),
    ("early.c", "extern int level; __attribute__((constructor)) static void set(void) { level = 7; }\n"),
    ("other.c", "#ifdef __clang__\nint unused(int n) { return n > 4 ? 1 : 2; }\n#else\n#error not with gcc\n#endif\n"),
];

fn expect_needed_only(dir: &Dir, run: &Run, report: &Report, sources: &[String]) {
    let names: Vec<_> = sources.iter().map(|s| Path::new(s).file_name().unwrap_or_default()).collect();
    for name in ["f.c", "helper.c", "table.c", "early.c"] {
        run.expect(names.iter().any(|n| *n == name), &format!("{name} among {sources:?}"));
    }
    assert_eq!(names.len(), 4, "{sources:?}");
    assert_eq!((report.branches.covered, report.branches.total), (4, 4), "{sources:?}");
    let commands = report.test_program.as_ref().expect("there are commands");
    dir.other(Command::new("sh").args(["-c", &format!("cd out && {} && {}", commands.build, commands.run)]));
}

#[test]
fn of_sources_the_needed_ones_are_linked() {
    let dir = Dir::new();
    let [target, others @ ..] = FILES.map(|(name, text)| dir.file(name, text));
    let with = others.iter().map(|o| format!("--with {}", o.display())).collect::<Vec<_>>().join(" ");
    let run = dir.fuzz(target, &format!("--function f {with}")).exits(0);
    let report = dir.report("out");
    expect_needed_only(&dir, &run, &report, &report.sources);
}

#[test]
fn of_a_linked_file_the_needed_sources_are_compiled() {
    let dir = Dir::new();
    let names = FILES.map(|(name, text)| (dir.file(name, text), name).1);
    dir.other(Command::new(pen_cc()).args(["-shared", "-fPIC", "-O1", "-o", "all.so"]).args(names));
    let run = dir.fuzz(dir.path("all.so"), "--function f").exits(0);
    let report = dir.report("out");
    let sources: Vec<_> = report.compilations.iter().map(|c| c.source.clone()).collect();
    expect_needed_only(&dir, &run, &report, &sources);
}

/// What gcc compiled, or where it lies, is not known: everything is linked.
#[test]
fn all_sources_are_linked_when_other_code_is_reached() {
    let dir = Dir::new();
    let [target, helper, table, early, other] = FILES.map(|(name, text)| dir.file(name, text));
    dir.other(Command::new("gcc").args(["-c", "-fPIC", "helper.c", "-o", "helper.o"]));
    let run = dir
        .fuzz(target, "--function f")
        .args(&format!("--with {} --with {} --with {}", table.display(), early.display(), other.display()))
        .args("--lib helper.o")
        .exits(0);
    let sources = dir.report("out").sources;
    run.expect(sources.len() == 4, &format!("all four sources in {sources:?} beside {}", helper.display()));
}
