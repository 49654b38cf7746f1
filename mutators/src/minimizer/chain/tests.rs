use std::sync::Arc;

use libafl_bolts::rands::StdRand;

use super::*;
use crate::{
    distance::{Relation, exact_float, exact_integer},
    evaluate::Metric,
    observe::Operands,
    view::Kind,
};

/// Nested conditions; the last one is the wanted one. The function gives the relation and operands of each at a point.
struct Nested<F> {
    conditions: F,
    budget: u64,
    evaluations: u64,
}

impl<F: Fn(&[u8], usize) -> Option<(Relation, Operands)>> RepresentingFunction for Nested<F> {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        self.observe(x, &mut Vec::new())
    }

    fn observe(&mut self, x: &[u8], seen: &mut Vec<Observation>) -> Result<u64, Stop> {
        seen.clear();
        if self.evaluations == self.budget {
            return Err(Stop::Budget);
        }
        self.evaluations += 1;
        let n = (0..model::MOST_CONDITIONS).take_while(|i| (self.conditions)(x, *i).is_some()).count();
        for i in 0..n {
            let (relation, operands) = (self.conditions)(x, i).expect("there is a condition");
            let distance = match operands {
                Operands::Floats(a, b) => exact_float(relation, a, b),
                Operands::Integers(a, b) => exact_integer(relation, a, b),
                Operands::None => 1,
            };
            let level = (n - 1 - i) as u32;
            seen.push(Observation { condition: i as u32, level, relation, operands, holds: distance == 0 });
            if distance > 0 {
                return Ok(if level == 0 {
                    distance.min(i64::MAX as u64)
                } else {
                    1 << 63 | u64::from(level) << 54 | distance >> 10
                });
            }
        }
        Ok(0)
    }

    fn metric(&self) -> Metric {
        Metric::Ulp
    }
}

/// Maximum number of evaluations for one condition; then it counts as not found.
const BUDGET: u64 = 100_000;

/// Number of evaluations until all conditions hold. Each condition is searched from the point where the one before it
/// was found. If one is not found, the result is ten times its budget.
fn solve(
    layout: &Layout,
    mut x: Vec<u8>,
    n: usize,
    seed: u64,
    conditions: impl Fn(&[u8], usize) -> (Relation, Operands) + Copy,
) -> u64 {
    let mut all = 0;
    for wanted in 0..n {
        let mut f = Nested {
            conditions: move |x: &[u8], i: usize| (i <= wanted).then(|| conditions(x, i)),
            budget: BUDGET,
            evaluations: 0,
        };
        let mut search = ChainSearch::new(Arc::new(Dictionary::general()));
        let result = search.minimize(&mut f, &mut x, layout, &mut StdRand::with_seed(seed));
        all += f.evaluations;
        if result != Ok(0) {
            return 10 * BUDGET;
        }
    }
    all
}

/// Number of evaluations for each of five seeds, from a start with 1 in every number; ascending.
fn counts(layout: &Layout, n: usize, conditions: impl Fn(&[u8], usize) -> (Relation, Operands) + Copy) -> Vec<u64> {
    let mut start = vec![0; layout.size()];
    for slot in layout.slots() {
        slot.set_real(&mut start, 1.0);
    }
    let mut counts: Vec<u64> = (1..=5).map(|seed| solve(layout, start.clone(), n, seed, conditions)).collect();
    counts.sort_unstable();
    counts
}

/// The median of [`counts`].
fn median(layout: &Layout, n: usize, conditions: impl Fn(&[u8], usize) -> (Relation, Operands) + Copy) -> u64 {
    counts(layout, n, conditions)[2]
}

fn doubles(x: &[u8]) -> Vec<f64> {
    Layout::doubles(x.len()).reals(x)
}

fn equal(a: f64, b: f64) -> (Relation, Operands) {
    (Relation::Eq, Operands::Floats(a, b))
}

#[test]
fn coupled_linear_equalities() {
    let n = median(&Layout::doubles(32), 4, |x, i| {
        let x = doubles(x);
        match i {
            0 => equal(x[0] + 3.0 * x[1], 917.265_625),
            1 => equal(x[1] - 2.0 * x[2], -44.5),
            2 => equal(x[2] + 5.0 * x[3], 31.031_25),
            _ => equal(x[0] - x[3], 512.25),
        }
    });
    assert!(n <= 3000, "{n} evaluations");
}

#[test]
fn a_product_and_a_difference() {
    let n = median(&Layout::doubles(16), 2, |x, i| {
        let x = doubles(x);
        if i == 0 { equal(x[0] * x[1], 10.5) } else { equal(x[0] - x[1], 0.5) }
    });
    assert!(n <= 3000, "{n} evaluations");
}

