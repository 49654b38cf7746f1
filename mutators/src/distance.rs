//! Branch distances: how far two operands are from satisfying a comparison.
//!
//! Reference implementations in Rust, for tests and for representing functions that are computed outside the target.
//! The pen hooks compute the same values in the target. There are two measures, see
//! [`Metric`](crate::evaluate::Metric):
//!
//! * [`squared`]: a double (CoverMe, Def. 4.1): `(a - b)^2`, plus [`EPSILON`] for relations that equal operands
//!   violate.
//! * [`exact_float`], [`exact_nan`] and [`exact_integer`]: an unsigned integer, the number of values that one operand
//!   has to pass.
//!
//! Each is 0 iff the relation holds, for all operands, NaN included.
//!
//! # Example
//! ```
//! use penfuzz_mutators::distance::{Relation, exact_float, squared};
//!
//! assert_eq!(exact_float(Relation::Eq, 1.0, 1.0 + f64::EPSILON), 1);
//! assert_eq!(exact_float(Relation::Lt, 2.0, 2.0), 1);
//! assert_eq!(squared(Relation::Le, 3.0, 1.0), 4.0);
//! assert_eq!(squared(Relation::Ne, f64::NAN, f64::NAN), 0.0);
//! ```

/// `epsilon` of CoverMe, Def. 4.1: added for the relations `!=`, `<` and `>`, which equal operands violate.
pub const EPSILON: f64 = 1e-6;

/// A comparison of `a` with `b` as in C: with a NaN operand, `Ne` holds and no other relation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
}

impl Relation {
    /// All relations.
    pub const ALL: [Self; 6] = [Self::Eq, Self::Ne, Self::Lt, Self::Le, Self::Gt, Self::Ge];

    /// Whether the relation holds for `a` and `b`, as in C: `-0 == 0`, and with a NaN only `!=` holds.
    #[must_use]
    pub fn holds<T: PartialOrd>(self, a: &T, b: &T) -> bool {
        match self {
            Self::Eq => a == b,
            Self::Ne => a != b,
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
        }
    }

    /// Whether equal operands violate the relation.
    const fn is_strict(self) -> bool {
        matches!(self, Self::Ne | Self::Lt | Self::Gt)
    }
}

/// The distance of CoverMe, Def. 4.1: 0 iff the relation holds, else `(a - b)^2`, plus [`EPSILON`] for `!=`, `<` and
/// `>`.
///
/// The result is at least 0 and never NaN. Where the relation does not hold, it is infinity if an operand is NaN, if
/// just one is an infinity, if they are infinities of different signs, or if the square overflows; and [`EPSILON`] if
/// the operands are equal (-0 equals +0, and an infinity itself). A square that underflows is replaced by the smallest
/// positive double, because 0 means that the relation holds.
#[must_use]
pub fn squared(relation: Relation, a: f64, b: f64) -> f64 {
    if relation.holds(&a, &b) {
        return 0.0;
    }
    let epsilon = if relation.is_strict() { EPSILON } else { 0.0 };
    if a == b {
        return epsilon;
    }
    let square = (a - b) * (a - b) + epsilon;
    if square.is_nan() { f64::INFINITY } else { square.max(f64::from_bits(1)) }
}

/// Number of doubles that one operand has to pass until the relation holds; 0 iff it holds.
///
/// -0 and +0 count as one value. A NaN lies beyond the infinity of its sign, as deep as the integer of its payload.
/// Where an operand is NaN, the distance is at least the number of doubles to that infinity. Saturates at `u64::MAX -
/// 1`, because `u64::MAX` means that the site was not reached.
#[must_use]
pub fn exact_float(relation: Relation, a: f64, b: f64) -> u64 {
    if relation.holds(&a, &b) {
        return 0;
    }
    let outside = beyond_infinity(a).max(beyond_infinity(b));
    exact_line(relation, signed_position(a), signed_position(b)).max(outside).min(u64::MAX - 1)
}

/// Distance to `isnan(a)`: 0 iff `a` is NaN, else the number of doubles to the nearest NaN of the same sign; 1 for an
/// infinity.
#[must_use]
pub fn exact_nan(a: f64) -> u64 {
    if a.is_nan() { 0 } else { FIRST_NAN - magnitude(a) }
}

/// Number of integers that one operand has to pass until the relation holds; 0 iff it holds.
///
/// The operands are 64-bit integers of either signedness, extended to `i128`. Saturates at `u64::MAX - 1`.
#[must_use]
pub fn exact_integer(relation: Relation, a: i128, b: i128) -> u64 {
    exact_line(relation, a, b).min(u64::MAX - 1)
}

/// [`magnitude`] of the NaN next to infinity.
const FIRST_NAN: u64 = 0x7ff0_0000_0000_0001;

/// Number of doubles between 0 and `|x|`.
const fn magnitude(x: f64) -> u64 {
    x.to_bits() & (u64::MAX >> 1)
}

/// Position among the doubles, with both zeros at 0 and each NaN beyond the infinity of its sign.
fn signed_position(x: f64) -> i128 {
    let m = i128::from(magnitude(x));
    if x.is_sign_negative() { -m } else { m }
}

/// Number of doubles from a NaN to the infinity of its sign; 0 for other values.
const fn beyond_infinity(x: f64) -> u64 {
    (magnitude(x) + 1).saturating_sub(FIRST_NAN)
}

/// Number of integers that `a` or `b` has to pass until the relation holds; saturates.
fn exact_line(relation: Relation, a: i128, b: i128) -> u64 {
    if relation.holds(&a, &b) {
        return 0;
    }
    let gap = a.abs_diff(b) + u128::from(relation.is_strict());
    u64::try_from(gap).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squared_is_epsilon_for_equal_infinities_and_infinity_for_nan() {
        let inf = f64::INFINITY;
        assert_eq!([squared(Relation::Lt, inf, inf), squared(Relation::Eq, f64::NAN, 1.0)], [EPSILON, inf]);
    }

    #[test]
    fn infinity_is_one_step_from_nan() {
        assert_eq!((exact_nan(f64::INFINITY), exact_nan(f64::NAN)), (1, 0));
    }

    #[test]
    fn integers_of_full_width_do_not_overflow() {
        let (low, high) = (i128::from(i64::MIN), i128::from(u64::MAX));
        assert_eq!(exact_integer(Relation::Gt, low, high), u64::MAX - 1);
    }
}
