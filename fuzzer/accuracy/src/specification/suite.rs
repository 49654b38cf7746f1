//! The tests of a specification as expectations of an implementation: what it may return at a point, and which fault a
//! wrong result has.

use rug::{Float, float::Round};
use serde::Serialize;

use crate::enclosure::interval::Interval;

/// What is expected at a point.
#[derive(Debug, Clone, Serialize)]
pub struct Expectation {
    /// The arguments.
    pub point: Vec<f64>,
    /// The least and the greatest result that is allowed; `None` outside of the domain.
    pub allowed: Option<(f64, f64)>,
    /// The mutants that the point kills.
    pub kills: Vec<Kill>,
}

/// A mutant that is killed at a point.
#[derive(Debug, Clone, Serialize)]
pub struct Kill {
    /// Its kind.
    pub class: &'static str,
    /// The change as text.
    pub change: String,
    /// The least and the greatest result that an implementation with this fault may return; `None` if that cannot be
    /// told from a correct one, or if it has no value.
    pub results: Option<(f64, f64)>,
}

/// Returns the least and the greatest number in `value`·(1 ± `accuracy`), rounded outward, so that no correct result is
/// excluded.
pub(super) fn allowed(value: &Interval, accuracy: f64) -> (f64, f64) {
    let bits = value.low.prec();
    let moved = |end: &Float, factor: f64| Float::with_val(bits, end * Float::with_val(bits, 1.0 + factor));
    let (below, above) = (-accuracy, accuracy);
    // For a negative number, the end of larger magnitude is the lower one.
    let low = if value.low < 0.0 { moved(&value.low, above) } else { moved(&value.low, below) };
    let high = if value.high < 0.0 { moved(&value.high, below) } else { moved(&value.high, above) };
    (low.to_f64_round(Round::Down), high.to_f64_round(Round::Up))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correct_results_are_allowed_for_each_sign() {
        let of = |low: f64, high: f64| {
            let value = Interval { low: Float::with_val(100, low), high: Float::with_val(100, high) };
            allowed(&value, 1e-3)
        };
        let near = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-12 && (b - d).abs() < 1e-12;
        assert!(near(of(2.0, 2.0), (1.998, 2.002)), "{:?}", of(2.0, 2.0));
        assert!(near(of(-2.0, -1.0), (-2.002, -0.999)), "{:?}", of(-2.0, -1.0));
        assert_eq!(of(0.0, 0.0), (0.0, 0.0));
    }
}
