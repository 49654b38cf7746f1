//! Windows whose best arguments are computed, where the roundings of a run are known.
//!
//! In a window of some millions of neighbouring arguments, the roundings of one run at its middle ([`Roundings`]) tell the errors at all others. So
//! what the largest error in a window can be, and what will be missing to that, is known without sampling: windows are compared by it. In
//! the best of them the arguments at which all roundings go the same way are points of a lattice near a corner of a box, and are enumerated
//! (`lattice.rs`), at the cost of some hundred evaluations for what uniform samples find in millions. Lattices for inputs that are hard to round: Stehle, Lefevre and
//! Zimmermann, *Searching Worst Cases of a One-Variable Function Using Lattice Reduction*, 2005; here they are for worst errors.

use libafl_bolts::rands::Rand;

use super::{
    Extremes, Height, Peak, away,
    corner::Corner,
    lattice::{Basis, DIMENSIONS, Vector},
    phases::{Bits, Phases},
    roundings::Roundings,
};
use crate::evaluate::Stop;

/// Windows that are looked at in one turn, and those that waited and whose best arguments are computed.
const PROPOSED: usize = 256;
const TAKEN: usize = 64;
/// Windows that wait.
const WAITING: usize = 256;
/// Places beside which new windows lie, and the bits of a neighbourhood, of which the best is kept.
const PLACES: usize = 32;
const NEAR: u32 = 40;
/// Exponents of the distance to such a place.
const DISTANCES: (u32, u32) = (24, 52);
/// Half the width of a window, at most and at least, in positions.
const HALF: f64 = 16_777_216.0;
const NARROWEST: f64 = 1024.0;
/// The share of what is missing that bends may be.
const BENT: f64 = 0.25;
/// Arguments of a window that are to be expected in an enumeration, at most and at least, and that are evaluated at most.
const EXPECTED: f64 = 8.0;
const HOPELESS: f64 = 1e-6;
const EVALUATED: usize = 48;
/// The share of the largest error by which an error may differ from what was expected, and at how many points it may differ by more.
const TOLERANCE: f64 = 0.02;
const TRIED: usize = 2;
/// Nodes of an enumeration.
const NODES: usize = 20_000;
/// Standard deviations by which the square of a distance may be above its mean.
const SLACK: f64 = 0.3;
/// Windows in a row whose roundings are not known, or not right, after which none are tried.
const FRUITLESS: usize = 512;

/// A window.
#[derive(Debug)]
struct Aim {
    middle: u64,
    half: f64,
    /// The index of the sign of the errors.
    sign: usize,
    /// What is to be expected as the largest error.
    expected: f64,
    phases: Phases,
    roundings: Roundings,
}

impl Aim {
    fn new(middle: u64, roundings: Roundings) -> Option<Self> {
        let phases = Phases::new(&roundings, HALF);
        if phases.fine.is_empty() {
            return None;
        }
        let mut half = HALF;
        if phases.bend > 0.0 {
            let missing = Corner::with_points(&phases, 2.0 * half * phases.share()).missing;
            half = (BENT * missing / phases.bend).sqrt().min(HALF);
        }
        if half < NARROWEST {
            return None;
        }
        let missing = Corner::with_points(&phases, 2.0 * half * phases.share()).missing;
        let sign = usize::from(phases.potential(0) < phases.potential(1));
        let expected = phases.potential(sign) - missing;
        expected.is_finite().then_some(Self { middle, half, sign, expected, phases, roundings })
    }

