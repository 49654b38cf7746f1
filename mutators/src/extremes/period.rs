//! Arguments with nearly equal remainders modulo a period, 2 pi.
//!
//! A function that reduces its argument by a period has unrelated errors at neighbouring large arguments: one position
//! changes the remainder by millions of units in its last place. But many arguments of a binade have nearly the same
//! remainder, and they form a lattice: all sums of integer multiples of two *jumps*, from any of them. On this lattice,
//! the operations after the reduction change as slowly and evenly as they do for neighbouring small arguments.
//! Moreover, errors of the reduction itself are found in such windows only.

use core::f64::consts::TAU;

use libafl_bolts::rands::Rand;

use super::roundings::COORDINATES;
use crate::{line, view::Kind};

/// Binary exponents of the arguments: from a few periods up to integers.
const EXPONENTS: (u32, u32) = (4, 52);
/// Number of fraction bits of the fixed-point numbers. [`TWO_PI`] is 2 pi in this format.
pub(super) const BITS: u32 = 120;
pub(super) const TWO_PI: i128 = 0x0648_7ed5_110b_4611_a626_3314_5c06_e0e6;
/// 2 pi minus [`TAU`].
const TWO_PI_MINUS_TAU: f64 = 2.449_293_598_294_706_4e-16;
const FRACTION: u64 = (1 << 52) - 1;
/// Number of positions in half a binade.
const HALF: f64 = 2_251_799_813_685_248.0;

/// Number of neighbourhoods that divide a period.
const PARTS: u64 = 1024;

/// Two jumps between arguments of a binade with nearly equal remainders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Jumps {
    /// Length of each jump in positions.
    pub steps: [i64; COORDINATES],
    /// Change of the remainder by each jump.
    pub left: [f64; COORDINATES],
}

impl Jumps {
    /// The shortest jumps for a window in which the remainder changes by at most `half`. `None` if the exponent of the
    /// argument is outside [`EXPONENTS`].
    pub fn of(position: u64, half: f64) -> Option<Self> {
        let exponent = exponent(position)?;
        // Gauss's reduction: subtract the shorter vector from the longer one as long as that makes it shorter.
        let (mut long, mut short) = ((0i64, TWO_PI), (1i64, 1i128 << (BITS + exponent - 52)));
        let forms = |(steps, left): (i64, i128)| [steps as f64 / HALF, real(left) / half];
        let product = |a: [f64; 2], b: [f64; 2]| a[0].mul_add(b[0], a[1] * b[1]);
        loop {
            if product(forms(long), forms(long)) < product(forms(short), forms(short)) {
                core::mem::swap(&mut long, &mut short);
            }
            let by = forms(short);
            let times = (product(forms(long), by) / product(by, by)).round();
            if times == 0.0 {
                return Some(Self { steps: [short.0, long.0], left: [real(short.1), real(long.1)] });
            }
            long = (long.0 - times as i64 * short.0, long.1 - times as i128 * short.1);
        }
    }
}

fn real(x: i128) -> f64 {
    x as f64 / (1i128 << BITS) as f64
}

/// The binary exponent of the number at a position; `None` if there are no jumps for it.
fn exponent(position: u64) -> Option<u32> {
    let biased = (line::raw(Kind::F64, position) >> 52 & 0x7ff) as u32;
    biased.checked_sub(1023).filter(|e| (EXPONENTS.0..=EXPONENTS.1).contains(e))
}

/// The ends of the binade of a position, both included.
pub(super) fn binade(position: u64) -> (u64, u64) {
    let raw = line::raw(Kind::F64, position);
    let (a, b) = (line::position(Kind::F64, raw & !FRACTION), line::position(Kind::F64, raw | FRACTION));
    (a.min(b), a.max(b))
}

/// A random large argument with nearly the same remainder as the one at this position.
pub(super) fn larger<R: Rand>(rng: &mut R, position: u64) -> u64 {
    let x = number(position);
    let e = EXPONENTS.0 + rng.below_or_zero((EXPONENTS.1 - EXPONENTS.0) as usize) as u32;
    let far = f64::from_bits(u64::from(1023 + e) << 52 | rng.next() & FRACTION).copysign(x);
    let turns = ((far - x) / TAU).round();
    line::position(Kind::F64, turns.mul_add(TAU, x).to_bits())
}

/// An argument that differs by `2^-k` to `2^(1-k)`, or by one unit in the last place if that is more, in a random
/// direction.
pub(super) fn beside<R: Rand>(rng: &mut R, position: u64, k: usize) -> u64 {
    let x = number(position);
    let away = f64::from_bits((1023 - k as u64) << 52 | rng.next() & FRACTION);
    let away = away.max(x.abs().next_up() - x.abs());
    line::position(Kind::F64, (if rng.below_or_zero(2) == 0 { x + away } else { x - away }).to_bits())
}

