//! Arguments that leave the same by a period.
//!
//! Where an argument is large, its neighbours have nothing to do with each other in a function that reduces it by a period: a position is millions of units of what is
//! left. But the arguments of a binade of which nearly the same is left by 2 pi are many, and are a lattice: all sums of whole numbers of two *jumps*, from
//! any of them. What comes after the reduction moves as slowly and evenly in them as it does in neighbours of small arguments; and errors of the
//! reduction itself are found in no other windows.

use core::f64::consts::TAU;

use libafl_bolts::rands::Rand;

use super::roundings::COORDINATES;
use crate::{line, view::Kind};

/// Exponents of the arguments: from some periods on, up to whole numbers.
const EXPONENTS: (u32, u32) = (4, 52);
/// Bits of the fixed-point numbers behind the point, and 2 pi as one of them.
pub(super) const BITS: u32 = 120;
pub(super) const TURN: i128 = 0x0648_7ed5_110b_4611_a626_3314_5c06_e0e6;
/// What 2 pi is beyond [`TAU`].
const BEHIND_TAU: f64 = 2.449_293_598_294_706_4e-16;
const FRACTION: u64 = (1 << 52) - 1;
/// Positions of half a binade.
const HALF: f64 = 2_251_799_813_685_248.0;

/// Parts of a turn that are neighbourhoods.
const PARTS: u64 = 1024;

/// Two jumps between arguments of a binade.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Jumps {
    /// In positions.
    pub steps: [i64; COORDINATES],
    /// By how much they change what is left.
    pub left: [f64; COORDINATES],
}

impl Jumps {
    /// The shortest for windows in which what is left moves by up to `half`. `None` where the binade is none of those.
    pub fn of(position: u64, half: f64) -> Option<Self> {
        let exponent = exponent(position)?;
        // Gauss: the shorter vector is subtracted from the longer one as long as that makes it shorter.
        let (mut long, mut short) = ((0i64, TURN), (1i64, 1i128 << (BITS + exponent - 52)));
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

/// The exponent of the number at a position, where jumps are known for it.
fn exponent(position: u64) -> Option<u32> {
    let biased = (line::raw(Kind::F64, position) >> 52 & 0x7ff) as u32;
    biased.checked_sub(1023).filter(|e| (EXPONENTS.0..=EXPONENTS.1).contains(e))
}

/// The ends of the binade of a position, both within.
pub(super) fn binade(position: u64) -> (u64, u64) {
    let raw = line::raw(Kind::F64, position);
    let (a, b) = (line::position(Kind::F64, raw & !FRACTION), line::position(Kind::F64, raw | FRACTION));
    (a.min(b), a.max(b))
}

/// A large argument that leaves nearly what the one at this position leaves.
pub(super) fn larger<R: Rand>(rng: &mut R, position: u64) -> u64 {
    let x = number(position);
    let e = EXPONENTS.0 + rng.below_or_zero((EXPONENTS.1 - EXPONENTS.0) as usize) as u32;
    let far = f64::from_bits(u64::from(1023 + e) << 52 | rng.next() & FRACTION).copysign(x);
    let turns = ((far - x) / TAU).round();
    line::position(Kind::F64, turns.mul_add(TAU, x).to_bits())
}

/// An argument of which something else is left: more or less by `2^-k`, but as there are neighbours.
pub(super) fn beside<R: Rand>(rng: &mut R, position: u64, k: usize) -> u64 {
    let x = number(position);
    let away = f64::from_bits((1023 - k as u64) << 52 | rng.next() & FRACTION);
    let away = away.max(x.abs().next_up() - x.abs());
    line::position(Kind::F64, (if rng.below_or_zero(2) == 0 { x + away } else { x - away }).to_bits())
}

/// Equal for arguments of one binade of which nearly the same is left.
pub(super) fn neighbourhood(position: u64) -> u64 {
    part(position, PARTS)
}

/// In which of so many parts of a turn what is left of an argument is, and its binade: one number of both.
pub(super) fn part(position: u64, parts: u64) -> u64 {
    let x = number(position);
    let turns = (x / TAU).round();
    let left = turns.mul_add(-TAU, x) - turns * BEHIND_TAU;
    (x.to_bits() >> 52) * parts + ((left / TAU + 0.5) * parts as f64) as u64
}

fn number(position: u64) -> f64 {
    f64::from_bits(line::raw(Kind::F64, position))
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    /// 2^21 and others, by `fmod` of a number with 2 pi in two parts.
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
                // 2 pi is this constant and 2.449e-16 more.
                let rest = turns.mul_add(-TAU, moved) - turns * BEHIND_TAU;
                assert!((rest - left).abs() < 1e-30f64.mul_add(turns.abs(), 1e-24), "{x}: {rest} {left}");
                assert!(left.abs() < half, "{x}: {left}");
            }
            let det = jumps.steps[0] as f64 * jumps.left[1] - jumps.steps[1] as f64 * jumps.left[0];
            assert!((det.abs() / TAU - 1.0).abs() < 1e-6, "all of them: {det}");
        }
    }

    /// One jump forwards or back may lead to another binade, so the nearer of both to the middle of its own is taken.
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
