//! The possible errors of all roundings in a window.
//!
//! A rounding is *coarse* if the value before it is a multiple of some 1/2^n of a unit: a sum of such numbers, or a
//! product with a power of two. Its error is one of a few values, which the last bits of its operands determine. The
//! errors of all other roundings, the *fine* ones, are uniformly distributed.

use super::{
    frame::Frame,
    roundings::{COORDINATES, MAX_ROUNDINGS, Roundings, Steps},
};

/// Number of variables: the coordinates of the argument, and the rounded values of fine roundings.
pub(super) const VARIABLES: usize = COORDINATES + MAX_ROUNDINGS;

/// The largest denominator of the coefficients of a coarse rounding.
const DENOMINATOR: f64 = 64.0;
/// A coefficient counts as an integer if the difference changes the value by at most this much over the whole window.
const WHOLE: f64 = 0.02;
/// Maximum change of a rounded value in a window, in units.
const VALUES: f64 = 1e6;
/// Minimum weight of a rounding whose last bits are chosen, as a share of the largest weight.
const COARSE: f64 = 0.2;
/// Maximum number of sets of last bits. [`REMEMBERED`] is the number of sets that are kept for errors of each sign.
const SETS: u32 = 256;
const REMEMBERED: usize = 32;

/// The coefficients of a linear form of the variables.
pub(super) type Form = [f64; VARIABLES];

/// A fine rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fine {
    pub weight: f64,
    /// The error at the middle.
    pub error: f64,
    /// Units by which the exact value moves per unit of each variable.
    pub moves: Form,
    place: usize,
}

/// A choice of the last bits of all variables, and its effect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bits {
    /// The remainder of each variable modulo its modulus.
    pub left: [u32; VARIABLES],
    /// The part of the error of the result that is not due to fine roundings.
    rest: f64,
    /// The constants to add to the linear forms of coarse rounded values.
    constants: [f64; MAX_ROUNDINGS],
}

/// A coarse rounding.
#[derive(Debug, Clone, Copy)]
struct Coarse {
    place: usize,
    moves: Form,
}

/// The fine and coarse roundings of a window.
#[derive(Debug)]
pub(super) struct Phases {
    pub fine: Vec<Fine>,
    coarse: Vec<Coarse>,
    /// For each variable a power of two; the remainder modulo this number is chosen.
    pub modulus: [u32; VARIABLES],
    /// For errors of each sign, the sets of last bits for which coarse roundings add most to the error, with what they
    /// add; in descending order.
    sets: [Vec<(f64, u32)>; 2],
    /// The variables with a modulus above 1.
    open: Vec<usize>,
    /// The part of the error that no rounding explains.
    smooth: f64,
    /// Bound of the error of the linear model per square of the number of steps from the middle.
    pub bend: f64,
    /// Index of the first variable that is a fine rounding; those before it are coordinates.
    pub first: usize,
}

impl Phases {
    /// Classifies the roundings in a window, and finds the best sets of last bits.
    pub fn new(roundings: &Roundings, frame: &Frame) -> Self {
        let all = &roundings.all;
        let farthest = frame.farthest();
        let mut me = Self {
            fine: Vec::with_capacity(all.len()),
            coarse: Vec::with_capacity(all.len()),
            modulus: [1; VARIABLES],
            sets: [Vec::new(), Vec::new()],
            open: Vec::new(),
            smooth: roundings.error - all.iter().map(|r| r.weight * r.error).sum::<f64>(),
            bend: all.iter().map(|r| (r.weight * r.bend).abs()).sum(),
            first: frame.coordinates(),
        };
        let heaviest = all.iter().fold(0.0, |m: f64, r| m.max(r.weight.abs()));
        // For each rounded value, by how much it moves per unit of each variable.
        let mut forms = [[0.0; VARIABLES]; MAX_ROUNDINGS];
        for (i, r) in all.iter().enumerate() {
            let mut moves = [0.0; VARIABLES];
            moves[..COORDINATES].copy_from_slice(&r.slope);
            for (on, form) in r.on[..i].iter().zip(&forms) {
                moves.iter_mut().zip(form).for_each(|(m, f)| *m += on * f);
            }
            let is_light = r.weight.abs() < COARSE * heaviest;
            let is_straight = r.bend.abs() * farthest * farthest <= WHOLE;
            if is_straight && me.take_moduli(&mut moves, r.error, frame.reach(), is_light) {
                forms[i] = moves;
                me.coarse.push(Coarse { place: i, moves });
            } else {
                forms[i][me.first + me.fine.len()] = 1.0;
                me.fine.push(Fine { weight: r.weight, error: r.error, moves, place: i });
            }
        }
        me.open = (0..VARIABLES).filter(|v| me.modulus[*v] > 1).collect();
        me.choose(roundings);
        me
    }

