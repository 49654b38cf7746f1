//! The distribution of the largest error among many arguments: how close it comes to the potential.

use super::phases::Phases;

/// Range of the tilt, and number of bisections in it.
const TILTS: (f64, f64) = (1e-3, 1e9);
const BISECTIONS: usize = 13;
/// Below this tilt, a distribution is treated as uniform with a linear term.
const EVEN: f64 = 0.01;

/// A corner of the box of all errors: the part in which the weighted distances of the errors from their ends have a
/// small sum. Each distance is uniformly distributed.
///
/// The volume of the corner is that of an exponentially tilted distribution (Cramer; Daniels, *Saddlepoint
/// Approximations in Statistics*, 1954).
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    tilt: f64,
    /// The sum of weighted distances: the deficit against the potential.
    pub deficit: f64,
    /// The volume of the corner relative to that of the box.
    pub share: f64,
}

impl Corner {
    fn tilted(phases: &Phases, tilt: f64) -> Self {
        let (mut deficit, mut volume, mut variance) = (0.0, 1.0, 0.0);
        for r in &phases.fine {
            let weight = r.weight.abs();
            let one = Tilted::new(tilt * weight);
            deficit += weight * one.mean;
            variance += weight * weight * one.variance;
            volume *= one.volume;
        }
        let width = (core::f64::consts::TAU * variance).sqrt() * tilt;
        Self { tilt, deficit, share: (tilt * deficit).exp() * volume / width.max(1.0) }
    }

    /// The corner that contains one of `points` points on average.
    pub fn with_points(phases: &Phases, points: f64) -> Self {
        Self::search(phases, |corner| corner.share * points > 1.0)
    }

    /// The corner that contains one point on average, for errors of this sign, if each set of last bits has `points`
    /// points. The corners of sets other than the best one are smaller, by their deficits.
    pub fn with_points_over_sets(phases: &Phases, sign: usize, points: f64) -> Self {
        Self::search(phases, |corner| corner.points(phases, sign, points) > 1.0)
    }

    /// The expected number of points in the corner, over all sets of last bits with `points` points each.
    pub fn points(&self, phases: &Phases, sign: usize, points: f64) -> f64 {
        self.share * points * phases.deficits(sign).map(|lack| (-self.tilt * lack).exp()).sum::<f64>()
    }

    /// The corner with this deficit.
    pub fn deficit(phases: &Phases, deficit: f64) -> Self {
        Self::search(phases, |corner| corner.deficit > deficit)
    }

    /// The largest corner that is not `too_large`.
    fn search(phases: &Phases, too_large: impl Fn(&Self) -> bool) -> Self {
        let (mut least, mut greatest) = TILTS;
        let mut corner = Self::tilted(phases, greatest);
        for _ in 0..BISECTIONS {
            let middle = (least * greatest).sqrt();
            let tried = Self::tilted(phases, middle);
            if too_large(&tried) {
                least = middle;
            } else {
                (greatest, corner) = (middle, tried);
            }
        }
        corner
    }

    /// Mean and standard deviation of the distance of one error from its end, for a rounding of this weight.
    pub fn coordinate(&self, weight: f64) -> (f64, f64) {
        let one = Tilted::new(self.tilt * weight);
        (one.mean, one.variance.sqrt())
    }
}

/// The distribution of a number between 0 and 1 with a density proportional to `exp(-x * tilt)`.
struct Tilted {
    mean: f64,
    variance: f64,
    /// The integral of `exp(-x * tilt)`.
    volume: f64,
}

impl Tilted {
    fn new(tilt: f64) -> Self {
        if tilt < EVEN {
            return Self { mean: 0.5 - tilt / 12.0, variance: 1.0 / 12.0, volume: 1.0 - tilt * (0.5 - tilt / 6.0) };
        }
        let e = (-tilt).exp();
        let ratio = e / (1.0 - e);
        let inverse = 1.0 / tilt;
        Self { mean: inverse - ratio, variance: inverse * inverse - ratio / (1.0 - e), volume: (1.0 - e) * inverse }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extremes::{Rounding, Roundings, frame::Frame};

    /// Independent roundings of these weights.
    fn phases(weights: &[f64]) -> Phases {
        let rounding = |w: &f64| Rounding { weight: *w, slope: [w.sqrt(), 0.0], ..Rounding::default() };
        Phases::new(
            &Roundings { error: 0.0, all: weights.iter().map(rounding).collect(), ..Roundings::default() },
            &Frame::neighbours(1e6),
        )
    }

    #[test]
    fn corner_of_one_rounding_is_an_interval() {
        let corner = Corner::deficit(&phases(&[0.3]), 0.003);
        assert!((0.5..2.0).contains(&(corner.share / 0.01)), "a hundredth of the errors: {corner:?}");
    }

    /// The volume of a simplex: `d^3 / (3! w1 w2 w3)`.
    #[test]
    fn corner_of_three_roundings_is_a_simplex() {
        let corner = Corner::with_points(&phases(&[0.3, 0.5, 0.7]), 1e6);
        let expected = (6.0 * 0.3 * 0.5 * 0.7 / 1e6f64).cbrt();
        assert!((corner.deficit / expected - 1.0).abs() < 0.2, "{corner:?}, {expected}");
    }

    /// The last rounding is that of half the first rounded value, so the last bit of that value matters.
    #[test]
    fn all_sets_of_last_bits_count() {
        let first = Rounding { weight: 0.5, slope: [0.618_034, 0.0], ..Rounding::default() };
        let second = Rounding { weight: 0.4, slope: [0.414_214, 0.0], ..first };
        let mut last = Rounding { weight: 0.12, ..Rounding::default() };
        last.on[0] = 0.5;
        let roundings = Roundings { error: 0.0, all: vec![first, second, last], ..Roundings::default() };
        let phases = Phases::new(&roundings, &Frame::neighbours(1e6));
        let n = phases.deficits(0).filter(|lack| *lack < 0.1).count() as f64;
        let corner = Corner::deficit(&phases, 0.2);
        let (each, all) = (corner.share * 1e6, corner.points(&phases, 0, 1e6));
        assert!(n >= 2.0 && all > 1.2 * each && all < n * each, "{n} sets: {all} points, and {each} of the best");
        let deficit = Corner::with_points(&phases, 100.0).deficit;
        assert!(Corner::with_points_over_sets(&phases, 0, 100.0).deficit < deficit);
    }

    #[test]
    fn a_small_weight_costs_half_of_it_at_most() {
        let [without, with] =
            [&[0.5, 0.6][..], &[0.5, 0.6, 1e-4]].map(|w| Corner::with_points(&phases(w), 1e4).deficit);
        assert!(with > without && with < without + 6e-5, "{without} and {with}");
    }

    #[test]
    fn tilted_distribution_has_uniform_and_exponential_limits() {
        for (tilt, mean, deviation) in [(1e-9, 0.5, 0.288_675), (0.02, 0.498_33, 0.288_675), (1e4, 1e-4, 1e-4)] {
            let (m, d) = (Tilted::new(tilt).mean, Tilted::new(tilt).variance.sqrt());
            assert!((m / mean - 1.0).abs() < 1e-3 && (d / deviation - 1.0).abs() < 1e-3, "{tilt}: {m}, {d}");
        }
    }
}