/// The number of the neighbourhood; equal for arguments of one binade with nearly equal remainders.
pub(super) fn neighbourhood(position: u64) -> u64 {
    part(position, PARTS)
}

/// One number for the sign and binade of an argument and for the part of the period, out of `parts`, that contains its
/// remainder.
pub(super) fn part(position: u64, parts: u64) -> u64 {
    let x = number(position);
    let turns = (x / TAU).round();
    let left = turns.mul_add(-TAU, x) - turns * TWO_PI_MINUS_TAU;
    (x.to_bits() >> 52) * parts + ((left / TAU + 0.5) * parts as f64) as u64
}

fn number(position: u64) -> f64 {
    f64::from_bits(line::raw(Kind::F64, position))
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    /// Recomputes the remainders by `fmod`, with 2 pi as the sum of two doubles.
    #[test]
    fn jumps_are_nearly_periods() {
        for x in [20.0, -1e3, 2_500_000.0, 1e15] {
            let position = line::position(Kind::F64, f64::to_bits(x));
            let half = f64::exp2(-29.0);
            let jumps = Jumps::of(position, half).expect("a large argument");
            let ulp = x.abs().next_up() - x.abs();
            for (steps, left) in jumps.steps.iter().zip(jumps.left) {
                let moved = *steps as f64 * ulp;
                let turns = (moved / TAU).round();
                // 2 pi is this constant plus 2.449e-16.
                let rest = turns.mul_add(-TAU, moved) - turns * TWO_PI_MINUS_TAU;
                assert!((rest - left).abs() < 1e-30f64.mul_add(turns.abs(), 1e-24), "{x}: {rest} {left}");
                assert!(left.abs() < half, "{x}: {left}");
            }
            let det = jumps.steps[0] as f64 * jumps.left[1] - jumps.steps[1] as f64 * jumps.left[0];
            assert!((det.abs() / TAU - 1.0).abs() < 1e-6, "all of them: {det}");
        }
    }

    /// A jump forwards or backwards may lead to another binade, so the test takes the one that stays in the binade.
    #[test]
    fn arguments_of_one_window_are_in_its_parts() {
        let half = f64::exp2(-29.0);
        let parts = (TAU / half) as u64 * 4;
        for x in [20.0, -1e3, 2_500_000.0, 3e13] {
            let middle = line::position(Kind::F64, f64::to_bits(x));
            let jumps = Jumps::of(middle, half).expect("a large argument");
            for (steps, left) in jumps.steps.iter().zip(jumps.left) {
                let beside = [*steps, -steps].map(|steps| middle.strict_add_signed(steps));
                let in_binade = beside.into_iter().zip([left, -left]).find(|(at, _)| binade(*at) == binade(middle));
                let (at, left) = in_binade.expect("a jump within the binade");
                let left = if x < 0.0 { -left } else { left };
                let moved = part(at, parts).wrapping_sub(part(middle, parts)) as i64;
                assert!((moved as f64 - 4.0 * left / half).abs() < 1.5, "{x}: {moved} parts, {left}");
            }
        }
        let position = |x: f64| line::position(Kind::F64, f64::to_bits(x));
        assert_ne!(part(position(2_500_000.0), parts), part(position(2_500_000.0 + 0.001), parts));
        assert_ne!(part(position(20.0), parts), part(position(20.0 + 4.0 * TAU), parts), "another binade");
    }

    #[test]
    fn small_arguments_and_those_without_a_fraction_have_no_jumps() {
        for x in [0.0, 1.0, 15.9, 1e16, f64::INFINITY, f64::NAN] {
            assert_eq!(Jumps::of(line::position(Kind::F64, f64::to_bits(x)), 1e-9), None, "{x}");
        }
    }

    #[test]
    fn a_larger_argument_leaves_nearly_the_same() {
        let mut rng = StdRand::with_seed(1);
        for x in [0.7, -0.3, 2.5] {
            for _ in 0..100 {
                let other = larger(&mut rng, line::position(Kind::F64, f64::to_bits(x)));
                let other = f64::from_bits(line::raw(Kind::F64, other));
                let ulp = other.abs().next_up() - other.abs();
                assert!(other.abs() > 15.0, "{other}");
                assert!((other.sin() - x.sin()).abs() <= 1e-15 * other.abs() + ulp, "{x} {other}");
            }
        }
    }

    #[test]
    fn a_binade_has_all_numbers_of_an_exponent() {
        for x in [3.0f64, -3.0] {
            let (least, greatest) = binade(line::position(Kind::F64, x.to_bits()));
            let ends = [least, greatest].map(|p| f64::from_bits(line::raw(Kind::F64, p)));
            let expected = if x > 0.0 { [2.0, 4f64.next_down()] } else { [-(4f64.next_down()), -2.0] };
            assert_eq!(ends.map(f64::to_bits), expected.map(f64::to_bits));
        }
    }
}
