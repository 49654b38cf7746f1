//! A series of calls gives the same results as single calls.

use std::{hint::black_box, rc::Rc, time::Duration};

use penfuzz_cc::Compile;
use penfuzz_executor::{
    Evaluator,
    evaluator::{EvaluationLimits, RunStatus},
};
use penfuzz_target::program::Target;

use crate::twin::on_target_thread;

const SOURCE: &str = r"
#include <fenv.h>

double shifted(double a) { return a > 1 ? a / 3 : a * 1.5 + 0.1; }
long counted(long a) { return a + 1; }
double faults(double a) { return a > 2 ? *(volatile double *)8 : a; }
double hangs(double a) { while (a > 2) a = a > 3 ? a : 4; return a; }
double loops(double a) { double sum = 0; for (int i = 0; i < 1000; i++) sum += a * i; return sum; }
double leaves(double a) { double third = a / 3; fesetround(FE_UPWARD); return third; }

static double kept;
double keeps(double a) { double before = kept; kept = a; return before; }
double two(double a, double b) { return a + b; }
float narrow(float a) { return a + 1; }
void nothing(double a) { (void)a; }
double points(double *a) { return *a; }
";

const LIMITS: EvaluationLimits =
    EvaluationLimits { timeout: Duration::from_millis(200), fuel: 1 << 12, memory: 1 << 30 };

fn evaluators<const N: usize>(names: [&str; N]) -> [Evaluator; N] {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (source, file) = (directory.path().join("series.c"), directory.path().join("series.pen"));
    std::fs::write(&source, SOURCE).expect("the source is written");
    let flags = ["-O2", "-g", "-w", "-frounding-math"];
    Compile::new(&file).source(source).flags(flags).run().unwrap_or_else(|e| panic!("pen-cc: {e}"));
    let target = Rc::new(Target::load(&file).unwrap_or_else(|e| panic!("{e}")));
    names.map(|name| {
        let index = target.functions.iter().position(|f| f.name == name);
        let index = index.unwrap_or_else(|| panic!("the target has no function {name}"));
        let mut evaluator = Evaluator::new(Rc::clone(&target), index, LIMITS).unwrap_or_else(|e| panic!("{e}"));
        evaluator.arm(|_| 0);
        evaluator
    })
}

fn words(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

fn one_by_one(evaluator: &mut Evaluator, inputs: &[u64]) -> Vec<u64> {
    let mut call = |x: &u64| {
        evaluator.run(&x.to_le_bytes());
        evaluator.result()
    };
    inputs.iter().map(&mut call).collect()
}

#[test]
fn results_are_those_of_single_calls() {
    on_target_thread(|| {
        let inputs = words(&[0.0, -1.5, 7.0, 1e300, f64::INFINITY, 0.1, 5e-324]);
        // 7 calls of `loops` use more fuel than a single call may.
        for mut evaluator in evaluators(["shifted", "counted", "loops"]) {
            assert!(evaluator.can_run_series(), "{}", evaluator.function().name);
            let expected = one_by_one(&mut evaluator, &inputs);
            let (before, mut results) = (evaluator.evaluations(), vec![0; inputs.len()]);
            assert_eq!(evaluator.run_series(&inputs, &mut results), inputs.len());
            assert_eq!(results, expected, "{}", evaluator.function().name);
            assert_eq!(evaluator.evaluations() - before, inputs.len() as u64);
        }
    });
}

#[test]
fn a_call_that_does_not_return_ends_the_series() {
    on_target_thread(|| {
        for mut evaluator in evaluators(["faults", "hangs"]) {
            let inputs = words(&[1.0, 2.0, 2.5, 1.0]);
            let mut results = vec![0; 4];
            assert_eq!(evaluator.run_series(&inputs, &mut results), 2, "{}", evaluator.function().name);
            assert_eq!(results[..2], inputs[..2]);
            assert_eq!(evaluator.run(&2.5f64.to_le_bytes()), RunStatus::Faulted);
            assert_eq!(evaluator.run_series(&inputs[..2], &mut results[..2]), 2, "and the next one runs");
        }
    });
}

#[test]
fn an_environment_that_is_left_ends_with_the_series() {
    on_target_thread(|| {
        let [mut evaluator] = evaluators(["leaves"]);
        let inputs = words(&[1.0, 1.0]);
        for _ in 0..2 {
            let mut results = vec![0; 2];
            assert_eq!(evaluator.run_series(&inputs, &mut results), 2);
            assert_eq!(results[..1], words(&[1.0 / 3.0]), "each series begins to nearest");
            let tenth: f64 = black_box(1.0) / black_box(10.0);
            assert_eq!(tenth.to_bits(), 0.1f64.to_bits(), "and afterwards it is so again");
        }
    });
}

#[test]
fn a_series_begins_with_what_was_there_after_loading() {
    on_target_thread(|| {
        let [mut evaluator] = evaluators(["keeps"]);
        let mut results = vec![0; 3];
        for _ in 0..2 {
            assert_eq!(evaluator.run_series(&words(&[1.5, 2.5, 3.5]), &mut results), 3);
            assert_eq!(results, words(&[0.0, 1.5, 2.5]), "calls of a series see what those before them have left");
        }
    });
}

#[test]
fn only_functions_of_one_word_are_called_so() {
    on_target_thread(|| {
        for evaluator in evaluators(["two", "narrow", "nothing", "points"]) {
            assert!(!evaluator.can_run_series(), "{}", evaluator.function().name);
        }
    });
}
