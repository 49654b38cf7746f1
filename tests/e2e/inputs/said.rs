//! `--arg`: constraints on arguments that the user declares.

use std::fs;

use penfuzz_report::Report;

use crate::support::{Dir, Penfuzz};

const CLAMPED: &str = "
double clamped(double x, int n) {
  if (x < -90 || x > 90 || x != x) return 0; /* out of range: no statement leads here */
  if (n < 1 || n > 8) return 1;
  if (x == 45.5) return 2;
  return n == 8 ? 3 : 4;
}
";

const SUM: &str = "
double sum(const double *a, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += a[i];
  return s > 100 ? 1 : 0;
}
";

/// Returns the decimal values of the argument `name` in all tests and crashes.
fn values(report: &Report, name: &str) -> Vec<f64> {
    let crashes = report.crashes.iter().map(|c| &c.args);
    let all = report.tests.iter().map(|t| &t.args).chain(crashes).flatten();
    all.filter(|a| a.name == name).map(|a| a.decimal.parse().expect("a number")).collect()
}

fn fuzz<'a>(dir: &'a Dir, source: &str, statements: &[&str]) -> Penfuzz<'a> {
    let target = dir.file("target.c", source);
    statements.iter().fold(dir.fuzz(target, "--max-evals 20000"), |run, said| run.arg("--arg").arg(said))
}

#[test]
fn the_values_that_reach_the_function_are_in_their_ranges() {
    let dir = Dir::new();
    let run = fuzz(&dir, CLAMPED, &["x: -90..90", "n: 1..8"]).exits(0);
    let report = dir.report("out");
    // Of 14 branches, those that need values outside the ranges cannot be taken: x < -90, x > 90, x != x, n < 1, n > 8.
    run.expect(report.branches.covered == report.branches.total - 5, "all branches within the ranges");
    run.expect(!values(&report, "x").is_empty(), "tests");
    run.expect(values(&report, "x").iter().all(|x| (-90.0..=90.0).contains(x)), "x in its range");
    run.expect(values(&report, "n").iter().all(|n| (1.0..=8.0).contains(n)), "n in its range");
    for input in dir.files("out/queue").values().filter(|bytes| bytes.len() == 12) {
        let x = f64::from_le_bytes(input[..8].try_into().expect("eight bytes"));
        run.expect((-90.0..=90.0).contains(&x), "kept inputs have the values that the function gets");
    }
}

#[test]
fn finite_numbers_are_neither_nan_nor_infinite() {
    let dir = Dir::new();
    let source = "int f(float y) { if (y != y) return 1; if (y - y != 0) return 2; return y > 1e30f; }";
    let run = fuzz(&dir, source, &["y: finite"]).exits(0);
    let report = dir.report("out");
    run.expect(report.branches.covered == report.branches.total - 2, "no NaN and no infinity");
}

#[test]
fn an_access_outside_a_given_size_is_a_crash() {
    let dir = Dir::new();
    let source = "
        double sum(const double *a) {
          double s = 0;
          for (int i = 0; i < 11; i++) s += a[i];
          return s > 1;
        }";
    let run = fuzz(&dir, source, &["a: array[10]"]).exits(3);
    let report = dir.report("out");
    run.expect(report.crashes.len() == 1, "a[10] is outside");
    run.expect(report.crashes[0].reason.contains("after the end of `a` (10 elements, given)"), "the size is named");
    fuzz(&dir, source, &["a: array[11]"]).arg("--fresh").exits(0);
}

#[test]
fn a_size_follows_an_integer() {
    let dir = Dir::new();
    let run = fuzz(&dir, SUM, &["a: array[n]"]).exits(0);
    run.expect(dir.report("out").branches.covered == 4, "all branches, and no access is outside");
    // The array has one element less than the loop reads.
    fuzz(&dir, SUM, &["a: array[n-1]", "n: 2..8"]).arg("--fresh").exits(3);
    let matrix = "
        double trace(const double *m, int rows, int cols) {
          double s = 0;
          for (int i = 0; i < rows; i++) for (int j = 0; j < cols; j++) s += m[i * cols + j];
          return s > 10;
        }";
    fuzz(&dir, matrix, &["m: array[rows*cols]", "rows: 1..4", "cols: 1..4"]).args("-f trace --fresh").exits(0);
}

#[test]
fn a_string_has_so_many_characters_at_most() {
    let dir = Dir::new();
    let source = "
        #include <string.h>
        int f(const char *s) { size_t n = strlen(s); return n > 4 ? 2 : n == 4 ? 1 : 0; }";
    let run = fuzz(&dir, source, &["s: string[..4]"]).exits(0);
    let report = dir.report("out");
    run.expect(report.branches.covered == 3, "four characters, and not five");
    fuzz(&dir, source, &["s: string[..5]"]).arg("--fresh").exits(0);
    run.expect(dir.report("out").branches.covered == 4, "five characters");
}

