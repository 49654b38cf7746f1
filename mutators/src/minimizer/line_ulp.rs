//! Minimization along the [ULP line](crate::line) of one number.
//!
//! The exact distance of a comparison is piecewise linear on this line: the next double is closer by one, and for a
//! comparison of the high word the one after `2^32` steps is. So the secant through two evaluations usually has its
//! zero at the zero of the distance, and most comparisons take two evaluations: an exploratory move and a secant step.
//! Where the distance is not linear (`x * x > 2`, `(int)x == 1000`), secant steps are iterated, and then smaller steps
//! tried around the best value.
//!
//! This is Korel's alternating variable method (*Automated Software Test Data Generation*, IEEE TSE 16(8), 1990) with
//! secant steps in place of pattern moves.
//!
//! # Algorithm
//! 1. At each of the scales of the kind: an exploratory move up, else down; after an improvement, secant steps as long
//!    as they improve. After the first scale, try 0.
//! 2. For a float, try the negative. If that is no improvement, try steps of decreasing length on both sides; if these
//!    are none either, end.
//! 3. Repeat from 1, until 4 rounds have gained less than a quarter each.

use super::probe::{Probe, Verdict};
use crate::{
    evaluate::{Metric, Stop},
    line,
    moves::negated,
    view::{Kind, Slot},
};

/// Maximum number of secant steps after one exploratory move.
const MAX_SECANTS: u32 = 64;

/// Maximum number of slow gains (less than a quarter each). A function that decreases slowly is passed to the other
/// moves.
const MAX_SLOW: u32 = 3;

/// Binary logarithm of the factor between the steps of [`try_smaller_steps`].
const SHRINK: u32 = 3;

/// Minimizes over one slot. Ends at a zero.
///
/// # Errors
/// The [`Stop`] of an evaluation.
pub(super) fn minimize(probe: &mut Probe, slot: Slot) -> Result<(), Stop> {
    let (mut slow_gains, mut is_zero_tried) = (0, false);
    while slow_gains <= MAX_SLOW {
        let (mut span, before) = (0, probe.best());
        for &scale in scales(slot.kind) {
            span = explore(probe, slot, scale)?.max(span);
            // Conditions on 0 are the most common ones. And the words of an encoding, which do not decrease together
            // along the line, are 0 together there.
            if !core::mem::replace(&mut is_zero_tried, true) && !probe.is_done() {
                probe.try_raw(slot, 0, false)?;
            }
            if probe.is_done() {
                return Ok(());
            }
        }
        // The signed high word of a float jumps from 0 to its smallest value between +0 and -0, and increases from
        // there towards -infinity. So no slope leads from one sign to the other.
        let is_negated = slot.kind.is_float() && try_negated(probe, slot)?;
        if !is_negated && !try_smaller_steps(probe, slot, span)? || probe.is_done() {
            break;
        }
        slow_gains += u32::from(is_slow(probe.metric(), before, probe.best()));
    }
    Ok(())
}

/// Whether the gain from `before` to `after` is less than a quarter, of the root of a squared distance. For exact
/// distances a quarter is rounded down, so any gain is enough below 8.
pub(super) fn is_slow(metric: Metric, before: u64, after: u64) -> bool {
    match metric {
        Metric::Ulp => after > before - before / 4,
        Metric::Squared => root(after) > 0.75 * root(before),
    }
}

/// Binary logarithms of the exploratory steps: one unit of the high word, of the whole encoding, and of the exponent. A
/// condition on one part of the encoding is constant at scales below that part.
const fn scales(kind: Kind) -> &'static [u32] {
    match kind {
        Kind::F64 => &[32, 0, 52],
        Kind::F32 => &[0, 23, 12],
        Kind::I64 | Kind::U64 => &[0, 32],
        Kind::I32 | Kind::U32 => &[0, 16],
        Kind::I16 | Kind::U16 => &[0, 8],
        Kind::I8 | Kind::U8 => &[0, 4],
        Kind::Bool | Kind::Rounding => &[0],
    }
}

/// A trial `steps` above or below the best point.
pub(super) fn try_step(probe: &mut Probe, slot: Slot, rising: bool, steps: u64) -> Result<Verdict, Stop> {
    let position = slot.position(probe.x());
    probe.try_raw(slot, line::raw(slot.kind, line::step(slot.kind, position, rising, steps)), false)
}

/// A trial of the negative; returns whether it is better.
fn try_negated(probe: &mut Probe, slot: Slot) -> Result<bool, Stop> {
    let raw = negated(slot.kind, slot.get(probe.x()));
    Ok(probe.try_raw(slot, raw, false)? == Verdict::Better)
}