/// From the other side of a pole few steps lead to the solution, so not every seed finds it.
#[test]
fn symmetric_functions_of_three() {
    let n = counts(&Layout::doubles(24), 3, |x, i| {
        let x = doubles(x);
        match i {
            0 => equal(x[0] * x[1] * x[2], 3.5 * 7.25 * 11.5),
            1 => equal(x[0] * x[1] + x[1] * x[2] + x[2] * x[0], 3.5 * 7.25 + 7.25 * 11.5 + 11.5 * 3.5),
            _ => equal(x[0] + x[1] + x[2], 22.25),
        }
    });
    assert!(n[1] <= 10_000, "{n:?} evaluations");
}

#[test]
fn equalities_in_single_precision() {
    let layout = Layout::packed(&[Kind::F32, Kind::F32]);
    let (a, b) = (43.718_2f32, -7.190_1f32);
    let n = median(&layout, 3, move |x, i| {
        let f = |i: usize| f32::from_le_bytes(x[4 * i..4 * i + 4].try_into().expect("4 bytes"));
        let wanted = [(f(0) * f(1), a * b), (f(0) + f(1), a + b), (f(0) - f(1), a - b)][i];
        equal(wanted.0.into(), wanted.1.into())
    });
    assert!(n <= 10_000, "{n} evaluations");
}

#[test]
fn ever_narrower_regions() {
    let n = median(&Layout::doubles(24), 6, |x, i| {
        let x = doubles(x);
        let k = [
            [3.0, -4.0, 7.0],
            [1.0, 9.0, -2.0],
            [-5.0, 2.0, 8.0],
            [6.0, 1.0, 1.0],
            [-3.0, -7.0, 4.0],
            [2.0, 5.0, -9.0],
        ][i];
        let w = [17.31, -88.2, 41.9];
        let form = |v: &[f64]| k[0] * v[0] + k[1] * v[1] + k[2] * v[2];
        (Relation::Lt, Operands::Floats((form(&x) - form(&w)).abs(), 10f64.powf(1.0 - 1.5 * i as f64)))
    });
    assert!(n <= 5000, "{n} evaluations");
}

fn integers(a: i64, b: i64) -> (Relation, Operands) {
    (Relation::Eq, Operands::Integers(a.into(), b.into()))
}

#[test]
fn residues_and_a_product() {
    let layout = Layout::packed(&[Kind::I32, Kind::I32]);
    let n = median(&layout, 4, |x, i| {
        let g = |i: usize| i64::from(i32::from_le_bytes(x[4 * i..4 * i + 4].try_into().expect("4 bytes")));
        let (x, y) = (g(0), g(1));
        match i {
            0 => (Relation::Lt, Operands::Integers(i128::from(x.max(y).max(-x).max(-y)), 40_000)),
            1 => integers(x % 1009, 12_345 % 1009),
            2 => integers(y % 677, 23_456 % 677),
            _ => integers(x * y % 4093, 12_345 * 23_456 % 4093),
        }
    });
    assert!(n <= 100_000, "{n} evaluations");
}

#[test]
fn digits_and_a_residue_of_one_number() {
    let n = median(&Layout::packed(&[Kind::I32]), 4, |x, i| {
        let n = i64::from(i32::from_le_bytes(x[..4].try_into().expect("4 bytes")));
        let w = 731_948_265i64;
        match i {
            0 => (Relation::Gt, Operands::Integers(n.into(), 99_999_999)),
            1 => integers(n % 97, w % 97),
            2 => integers(n / 10_000 % 1000, w / 10_000 % 1000),
            _ => integers(n / 100_000_000 + n / 10_000_000 % 10 + n % 10, 7 + 3 + 5),
        }
    });
    assert!(n <= 50_000, "{n} evaluations");
}

#[test]
fn exclusive_or_and_a_sum() {
    let layout = Layout::packed(&[Kind::U64, Kind::U64]);
    let (a, b) = (0x9e37_79b9_7f4a_7c15u64, 0x1234_5678_9abc_def0u64);
    let n = median(&layout, 2, move |x, i| {
        let g = |i: usize| u64::from_le_bytes(x[8 * i..8 * i + 8].try_into().expect("8 bytes"));
        let values = [(g(0) ^ g(1), a ^ b), (g(0).wrapping_add(g(1)), a.wrapping_add(b))][i];
        integers(values.0 as i64, values.1 as i64)
    });
    assert!(n <= 50_000, "{n} evaluations");
}

#[test]
fn a_shifted_exclusive_or() {
    let layout = Layout::packed(&[Kind::U64]);
    let a = 0x9e37_79b9_7f4a_7c15u64;
    let n = median(&layout, 1, move |x, _| {
        let g = u64::from_le_bytes(x[..8].try_into().expect("8 bytes"));
        integers((g ^ g >> 7) as i64, (a ^ a >> 7) as i64)
    });
    assert!(n <= 1000, "{n} evaluations");
}

#[test]
fn a_function_that_cannot_be_observed_costs_one_evaluation() {
    let mut f = crate::testing::Counted::new(100, |_: &[u8]| 7);
    let mut search = ChainSearch::new(Arc::default());
    let result = search.minimize(&mut f, &mut [0; 8], &Layout::doubles(8), &mut StdRand::with_seed(1));
    assert_eq!((result, f.evaluations), (Ok(7), 1));
}