#[test]
fn members_and_elements_have_ranges_too() {
    let dir = Dir::new();
    let source = "
        struct s { double gain; int n; };
        int f(const struct s *s, const double *a) {
          if (s->gain < 0 || s->gain > 1) return 1;
          return a[0] + a[1] + a[2] > 2.9 ? 2 : a[2] < 0 ? 3 : 4;
        }";
    let run = fuzz(&dir, source, &["s->gain: 0..1", "a: array[3]", "a: 0..1"]).exits(0);
    let report = dir.report("out");
    // gain < 0, gain > 1 and a[2] < 0 are impossible.
    run.expect(report.branches.covered == report.branches.total - 3, "ranges of a member and of all elements");
}

#[test]
fn commands_on_a_campaign_use_its_statements() {
    let dir = Dir::new();
    fuzz(&dir, CLAMPED, &["x: -90..90", "n: 1..8"]).exits(0);
    let manifest = fs::read_to_string(dir.path("out/campaign.json")).expect("a manifest");
    assert!(manifest.contains("\"x: -90..90\""), "{manifest}");
    // Inputs from another tool are mapped into the ranges as well.
    let outside: Vec<u8> = 1e9f64.to_le_bytes().into_iter().chain(9i32.to_le_bytes()).collect();
    fs::write(dir.path("out/queue/id:999999,other"), outside).expect("an input can be written");
    let replayed = dir.penfuzz("replay").arg(dir.path("out/queue/id:999999,other")).exits(0);
    replayed.expect(replayed.stdout.contains("(1)") && !replayed.stdout.contains("1e9"), "n = 9 becomes 1");
    dir.penfuzz("report out").exits(0);
    // A campaign on the same target without options resumes with the stored options.
    let resumed = dir.fuzz(dir.path("target.c"), "--max-evals 21000").exits(0);
    resumed.expect(values(&dir.report("out"), "n").iter().all(|n| (1.0..=8.0).contains(n)), "the ranges stay");
    let manifest = fs::read_to_string(dir.path("out/campaign.json")).expect("a manifest");
    resumed.expect(manifest.contains("\"x: -90..90\""), "and are recorded again");
    let other = dir.fuzz(dir.path("target.c"), "").arg("--arg").arg("x: 0..1").exits(1);
    other.expect(other.stderr.contains("holds a campaign with other --arg"), "another statement is refused");
}

#[test]
fn a_target_of_a_suite_has_statements() {
    let dir = Dir::new();
    dir.file("clamped.c", CLAMPED);
    dir.file(
        "suite.toml",
        "name = \"s\"\nsources = \".\"\n[[target]]\nname = \"t\"\nfile = \"clamped.c\"\nfunction = \"clamped\"\n\
         args = [\"x: 0..1\", \"n: 3..4\"]\n",
    );
    let run = dir.penfuzz("suite suite.toml -o out --max-evals 5000").exits(0);
    let report = dir.report("out/t");
    run.expect(values(&report, "x").iter().all(|x| (0.0..=1.0).contains(x)), "x in its range");
    run.expect(values(&report, "n").iter().all(|n| (3.0..=4.0).contains(n)), "n in its range");
}

#[test]
fn invalid_constraints_print_one_line_and_exit_with_2() {
    let dir = Dir::new();
    let wrong = |source: &str, said: &str, wanted: &[&str]| {
        let run = fuzz(&dir, source, &[said]).exits(2);
        for text in wanted {
            run.expect(run.stderr.contains(text), &format!("`{text}` for {said}"));
        }
        let errors = run.stderr.lines().filter(|line| line.starts_with("error:")).count();
        run.expect(errors == 1, "one message");
    };
    wrong(CLAMPED, "y: 0..1", &["has no argument `y`", "x"]);
    wrong("double f(double speed) { return speed > 1; }", "sped: 0..1", &["did you mean speed?"]);
    wrong(CLAMPED, "n: 5..1", &["`5..1` has no value"]);
    wrong(CLAMPED, "n: 0.5..1", &["`n` is an integer, and 0.5 is not"]);
    wrong(CLAMPED, "x: array[3]", &["`x` is a number"]);
    wrong(SUM, "a: array[k]", &["`k`, which is not an integer argument", "it has n"]);
    wrong(SUM, "a: string[..8]", &["`a` is not a string"]);
    wrong(SUM, "a: list", &["`list` is not a domain", "array[n*m]", "finite"]);
    wrong(SUM, "a", &["write NAME: DOMAIN"]);
}
