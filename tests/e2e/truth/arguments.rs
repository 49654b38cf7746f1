//! The memory behind pointer arguments: each block lies apart, and an access outside a block is a crash.

use penfuzz_report::{Finding, Report};

use crate::support::{Dir, Run};

/// A campaign on one file, which must end with this status.
fn campaign<'a>(dir: &'a Dir, source: &str, arguments: &str, status: i32) -> (Run<'a>, Report) {
    let target = dir.file("target.c", source);
    let run = dir.fuzz(target, "--max-evals 20000 --max-time 20s").args(arguments).exits(status);
    let report = dir.report("out");
    (run, report)
}

/// Returns the number of branches that one of the tests takes, and of all branches.
fn taken_by_tests(report: &Report) -> (usize, usize) {
    let mut taken: Vec<_> = report.tests.iter().flat_map(|t| &t.covers).collect();
    taken.sort_unstable();
    taken.dedup();
    (taken.len(), report.branches.total)
}

fn only_crash<'r>(run: &Run, report: &'r Report, text: &str) -> &'r Finding {
    let shown: Vec<_> = report.crashes.iter().map(|c| &c.reason).collect();
    run.expect(report.crashes.len() == 1, &format!("one crash, are {shown:?}"));
    let crash = &report.crashes[0];
    run.expect(crash.reason.contains(text), &format!("`{text}` in `{}`", crash.reason));
    crash
}

/// The replay must end in the same way: exit status 3 and the same reason.
fn expect_replay(dir: &Dir, finding: &Finding) {
    let run = dir.penfuzz("replay target.c").arg(dir.path("out").join(&finding.file)).exits(3);
    run.expect(run.stdout.contains(&finding.reason), &format!("`{}` again", finding.reason));
}

const THIRD: &str = "int third(const double p[1], double *out) {
    if (*p < 1) return 2;
    if (p[2] == 42) { *out = 1; return 1; }
    return 0;
}
";

#[test]
fn an_element_behind_an_argument_is_not_another_argument() {
    let dir = Dir::new();
    let (run, report) = campaign(&dir, THIRD, "", 3);
    let crash = only_crash(&run, &report, "after the end of `*p`");
    run.expect(crash.place.contains("third"), "the function");
    run.expect(taken_by_tests(&report) == (1, 4), "only *p < 1 has a test");
    expect_replay(&dir, crash);
}

const BEFORE: &str = "int before(const double *p) {
    if (*p > 1) {
        if (p[-1] == 0) return 1;
        return 2;
    }
    return 0;
}
";

#[test]
fn an_element_before_an_argument_is_a_crash_and_no_test() {
    let dir = Dir::new();
    let (run, report) = campaign(&dir, BEFORE, "", 3);
    let crash = only_crash(&run, &report, "before the start of `*p`");
    run.expect(crash.place.contains("before"), "the function");
    run.expect(taken_by_tests(&report) == (1, 4), "only the branch around the access has a test");
    expect_replay(&dir, crash);
}

#[test]
fn a_result_before_an_argument_is_a_crash() {
    let dir = Dir::new();
    let source = "void set(double x, float *out) { if (x > 3) out[-1] = 2; else *out = 1; }\n";
    let (run, report) = campaign(&dir, source, "", 3);
    only_crash(&run, &report, "before the start of `*out`");
    run.expect(taken_by_tests(&report) == (1, 2), "the other branch has a test");
}

#[test]
fn a_structure_ends_with_its_last_member() {
    let dir = Dir::new();
    let source = "struct three { double of[3]; };
int fill(int n, struct three *s) {
    for (int i = 0; i < 3; i++) s->of[i] = i;
    if (n == 7) s->of[n - 4] = 1;
    return 0;
}
";
    let (run, report) = campaign(&dir, source, "", 3);
    only_crash(&run, &report, "after the end of `*s`");
}

#[test]
fn two_arguments_are_apart() {
    let dir = Dir::new();
    let source = "int two(const int *p, const int *q) {
    if (*p == 12345) return 1;
    if (*q == *p + 3) return 2;
    return 0;
}
";
    let (run, report) = campaign(&dir, source, "", 0);
    run.expect(taken_by_tests(&report) == (4, 4), "all branches have tests");
}

/// The placement of blocks does not affect functions that use their arguments correctly: values of each size, two
/// values (which Fdlibm's `__ieee754_rem_pio2` writes), a structure.
#[test]
fn results_behind_pointers_are_as_before() {
    let dir = Dir::new();
    let source = "#include <math.h>
struct split { double whole; float part; };
int parts(double x, double *whole, int *exponent, struct split *s, double *sine, char *sign) {
    double f = modf(x, whole), m = frexp(x, exponent);
    s->whole = f;
    s->part = (float)m;
    sine[0] = sin(x);
    sine[1] = cos(x);
    *sign = x < 0;
    if (f == 0.25 && *whole == 3) return 1;
    if (*exponent == 7) return 2;
    if (sine[0] > 0.5) return 3;
    return 0;
}
";
    let (run, report) = campaign(&dir, source, "--lib=-lm", 0);
    let (taken, total) = taken_by_tests(&report);
    run.expect(taken == total, "all branches have tests");
    let bytes: Vec<u8> = 3.25_f64.to_ne_bytes().into_iter().chain([0; 21]).collect();
    dir.file("input", bytes);
    let run = dir.penfuzz("replay --lib=-lm target.c input").exits(0);
    for line in [
        "returned     = 0x1 ",
        "*whole       = 0x1.8p+1 ",
        "*exponent    = 0x2 ",
        "*s+0         = 0x3fd0000000000000 ",
        "*sign        = 0x0 ",
    ] {
        run.expect(run.stdout.contains(line), line);
    }
}
