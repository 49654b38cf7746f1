//! Windows whose best arguments are computed from the roundings of one run.
//!
//! In a window of some millions of neighbouring arguments, the roundings of one run at its middle ([`Roundings`])
//! predict the errors at all other points. So the largest error that a window can have (its *potential*), and the
//! expected deficit of its best point, are known without sampling, and windows are compared by them. The arguments at
//! which all roundings have the same direction are points of a lattice near a corner of a box. In the best windows they
//! are enumerated (`lattice.rs`), at the cost of some hundred evaluations; uniform samples take millions to find them.
//! Lattices were used for inputs that are hard to round: Stehle, Lefevre and Zimmermann, *Searching Worst Cases of a
//! One-Variable Function Using Lattice Reduction*, 2005; here they find the worst errors.

use libafl_bolts::rands::Rand;

use super::{
    NoisyObjective,
    corner::Corner,
    errors::Errors,
    frame::Frame,
    lattice::{Basis, DIMENSIONS, Vector},
    phases::{Bits, Phases, nearest},
    roundings::{Roundings, Steps},
};
use crate::evaluate::Stop;

/// Minimum number of points of a window.
const FEWEST: f64 = 2048.0;
/// Maximum error of the linear model (by the quadratic terms), as a share of the expected deficit.
const BENT: f64 = 0.25;
/// Number of points expected in an enumeration: the intended number, and the least at which an enumeration is worth its
/// cost. [`EVALUATED`] is the maximum number of points that are evaluated.
const EXPECTED: f64 = 8.0;
const MIN_EXPECTED: f64 = 1e-6;
const EVALUATED: usize = 48;
/// Tolerance of a prediction, relative to the error.
const TOLERANCE: f64 = 0.02;
/// Number of points evaluated to confirm a window, and how many predictions must be right.
const TRIED: usize = 4;
const RIGHT: usize = 2;
/// Maximum number of nodes of an enumeration.
const NODES: usize = 20_000;
/// Value of the fixed error in the best of some thousand windows, in standard deviations.
const BEST_FIXED: f64 = 3.0;
/// Limit of the squared distance per dimension of an enumeration; the mean is 1.
const LIMIT: f64 = 0.9;

/// A window with the model that predicts its errors.
#[derive(Debug)]
pub(super) struct PredictedWindow {
    pub middle: u64,
    pub frame: Frame,
    /// Index of the sign of the errors to maximize: 0 for positive, 1 for negative.
    sign: usize,
    /// The expected value of the largest error.
    pub expected: f64,
    phases: Phases,
    roundings: Roundings,
    errors: Errors,
}

impl PredictedWindow {
    /// The window around a point. `None` if all errors are equal, or if too few points have predictable errors.
    pub fn new(middle: u64, frame: Frame, roundings: Roundings) -> Option<Self> {
        let phases = Phases::new(&roundings, &frame);
        if phases.fine.is_empty() {
            return None;
        }
        let mut me = Self { middle, frame, sign: 0, expected: 0.0, phases, errors: Errors::new(&roundings), roundings };
        me.sign = usize::from(me.phases.potential(0) < me.phases.potential(1));
        let bent = me.phases.bend * frame.farthest() * frame.farthest();
        let share = if bent > 0.0 { (BENT * me.deficit() / bent).sqrt().min(1.0) } else { 1.0 };
        me.narrow(share).then_some(me)
    }

    /// The expected deficit of its best point: the potential minus the error there.
    fn deficit(&self) -> f64 {
        Corner::with_points_over_sets(&self.phases, self.sign, self.frame.points() * self.phases.share()).deficit
    }

    /// Narrows the window to this share. Returns false if too few points are left.
    fn narrow(&mut self, share: f64) -> bool {
        self.frame.narrow(share);
        self.expected = self.phases.potential(self.sign) - self.deficit();
        self.frame.points() >= FEWEST && self.expected.is_finite()
    }

