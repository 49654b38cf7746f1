//! Readable results: few tests with simple arguments, and how close the search came to each uncovered branch.

use std::path::{Path, PathBuf};

use penfuzz_report::{Arg, BranchIndex, Report};

use crate::support::{Dir, fixture, is_covered, quickstart};

/// Number of significant digits of a decimal; 0 for zero, `nan` and `inf`.
fn digits(decimal: &str) -> usize {
    let mantissa = decimal.split('e').next().unwrap_or_default();
    let figures: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    figures.trim_matches('0').len()
}

/// Returns the input bytes of these arguments, for `penfuzz replay`.
fn bytes(args: &[Arg]) -> Vec<u8> {
    let of = |arg: &Arg| {
        let hex = arg.bits.strip_prefix("0x").expect("bits are hex");
        let value = u64::from_str_radix(hex, 16).expect("bits are a number");
        value.to_le_bytes()[..hex.len() / 2].to_vec()
    };
    args.iter().flat_map(of).collect()
}

/// Returns the branches that replaying the arguments shows, as `file:line:column  outcome`, sorted. Sites at one place
/// are not distinguished.
fn replayed(dir: &Dir, target: &Path, args: &[Arg]) -> Vec<String> {
    let input = dir.file("input", bytes(args));
    let run = dir.penfuzz("replay").arg(target).arg(input).exits(0);
    let is_branch = |l: &&str| l.contains(".c:") && l.contains("  ");
    let mut branches: Vec<_> = run.stdout.lines().map(str::trim).filter(is_branch).map(str::to_owned).collect();
    branches.sort();
    branches
}

fn expect_short(target: PathBuf, status: i32, most: usize) {
    let dir = Dir::new();
    let run = dir.fuzz(target, "").exits(status);
    for arg in dir.report("out").tests.iter().flat_map(|t| &t.args) {
        run.expect(digits(&arg.decimal) <= most, &format!("at most {most} digits in {} = {}", arg.name, arg.decimal));
    }
}

#[test]
fn tests_of_doubles_are_short() {
    expect_short(quickstart("triangle.c"), 0, 2);
    expect_short(quickstart("quadratic.c"), 0, 3);
    expect_short(quickstart("thermocouple.c"), 3, 3);
}

#[test]
fn tests_of_integers_are_short() {
    expect_short(quickstart("day_of_year.c"), 0, 4);
}

fn expect_minimal(target: &Path) {
    let dir = Dir::new();
    let run = dir.fuzz(target, "--max-evals 50000").exits(0);
    let Report { tests, sites, .. } = dir.report("out");
    for (i, test) in tests.iter().enumerate() {
        let name = |at: &BranchIndex| {
            let site = &sites[at.site];
            format!("{}:{}:{}  {}", site.file, site.line, site.column, site.branches[at.branch].outcome)
        };
        let mut said: Vec<_> = test.covers.iter().map(name).collect();
        said.sort();
        run.expect(replayed(&dir, target, &test.args) == said, &format!("test {} covers what the report says", i + 1));
        let is_elsewhere = |b: &BranchIndex| tests.iter().enumerate().any(|(j, t)| j != i && t.covers.contains(b));
        run.expect(!test.covers.iter().all(is_elsewhere), &format!("test {} is needed", i + 1));
    }
}

#[test]
fn no_test_can_be_dropped() {
    expect_minimal(&quickstart("triangle.c"));
    expect_minimal(&quickstart("day_of_year.c"));
    expect_minimal(&fixture("unreachable_in_loop.c"));
}

#[test]
fn a_crash_is_shown_by_its_simplest_arguments() {
    let dir = Dir::new();
    let target = quickstart("thermocouple.c");
    let run = dir.fuzz(&target, "").exits(3);
    let crash = &dir.report("out").crashes[0];
    run.expect(crash.args[0].hex == "NAN", "the NaN without sign and payload");
    let input = dir.file("crash", bytes(&crash.args));
    let replay = dir.penfuzz("replay").arg(&target).arg(input).exits(3);
    replay.expect(replay.stdout.contains(&crash.place), "a crash at the same place");
}

