//! Runs the referee, with the installed gcc and gcov, on sources with a known number of branches.

use penfuzz_report::example;

use super::*;

/// Makes a directory with the source, and the report of the example for it.
fn example_in(source: &str, name: &str) -> (tempfile::TempDir, Report, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    fs::write(&file, source).unwrap();
    (dir, example::report(), file)
}

fn judged(dir: &Path, report: &Report, file: &Path, support: &[PathBuf]) -> Result<RefereeCount> {
    measure(&Job {
        report,
        file,
        support,
        flags: &["-O3".to_owned()],
        libs: &[],
        cache: &dir.join("cache"),
        timeout: Duration::from_secs(10),
    })
}

/// A second function, whose branches must not count.
fn two_functions() -> String {
    format!("int other(int a) {{ return a > 3 && a < 7 ? 1 : 2; }}\n#line 1\n{}", example::SOURCE)
}

#[test]
fn counts_the_branches_of_the_function_only() {
    let (dir, report, file) = example_in(&two_functions(), "clamp.c");
    let verdict = judged(dir.path(), &report, &file, &[]).unwrap();
    assert_eq!((verdict.referee.total, verdict.referee.covered), (8, 6));
    let criteria = verdict.referee.criteria;
    assert_eq!((criteria.conditions.total, criteria.conditions.covered), (8, 8), "every condition is evaluated");
    assert!(criteria.lines.covered < criteria.lines.total, "no test that returns calls abort()");
    assert_eq!((criteria.calls.total, criteria.calls.covered), (1, 0), "abort()");
    let open: Vec<_> = verdict.branches.iter().filter(|b| !b.taken).map(|b| b.line).collect();
    assert_eq!(open, [7, 9], "n == 7 crashes, n == 8 was not found");
}

#[test]
fn agrees_with_the_report_line_by_line() {
    let (dir, mut report, file) = example_in(example::SOURCE, "clamp.c");
    let verdict = judged(dir.path(), &report, &file, &[]).unwrap();
    assert_eq!(differences(&report, &verdict), []);
    report.tests.pop();
    let verdict = judged(dir.path(), &report, &file, &[]).unwrap();
    assert_eq!(differences(&report, &verdict), [LineDifference { line: 9, own: (4, 3), referee: (4, 1) }]);
}

#[test]
fn a_static_function_counts_too() {
    let source = two_functions().replace("double clamp", "static double clamp");
    let (dir, mut report, file) = example_in(&source, "clamp.c");
    report.signature.is_static = true;
    assert_eq!(judged(dir.path(), &report, &file, &[]).unwrap().referee.covered, 6);
}

#[test]
fn exceptions_of_cxx_are_no_branches() {
    let source = format!(
        "#include <string>\nstd::string make(double x) {{ return std::string(x > 1 ? 3 : 4, 'a'); }}\n{}",
        example::SOURCE.replace("abort();", "return make(x).size();")
    );
    let (dir, mut report, file) = example_in(&source, "clamp.cc");
    report.signature.symbol = "_Z5clampdiPd".to_owned();
    report.tests.push(penfuzz_report::Test { args: example::args(1.0, 7), ..penfuzz_report::Test::default() });
    let referee = judged(dir.path(), &report, &file, &[]).unwrap().referee;
    assert_eq!((referee.total, referee.covered), (8, 7));
}

#[test]
fn support_files_are_compiled_once_unless_what_they_include_changes() {
    let source = example::SOURCE
        .replace("return 0.5;", "return helper();")
        .replace("double clamp", "double helper(void);\ndouble clamp");
    let (dir, report, file) = example_in(&source, "clamp.c");
    let (support, header) = (dir.path().join("helper.c"), dir.path().join("helper.h"));
    fs::write(&support, "#include \"helper.h\"\ndouble helper(void) { return HALF; }\nint main(void) { return 1; }\n")
        .unwrap();
    fs::write(&header, "#define HALF 0.5\n").unwrap();
    let cache = dir.path().join("cache");
    // Time stamps have the resolution of the system's tick.
    std::thread::sleep(Duration::from_millis(20));
    let support = [support];
    let object = || Compiler::gcc().cached(&support[0], &[], &[], &cache).unwrap();
    let first = object();
    let made = fs::metadata(&first).unwrap().modified().unwrap();
    assert_eq!(object(), first);
    assert_eq!(fs::metadata(&first).unwrap().modified().unwrap(), made, "it must come from the cache");
    fs::write(&header, "#define HALF 0.25\n").unwrap();
    assert_ne!(fs::metadata(object()).unwrap().modified().unwrap(), made, "a changed header must be seen");
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..3).map(|_| scope.spawn(|| judged(dir.path(), &report, &file, &support).unwrap())).collect();
        threads.into_iter().map(|t| t.join().unwrap().referee.covered).collect::<Vec<_>>()
    });
    assert_eq!(all, [6, 6, 6]);
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 4, "two objects (by flags) with their lists, nothing else");
}

#[test]
fn failures_have_messages() {
    let (dir, mut report, file) = example_in("double clamp(double x", "clamp.c");
    let message = |report: &Report| judged(dir.path(), report, &file, &[]).unwrap_err().to_string();
    assert!(message(&report).contains("cannot compile") && message(&report).contains("clamp.c:"));
    fs::write(&file, "double missing(void);\ndouble clamp(double x, int n, double *p) { return missing(); }\n")
        .unwrap();
    assert!(message(&report).contains("cannot link") && message(&report).contains("missing"));
    fs::write(&file, example::SOURCE.replace("return 0.5", "abort()")).unwrap();
    assert!(message(&report).contains("SIGABRT"));
    fs::write(&file, example::SOURCE.replace("return 0.5", "for (;;)")).unwrap();
    let slow = Job {
        report: &report,
        file: &file,
        support: &[],
        flags: &[],
        libs: &[],
        cache: dir.path(),
        timeout: Duration::from_millis(100),
    };
    assert!(measure(&slow).unwrap_err().to_string().contains("did not end within 0.1 s"));
    fs::write(
        &file,
        "double f(double x, int n, double *p) __asm__(\"clamp\");\n\
                      double f(double x, int n, double *p) { return 1; }\n",
    )
    .unwrap();
    report.signature.symbol = "clamp".to_owned();
    report.function = "other".to_owned();
    assert!(message(&report).contains("gcov has no data on other"), "{}", message(&report));
}
