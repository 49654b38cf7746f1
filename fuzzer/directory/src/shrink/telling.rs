//! Gives the arguments of a test ordinary values where they do not matter for its branches.
//!
//! The simplest arguments are zeros. Of a test with `x = 0` it is often the same whether `a * x` or `b * x` is
//! computed, and a result that is NaN or 0 hides most faults. So numbers that are 0, 1, huge, tiny or no numbers are
//! replaced, as long as the test covers the same and its results do not become worse. A number that affects no result
//! stays.

use core::cmp::Reverse;
use std::collections::HashSet;

use penfuzz_executor::Evaluator;
use penfuzz_mutators::view::{Kind, Layout, Slot};
use penfuzz_report::Arg;

use crate::rendering::results::{self, RunObservation};

/// Values for floats and for integers; neighbouring numbers get different ones.
const FLOATS: [f64; 11] = [1.5, 2.5, 0.75, 3.5, 0.25, 5.0, 1.25, 4.5, 0.5, 6.0, 2.25];
const INTEGERS: [f64; 7] = [3.0, 2.0, 5.0, 4.0, 7.0, 6.0, 9.0];
/// Factors of the values, one for each attempt. A function may need numbers below 1, or degrees, or temperatures.
const SCALES: [f64; 12] = [1.0, 1.0, -1.0, 0.125, 0.125, 16.0, -16.0, 100.0, 0.01, 1000.0, 1.0, 0.125];
/// Attempts for a single number.
const SINGLE_ATTEMPTS: usize = 3;
/// Maximum number of numbers that are replaced, and of those of one array.
const MOST_NUMBERS: usize = 32;
const MOST_OF_ARRAY: usize = 4;
/// Numbers of this magnitude are ordinary, except 1.
const ORDINARY: core::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Replaces the numbers of `x`. The branches of an evaluation must include those of `needed` and be among `known`.
/// `may_run` is asked before each evaluation. Returns whether `x` has changed.
pub fn telling(
    evaluator: &mut Evaluator,
    x: &mut Vec<u8>,
    needed: &[u32],
    known: &HashSet<u32>,
    may_run: impl FnMut(&Evaluator) -> bool,
) -> bool {
    let layout = evaluator.function().layout();
    let slots = replaceable(&layout, x);
    if slots.is_empty() {
        return false;
    }
    let mut attempts = Attempts { evaluator, layout, needed, known, may_run };
    let Some(first) = attempts.run(x) else { return false };
    let before = x.clone();
    let found = attempts.all_at_once(x, &slots, &first).unwrap_or((before.clone(), first));
    let (y, seen) = attempts.one_by_one(&before, found, &slots);
    *x = attempts.without_unneeded(&before, y, &slots, seen);
    *x != before
}

/// The numbers of `x` that are no ordinary values, those of arrays last. Flags, text and the choices of the model are
/// left out.
fn replaceable(layout: &Layout, x: &[u8]) -> Vec<Slot> {
    let is_length = |i: usize| layout.lengths().iter().any(|(length, _)| *length == i);
    let in_group = |i: usize| layout.groups().iter().any(|group| (group.first..group.end()).contains(&i));
    let is_late = |i: usize| layout.groups().iter().any(|g| (g.first + MOST_OF_ARRAY..g.end()).contains(&i));
    let is_number = |i: usize, kind: Kind| match kind {
        Kind::Bool | Kind::Rounding | Kind::I8 => false,
        Kind::U8 => in_group(i),
        _ => true,
    };
    let is_ordinary = |slot: &Slot| {
        let size = slot.real(x).abs();
        ORDINARY.contains(&size) && (!slot.kind.is_float() || size.to_bits() != 1f64.to_bits())
    };
    let all = layout.fitting(x.len()).iter().enumerate().filter(|(_, slot)| !is_ordinary(slot));
    let chosen = all.filter(|(i, slot)| is_number(*i, slot.kind) && !is_length(*i) && layout.is_active(*i, x));
    let chosen = chosen.filter(|(i, _)| !is_late(*i));
    let (of_arrays, alone): (Vec<_>, Vec<_>) = chosen.partition(|(i, _)| in_group(*i));
    alone.into_iter().chain(of_arrays).map(|(_, slot)| *slot).take(MOST_NUMBERS).collect()
}

/// Sets number `i` of those that are replaced to its value of an attempt.
fn set(y: &mut [u8], slot: Slot, i: usize, attempt: usize) {
    let values: &[f64] = if slot.kind.is_float() { &FLOATS } else { &INTEGERS };
    let scale = SCALES[attempt % SCALES.len()];
    let scale = if slot.kind.is_float() { scale } else { scale.signum() * scale.abs().max(1.0) };
    slot.set_real(y, values[(i + attempt * 3) % values.len()] * scale);
}

