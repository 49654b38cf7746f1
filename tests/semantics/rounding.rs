//! The rounding mode as an input: it applies to the call of the target only, and no distance depends on it.

use std::{hint::black_box, rc::Rc, time::Duration};

use penfuzz_abi::{action, metric};
use penfuzz_cc::Compile;
use penfuzz_executor::{
    Evaluator,
    evaluator::{EvaluationLimits, RunStatus},
};
use penfuzz_target::program::Target;

use crate::twin::on_target_thread;

const SOURCE: &str = r"
#include <fenv.h>
#include <stdlib.h>

double divided(double a, double b) { return a / b; }
double long_sum(double a, double b) { return (long double)a + b != a; }
double leaves(double a) { fesetround(FE_UPWARD); return a; }
double faults(double a) { return *(volatile double *)8 + a; }
double aborts(double a) { if (a == a) abort(); return a; }
double exits(double a) { exit(3); }
int raised(double a) { return fetestexcept(FE_ALL_EXCEPT) ? fetestexcept(FE_ALL_EXCEPT) == FE_ALL_EXCEPT ? 2 : 1 : 0; }
double burns(double a) { for (volatile int i = 0;; i = 0) if (i) return a; }
double hangs(double a) { for (;;) ; }

int compared(double a, double b, float c) {
  int both = a < 1.5 && b != 3.25;
  int n = both ? 1 : 0;
  if (a <= b) n |= 2;
  if (!(b > 0.1)) n |= 4;
  if (c == 0.7f || a != a) n |= 8;
  return n;
}
";

/// Rounding modes by their number in an input.
const MODES: [(u8, &str); 4] = [(0, "to nearest"), (1, "upward"), (2, "downward"), (3, "toward zero")];

/// The timeout is long enough for a loaded machine.
const LIMITS: EvaluationLimits =
    EvaluationLimits { timeout: Duration::from_millis(100), fuel: 1 << 16, memory: 1 << 30 };

fn build(flags: &[&str]) -> Target {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (source, file) = (directory.path().join("rounding.c"), directory.path().join("rounding.pen"));
    std::fs::write(&source, SOURCE).expect("the source is written");
    let compile = Compile::new(&file).source(source).flags(["-O2", "-g", "-w"]).flags(flags.iter().copied());
    compile.run().unwrap_or_else(|e| panic!("pen-cc: {e}"));
    Target::load(&file).unwrap_or_else(|e| panic!("{e}"))
}

fn evaluator(target: &Rc<Target>, function: &str) -> Evaluator {
    let found = target.functions.iter().position(|f| f.name == function);
    let index = found.unwrap_or_else(|| panic!("the target has no function {function}"));
    Evaluator::new(Rc::clone(target), index, LIMITS).unwrap_or_else(|e| panic!("{e}"))
}

fn rounded() -> Rc<Target> {
    Rc::new(build(&["-frounding-math"]).with_rounding())
}

fn input(arguments: &[f64], mode: u8) -> Vec<u8> {
    arguments.iter().flat_map(|a| a.to_le_bytes()).chain([mode]).collect()
}

/// Returns quotients that distinguish the four modes, in units of the last place above the truncated quotient.
fn quotients(divided: impl Fn(f64, f64) -> f64) -> [u64; 3] {
    [(1.0, 10.0), (1.0, 3.0), (-1.0, 3.0)].map(|(a, b)| {
        let truncated = if b > 5.0 { 0x3fb9_9999_9999_9999 } else { 0x3fd5_5555_5555_5555 };
        (divided(a, b).to_bits() & (u64::MAX >> 1)) - truncated
    })
}

const NEAREST: [u64; 3] = [1, 0, 0];

#[test]
fn the_mode_holds_in_the_target() {
    on_target_thread(|| {
        let target = rounded();
        for ((mode, name), expected) in MODES.into_iter().zip([NEAREST, [1, 1, 0], [0, 0, 1], [0, 0, 0]]) {
            let found = quotients(|a, b| {
                let mut evaluator = evaluator(&target, "divided");
                evaluator.run(&input(&[a, b], mode));
                f64::from_bits(evaluator.output()[0] as u64)
            });
            assert_eq!(found, expected, "{name}");
        }
    });
}

#[test]
fn the_mode_holds_for_long_doubles_too() {
    on_target_thread(|| {
        let target = rounded();
        let mut evaluator = evaluator(&target, "long_sum");
        let differs = MODES.map(|(mode, _)| {
            evaluator.run(&input(&[1.0, 1e-300], mode));
            evaluator.output()[0] as u64 != 0
        });
        assert_eq!(differs, [false, true, false, false], "1 + 1e-300 differs from 1 upward only");
    });
}

