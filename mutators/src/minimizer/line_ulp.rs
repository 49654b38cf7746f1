//! Minimization along the ULP line of one number: probe, extrapolate, bracket, shrink.
//!
//! The exact distance of a comparison is piecewise linear on the line: the next double is one step closer, and for a
//! comparison of the high word every `2^32` steps are. So the slope between two evaluations usually tells the step to the
//! zero exactly (secant), and most comparisons take one probe and one jump. Where the distance bends (`x * x > 2`,
//! `(int)x == 1000`), the same step is repeated as an iteration, then steps shrink around the best value.
//!
//! Korel's alternating variable method (*Automated Software Test Data Generation*, 1990) with the pattern moves replaced
//! by extrapolation.

use super::probe::{Probe, Verdict};
use crate::{
    evaluate::{Metric, Stop},
    line,
    moves::negated,
    view::{Kind, Slot},
};

/// Extrapolations from one probe.
const MAX_JUMPS: u32 = 64;

/// How often a gain may be less than a quarter: a function that only creeps is not worth it.
const MAX_CREEPING: u32 = 3;

/// Steps change by this many bits when nothing around is better.
const SHRINK: u32 = 3;

/// Minimizes over one slot; returns whether anything improved. Ends at once on a zero.
///
/// # Errors
/// What an evaluation returned.
pub(super) fn minimize(probe: &mut Probe, slot: Slot) -> Result<bool, Stop> {
    let (mut improved, mut creeping, mut zero_tried) = (false, 0, false);
    while creeping <= MAX_CREEPING {
        let (mut span, before) = (0, probe.best());
        for &scale in scales(slot.kind) {
            span = explore(probe, slot, scale)?.max(span);
            improved |= span > 0;
            // Zero is what code asks for most, and where the parts of an encoding meet that do not fall together.
            if !core::mem::replace(&mut zero_tried, true) && !probe.is_done() {
                improved |= probe.try_raw(slot, 0, false)? == Verdict::Better;
            }
            if probe.is_done() {
                return Ok(true);
            }
        }
        // Signed words fall towards the other end of a float's line; zero is a wall for them.
        if slot.kind.is_float() && mirror(probe, slot)? {
            improved = true;
        } else if !shrink(probe, slot, span)? {
            break;
        }
        if probe.is_done() {
            return Ok(true);
        }
        creeping += u32::from(creeps(probe.metric(), before, probe.best()));
    }
    Ok(improved)
}

/// Whether a gain is less than a quarter of the distance (of its root, when it is squared). A gain of 1 is enough below 8.
pub(super) fn creeps(metric: Metric, before: u64, after: u64) -> bool {
    match metric {
        Metric::Ulp => after > before - before / 4,
        Metric::Squared => root(after) > 0.75 * root(before),
    }
}

/// First steps, as powers of two: one place of the high word, of the whole number, of the exponent. Conditions that look
/// only at a part of the encoding are flat at smaller scales than that part's.
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

/// A trial `steps` from the best point.
pub(super) fn go(probe: &mut Probe, slot: Slot, rising: bool, steps: u64) -> Result<Verdict, Stop> {
    let position = slot.position(probe.x());
    probe.try_raw(slot, line::raw(slot.kind, line::step(slot.kind, position, rising, steps)), false)
}

/// The same number with the other sign.
fn mirror(probe: &mut Probe, slot: Slot) -> Result<bool, Stop> {
    let raw = negated(slot.kind, slot.get(probe.x()));
    Ok(probe.try_raw(slot, raw, false)? == Verdict::Better)
}

/// One probe upwards (or downwards if that fails) and what follows from it: the last step that improved, or 0.
fn explore(probe: &mut Probe, slot: Slot, scale: u32) -> Result<u64, Stop> {
    let (step, before) = (1u64 << scale, probe.best());
    let start = slot.position(probe.x());
    match go(probe, slot, true, step)? {
        Verdict::Better => return descend(probe, slot, start, before),
        Verdict::Worse(above) if above != u64::MAX => {
            // Rising values above mean falling ones below: jump at once to where they would meet zero.
            let jump = ratio(probe.metric(), step, before, before, above);
            if jump > step && go(probe, slot, false, jump)? == Verdict::Better {
                return descend(probe, slot, start, before);
            }
        }
        _ => (),
    }
    match go(probe, slot, false, step)? {
        Verdict::Better => descend(probe, slot, start, before),
        _ => Ok(0),
    }
}

/// Repeats the extrapolation through `(previous, r_previous)` and the best point. Returns the last step that improved.
fn descend(probe: &mut Probe, slot: Slot, mut previous: u64, mut r_previous: u64) -> Result<u64, Stop> {
    let mut creeping = 0;
    for _ in 0..MAX_JUMPS {
        let (here, r_here) = (slot.position(probe.x()), probe.best());
        creeping += u32::from(creeps(probe.metric(), r_previous, r_here));
        if r_here == 0 || creeping > MAX_CREEPING || !jump(probe, slot, previous, r_previous)? {
            break;
        }
        (previous, r_previous) = (here, r_here);
    }
    Ok(slot.position(probe.x()).abs_diff(previous))
}

/// The three places where a line through two values, or a V over them, may have its zero.
fn jump(probe: &mut Probe, slot: Slot, previous: u64, r_previous: u64) -> Result<bool, Stop> {
    let (here, r_here, metric) = (slot.position(probe.x()), probe.best(), probe.metric());
    let (step, rising) = (here.abs_diff(previous), here > previous);
    if step == 0 {
        return Ok(false);
    }
    // From "not reached" there is no slope; double the step instead.
    let ahead = match r_previous {
        u64::MAX => step.saturating_mul(2),
        _ => ratio(metric, step, r_here, r_here, r_previous),
    };
    match go(probe, slot, rising, ahead)? {
        Verdict::Better => return Ok(true),
        // Overshot: the V has its foot between here and there.
        verdict => {
            let there = if let Verdict::Worse(r) = verdict { r } else { r_here };
            let foot = share(metric, ahead, r_here, there);
            if there != u64::MAX && foot < ahead && go(probe, slot, rising, foot)? == Verdict::Better {
                return Ok(true);
            }
        }
    }
    // Or this point is beyond the foot already.
    let foot = share(metric, step, r_here, r_previous);
    Ok(r_previous != u64::MAX && go(probe, slot, !rising, foot)? == Verdict::Better)
}