    /// Positions at which the error is to be expected nearest to its potential, relative to the middle, and this error.
    fn best(&self, beyond: f64, found: &mut Vec<(f64, i64)>) {
        found.clear();
        let points = 2.0 * self.half * self.phases.share();
        let room = self.phases.potential(self.sign) - beyond;
        if room <= 0.0 {
            return;
        }
        let corner = Corner::with_points(&self.phases, points / EXPECTED);
        let corner = if corner.missing > room { Corner::missing(&self.phases, room) } else { corner };
        if corner.share * points < HOPELESS {
            return;
        }
        let sign = if self.sign == 0 { 1.0 } else { -1.0 };
        let (scales, target) = self.towards(&corner, sign);
        let n = self.phases.fine.len();
        let Some(basis) = Basis::reduced(&self.vectors(&scales)[..=n]) else { return };
        let limits = core::array::from_fn(|i| SLACK.mul_add((2.0 * i as f64).sqrt(), i as f64));
        let mut nodes = NODES;
        for bits in self.phases.sets(&self.roundings, self.sign, beyond) {
            let begin = self.begin(&scales, &bits);
            let aimed = core::array::from_fn(|i| target[i] - begin[i]);
            nodes = basis.near(&aimed, &limits, nodes, |times| {
                let k = ((basis.coordinate(0, times) + begin[0]) / scales[0]).round();
                if k.abs() <= self.half {
                    let error = sign * self.roundings.error_at(k);
                    if error > beyond {
                        found.push((error, k as i64));
                    }
                }
            });
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.truncate(EVALUATED);
    }

    /// By what each coordinate is multiplied, so that its deviation from the target is 1, and the target: in the corner of errors of this sign.
    fn towards(&self, corner: &Corner, sign: f64) -> (Vector, Vector) {
        let (mut scales, mut target) = ([0.0; DIMENSIONS], [0.0; DIMENSIONS]);
        scales[0] = 3f64.sqrt() / self.half;
        for (i, r) in self.phases.fine.iter().enumerate() {
            let (mean, deviation) = corner.coordinate(r.weight.abs());
            scales[i + 1] = (sign * r.weight).signum() / deviation;
            target[i + 1] = (0.5 - mean) / deviation;
        }
        (scales, target)
    }

    /// Does it have the error that is to be expected at one of a few other arguments?
    fn is_right<F: Height, R: Rand>(
        &self,
        f: &mut F,
        rng: &mut R,
        (least, greatest): (u64, u64),
    ) -> Result<bool, Stop> {
        for _ in 0..TRIED {
            let at = away(rng, self.middle, self.half.log2() as u32 - 1, (least, greatest));
            let k = if at >= self.middle { (at - self.middle) as f64 } else { -((self.middle - at) as f64) };
            let value = f.height(&[at])?;
            if (self.roundings.error_at(k).abs() - value).abs() <= TOLERANCE * value.max(1.0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A point of the lattice: with these last bits.
    fn begin(&self, scales: &Vector, bits: &Bits) -> Vector {
        let phases = &self.phases;
        let mut values = [0.0; DIMENSIONS];
        values[0] = f64::from(bits.left[0]);
        let mut begin = [0.0; DIMENSIONS];
        begin[0] = scales[0] * values[0];
        for (i, r) in phases.fine.iter().enumerate() {
            let exact = self.moved(i, &values) + phases.offset(&self.roundings, bits, r) - r.error;
            values[i + 1] = self.nearest(i, exact, f64::from(bits.left[i + 1]));
            begin[i + 1] = scales[i + 1] * (values[i + 1] - exact);
        }
        begin
    }

    /// The basis: one step of each variable, which leaves its last bits.
    fn vectors(&self, scales: &Vector) -> [Vector; DIMENSIONS] {
        let phases = &self.phases;
        let mut vectors = [[0.0; DIMENSIONS]; DIMENSIONS];
        for (from, vector) in vectors.iter_mut().enumerate().take(phases.fine.len() + 1) {
            let step = f64::from(phases.modulus[from]);
            let mut values = [0.0; DIMENSIONS];
            values[from] = step;
            vector[from] = scales[from] * step;
            for i in from..phases.fine.len() {
                let exact = self.moved(i, &values);
                values[i + 1] = self.nearest(i, exact, 0.0);
                vector[i + 1] = scales[i + 1] * (values[i + 1] - exact);
            }
        }
        vectors
    }

    /// By how much the exact value before a fine rounding moves with the variables before it.
    fn moved(&self, i: usize, values: &Vector) -> f64 {
        self.phases.fine[i].moves[..=i].iter().zip(values).map(|(m, v)| m * v).sum()
    }

    /// The value nearest to `exact` that a rounding can have, which is `left` beside multiples of its modulus.
    fn nearest(&self, i: usize, exact: f64, left: f64) -> f64 {
        let modulus = f64::from(self.phases.modulus[i + 1]);
        ((exact - left) / modulus).round().mul_add(modulus, left)
    }
}

/// The windows of a search.
#[derive(Debug, Default)]
pub(super) struct Aims {
    /// Descending.
    waiting: Vec<Aim>,
    /// Descending.
    places: Vec<(f64, u64)>,
    fruitless: usize,
    /// The best value that was found here.
    best: f64,
    found: Vec<(f64, i64)>,
}

impl Aims {
    /// Is this value of theirs?
    pub(super) fn leads(&self, best: f64) -> bool {
        self.best >= best
    }

    fn propose<R: Rand>(&self, rng: &mut R, ends: (u64, u64)) -> Option<u64> {
        let n = self.places.len();
        if n == 0 || rng.below_or_zero(2) == 0 {
            return None;
        }
        let (_, place) = self.places[rng.below_or_zero(n).min(rng.below_or_zero(n))];
        let bits = (u64::BITS - (ends.1 - ends.0).leading_zeros()).min(DISTANCES.1);
        let k = DISTANCES.0.min(bits);
        let k = k + rng.below_or_zero((bits - k).max(1) as usize) as u32;
        Some(away(rng, place, k, ends))
    }

    /// Its place, if it is the best of its neighbourhood.
    fn remember(&mut self, aim: &Aim) {
        let is_near = |other: &(f64, u64)| other.1 >> NEAR == aim.middle >> NEAR;
        let known = self.places.iter().position(is_near);
        if known.is_none_or(|i| self.places[i].0 < aim.expected) {
            if let Some(i) = known {
                self.places.remove(i);
            }
            let rank = self.places.partition_point(|p| p.0 >= aim.expected);
            self.places.insert(rank, (aim.expected, aim.middle));
            self.places.truncate(PLACES);
        }
    }

    fn wait(&mut self, aim: Aim) {
        if self.waiting.iter().any(|w| w.middle == aim.middle) {
            return;
        }
        let rank = self.waiting.partition_point(|w| w.expected >= aim.expected);
        self.waiting.insert(rank, aim);
        self.waiting.truncate(WAITING);
    }
}

impl Extremes {
    /// A turn of the aims.
    pub(super) fn aim<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let [ends] = self.ends[..] else { return Ok(()) };
        for _ in 0..PROPOSED {
            if self.aims.fruitless >= FRUITLESS {
                return Ok(());
            }
            let near = self.aims.propose(rng, ends);
            let Some(middle) = near.or_else(|| self.place(rng)) else { continue };
            self.aims.fruitless += 1;
            if let Some(aim) = f.roundings(middle).and_then(|r| Aim::new(middle, r))
                && aim.is_right(f, rng, ends)?
            {
                self.aims.fruitless = 0;
                self.aims.remember(&aim);
                // Where swarms have found much an aim need not compare well: others may expect too much.
                if near.is_none() {
                    self.shoot(f, &aim, ends)?;
                } else {
                    self.aims.wait(aim);
                }
            }
        }
        for _ in 0..TAKEN.min(self.aims.waiting.len()) {
            let aim = self.aims.waiting.remove(0);
            self.shoot(f, &aim, ends)?;
        }
        Ok(())
    }

    /// The value at `x` is the largest of all. Cells do not get it: it says nothing about their samples.
    fn note_aimed(&mut self, value: f64) {
        self.aims.best = value;
        let has = |p: &Peak| p.ends[0].0 <= self.x[0] && self.x[0] <= p.ends[0].1;
        if let Some(region) = self.peaks.iter().position(has) {
            let x = core::mem::take(&mut self.x);
            self.note_peak(region, value, &x);
            self.x = x;
        }
    }

    /// Evaluates the best arguments of a window.
    fn shoot<F: Height>(&mut self, f: &mut F, aim: &Aim, (least, greatest): (u64, u64)) -> Result<(), Stop> {
        let mut found = core::mem::take(&mut self.aims.found);
        aim.best(self.best, &mut found);
        for (_, k) in &found {
            self.x[0] = aim.middle.saturating_add_signed(*k).clamp(least, greatest);
            let value = f.height(&self.x)?;
            if value > self.best {
                self.note_aimed(value);
            }
        }
        self.aims.found = found;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;
    use crate::extremes::{Rounding, roundings::MOST};

    const HALF_TESTED: i64 = 1 << 16;

    /// A run with so many roundings, each of which depends on the one before it.
    fn random(n: usize, rng: &mut StdRand) -> Roundings {
        let mut unit = || (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
        let mut all = Vec::new();
        for i in 0..n {
            let mut on = [0.0; MOST];
            if i > 0 {
                on[i - 1] = 0.5 + unit();
            }
            let (error, weight, slope) = (unit() - 0.5, 0.1 + 0.2 * unit(), 3.0 * unit());
            all.push(Rounding { error, weight, slope, on, ..Rounding::default() });
        }
        Roundings { error: all.iter().map(|r| r.weight * r.error).sum(), all }
    }

    /// All arguments of the window are tried beside.
    #[test]
    fn the_best_arguments_of_a_window_are_found() {
        let mut rng = StdRand::with_seed(1);
        let mut shares = Vec::new();
        for n in [2, 4, 8, 12, 16, 20] {
            let mut aim = Aim::new(1 << 40, random(n, &mut rng)).expect("a window");
            aim.half = HALF_TESTED as f64;
            let sign = if aim.sign == 0 { 1.0 } else { -1.0 };
            let error = |k: i64| sign * aim.roundings.error_at(k as f64);
            let best = (-HALF_TESTED..=HALF_TESTED).map(error).fold(0.0, f64::max);
            let mut found = Vec::new();
            aim.best(0.0, &mut found);
            assert!(found.iter().all(|(e, k)| error(*k).to_bits() == e.to_bits() && k.abs() <= HALF_TESTED));
            shares.push(found.first().map_or(0.0, |f| f.0) / best);
        }
        // The third and tenth best are good, too: the enumeration is pruned.
        assert!(shares.iter().all(|s| *s > 0.93), "{shares:?}");
        assert!(shares[..3].iter().all(|s| *s > 0.995), "{shares:?}");
    }

    /// A run as it is in `x + x / (1 - x)` and halves of that: its roundings depend on last bits.
    fn halves(rng: &mut StdRand) -> Roundings {
        let mut error = || ((rng.next() >> 11) as f64 / (1u64 << 53) as f64) - 0.5;
        let of = |error, weight, slope, on: &[(usize, f64)]| {
            let mut rounding = Rounding { error, weight, slope, ..Rounding::default() };
            for (i, x) in on {
                rounding.on[*i] = *x;
            }
            rounding
        };
        let all = vec![
            of(0.0, -0.54, -0.5, &[]),
            of(error(), 0.34, 0.921_043, &[]),
            of(error(), 0.37, 0.0, &[(0, -1.457_414), (1, 0.926_821)]),
            of(0.0, 0.74, 0.5, &[(2, 0.5)]),
            of(0.0, 0.6, 0.0, &[(3, 0.5)]),
            of(error(), 0.1, 0.0, &[(4, 5.658_298)]),
            of(0.0, 0.06, 0.0, &[(4, -4.0), (5, 0.25)]),
            of(0.0, 0.5, 0.0, &[(4, -1.0), (6, 0.125)]),
        ];
        Roundings { error: all.iter().map(|r| r.weight * r.error).sum(), all }
    }

    #[test]
    fn not_only_the_best_last_bits_are_tried() {
        let mut rng = StdRand::with_seed(3);
        let mut times = 0;
        for _ in 0..20 {
            let mut aim = Aim::new(1 << 40, halves(&mut rng)).expect("a window");
            aim.half = HALF_TESTED as f64;
            let sign = if aim.sign == 0 { 1.0 } else { -1.0 };
            let best =
                (-HALF_TESTED..=HALF_TESTED).map(|k| sign * aim.roundings.error_at(k as f64)).fold(0.0, f64::max);
            let mut found = Vec::new();
            aim.best(0.9 * best, &mut found);
            times += u32::from(found.first().is_some_and(|f| f.0 >= best));
        }
        assert!(times >= 14, "the best argument of a window was found {times} times");
    }

    #[test]
    fn nothing_is_searched_where_no_error_is_large_enough() {
        let aim = Aim::new(1 << 40, random(6, &mut StdRand::with_seed(2))).expect("a window");
        let mut found = vec![(0.0, 1)];
        aim.best(aim.phases.potential(aim.sign), &mut found);
        assert!(found.is_empty());
    }
}