#[test]
fn bits_above_the_mode_and_a_missing_mode_do_no_harm() {
    on_target_thread(|| {
        let target = rounded();
        let mut evaluator = evaluator(&target, "divided");
        evaluator.run(&input(&[1.0, 10.0], 0xfe));
        assert_eq!(evaluator.output()[0] as u64, 0x3fb9_9999_9999_9999, "0xfe is downward");
        evaluator.run(&input(&[1.0, 10.0], 0)[..16]);
        assert_eq!(evaluator.output()[0] as u64, 0x3fb9_9999_9999_999a, "an input without a mode is to nearest");
    });
}

#[test]
fn our_own_code_rounds_to_nearest_however_the_target_ends() {
    on_target_thread(|| {
        let target = rounded();
        let ends = [
            ("divided", RunStatus::Returned),
            ("leaves", RunStatus::Returned),
            ("faults", RunStatus::Faulted),
            ("aborts", RunStatus::Faulted),
            ("exits", RunStatus::Returned),
            ("burns", RunStatus::Faulted),
            ("hangs", RunStatus::Faulted),
        ];
        for (name, end) in ends {
            let mut evaluator = evaluator(&target, name);
            for (mode, mode_name) in MODES {
                let ran = evaluator.run(&input(&[1.0, 3.0][..evaluator.input_size() / 8], mode));
                assert_eq!(ran, end, "{name} {mode_name}");
                assert_eq!(quotients(|a, b| black_box(a) / black_box(b)), NEAREST, "after {name} {mode_name}");
            }
        }
    });
}

#[test]
fn flags_are_raised_in_the_target_and_nowhere_else() {
    on_target_thread(|| {
        let target = rounded();
        let mut evaluator = evaluator(&target, "raised");
        for (mode, expected) in [(0, 0), (4, 2), (1, 0), (7, 2), (3, 0), (0xf8, 0), (0xfc, 2)] {
            assert_eq!(evaluator.run(&input(&[1.0], mode)), RunStatus::Returned);
            assert_eq!(evaluator.output()[0] as u64, expected, "mode {mode}");
            assert_eq!(quotients(|a, b| black_box(a) / black_box(b)), NEAREST, "after mode {mode}");
        }
        evaluator.run(&input(&[1.0], 4)[..8]);
        assert_eq!(evaluator.output()[0] as u64, 0, "an input without a mode has no raised flags");
    });
}

/// Returns the distances to every branch of a function at one input.
fn distances(target: &Rc<Target>, x: &[u8]) -> Vec<Option<u64>> {
    let mut evaluator = evaluator(target, "compared");
    evaluator.set_metric(metric::ULP, u64::MAX);
    evaluator.arm(|_| action::TRACK);
    evaluator.run(x);
    let sites = evaluator.function().sites.clone();
    let branches = sites.flat_map(|s| {
        let site = &target.sites[s];
        site.first_branch..site.first_branch + site.n_branches
    });
    branches.map(|b| evaluator.closest(b).map(|(d, _)| d)).collect()
}

/// The arguments of `compared`: `a`, `b` and the float `c`.
fn points() -> Vec<Vec<u8>> {
    let values = [0.1, 1.5, 3.25, -7.0, f64::NAN, 1e300];
    let pairs = values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b)));
    pairs.map(|(a, b)| [&a.to_le_bytes()[..], &b.to_le_bytes(), &(b as f32).to_le_bytes()].concat()).collect()
}

#[test]
fn distances_do_not_depend_on_the_mode() {
    on_target_thread(|| {
        let target = rounded();
        for x in points() {
            let [nearest, others @ ..] = MODES.map(|(mode, _)| distances(&target, &[&x[..], &[mode]].concat()));
            assert!(nearest.iter().any(|d| d.is_some_and(|d| d > 0)), "some branch is not taken at {x:02x?}");
            for (other, (_, name)) in others.into_iter().zip(&MODES[1..]) {
                assert_eq!(other, nearest, "{name} at {x:02x?}");
            }
        }
    });
}

/// clang compiles comparisons differently with that flag; the hooks must see the same.
#[test]
fn comparisons_are_followed_under_frounding_math() {
    on_target_thread(|| {
        let (plain, strict) = (Rc::new(build(&[])), Rc::new(build(&["-frounding-math"])));
        let shapes = |t: &Target| t.sites.iter().map(|s| (s.line, s.column, s.predicate)).collect::<Vec<_>>();
        assert_eq!(shapes(&strict), shapes(&plain), "sites");
        for x in points() {
            assert_eq!(distances(&strict, &x), distances(&plain, &x), "distances at {x:02x?}");
        }
    });
}