    /// The expected largest error of windows next to it, if the fixed error is the best of all of them.
    pub fn reach(&self) -> f64 {
        let fixed = self.roundings.fixed;
        let its_error = if self.sign == 0 { fixed.error } else { -fixed.error };
        self.expected + BEST_FIXED * fixed.deviation - its_error
    }

    /// Stores the points whose predicted errors are closest to the potential and above `beyond` in `found`, with these
    /// errors, largest first. Returns the expected number of points above `beyond`.
    pub fn best(&self, beyond: f64, found: &mut Vec<(f64, Steps)>) -> f64 {
        found.clear();
        let points = self.frame.points() * self.phases.share();
        let room = self.phases.potential(self.sign) - beyond;
        if room <= 0.0 {
            return 0.0;
        }
        let corner = Corner::with_points(&self.phases, points / EXPECTED);
        let corner = if corner.deficit > room { Corner::deficit(&self.phases, room) } else { corner };
        let hopes = corner.points(&self.phases, self.sign, points);
        if hopes < MIN_EXPECTED {
            return hopes;
        }
        let sign = if self.sign == 0 { 1.0 } else { -1.0 };
        let (scales, target) = self.scaled_target(&corner, sign);
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

    /// The factor of each coordinate that makes its standard deviation from the target 1, and the target: the mean
    /// point of the corner for errors of this sign.
    fn scaled_target(&self, corner: &Corner, sign: f64) -> (Vector, Vector) {
        let (mut scales, mut target) = ([0.0; DIMENSIONS], [0.0; DIMENSIONS]);
        let first = self.phases.first;
        // The reciprocal of the standard deviation of a uniform distribution on [-1, 1].
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

    /// Evaluates some points, and returns whether enough of them have the predicted errors. If all right predictions
    /// are closer to the middle than all wrong ones, narrows the window to the part before the nearest wrong one:
    /// beyond it the run has other operations.
    pub fn confirm<F: NoisyObjective, R: Rand>(
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
            let value = f.value_at(&[at])?;
            let share = self.frame.share_to(k);
            if self.is_predicted(k, value) {
                right += 1;
                farthest_right = share.max(farthest_right);
            } else {
                nearest_wrong = share.min(nearest_wrong);
            }
        }
        let is_inside = farthest_right < nearest_wrong && nearest_wrong < 1.0;
        Ok(right >= RIGHT && (!is_inside || self.narrow(nearest_wrong)))
    }

    /// Whether `value` is the predicted error at these steps, within the tolerance.
    fn is_predicted(&self, k: Steps, value: f64) -> bool {
        (self.errors.at(&self.frame, k).abs() - value).abs() <= TOLERANCE * value.max(1.0)
    }

    /// A lattice point with these last bits, near the middle.
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

    /// The basis of the lattice: one vector per variable, for a step that keeps the last bits of the variable.
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

    /// Sets the part of a vector that gives the place in the window.
    fn place(&self, vector: &mut Vector, scales: &Vector, values: &Vector) {
        let forms = self.frame.forms([values[0], values[1]]);
        for ((x, scale), form) in vector.iter_mut().zip(scales).zip(forms).take(self.phases.first) {
            *x = scale * form;
        }
    }

    /// The change of the exact value before fine rounding `i`, for these changes of the variables before it.
    fn moved(&self, i: usize, values: &Vector) -> f64 {
        self.phases.fine[i].moves[..self.phases.first + i].iter().zip(values).map(|(m, v)| m * v).sum()
    }

    /// The value nearest to `exact` that fine rounding `i` can have: `left` plus a multiple of its modulus.
    fn nearest(&self, i: usize, exact: f64, left: f64) -> f64 {
        let modulus = f64::from(self.phases.modulus[self.phases.first + i]);
        nearest((exact - left) / modulus).mul_add(modulus, left)
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;
    use crate::extremes::{Rounding, roundings::MAX_ROUNDINGS};

    const HALF_TESTED: i64 = 1 << 16;

    fn window() -> Frame {
        Frame::neighbours(16_777_216.0)
    }

    fn tested() -> Frame {
        Frame::neighbours(HALF_TESTED as f64)
    }

    /// A run of `n` roundings, each of which depends on the one before it.
    fn random(n: usize, rng: &mut StdRand) -> Roundings {
        let mut unit = || (rng.next() >> 11) as f64 / (1u64 << 53) as f64;
        let mut all = Vec::new();
        for i in 0..n {
            let mut on = [0.0; MAX_ROUNDINGS];
            if i > 0 {
                on[i - 1] = 0.5 + unit();
            }
            let (error, weight, slope) = (unit() - 0.5, 0.1 + 0.2 * unit(), 3.0 * unit());
            all.push(Rounding { error, weight, slope: [slope, 0.0], on, ..Rounding::default() });
        }
        Roundings { error: all.iter().map(|r| r.weight * r.error).sum(), all, ..Roundings::default() }
    }

    /// Compares with an evaluation of all arguments of the window.
    #[test]
    fn the_best_arguments_of_a_window_are_found() {
        let mut rng = StdRand::with_seed(1);
        let mut shares = Vec::new();
        for n in [2, 4, 8, 12, 16, 20] {
            let mut aim = PredictedWindow::new(1 << 40, window(), random(n, &mut rng)).expect("a window");
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
        // The enumeration is pruned, so it may find the third or tenth best point instead.
        assert!(shares.iter().all(|s| *s > 0.93), "{shares:?}");
        assert!(shares[..3].iter().all(|s| *s > 0.995), "{shares:?}");
    }

    /// A run like that of `x + x / (1 - x)` and halves of it: its roundings depend on last bits.
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
            let mut aim = PredictedWindow::new(1 << 40, window(), halves(&mut rng)).expect("a window");
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

    /// A function whose errors are the predicted ones up to a distance from the middle; with `is_alternating`, only at
    /// every second position.
    struct Known<'a> {
        aim: &'a PredictedWindow,
        up_to: i64,
        is_alternating: bool,
    }

    impl NoisyObjective for Known<'_> {
        fn value_at(&mut self, at: &[u64]) -> Result<f64, Stop> {
            let k = at[0].wrapping_sub(self.aim.middle) as i64;
            let is_known = k.abs() <= self.up_to && !(self.is_alternating && k % 2 == 0);
            let error = self.aim.errors.at(&self.aim.frame, [k as f64, 0.0]).abs();
            Ok(if is_known { error } else { error + 1.0 })
        }
    }

    #[test]
    fn a_window_ends_where_errors_are_no_longer_known() {
        let mut rng = StdRand::with_seed(4);
        let predicted_windows =
            || PredictedWindow::new(1 << 40, window(), random(6, &mut StdRand::with_seed(5))).expect("a window");
        let whole = predicted_windows();
        let mut confirmed = |up_to, is_alternating| {
            let mut known = Known { aim: &whole, up_to, is_alternating };
            let tried = (0..40).map(|_| {
                let mut aim = predicted_windows();
                let is_right =
                    aim.confirm(&mut known, &mut rng, (0, u64::MAX)).expect("the function never stops the search");
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
        assert!(confirmed(1000, false).is_empty(), "a window with few correct predictions is not confirmed");
        let mixed = confirmed(i64::MAX, true);
        let is_whole = |a: &&(f64, f64)| a.0 >= whole.frame.points();
        assert!(mixed.len() > 15 && mixed.iter().filter(is_whole).count() > mixed.len() / 2, "{mixed:?}");
    }

    #[test]
    fn nothing_is_searched_where_no_error_is_large_enough() {
        let aim = PredictedWindow::new(1 << 40, window(), random(6, &mut StdRand::with_seed(2))).expect("a window");
        let mut found = vec![(0.0, [1.0, 0.0])];
        aim.best(aim.phases.potential(aim.sign), &mut found);
        assert!(found.is_empty());
    }
}
