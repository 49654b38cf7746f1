//! Windows whose best arguments are computed, where the roundings of a run are known.
//!
//! In a window of some millions of neighbouring arguments, the roundings of one run at its middle ([`Roundings`]) tell the errors at all others. So
//! what the largest error in a window can be, and what will be missing to that, is known without sampling: windows are compared by it. In
//! the best of them the arguments at which all roundings go the same way are points of a lattice near a corner of a box, and are enumerated
//! (`lattice.rs`), at the cost of some hundred evaluations for what uniform samples find in millions. Lattices for inputs that are hard to round: Stehle, Lefevre and
//! Zimmermann, *Searching Worst Cases of a One-Variable Function Using Lattice Reduction*, 2005; here they are for worst errors.

use libafl_bolts::rands::Rand;

use super::{
    Height,
    corner::Corner,
    errors::Errors,
    frame::Frame,
    lattice::{Basis, DIMENSIONS, Vector},
    phases::{Bits, Phases, nearest},
    roundings::{Roundings, Steps},
};
use crate::evaluate::Stop;

/// The points of a window, at least.
const FEWEST: f64 = 2048.0;
/// The share of what is missing that bends may be.
const BENT: f64 = 0.25;
/// Arguments of a window that are to be expected in an enumeration, at most and at least, and that are evaluated at most.
const EXPECTED: f64 = 8.0;
const HOPELESS: f64 = 1e-6;
const EVALUATED: usize = 48;
/// The share of the largest error by which an error may differ from what was expected.
const TOLERANCE: f64 = 0.02;
/// Points that are tried before a window counts, and those that must be right.
const TRIED: usize = 4;
const RIGHT: usize = 2;
/// Nodes of an enumeration.
const NODES: usize = 20_000;
/// Standard deviations of what is fixed in a window, in the best of some thousand windows.
const BEST_FIXED: f64 = 3.0;
/// By how much the square of a distance may grow with each dimension, the mean of which is 1.
const LIMIT: f64 = 0.9;

/// A window.
#[derive(Debug)]
pub(super) struct Aim {
    pub middle: u64,
    pub frame: Frame,
    /// The index of the sign of the errors.
    sign: usize,
    /// What is to be expected as the largest error.
    pub expected: f64,
    phases: Phases,
    roundings: Roundings,
    errors: Errors,
}

impl Aim {
    /// Around a point. `None` where all errors are the same, or too few points have errors that are known.
    pub fn new(middle: u64, frame: Frame, roundings: Roundings) -> Option<Self> {
        let phases = Phases::new(&roundings, &frame);
        if phases.fine.is_empty() {
            return None;
        }
        let mut me = Self { middle, frame, sign: 0, expected: 0.0, phases, errors: Errors::new(&roundings), roundings };
        me.sign = usize::from(me.phases.potential(0) < me.phases.potential(1));
        let bent = me.phases.bend * frame.farthest() * frame.farthest();
        let share = if bent > 0.0 { (BENT * me.missing() / bent).sqrt().min(1.0) } else { 1.0 };
        me.narrow(share).then_some(me)
    }

    /// What is to be expected to be missing at its best point.
    fn missing(&self) -> f64 {
        Corner::with_points_of_all(&self.phases, self.sign, self.frame.points() * self.phases.share()).missing
    }

    /// Leaves this share of it. False where that is too little.
    fn narrow(&mut self, share: f64) -> bool {
        self.frame.narrow(share);
        self.expected = self.phases.potential(self.sign) - self.missing();
        self.frame.points() >= FEWEST && self.expected.is_finite()
    }

    /// What is to be expected in windows beside it, where what is fixed in each is at its best.
    pub fn reach(&self) -> f64 {
        let fixed = self.roundings.fixed;
        let its_error = if self.sign == 0 { fixed.error } else { -fixed.error };
        self.expected + BEST_FIXED * fixed.deviation - its_error
    }

