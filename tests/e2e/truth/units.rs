//! The test program is linked from the sources that the function under test needs, and from no others.

use std::{path::Path, process::Command};

use penfuzz_report::Report;

use crate::support::{Dir, Run, pen_cc};

/// The function needs `helper.c` through an alias, `table.c` through a constant table of functions, and `early.c`
/// because of a constructor. It does not need `other.c`.
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
        "static int a(int n) { return n + 2; } static int b(int n) { return n + 1; } \
         int (*const table[])(int) = {a, b};\n",
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

/// The target reaches code that gcc compiled. What that code references, or where it lies, is unknown, so all sources
/// are linked.
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

/// A file that another one includes once for each type. It does not compile alone, and must not be compiled a second
/// time.
const TEMPLATE: &str = "typedef struct { TYPE *data; int size; } NAME(list);
int NAME(above)(const NAME(list) *list, TYPE least) {
  int n = 0;
  for (int i = 0; i < list->size; i++) if (list->data[i] > least) n++;
  return n == 3 ? 1 : 0;
}
static int NAME(is_even)(TYPE x) { return x == (TYPE)(2 * (int)(x / 2)) && x > 100 ? 1 : 0; }
int NAME(use)(TYPE x) { return NAME(is_even)(x); }
";

#[test]
fn a_file_that_others_include_is_seen_through_them() {
    let dir = Dir::new();
    dir.file("list_source.c", TEMPLATE);
    let unit = |name: &str, of: &str| {
        let text = format!("#define TYPE {of}\n#define NAME(x) {name}_##x\n#include \"list_source.c\"\n");
        dir.file(&format!("{name}.c"), text)
    };
    let units = [unit("reals", "double"), unit("shorts", "short")];
    let with = format!("--with {}", units[1].display());
    dir.other(Command::new(pen_cc()).args(["-shared", "-fPIC", "-O1", "-o", "all.so", "reals.c", "shorts.c"]));
    let targets = [(units[0].clone(), with.as_str()), (dir.path("all.so"), "")];
    for (i, (target, with)) in targets.into_iter().enumerate() {
        for function in ["reals_above", "shorts_above", "reals_is_even", "shorts_is_even"] {
            let out = format!("{function}-{i}");
            let run =
                dir.penfuzz("--max-evals 20000 --function").arg(function).args(with).arg("-o").arg(&out).arg(&target);
            let run = run.exits(0);
            let report = dir.report(&out);
            run.expect(report.branches.covered == report.branches.total, &format!("{:?}", report.branches));
            let commands = report.test_program.as_ref().expect("there are commands");
            let check = format!("cd {out} && {} && {} && {}", commands.build, commands.run, commands.coverage);
            let gcov = dir.other(Command::new("sh").args(["-c", &check]));
            run.expect(
                gcov.contains("File '") && gcov.contains("list_source.c'"),
                &format!("a count of the file\n{gcov}"),
            );
        }
    }
}

/// gcov's counters of two files of the same name must not share a file.
#[test]
fn sources_of_one_name_are_both_counted() {
    let dir = Dir::new();
    let target = dir.file("a/oper.c", "int twice(int n);\nint f(int n) { if (twice(n) == 26) return 1; return 0; }\n");
    let other = dir.file("b/oper.c", "int twice(int n) { if (n > 9) return 2 * n; return 0; }\n");
    let run = dir.fuzz(target, &format!("--function f --scope calls --with {}", other.display())).exits(0);
    let report = dir.report("out");
    run.expect(report.branches.covered == 4, &format!("4 branches: {:?}", report.branches));
    let coverage = report.test_program.expect("there are commands").coverage;
    let gcov = dir.other(Command::new("sh").args(["-c", &format!("cd out && {coverage}")]));
    let all = gcov.lines().filter(|line| *line == "Taken at least once:100.00% of 2").count();
    run.expect(all == 2, &format!("2 of 2 branches taken in each file\n{gcov}"));
}