/// An exploratory move of `2^scale` steps up, else down, and secant steps if it improves. Returns the last step that
/// improved, or 0.
fn explore(probe: &mut Probe, slot: Slot, scale: u32) -> Result<u64, Stop> {
    let (step, before) = (1u64 << scale, probe.best());
    let start = slot.position(probe.x());
    match try_step(probe, slot, true, step)? {
        Verdict::Better => return iterate_secants(probe, slot, start, before),
        Verdict::Worse(above) if above != u64::MAX => {
            // An increase above suggests a decrease below: step at once to the zero of the secant.
            let secant = secant_step(probe.metric(), step, before, before, above);
            if secant > step && try_step(probe, slot, false, secant)? == Verdict::Better {
                return iterate_secants(probe, slot, start, before);
            }
        }
        _ => (),
    }
    match try_step(probe, slot, false, step)? {
        Verdict::Better => iterate_secants(probe, slot, start, before),
        _ => Ok(0),
    }
}

/// Secant steps, the first through `(previous, r_previous)` and the best point. Returns the last step that improved.
fn iterate_secants(probe: &mut Probe, slot: Slot, mut previous: u64, mut r_previous: u64) -> Result<u64, Stop> {
    let mut slow_gains = 0;
    for _ in 0..MAX_SECANTS {
        let (here, r_here) = (slot.position(probe.x()), probe.best());
        slow_gains += u32::from(is_slow(probe.metric(), r_previous, r_here));
        if r_here == 0 || slow_gains > MAX_SLOW || !try_secant(probe, slot, previous, r_previous)? {
            break;
        }
        (previous, r_previous) = (here, r_here);
    }
    Ok(slot.position(probe.x()).abs_diff(previous))
}

/// Tries the up to three places where a line through two values, or a V-shaped function through them, may have its
/// zero. Returns whether one is better.
fn try_secant(probe: &mut Probe, slot: Slot, previous: u64, r_previous: u64) -> Result<bool, Stop> {
    let (here, r_here, metric) = (slot.position(probe.x()), probe.best(), probe.metric());
    let (step, rising) = (here.abs_diff(previous), here > previous);
    if step == 0 {
        return Ok(false);
    }
    // The site was not reached before, so there is no slope: the step is doubled.
    let ahead = match r_previous {
        u64::MAX => step.saturating_mul(2),
        _ => secant_step(metric, step, r_here, r_here, r_previous),
    };
    match try_step(probe, slot, rising, ahead)? {
        Verdict::Better => return Ok(true),
        // The step was too long: the minimum of the V is between the best point and the trial.
        verdict => {
            let r_ahead = if let Verdict::Worse(r) = verdict { r } else { r_here };
            let minimum = v_step(metric, ahead, r_here, r_ahead);
            if r_ahead != u64::MAX && minimum < ahead && try_step(probe, slot, rising, minimum)? == Verdict::Better {
                return Ok(true);
            }
        }
    }
    // Or the minimum of the V is between the previous point and the best one.
    let minimum = v_step(metric, step, r_here, r_previous);
    Ok(r_previous != u64::MAX && try_step(probe, slot, !rising, minimum)? == Verdict::Better)
}

/// Tries steps from half of `span` downwards and, in turn with them, from 1 upwards, because the minimum is as likely
/// at the next value as halfway back. Ends at the first better value, or when three of the decreasing steps in a row
/// change nothing: the condition does not depend on such small changes. Returns whether a value is better.
fn try_smaller_steps(probe: &mut Probe, slot: Slot, span: u64) -> Result<bool, Stop> {
    let (mut large, mut small, mut flat) = (span / 2, 1, 0);
    while large >= small && flat < 3 {
        if try_both_sides(probe, slot, small)? == Verdict::Better {
            return Ok(true);
        }
        match try_both_sides(probe, slot, large)? {
            Verdict::Better => return Ok(true),
            Verdict::Equal => flat += 1,
            Verdict::Worse(_) => flat = 0,
        }
        large >>= SHRINK;
        small <<= SHRINK;
    }
    Ok(false)
}

/// A trial above and, unless that is better, one below. The result is `Equal` if both are.
fn try_both_sides(probe: &mut Probe, slot: Slot, step: u64) -> Result<Verdict, Stop> {
    let up = try_step(probe, slot, true, step)?;
    if up == Verdict::Better {
        return Ok(up);
    }
    let down = try_step(probe, slot, false, step)?;
    Ok(if down == Verdict::Equal { up } else { down })
}

