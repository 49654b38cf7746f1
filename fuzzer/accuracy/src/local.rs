//! The reference in a small window of one argument, approximated by a polynomial. A search that stays in a window then
//! evaluates the reference at a few points instead of at each.
//!
//! Over some thousands or millions of neighbouring doubles a smooth function is a polynomial of low degree, to the
//! precision of a `long double`. The fit is checked at points between the nodes; if it is not accurate enough, there is
//! no polynomial.

use penfuzz_mutators::{line, view::Kind};

/// Interpolation nodes: the middle of the window, and approximately those of Chebyshev.
const NODES: [f64; 7] = [0.0, 0.975, -0.975, 0.434, -0.434, 0.782, -0.782];
/// Points at which the polynomial is checked against the reference.
const TRIED: [f64; 6] = [1.0, -1.0, 0.62, -0.62, 0.21, -0.21];
/// Maximum difference at these points, in ulps or as a share of the largest error. A `long double` has errors of a
/// thousandth.
const TOLERANCE: f64 = 1.5e-3;
/// Least biased exponent of results: below it, the inverse of an ulp is no normal number.
const LEAST_EXPONENT: u64 = 64;
/// Greatest biased exponent of finite doubles. Results with it are left to the reference.
const GREATEST_EXPONENT: u64 = 2046;
const FRACTION_BITS: u32 = 52;
const EXPONENT_BIAS: u64 = 1023;

/// A value as the unevaluated sum of a double and a smaller one.
pub type Sum = (f64, f64);

/// A polynomial that replaces the reference in a window.
#[derive(Debug)]
pub struct Local {
    ends: (u64, u64),
    centre: f64,
    /// Inverse of half the width of the window.
    scale: f64,
    /// The value at the centre.
    value: Sum,
    /// Coefficients of Newton's form without the value at the centre, and the nodes of its factors.
    coefficients: [f64; NODES.len() - 1],
    nodes: [f64; NODES.len()],
}

impl Local {
    /// Fits the polynomial between two positions of doubles. `reference` returns the value at a point, if there is one.
    /// Returns `None` if the polynomial differs from the reference by more than [`TOLERANCE`] times `largest` ulps, or
    /// times one ulp if that is more.
    pub fn fit(
        (least, greatest): (u64, u64),
        largest: f64,
        mut reference: impl FnMut(f64) -> Option<Sum>,
    ) -> Option<Self> {
        let at = |p: u64| f64::from_bits(line::raw(Kind::F64, p));
        let (low, centre, high) = (at(least), at(least.midpoint(greatest)), at(greatest));
        // Within a factor of 2, differences of arguments are exact.
        if !(low.is_normal() && high.is_normal() && 2.0 * low.abs() > high.abs() && 2.0 * high.abs() > low.abs())
            || low.is_sign_negative() != high.is_sign_negative()
        {
            return None;
        }
        let half = (high - centre).max(centre - low);
        let value = reference(centre)?;
        let mut me = Self {
            ends: (least, greatest),
            centre,
            scale: 1.0 / half,
            value,
            coefficients: [0.0; NODES.len() - 1],
            nodes: [0.0; NODES.len()],
        };
        let place = |t: f64| t.mul_add(half, centre).clamp(low, high);
        let mut differences = [value.1; NODES.len()];
        for i in 1..NODES.len() {
            let x = place(NODES[i]);
            me.nodes[i] = me.parameter(x);
            differences[i] = me.above_centre(reference(x)?);
        }
        me.divide(differences);
        let is_near = |x: f64, r: Sum| {
            let tolerance = TOLERANCE * largest.max(1.0) / ulps_in_one(r.0)?;
            Some((me.above_centre(r) - me.polynomial(x)).abs() <= tolerance)
        };
        let is_near = |t: f64| reference(place(t)).and_then(|r| is_near(place(t), r)).unwrap_or(false);
        TRIED.into_iter().all(is_near).then_some(me)
    }

    /// Returns the positions between which the polynomial holds, inclusive.
    #[must_use]
    pub const fn ends(&self) -> (u64, u64) {
        self.ends
    }

    /// Returns the error of the result `y` at `x` in the window, in ulps, positive if `y` is too large; `None` if only
    /// the reference itself can decide.
    #[inline]
    #[must_use]
    pub fn ulps(&self, x: f64, y: f64) -> Option<f64> {
        let above = self.polynomial(x);
        let scale = ulps_in_one(self.value.0 + above)?;
        let error = ((y - self.value.0) - above) * scale;
        error.is_finite().then_some(error)
    }