/// Looks around at smaller and smaller fractions of `span`, and at the same time with larger and larger steps from 1: the
/// minimum is as likely next door as halfway back. Gives up where three sizes from above in a row change nothing at all:
/// the condition does not see such small changes.
fn shrink(probe: &mut Probe, slot: Slot, span: u64) -> Result<bool, Stop> {
    let (mut large, mut small, mut flat) = (span / 2, 1, 0);
    while large >= small && flat < 3 {
        if around(probe, slot, small)? == Verdict::Better {
            return Ok(true);
        }
        match around(probe, slot, large)? {
            Verdict::Better => return Ok(true),
            Verdict::Equal => flat += 1,
            Verdict::Worse(_) => flat = 0,
        }
        large >>= SHRINK;
        small <<= SHRINK;
    }
    Ok(false)
}

/// Up, then down. `Equal` if both are.
fn around(probe: &mut Probe, slot: Slot, step: u64) -> Result<Verdict, Stop> {
    let up = go(probe, slot, true, step)?;
    if up == Verdict::Better {
        return Ok(up);
    }
    let down = go(probe, slot, false, step)?;
    Ok(if down == Verdict::Equal { up } else { down })
}

/// `step * rise / |b - a|`, rounded up and at least 1: how far a line with that slope goes until it has fallen by `rise`.
fn ratio(metric: Metric, step: u64, rise: u64, a: u64, b: u64) -> u64 {
    match metric {
        Metric::Ulp => scaled(step, rise, u128::from(b.abs_diff(a))),
        Metric::Squared => scaled_real(step, root(rise) / (root(b) - root(a)).abs()),
    }
}

/// `step * near / (near + far)`, rounded up and at least 1: the foot of a V of equal slopes over a distance of `step`.
fn share(metric: Metric, step: u64, near: u64, far: u64) -> u64 {
    match metric {
        Metric::Ulp => scaled(step, near, u128::from(near) + u128::from(far)),
        Metric::Squared => scaled_real(step, root(near) / (root(near) + root(far))),
    }
}

fn scaled(step: u64, rise: u64, run: u128) -> u64 {
    let steps = (u128::from(step) * u128::from(rise)).div_ceil(run.max(1));
    u64::try_from(steps).unwrap_or(u64::MAX).max(1)
}

/// Squared distances are linear under the root. Infinities give 1 or the whole line, which does no harm.
fn scaled_real(step: u64, factor: f64) -> u64 {
    // `as` saturates, and NaN (of infinities) becomes 0.
    ((step as f64 * factor).ceil() as u64).max(1)
}

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

    /// Evaluations (start included) until zero, from a start, on a function of one double.
    fn evaluations(start: f64, f: impl FnMut(&[f64]) -> u64) -> u64 {
        let mut f = Counted::new(10_000, exact(f));
        let mut x = start.to_le_bytes();
        let mut probe = Probe::start(&mut f, &mut x).unwrap();
        minimize(&mut probe, Layout::doubles(8).slots()[0]).unwrap();
        assert_eq!(probe.best(), 0, "not solved from {start:e}");
        f.made
    }

    fn high(x: f64) -> i128 {
        i128::from((x.to_bits() >> 32) as i32)
    }

    #[test]
    fn a_float_comparison_takes_one_probe_and_one_jump() {
        assert!(evaluations(3.7, |x| exact_float(Relation::Eq, x[0], 1.0)) <= 3);
    }

    #[test]
    fn a_high_word_comparison_takes_one_probe_and_one_jump() {
        assert!(evaluations(3.7, |x| exact_integer(Relation::Ge, high(x[0]), 0x7ff0_0000)) <= 3);
        assert!(evaluations(3.7, |x| exact_integer(Relation::Lt, high(x[0]), 0x3e30_0000)) <= 3);
    }

    #[test]
    fn an_exponent_comparison_is_seen_at_its_scale() {
        let n = evaluations(3.7, |x| exact_integer(Relation::Gt, (high(x[0]) >> 20) - 1023, 20));
        assert!(n <= 8, "{n}");
    }

    #[test]
    fn a_conversion_bends_and_is_iterated() {
        let n = evaluations(2.5e9, |x| exact_integer(Relation::Eq, x[0] as i128, 1000));
        assert!(n <= 40, "{n}");
    }

    #[test]
    fn a_curve_is_iterated() {
        let n = evaluations(0.1, |x| exact_float(Relation::Gt, x[0] * x[0] * x[0], 2.0));
        assert!(n <= 20, "{n}");
    }

    #[test]
    fn squared_distances_are_linear_under_the_root() {
        let mut f = Counted::new(100, |x: &[u8]| {
            let d = (high(f64::from_le_bytes(x.try_into().unwrap())) - 0x7ff0_0000).min(0) as f64;
            (d * d).to_bits()
        });
        f.set_squared();
        let mut x = 1.0f64.to_le_bytes();
        let mut probe = Probe::start(&mut f, &mut x).unwrap();
        minimize(&mut probe, Layout::doubles(8).slots()[0]).unwrap();
        assert_eq!((probe.best(), f.made <= 4), (0, true), "{} evaluations", f.made);
    }
}