struct Attempts<'a, F> {
    evaluator: &'a mut Evaluator,
    layout: Layout,
    needed: &'a [u32],
    known: &'a HashSet<u32>,
    may_run: F,
}

impl<F: FnMut(&Evaluator) -> bool> Attempts<'_, F> {
    /// What the function does, if it returns and covers what it must.
    fn run(&mut self, y: &[u8]) -> Option<RunObservation> {
        if !self.layout.is_normal(y) || !(self.may_run)(self.evaluator) {
            return None;
        }
        let (covers, seen) = results::call(self.evaluator, y);
        let is_good = seen.is_normal()
            && self.needed.iter().all(|b| covers.binary_search(b).is_ok())
            && covers.iter().all(|b| self.known.contains(b));
        is_good.then_some(seen)
    }

    /// Replaces all numbers at once. The first attempt with finite results other than 0, else the best one that is not
    /// worse than `first`.
    fn all_at_once(&mut self, x: &[u8], slots: &[Slot], first: &RunObservation) -> Option<(Vec<u8>, RunObservation)> {
        let mut best: Option<(Vec<u8>, RunObservation)> = None;
        for attempt in 0..SCALES.len() {
            let mut y = x.to_vec();
            slots.iter().enumerate().for_each(|(i, slot)| set(&mut y, *slot, i, attempt));
            let Some(seen) = self.run(&y) else { continue };
            let quality = Quality::of(&seen);
            let is_better = match &best {
                Some((_, best)) => quality < Quality::of(best),
                None => quality <= Quality::of(first),
            };
            if is_better {
                best = Some((y, seen));
            }
            if quality.not_finite == 0 && !quality.is_zero {
                break;
            }
        }
        best
    }

    /// Replaces single numbers that `best` has from `before`, as long as the results do not become worse.
    fn one_by_one(
        &mut self,
        before: &[u8],
        mut best: (Vec<u8>, RunObservation),
        slots: &[Slot],
    ) -> (Vec<u8>, RunObservation) {
        for (i, slot) in slots.iter().enumerate() {
            if slot.get(&best.0) != slot.get(before) {
                continue;
            }
            for attempt in 0..SINGLE_ATTEMPTS {
                let mut y = best.0.clone();
                set(&mut y, *slot, i, attempt);
                if let Some(seen) = self.run(&y).filter(|seen| Quality::of(seen) <= Quality::of(&best.1)) {
                    best = (y, seen);
                    break;
                }
            }
        }
        best
    }

    /// `y` with the numbers of `before` where they do not affect a result.
    fn without_unneeded(&mut self, before: &[u8], mut y: Vec<u8>, slots: &[Slot], seen: RunObservation) -> Vec<u8> {
        let mut seen = seen;
        for slot in slots.iter().filter(|slot| slot.get(before) != slot.get(&y)).collect::<Vec<_>>() {
            let (old, new) = (slot.get(before), slot.get(&y));
            let mut z = y.clone();
            slot.set(&mut z, old);
            if let Some(other) = self.run(&z).filter(|other| is_same_except(&seen, new, other, old)) {
                (y, seen) = (z, other);
            }
        }
        y
    }
}

/// How little a test with these results shows: less is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Quality {
    /// Results and values in memory that are NaN or infinite.
    not_finite: usize,
    /// All results are 0.
    is_zero: bool,
    /// More values in memory are compared.
    outputs: Reverse<usize>,
}

impl Quality {
    fn of(seen: &RunObservation) -> Self {
        let results = || seen.result.iter().chain(seen.results.iter().flatten());
        let value = |arg: &Arg| arg.decimal.parse::<f64>().ok();
        let not_finite = results().chain(&seen.outputs).filter_map(value).filter(|value| !value.is_finite()).count();
        let is_zero = results().next().is_some() && results().filter_map(value).all(|value| value == 0.0);
        Self { not_finite, is_zero, outputs: Reverse(seen.outputs.len()) }
    }
}

/// Whether two runs differ at most in values that are the number itself: `new` in the one and `old` in the other.
fn is_same_except(one: &RunObservation, new: u64, other: &RunObservation, old: u64) -> bool {
    let is = |value: &Arg, raw: u64| {
        let digits = value.bits.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
        digits.is_some_and(|bits| bits == Ok(raw))
    };
    let same_outputs = one.outputs.len() == other.outputs.len()
        && one.outputs.iter().zip(&other.outputs).all(|(a, b)| a == b || a.name == b.name && is(a, new) && is(b, old));
    one.result == other.result
        && one.results == other.results
        && one.errnos == other.errnos
        && one.errno == other.errno
        && same_outputs
}
