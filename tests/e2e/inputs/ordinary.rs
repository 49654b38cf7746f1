//! Tests have ordinary numbers where zeros would hide faults, and zeros where the number does not matter.

use super::callbacks::notices;
use crate::support::Dir;

const WAVE: &str = "#include <math.h>
double wave(double a, double b, double t, int unused)
{
  if (t < 0) return -1;
  return a * cos(b * t);
}
";

#[test]
fn tests_notice_faults_that_zeros_hide() {
    let changes = [("a * cos", "b * cos"), ("cos(b * t)", "sin(b * t)"), ("b * t", "b + t"), ("a * cos", "-a * cos")];
    notices("wave.c", WAVE, "", &changes);
}

#[test]
fn tests_notice_faults_that_numbers_out_of_range_hide() {
    let source = "#include <math.h>
struct orbit { double a, e, n, epoch; };
double distance(const struct orbit *o, double t)
{
  if (o->n == 0) return o->a * (1 - o->e);
  return o->a * sqrt(1 - o->e * o->e) / (1 + o->e * cos(o->n * (t - o->epoch)));
}
";
    let changes = [("(1 - o->e);", "(1 + o->e);"), ("t - o->epoch", "t + o->epoch"), ("(o->n * (t", "(o->a * (t")];
    notices("orbit.c", source, "", &changes);
}

#[test]
fn tests_notice_that_memory_is_not_reset() {
    let source = "struct line { int n; int last[4]; unsigned frac[4]; float mem[4]; };
int reset(struct line *l)
{
  if (l->n != 4) return 1;
  for (int i = 0; i < 4; i++) { l->last[i] = 0; l->frac[i] = 0; l->mem[i] = 0; }
  return 0;
}
";
    let changes = [("l->last[i] = 0;", ""), ("l->frac[i] = 0;", ""), ("l->mem[i] = 0;", "")];
    notices("reset.c", source, "", &changes);
}

#[test]
fn numbers_that_do_not_matter_stay_zero() {
    let dir = Dir::new();
    dir.file("wave.c", WAVE);
    dir.fuzz("wave.c", "--max-evals 20000 --seed 1").exits(0);
    let report = dir.report("out");
    let texts: Vec<Vec<&str>> =
        report.tests.iter().map(|t| t.args.iter().map(|a| a.decimal.as_str()).collect()).collect();
    assert_eq!(texts.len(), 2);
    for args in &texts {
        assert_eq!(args[3], "0", "{texts:?}");
    }
    let negative = texts.iter().find(|args| args[2].starts_with('-')).expect("a test for t < 0");
    assert_eq!(negative[..2], ["0.0", "0.0"], "{texts:?}");
}