    /// Returns the position of `x` in the window, from -1 to 1.
    fn parameter(&self, x: f64) -> f64 {
        (x - self.centre) * self.scale
    }

    /// Returns a value minus the double at the centre.
    fn above_centre(&self, r: Sum) -> f64 {
        (r.0 - self.value.0) + r.1
    }

    /// Evaluates the polynomial: the value at `x` minus the double at the centre.
    #[inline]
    fn polynomial(&self, x: f64) -> f64 {
        let t = self.parameter(x);
        let factors = self.coefficients.iter().zip(&self.nodes).rev();
        let sum = factors.fold(0.0, |sum, (c, node)| (sum + c) * (t - node));
        sum + self.value.1
    }

    /// Computes Newton's divided differences of the values at the nodes.
    fn divide(&mut self, values: [f64; NODES.len()]) {
        let mut d = values;
        for order in 1..d.len() {
            for i in (order..d.len()).rev() {
                d[i] = (d[i] - d[i - 1]) / (self.nodes[i] - self.nodes[i - order]);
            }
            self.coefficients[order - 1] = d[order];
        }
    }
}

/// Returns the inverse of the ulp in the binade of `r`. `None` if the exact value may lie in another binade, and for
/// results outside of the exponents above.
#[inline]
fn ulps_in_one(r: f64) -> Option<f64> {
    let exponent = r.to_bits() >> FRACTION_BITS & 0x7ff;
    let is_power = r.to_bits() << (64 - FRACTION_BITS) == 0;
    let is_in_range = (LEAST_EXPONENT..GREATEST_EXPONENT).contains(&exponent);
    let inverse = 2 * EXPONENT_BIAS + u64::from(FRACTION_BITS) - exponent;
    (is_in_range && !is_power).then(|| f64::from_bits(inverse << FRACTION_BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a window with `half` positions on each side of `x`.
    fn window(x: f64, half: u64) -> (u64, u64) {
        let p = line::position(Kind::F64, x.to_bits());
        (p - half, p + half)
    }

    /// Returns `x²` exactly.
    fn square(x: f64) -> Sum {
        (x * x, x.mul_add(x, -(x * x)))
    }

    #[test]
    fn errors_of_a_polynomial_are_those_of_the_function() {
        for (x, half) in [(1.3, 1 << 14), (-1.7e9, 1 << 24), (3.1e-20, 1 << 32)] {
            let local = Local::fit(window(x, half), 0.5, |x| Some(square(x))).expect("a polynomial");
            for k in 0..1000 {
                let p = local.ends().0 + k * (2 * half / 1000);
                let x = f64::from_bits(line::raw(Kind::F64, p));
                let (y, rest) = square(x);
                for (wrong, n) in [(y, 0), (f64::from_bits(y.to_bits() + 3), 3)] {
                    let scale = ulps_in_one(y).expect("a normal number");
                    let exact = (f64::from(n) - rest * scale).abs();
                    let found = local.ulps(x, wrong).expect("an error").abs();
                    assert!((exact - found).abs() < 1e-5, "{x:e}: {found} in place of {exact}");
                }
            }
        }
    }

    #[test]
    fn there_is_no_polynomial_across_a_jump_a_pole_or_zero() {
        let ends = window(1.5, 1 << 20);
        assert!(Local::fit(ends, 0.5, |x| Some((if x < 1.5 { 1.25 } else { 1.25f64.next_up() }, 0.0))).is_none());
        assert!(Local::fit(ends, 0.5, |x| (x < 1.5).then(|| square(x))).is_none());
        assert!(Local::fit(window(f64::MIN_POSITIVE, 1 << 20), 0.5, |x| Some(square(x))).is_none());
        let zero = line::position(Kind::F64, 0);
        assert!(Local::fit((zero - 1000, zero + 1000), 0.5, |x| Some(square(x))).is_none());
    }

    #[test]
    fn no_polynomial_error_at_powers_of_two() {
        let local = Local::fit(window(1.5, 1 << 10), 0.5, |x| Some((x - 0.5, 0.0))).expect("a polynomial");
        assert_eq!(local.ulps(1.5, 1.0), None);
        assert_eq!(local.ulps(1.5f64.next_up(), 1.0), Some(-1.0));
        assert_eq!(local.ulps(1.5f64.next_down(), 1.0), Some(2.0));
        assert_eq!(local.ulps(1.5f64.next_up(), f64::NAN), None);
        assert_eq!(local.ulps(1.5f64.next_up(), f64::INFINITY), None);
    }
}
