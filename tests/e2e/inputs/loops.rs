//! Array sizes derived from the loops of a function, where test calls cannot determine them.

use penfuzz_report::Report;

use crate::support::Dir;

const SOURCE: &str = "double guarded(const double *a, const float *grid, int n, int m, int key)
{
  double s = 0;
  if (key != 123456) return 0;
  for (int i = 0; i < n; i++) s += a[i];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) s += grid[i * m + j];
  return s == 42.5 ? 1 : 2;
}
static double last(const double *a, int n) { return a[2 * n]; }
double more(const double *a, int n)
{
  double s = 0;
  for (int i = 0; i < n; i++) s += a[i];
  if (n > 0) s += last(a, n);
  return s > 10 ? 1 : 2;
}
double pairs(const double *a, double *out, int n)
{
  double s = 0;
  for (int i = 1, j = 1; i < n - 1; i += 2, j++) out[j] = a[i] + a[i + 1], s += out[j];
  return s > 10 ? 1 : 2;
}
";

const DRIVER: &str = "static double inner(const double *w, int n) { return w[3 * n * n]; }
double driver(double *w, int n, int size)
{
  if (n <= 0 || size < 3 * n * n + 1) return -1;
  for (int i = 0; i < n; i++) w[i] = 1;
  return inner(w, n) > 10 ? 1 : 2;
}
";

/// Calls with equal integers do not reach the loop; other calls access more memory than the loop does.
#[test]
fn a_call_that_touches_more_refutes_the_loops() {
    let dir = Dir::new();
    dir.file("d.c", DRIVER);
    dir.fuzz("d.c", "--max-evals 50000 --seed 1 -f driver").exits(0);
    let report = dir.report("out");
    assert!(size(&report, "w").ends_with(", found by calls"), "{}", size(&report, "w"));
    assert_eq!(report.branches.covered, report.branches.total);
}

fn report(function: &str) -> Report {
    let dir = Dir::new();
    dir.file("l.c", SOURCE);
    dir.fuzz("l.c", "--max-evals 50000 --seed 1 -f").arg(function).exits(0);
    dir.report("out")
}

fn size(report: &Report, path: &str) -> String {
    let input = report.signature.inputs.iter().find(|i| i.path == path).expect("the pointer leads somewhere");
    format!("{}, {}", input.elements, input.origin)
}

#[test]
fn a_loop_behind_a_condition_that_no_call_meets() {
    let report = report("guarded");
    assert_eq!(size(&report, "a"), "n, from the loops");
    assert_eq!(size(&report, "grid"), "n*m, from the loops");
    assert_eq!(report.branches.covered, report.branches.total);
}

#[test]
fn accesses_of_calls_take_precedence_over_loops() {
    assert_eq!(size(&report("more"), "a"), "2*n + 1, found by calls");
}

#[test]
fn a_size_that_no_rule_gives_exactly() {
    let report = report("pairs");
    assert_eq!(size(&report, "a"), "n, from the loops", "3 elements for n = 3 and for n = 4");
    assert_eq!(report.branches.covered, report.branches.total);
}