/// 35 is not the square of an integer, so one branch stays open; 6 comes closest.
const OPEN: &str = "int open(double x, int n) {
      int r = 0;
      if (x > 1e10) r += 1;
      if (x * 0.0 != 0.0) return 9;
      if (n > 5 && n < 7 && n * n == 35) r += 2;
      return r;
    }";

fn uncovered(report: &Report) -> Vec<(u64, Vec<Arg>)> {
    let open = report.sites.iter().flat_map(|s| &s.branches).filter(|b| !is_covered(b));
    open.map(|b| (b.best_distance.unwrap_or(u64::MAX), b.best_input.clone().unwrap_or_default())).collect()
}

#[test]
fn an_uncovered_branch_says_how_close_and_by_what() {
    let dir = Dir::new();
    let target = dir.file("open.c", OPEN);
    let run = dir.fuzz(&target, "--max-evals 20000").exits(0);
    let open = uncovered(&dir.report("out"));
    run.expect(open.len() == 1 && open[0].0 == 1, "one branch is open, 1 integer away");
    let decimals: Vec<&str> = open[0].1.iter().map(|a| a.decimal.as_str()).collect();
    run.expect(decimals == ["0.0", "6"], "the only n that comes so close, and the simplest x");
    run.expect(run.stdout.contains("  true  if (n > 5 && n < 7 && n * n == 35) r += 2;"), "the condition as written");
    run.expect(run.stdout.contains("closest 1 integer away at open(0.0, 6), "), "how close and by what");
    let headline = "covered (90.0 %); 1 not covered: ";
    run.expect(run.stdout.lines().next().is_some_and(|l| l.contains(headline)), "what is left, in the first line");
    run.expect(
        run.stdout.contains("no proof that none exists") || run.stdout.contains("Run it again"),
        "what that means",
    );
    run.expect(!run.stdout.contains("unreachable"), "no claim");
}

#[test]
fn every_search_tells_how_close_it_came() {
    let dir = Dir::new();
    let target = dir.file("open.c", OPEN);
    let run = dir.fuzz(&target, "--search random --max-evals 2000").exits(0);
    let open = uncovered(&dir.report("out"));
    run.expect(!open.is_empty(), "random values do not cover everything");
    run.expect(open.iter().any(|(d, input)| *d < u64::MAX && input.len() == 2), "a distance and an input");
}

#[test]
fn the_closest_inputs_outlive_a_run() {
    let dir = Dir::new();
    let target = dir.file("open.c", OPEN);
    dir.fuzz(&target, "--max-evals 20000").exits(0);
    let first = uncovered(&dir.report("out"));
    // Runs no further evaluation: the report is made from the files.
    let run = dir.fuzz(&target, "--max-evals 20000").exits(0);
    run.expect(uncovered(&dir.report("out")) == first, "the same distances and inputs");
}

#[test]
fn shrinking_is_not_counted() {
    let dir = Dir::new();
    let run = dir.fuzz(quickstart("triangle.c"), "--search random --max-evals 100").exits(0);
    let report = dir.report("out");
    // Finds of the last round are evaluated once more before they are kept.
    run.expect((100..130).contains(&report.evaluations), "100 evaluations and no more");
}

/// Kills its process for 0, which is the first value that shrinking tries.
const DEADLY: &str = "#include <signal.h>
    #include <unistd.h>
    int fatal_inputs(double x, double y) {
      if (x == 0) kill(getpid(), SIGKILL);
      if (y > 3.5) return 2;
      return x < 0;
    }";

#[test]
fn a_death_while_shrinking_is_harmless() {
    let dir = Dir::new();
    let target = dir.file("deadly.c", DEADLY);
    dir.file("seeds/one", [1.234_567f64.to_le_bytes(), 3.75f64.to_le_bytes()].concat());
    dir.file("seeds/two", [(-1.234_567f64).to_le_bytes(), 0.75f64.to_le_bytes()].concat());
    let run = dir.fuzz(&target, "--search havoc --max-evals 2 -i seeds").exits(0);
    let report = dir.report("out");
    run.expect(report.crashes.is_empty(), "no crash, since the search has met none");
    run.expect(report.tests.len() == 2, "the tests are there");
}
