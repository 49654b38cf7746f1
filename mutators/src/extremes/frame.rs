//! The geometry of the windows of one argument: which points they contain.

use super::{
    period::Jumps,
    phases::nearest,
    roundings::{COORDINATES, Steps},
};

/// A set of points at integer numbers of steps from a middle. With two coordinates, these numbers lie within a
/// parallelogram.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// Length of one step of each coordinate, in positions; 0 for an unused coordinate.
    pub jumps: [i64; COORDINATES],
    /// Linear forms of the numbers of steps. Within the window they are at most 1 away from the centre. 0 for an unused
    /// coordinate.
    rows: [Steps; COORDINATES],
    centre: [f64; COORDINATES],
    inverse: [Steps; COORDINATES],
    /// The distance that one step of each coordinate covers, in steps of the first.
    along: Steps,
    farthest: f64,
}

impl Frame {
    /// The window of the neighbours of a point, `half` positions on each side.
    pub fn neighbours(half: f64) -> Self {
        Self {
            jumps: [1, 0],
            rows: [[1.0 / half, 0.0], [0.0; 2]],
            centre: [0.0; 2],
            inverse: [[half, 0.0], [0.0; 2]],
            along: [1.0, 0.0],
            farthest: half,
        }
    }

    /// The window of the points whose remainder modulo the period is at most `farthest` from that of the middle, and
    /// whose positions are `from` to `to` away from it.
    pub fn congruent(jumps: &Jumps, farthest: f64, (from, to): (f64, f64)) -> Self {
        let half = (to - from) / 2.0;
        let [a, b] = jumps.steps.map(|j| j as f64 / half);
        let [c, d] = jumps.left.map(|r| r / farthest);
        let det = a * d - b * c;
        Self {
            jumps: jumps.steps,
            rows: [[a, b], [c, d]],
            centre: [from.midpoint(to) / half, 0.0],
            inverse: [[d / det, -b / det], [-c / det, a / det]],
            along: [1.0, jumps.left[1] / jumps.left[0]],
            farthest: (farthest / jumps.left[0]).abs(),
        }
    }

    /// Number of coordinates in use.
    pub fn coordinates(&self) -> usize {
        1 + usize::from(self.jumps[1] != 0)
    }

    pub fn points(&self) -> f64 {
        let [[a, b], [c, d]] = self.inverse;
        if self.coordinates() == 1 { 2.0 * a } else { 4.0 * (a * d - b * c).abs() }
    }

    /// Maximum number of steps of each coordinate.
    pub fn reach(&self) -> Steps {
        self.inverse.map(|row| row.iter().zip(self.centre).map(|(x, c)| x.abs() * (1.0 + c.abs())).sum())
    }

    /// The difference between the argument (or its remainder modulo the period) and that of the middle, in steps of the
    /// first coordinate.
    pub fn distance(&self, k: Steps) -> f64 {
        self.along[0] * k[0] + self.along[1] * k[1]
    }

    /// The largest [`Frame::distance`] in the window.
    pub fn farthest(&self) -> f64 {
        self.farthest
    }

    /// The distance of a point as a share of the largest, at most 1.
    pub fn share_to(&self, k: Steps) -> f64 {
        self.forms(k)[self.coordinates() - 1].abs().min(1.0)
    }

    /// Restricts the window to this share of the distance.
    pub fn narrow(&mut self, share: f64) {
        let row = self.coordinates() - 1;
        self.rows[row].iter_mut().for_each(|x| *x /= share);
        self.inverse.iter_mut().for_each(|x| x[row] *= share);
        self.farthest *= share;
    }

    /// The values of both forms.
    pub fn forms(&self, k: Steps) -> [f64; COORDINATES] {
        self.rows.map(|row| row[0] * k[0] + row[1] * k[1])
    }

    pub fn centre(&self) -> [f64; COORDINATES] {
        self.centre
    }

    pub fn contains(&self, k: Steps) -> bool {
        self.forms(k).iter().zip(self.centre).all(|(x, c)| (x - c).abs() <= 1.0)
    }

    /// The numbers of steps nearest to the point at which the forms have these values.
    pub fn nearest(&self, forms: [f64; COORDINATES]) -> Steps {
        self.inverse.map(|row| nearest(row[0] * forms[0] + row[1] * forms[1]))
    }

    /// The position of a point; `None` if it is outside the range of positions.
    pub fn position(&self, middle: u64, k: Steps) -> Option<u64> {
        let away = |(jump, k): (&i64, f64)| jump.checked_mul(k as i64);
        let away = self.jumps.iter().zip(k).map(away).try_fold(0i64, |sum, x| sum.checked_add(x?))?;
        middle.checked_add_signed(away)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_of_a_window_are_those_within_its_ends() {
        let jumps = Jumps { steps: [7, 45], left: [-0.02, 0.005] };
        let mut frame = Frame::congruent(&jumps, 0.5, (-100.0, 900.0));
        let all: Vec<Steps> =
            (-200..=200).flat_map(|a| (-200..=200).map(move |b| [f64::from(a), f64::from(b)])).collect();
        for share in [1.0, 0.5] {
            frame.narrow(share);
            let is_within = |k: &Steps| {
                let position = k[0].mul_add(7.0, 45.0 * k[1]);
                let left = k[0].mul_add(-0.02, 0.005 * k[1]);
                (-100.0..=900.0).contains(&position) && left.abs() <= 0.5 * share
            };
            let n = all.iter().filter(|k| is_within(k)).count() as f64;
            assert!(all.iter().all(|k| frame.contains(*k) == is_within(k)));
            assert!((frame.points() / n - 1.0).abs() < 0.05, "{} of {n}", frame.points());
            let reach = frame.reach();
            assert!(all.iter().filter(|k| is_within(k)).all(|k| k[0].abs() <= reach[0] && k[1].abs() <= reach[1]));
            assert!(all.iter().all(|k| frame.nearest(frame.forms(*k)) == *k));
            assert!((frame.farthest() - 25.0 * share).abs() < 1e-9);
        }
        assert_eq!(frame.position(1000, [2.0, -3.0]), Some(1000 + 14 - 135));
        assert_eq!(frame.position(10, [0.0, -1.0]), None);
    }

    #[test]
    fn neighbours_have_one_coordinate() {
        let frame = Frame::neighbours(8.0);
        assert_eq!((frame.coordinates(), frame.reach()), (1, [8.0, 0.0]));
        assert!(frame.contains([8.0, 0.0]) && !frame.contains([9.0, 0.0]));
        assert_eq!(frame.position(100, frame.nearest([-0.5, 0.3])), Some(96));
    }
}