    /// Points at which the error is to be expected nearest to its potential, and this error. Returns how many are to be expected above `beyond`.
    pub fn best(&self, beyond: f64, found: &mut Vec<(f64, Steps)>) -> f64 {
        found.clear();
        let points = self.frame.points() * self.phases.share();
        let room = self.phases.potential(self.sign) - beyond;
        if room <= 0.0 {
            return 0.0;
        }
        let corner = Corner::with_points(&self.phases, points / EXPECTED);
        let corner = if corner.missing > room { Corner::missing(&self.phases, room) } else { corner };
        let hopes = corner.points(&self.phases, self.sign, points);
        if hopes < HOPELESS {
            return hopes;
        }
        let sign = if self.sign == 0 { 1.0 } else { -1.0 };
        let (scales, target) = self.towards(&corner, sign);
        let n = self.phases.first + self.phases.fine.len();
        let Some(basis) = Basis::reduced(&self.vectors(&scales)[..n]) else { return hopes };
        let limits = core::array::from_fn(|i| LIMIT.mul_add(i as f64, 1.0));
        let mut nodes = NODES;
        for bits in self.phases.sets(&self.roundings, self.sign, beyond) {
            let begin = self.begin(&scales, &bits);
            let aimed = core::array::from_fn(|i| target[i] - begin[i]);
            nodes = basis.near(&aimed, &limits, nodes, |times| {
                let form = |c: usize| (basis.coordinate(c, times) + begin[c]) / scales[c];
                let k = self.frame.nearest([form(0), if self.phases.first > 1 { form(1) } else { 0.0 }]);
                if self.frame.contains(k) {
                    found.extend(self.errors.above(&self.frame, k, (sign, beyond)).map(|error| (error, k)));
                }
            });
        }
        let steps = |k: &Steps| k.map(|k| k as i64);
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| steps(&a.1).cmp(&steps(&b.1))));
        found.truncate(EVALUATED);
        hopes
    }

    /// By what each coordinate is multiplied, so that its deviation from the target is 1, and the target: in the corner of errors of this sign.
    fn towards(&self, corner: &Corner, sign: f64) -> (Vector, Vector) {
        let (mut scales, mut target) = ([0.0; DIMENSIONS], [0.0; DIMENSIONS]);
        let first = self.phases.first;
        // The standard deviation of what is evenly distributed between -1 and 1.
        scales[..first].fill(3f64.sqrt());
        for (target, centre) in target[..first].iter_mut().zip(self.frame.centre()) {
            *target = 3f64.sqrt() * centre;
        }
        for (i, r) in self.phases.fine.iter().enumerate() {
            let (mean, deviation) = corner.coordinate(r.weight.abs());
            scales[first + i] = (sign * r.weight).signum() / deviation;
            target[first + i] = (0.5 - mean) / deviation;
        }
        (scales, target)
    }

    /// Does it have the errors that are to be expected, at enough points? Leaves the part of it that is nearer to its middle than those at which it has not, if
    /// all others are there: beyond it operations are others.
    pub fn confirm<F: Height, R: Rand>(
        &mut self,
        f: &mut F,
        rng: &mut R,
        (least, greatest): (u64, u64),
    ) -> Result<bool, Stop> {
        let (mut right, mut farthest_right, mut nearest_wrong) = (0, 0.0, f64::INFINITY);
        for _ in 0..TRIED {
            let k = self.frame.nearest(self.frame.centre().map(|c| c + 2.0 * rng.next_float() - 1.0));
            let Some(at) = self.frame.position(self.middle, k).filter(|at| (least..=greatest).contains(at)) else {
                continue;
            };
            let value = f.height(&[at])?;
            let share = self.frame.share_to(k);
            if self.expects(k, value) {
                right += 1;
                farthest_right = share.max(farthest_right);
            } else {
                nearest_wrong = share.min(nearest_wrong);
            }
        }
        let is_inside = farthest_right < nearest_wrong && nearest_wrong < 1.0;
        Ok(right >= RIGHT && (!is_inside || self.narrow(nearest_wrong)))
    }

    /// Is this the error, or nearly, that is to be expected after so many steps?
    fn expects(&self, k: Steps, value: f64) -> bool {
        (self.errors.at(&self.frame, k).abs() - value).abs() <= TOLERANCE * value.max(1.0)
    }

    /// A point of the lattice: with these last bits.
    fn begin(&self, scales: &Vector, bits: &Bits) -> Vector {
        let phases = &self.phases;
        let mut values = [0.0; DIMENSIONS];
        let mut begin = [0.0; DIMENSIONS];
        for (value, left) in values.iter_mut().zip(bits.left).take(phases.first) {
            *value = f64::from(left);
        }
        self.place(&mut begin, scales, &values);
        for (i, r) in phases.fine.iter().enumerate() {
            let exact = self.moved(i, &values) + phases.offset(&self.roundings, bits, r) - r.error;
            let at = phases.first + i;
            values[at] = self.nearest(i, exact, f64::from(bits.left[at]));
            begin[at] = scales[at] * (values[at] - exact);
        }
        begin
    }

    /// The basis: one step of each variable, which leaves its last bits.
    fn vectors(&self, scales: &Vector) -> [Vector; DIMENSIONS] {
        let phases = &self.phases;
        let mut vectors = [[0.0; DIMENSIONS]; DIMENSIONS];
        for (from, vector) in vectors.iter_mut().enumerate().take(phases.first + phases.fine.len()) {
            let step = f64::from(phases.modulus[from]);
            let mut values = [0.0; DIMENSIONS];
            values[from] = step;
            self.place(vector, scales, &values);
            if from >= phases.first {
                vector[from] = scales[from] * step;
            }
            for i in (from + 1).saturating_sub(phases.first)..phases.fine.len() {
                let at = phases.first + i;
                let exact = self.moved(i, &values);
                values[at] = self.nearest(i, exact, 0.0);
                vector[at] = scales[at] * (values[at] - exact);
            }
        }
        vectors
    }

    /// The part of a vector that tells where in the window it is.
    fn place(&self, vector: &mut Vector, scales: &Vector, values: &Vector) {
        let forms = self.frame.forms([values[0], values[1]]);
        for ((x, scale), form) in vector.iter_mut().zip(scales).zip(forms).take(self.phases.first) {
            *x = scale * form;
        }
    }

    /// By how much the exact value before a fine rounding moves with the variables before it.
    fn moved(&self, i: usize, values: &Vector) -> f64 {
        self.phases.fine[i].moves[..self.phases.first + i].iter().zip(values).map(|(m, v)| m * v).sum()
    }

    /// The value nearest to `exact` that a rounding can have, which is `left` beside multiples of its modulus.
    fn nearest(&self, i: usize, exact: f64, left: f64) -> f64 {
        let modulus = f64::from(self.phases.modulus[self.phases.first + i]);
        nearest((exact - left) / modulus).mul_add(modulus, left)
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;
    use crate::extremes::{Rounding, roundings::MOST};

    const HALF_TESTED: i64 = 1 << 16;

    fn window() -> Frame {
        Frame::neighbours(16_777_216.0)
    }

    fn tested() -> Frame {
        Frame::neighbours(HALF_TESTED as f64)
    }

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
            all.push(Rounding { error, weight, slope: [slope, 0.0], on, ..Rounding::default() });
        }
        Roundings { error: all.iter().map(|r| r.weight * r.error).sum(), all, ..Roundings::default() }
    }

    /// All arguments of the window are tried beside.
    #[test]
    fn the_best_arguments_of_a_window_are_found() {
        let mut rng = StdRand::with_seed(1);
        let mut shares = Vec::new();
        for n in [2, 4, 8, 12, 16, 20] {
            let mut aim = Aim::new(1 << 40, window(), random(n, &mut rng)).expect("a window");
            aim.frame = tested();
            let sign = if aim.sign == 0 { 1.0 } else { -1.0 };
            let error = |k: i64| sign * aim.errors.at(&aim.frame, [k as f64, 0.0]);
            let best = (-HALF_TESTED..=HALF_TESTED).map(error).fold(0.0, f64::max);
            let mut found = Vec::new();
            aim.best(0.0, &mut found);
            assert!(
                found
                    .iter()
                    .all(|(e, k)| error(k[0] as i64).to_bits() == e.to_bits() && k[0].abs() <= HALF_TESTED as f64)
            );
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
            let mut rounding = Rounding { error, weight, slope: [slope, 0.0], ..Rounding::default() };
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
        Roundings { error: all.iter().map(|r| r.weight * r.error).sum(), all, ..Roundings::default() }
    }

    #[test]
    fn not_only_the_best_last_bits_are_tried() {
        let mut rng = StdRand::with_seed(3);
        let mut times = 0;
        for _ in 0..20 {
            let mut aim = Aim::new(1 << 40, window(), halves(&mut rng)).expect("a window");
            aim.frame = tested();
            let sign = if aim.sign == 0 { 1.0 } else { -1.0 };
            let best = (-HALF_TESTED..=HALF_TESTED)
                .map(|k| sign * aim.errors.at(&aim.frame, [k as f64, 0.0]))
                .fold(0.0, f64::max);
            let mut found = Vec::new();
            aim.best(0.9 * best, &mut found);
            times += u32::from(found.first().is_some_and(|f| f.0 >= best));
        }
        assert!(times >= 14, "the best argument of a window was found {times} times");
    }

    /// Errors are as a run in the middle tells up to so many positions from it, and every other one if that is wanted.
    struct Known<'a> {
        aim: &'a Aim,
        up_to: i64,
        is_alternating: bool,
    }

    impl Height for Known<'_> {
        fn height(&mut self, at: &[u64]) -> Result<f64, Stop> {
            let k = at[0].wrapping_sub(self.aim.middle) as i64;
            let is_known = k.abs() <= self.up_to && !(self.is_alternating && k % 2 == 0);
            let error = self.aim.errors.at(&self.aim.frame, [k as f64, 0.0]).abs();
            Ok(if is_known { error } else { error + 1.0 })
        }
    }

    #[test]
    fn a_window_ends_where_errors_are_no_longer_known() {
        let mut rng = StdRand::with_seed(4);
        let aims = || Aim::new(1 << 40, window(), random(6, &mut StdRand::with_seed(5))).expect("a window");
        let whole = aims();
        let mut confirmed = |up_to, is_alternating| {
            let mut known = Known { aim: &whole, up_to, is_alternating };
            let tried = (0..40).map(|_| {
                let mut aim = aims();
                let is_right = aim.confirm(&mut known, &mut rng, (0, u64::MAX)).expect("nothing ends the search");
                is_right.then_some((aim.frame.points(), aim.expected))
            });
            tried.flatten().collect::<Vec<_>>()
        };
        let all = confirmed(i64::MAX, false);
        assert!(all.len() == 40 && all.iter().all(|a| a.0 >= whole.frame.points()), "{all:?}");
        let half = confirmed(8_000_000, false);
        let narrower = half
            .iter()
            .filter(|(points, expected)| (16e6..whole.frame.points()).contains(points) && *expected <= whole.expected);
        assert!(half.len() > 20 && narrower.count() > half.len() * 3 / 4, "{half:?}");
        assert!(confirmed(1000, false).is_empty(), "too little of it is known");
        let mixed = confirmed(i64::MAX, true);
        let is_whole = |a: &&(f64, f64)| a.0 >= whole.frame.points();
        assert!(mixed.len() > 15 && mixed.iter().filter(is_whole).count() > mixed.len() / 2, "{mixed:?}");
    }

    #[test]
    fn nothing_is_searched_where_no_error_is_large_enough() {
        let aim = Aim::new(1 << 40, window(), random(6, &mut StdRand::with_seed(2))).expect("a window");
        let mut found = vec![(0.0, [1.0, 0.0])];
        aim.best(aim.phases.potential(aim.sign), &mut found);
        assert!(found.is_empty());
    }
}