/// `step * fall / |b - a|`, rounded up and at least 1: the step over which a line through values `a` and `b`, which are
/// `step` apart, decreases by `fall`.
fn secant_step(metric: Metric, step: u64, fall: u64, a: u64, b: u64) -> u64 {
    match metric {
        Metric::Ulp => scaled(step, fall, u128::from(b.abs_diff(a))),
        Metric::Squared => scaled_real(step, root(fall) / (root(b) - root(a)).abs()),
    }
}

/// `step * near / (near + far)`, rounded up and at least 1: the step from the value `near` to the zero of a function
/// with equal slopes on both sides, whose value is `far` after `step`.
fn v_step(metric: Metric, step: u64, near: u64, far: u64) -> u64 {
    match metric {
        Metric::Ulp => scaled(step, near, u128::from(near) + u128::from(far)),
        Metric::Squared => scaled_real(step, root(near) / (root(near) + root(far))),
    }
}

/// `step * numerator / denominator`, rounded up and at least 1; saturates.
fn scaled(step: u64, numerator: u64, denominator: u128) -> u64 {
    let steps = (u128::from(step) * u128::from(numerator)).div_ceil(denominator.max(1));
    u64::try_from(steps).unwrap_or(u64::MAX).max(1)
}

/// `step * factor`, rounded up and at least 1; saturates. A NaN or infinite factor, from infinite values, gives 1 or
/// the length of the line: both are valid steps.
fn scaled_real(step: u64, factor: f64) -> u64 {
    // `as` saturates and converts NaN to 0.
    ((step as f64 * factor).ceil() as u64).max(1)
}

/// The root of a squared distance, which is linear where the exact distance is.
fn root(r: u64) -> f64 {
    Metric::Squared.to_real(r).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        distance::{Relation, exact_float, exact_integer},
        testing::{Counted, exact},
        view::Layout,
    };

    /// Number of evaluations, that of the start included, until a zero of a function of one double.
    fn evaluations(start: f64, f: impl FnMut(&[f64]) -> u64) -> u64 {
        let mut f = Counted::new(10_000, exact(f));
        let mut x = start.to_le_bytes();
        let mut probe = Probe::start(&mut f, &mut x).unwrap();
        minimize(&mut probe, Layout::doubles(8).slots()[0]).unwrap();
        assert_eq!(probe.best(), 0, "not solved from {start:e}");
        f.evaluations
    }

    fn high(x: f64) -> i128 {
        i128::from((x.to_bits() >> 32) as i32)
    }

    #[test]
    fn a_float_comparison_takes_two_evaluations_after_the_start() {
        assert!(evaluations(3.7, |x| exact_float(Relation::Eq, x[0], 1.0)) <= 3);
    }

    #[test]
    fn a_high_word_comparison_takes_two_evaluations_after_the_start() {
        assert!(evaluations(3.7, |x| exact_integer(Relation::Ge, high(x[0]), 0x7ff0_0000)) <= 3);
        assert!(evaluations(3.7, |x| exact_integer(Relation::Lt, high(x[0]), 0x3e30_0000)) <= 3);
    }

    #[test]
    fn an_exponent_comparison_is_solved_at_its_scale() {
        let n = evaluations(3.7, |x| exact_integer(Relation::Gt, (high(x[0]) >> 20) - 1023, 20));
        assert!(n <= 8, "{n}");
    }

    #[test]
    fn secants_are_iterated_on_a_conversion() {
        let n = evaluations(2.5e9, |x| exact_integer(Relation::Eq, x[0] as i128, 1000));
        assert!(n <= 40, "{n}");
    }

    #[test]
    fn secants_are_iterated_on_a_curve() {
        let n = evaluations(0.1, |x| exact_float(Relation::Gt, x[0] * x[0] * x[0], 2.0));
        assert!(n <= 20, "{n}");
    }

    #[test]
    fn secants_use_the_root_of_squared_distances() {
        let mut f = Counted::new(100, |x: &[u8]| {
            let d = (high(f64::from_le_bytes(x.try_into().unwrap())) - 0x7ff0_0000).min(0) as f64;
            (d * d).to_bits()
        });
        f.set_squared();
        let mut x = 1.0f64.to_le_bytes();
        let mut probe = Probe::start(&mut f, &mut x).unwrap();
        minimize(&mut probe, Layout::doubles(8).slots()[0]).unwrap();
        assert_eq!((probe.best(), f.evaluations <= 4), (0, true), "{} evaluations", f.evaluations);
    }
}