    /// Returns whether a rounding whose value moves by `moves` is coarse. If so, makes `moves` exact, and the moduli
    /// large enough for it. A rounding that `is_light` is coarse only if the moduli are large enough already.
    fn take_moduli(&mut self, moves: &mut Form, error: f64, reach: Steps, is_light: bool) -> bool {
        let mut exact = *moves;
        let mut grid = 1.0;
        for (i, x) in exact.iter_mut().enumerate() {
            let whole = nearest(*x);
            let most = if i < self.first { reach[i] } else { VALUES };
            if (*x - whole).abs() * most <= WHOLE {
                *x = whole;
            }
            while grid >= 1.0 / DENOMINATOR && (*x / grid).fract() != 0.0 {
                grid /= 2.0;
            }
        }
        if grid < 1.0 / DENOMINATOR {
            return false;
        }
        // A tie is rounded to the even value, so its parity matters. For other values parity does not matter.
        let unit = if ((error - 0.5) / grid).fract() == 0.0 { 2.0 } else { 1.0 };
        let mut modulus = self.modulus;
        for (m, x) in modulus.iter_mut().zip(&exact) {
            while (x * f64::from(*m)).rem_euclid(unit) != 0.0 {
                *m *= 2;
            }
        }
        let sets: u64 = modulus.iter().map(|m| u64::from(*m)).product();
        if is_light && modulus != self.modulus || sets > u64::from(SETS) {
            return false;
        }
        (self.modulus, *moves) = (modulus, exact);
        true
    }

    /// Finds the sets of last bits for which coarse roundings add most to an error of each sign.
    fn choose(&mut self, roundings: &Roundings) {
        let sets: u32 = self.modulus.iter().product();
        let rests: Vec<f64> = (0..sets).map(|set| self.bits(roundings, set).rest).collect();
        for (chosen, sign) in self.sets.iter_mut().zip([1.0, -1.0]) {
            chosen.extend(rests.iter().zip(0..).map(|(rest, set)| (sign * rest, set)));
            chosen.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            chosen.truncate(REMEMBERED);
        }
    }

    /// Set number `set` of last bits.
    fn bits(&self, roundings: &Roundings, set: u32) -> Bits {
        let all = &roundings.all;
        let mut bits = Bits { left: [0; VARIABLES], rest: self.smooth, constants: [0.0; MAX_ROUNDINGS] };
        let mut set = set;
        for (left, m) in bits.left.iter_mut().zip(&self.modulus) {
            (*left, set) = (set % m, set / m);
        }
        for (i, c) in self.coarse.iter().enumerate() {
            let r = &all[c.place];
            let linear: f64 = self.open.iter().map(|v| c.moves[*v] * f64::from(bits.left[*v])).sum();
            let exact = linear + self.added(roundings, &bits, i, c.place) - r.error;
            let moved = to_even(exact, r.is_odd);
            bits.constants[c.place] = moved - linear;
            bits.rest += r.weight * (moved - exact);
        }
        bits
    }

    /// The sum of the constants of the first `n` coarse roundings in the linear form of the rounding at this place.
    fn added(&self, roundings: &Roundings, bits: &Bits, n: usize, place: usize) -> f64 {
        self.coarse[..n].iter().map(|c| roundings.all[place].on[c.place] * bits.constants[c.place]).sum()
    }

