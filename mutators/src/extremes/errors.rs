//! Prediction of the errors at the points of a window, from the roundings of one run.

use super::{
    frame::Frame,
    phases::to_even,
    roundings::{COORDINATES, MAX_ROUNDINGS, Roundings, Steps},
};

/// A [`Rounding`](super::Rounding) without its unused links.
#[derive(Debug, Clone, Copy)]
struct One {
    slope: [f64; COORDINATES],
    bend: f64,
    /// The error at the middle of the window.
    error: f64,
    weight: f64,
    is_odd: bool,
    /// End of its links in [`Errors::links`], which begin at the end of those before it.
    end: usize,
}

/// Index of an earlier rounding, and the units by which this one moves per unit of that one.
type Link = (usize, f64);

/// The roundings in a form that allows fast prediction of the error at a point.
#[derive(Debug)]
pub(super) struct Errors {
    all: Vec<One>,
    links: Vec<Link>,
    /// The error of the result at the middle.
    error: f64,
    /// The part of the error that no rounding explains.
    smooth: f64,
    /// Half the sum of the absolute weights.
    span: f64,
}

impl Errors {
    pub fn new(roundings: &Roundings) -> Self {
        let error = roundings.error;
        let smooth = error - roundings.all.iter().map(|r| r.weight * r.error).sum::<f64>();
        let all = Vec::with_capacity(roundings.all.len());
        let mut me = Self { all, links: Vec::new(), error, smooth, span: 0.0 };
        for (i, r) in roundings.all.iter().enumerate() {
            me.links.extend(r.on[..i].iter().copied().enumerate().filter(|(_, on)| *on != 0.0));
            me.span += 0.5 * r.weight.abs();
            let end = me.links.len();
            me.all.push(One { slope: r.slope, bend: r.bend, error: r.error, weight: r.weight, is_odd: r.is_odd, end });
        }
        me
    }

    /// The predicted error of the result at `k` steps from the middle.
    pub fn at(&self, frame: &Frame, k: Steps) -> f64 {
        let mut error = self.error;
        self.walk(frame, k, |r, there| {
            error += r.weight * (there - r.error);
            true
        });
        error
    }

    /// The predicted error times `sign`; `None` unless it is above `beyond`.
    pub fn above(&self, frame: &Frame, k: Steps, (sign, beyond): (f64, f64)) -> Option<f64> {
        // Upper bound, given the roundings so far.
        let mut most = sign * self.smooth + self.span;
        let is_whole = self.walk(frame, k, |r, there| {
            most += sign * r.weight * there - 0.5 * r.weight.abs();
            most > beyond
        });
        is_whole.then(|| sign * self.at(frame, k)).filter(|error| *error > beyond)
    }

    /// Calls `each` with every rounding and its error at `k`, until it returns false. Returns whether all were visited.
    #[inline]
    fn walk(&self, frame: &Frame, k: Steps, mut each: impl FnMut(&One, f64) -> bool) -> bool {
        let distance = frame.distance(k);
        let mut moved = [0.0; MAX_ROUNDINGS];
        let mut begin = 0;
        for (i, r) in self.all.iter().enumerate() {
            let exact = r.bend * distance * distance + r.slope[1] * k[1] + r.slope[0] * k[0] - r.error;
            let exact = self.links[begin..r.end].iter().fold(exact, |sum, (from, on)| sum + on * moved[*from]);
            begin = r.end;
            moved[i] = to_even(exact, r.is_odd);
            if !each(r, moved[i] - exact) {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extremes::Rounding;

    #[test]
    fn errors_up_to_the_bound_are_none() {
        let mut second = Rounding { error: 0.2, weight: -0.4, slope: [0.3, 0.0], ..Rounding::default() };
        second.on[0] = 0.7;
        let first = Rounding { error: 0.1, weight: 0.8, slope: [0.618_034, 0.0], ..Rounding::default() };
        let errors = Errors::new(&Roundings { error: 0.05, all: vec![first, second], ..Roundings::default() });
        let frame = Frame::neighbours(1e6);
        let mut above = 0;
        for k in (-500..500).map(|k| [f64::from(k), 0.0]) {
            for sign in [1.0, -1.0] {
                let error = sign * errors.at(&frame, k);
                match errors.above(&frame, k, (sign, 0.3)) {
                    Some(same) => assert!(same.to_bits() == error.to_bits() && error > 0.3, "{k:?}: {same}, {error}"),
                    None => assert!(error <= 0.3, "{k:?}: {error}"),
                }
                above += u32::from(error > 0.3);
            }
        }
        assert!((100..1000).contains(&above), "{above}");
        assert_eq!(errors.at(&frame, [0.0; 2]).to_bits(), 0.05f64.to_bits());
    }
}