    /// The sets of last bits for which the largest error of this sign is above `beyond`, the best first. Last bits may
    /// exclude each other; then no argument has the set.
    pub fn sets(&self, roundings: &Roundings, sign: usize, beyond: f64) -> impl Iterator<Item = Bits> {
        let room = beyond - self.fine_potential();
        let is_above = move |(rest, _): &&(f64, u32)| *rest > room;
        self.sets[sign].iter().take_while(is_above).map(|(_, set)| self.bits(roundings, *set))
    }

    /// The deficit of each kept set of last bits: what coarse roundings add to an error of this sign with the best set,
    /// minus what they add with this one.
    pub fn deficits(&self, sign: usize) -> impl Iterator<Item = f64> {
        self.sets[sign].iter().map(move |(rest, _)| self.sets[sign][0].0 - rest)
    }

    /// The difference, in units, between the exact value before a fine rounding and its linear form, for these last
    /// bits.
    pub fn offset(&self, roundings: &Roundings, bits: &Bits, fine: &Fine) -> f64 {
        self.added(roundings, bits, self.coarse.partition_point(|c| c.place < fine.place), fine.place)
    }

    fn fine_potential(&self) -> f64 {
        self.fine.iter().map(|r| 0.5 * r.weight.abs()).sum()
    }

    /// The largest possible error of this sign.
    pub fn potential(&self, sign: usize) -> f64 {
        self.sets[sign][0].0 + self.fine_potential()
    }

    /// The share of all points that have a given set of last bits.
    pub fn share(&self) -> f64 {
        1.0 / f64::from(self.modulus.iter().product::<u32>())
    }
}

/// The nearest integer; ties go to the even one. It takes a few instructions, while [`f64::round_ties_even`] is a
/// function call.
#[inline]
pub(super) fn nearest(x: f64) -> f64 {
    const UNITS: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52: numbers of this size are integers
    const SMALL: f64 = 1_125_899_906_842_624.0; // 2^50
    if x.abs() < SMALL { (x + UNITS) - UNITS } else { x.round_ties_even() }
}

/// The nearest integer. A tie goes to an odd one if `odd` is set, because its sum with an odd number is even.
pub(super) fn to_even(x: f64, odd: bool) -> f64 {
    let shift = f64::from(u8::from(odd));
    nearest(x - shift) + shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extremes::{Rounding, errors::Errors};

    /// The second rounding is that of half the first rounded value, and the third that of a quarter of the second.
    fn halved(is_odd: bool) -> Roundings {
        let first = Rounding { error: 0.3, weight: 0.1, slope: [0.618_034, 0.0], ..Rounding::default() };
        let mut second = Rounding { error: if is_odd { 0.5 } else { 0.0 }, weight: 1.0, ..Rounding::default() };
        second.on[0] = 0.5;
        let mut third = Rounding { error: 0.25, weight: -0.8, is_odd: true, ..Rounding::default() };
        third.on[1] = 0.25;
        Roundings { error: 0.03 + second.error - 0.2, all: vec![first, second, third], ..Roundings::default() }
    }

    #[test]
    fn the_potential_of_coarse_roundings_is_what_they_reach() {
        for is_odd in [false, true] {
            let roundings = halved(is_odd);
            let frame = Frame::neighbours(1e6);
            let phases = Phases::new(&roundings, &frame);
            assert_eq!((phases.fine.len(), phases.modulus[1]), (1, 16));
            for (i, sign) in [1.0, -1.0].into_iter().enumerate() {
                let errors = Errors::new(&roundings);
                let best =
                    (-100_000..100_000).map(|k| sign * errors.at(&frame, [f64::from(k), 0.0])).fold(0.0, f64::max);
                assert!((phases.potential(i) - best).abs() < 1e-3, "{} and {best}", phases.potential(i));
            }
        }
    }

    #[test]
    fn constant_errors_add_no_potential() {
        let mut still = Rounding { error: -0.2, weight: 0.4, slope: [3.0, 0.0], ..Rounding::default() };
        let error = still.error * still.weight;
        let potential = |r: Rounding| {
            Phases::new(&Roundings { error, all: vec![r], ..Roundings::default() }, &Frame::neighbours(1e6))
                .potential(0)
        };
        assert!((potential(still) - error).abs() < 1e-12, "whole steps");
        still.slope[0] = 3.1;
        assert!((potential(still) - 0.2).abs() < 1e-12, "all errors");
    }
}
