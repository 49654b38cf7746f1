//! Branch distances: how far two operands are from making a comparison hold.
//!
//! Reference implementations in plain Rust, for tests and for objectives that are computed outside the target; the pen
//! hooks compute the same in the target. Two measures, see [`Metric`](crate::evaluate::Metric):
//!
//! * [`squared`]: CoverMe, Def. 4.1, on doubles: `(a - b)^2`, plus [`EPSILON`] where equality does not satisfy.
//! * [`exact_float`] and [`exact_integer`]: unsigned integers, the number of values that one operand has to pass.
//!
//! All are 0 iff the relation holds, for every operand, NaN included.

/// Def. 4.1's `epsilon`: added where equality of the operands does not satisfy the relation.
pub const EPSILON: f64 = 1e-6;

/// The relation that is wanted of `a` and `b`. Ordered, so every one but `Ne` is false when an operand is NaN.
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
    /// Every relation.
    pub const ALL: [Self; 6] = [Self::Eq, Self::Ne, Self::Lt, Self::Le, Self::Gt, Self::Ge];

    /// Whether it holds, as C has it: `-0 == 0`, and with a NaN only `!=` holds.
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

    const fn is_strict(self) -> bool {
        matches!(self, Self::Ne | Self::Lt | Self::Gt)
    }
}

/// Def. 4.1: 0 iff the relation holds, else `(a - b)^2`, plus [`EPSILON`] for `!=`, `<` and `>`.
///
/// Never NaN: where the difference has no value (a NaN, infinities of one sign) it is infinity. Where the square
/// underflows, the smallest positive double stands for it, so that no false zero arises.
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

/// Number of doubles that one operand has to pass until the relation holds; 0 iff it holds. At least 1 otherwise.
///
/// Both zeros are one value. NaN is the region beyond the infinity of its sign: an ordered relation with a NaN is at
/// least as far as the way out of that region, and never 0. Saturates below `u64::MAX`, which means "not reached".
#[must_use]
pub fn exact_float(relation: Relation, a: f64, b: f64) -> u64 {
    if relation.holds(&a, &b) {
        return 0;
    }
    let outside = beyond_infinity(a).max(beyond_infinity(b));
    exact_line(relation, signed_position(a), signed_position(b)).max(outside).min(u64::MAX - 1)
}

/// Distance to `isnan(a)`: 0 iff `a` is NaN, else the number of doubles up to the nearest one.
#[must_use]
pub fn exact_nan(a: f64) -> u64 {
    if a.is_nan() { 0 } else { FIRST_NAN - magnitude(a) }
}

/// Integer difference until the relation holds; 0 iff it holds, at least 1 otherwise. For unsigned operands too: any
/// 64-bit integer fits in `i128`.
#[must_use]
pub fn exact_integer(relation: Relation, a: i128, b: i128) -> u64 {
    exact_line(relation, a, b).min(u64::MAX - 1)
}

/// Position of the first NaN above +infinity, counted from zero.
const FIRST_NAN: u64 = 0x7ff0_0000_0000_0001;

const fn magnitude(x: f64) -> u64 {
    x.to_bits() & (u64::MAX >> 1)
}

/// Doubles on one line with both zeros at 0 and each NaN beyond the infinity of its sign.
fn signed_position(x: f64) -> i128 {
    let m = i128::from(magnitude(x));
    if x.is_sign_negative() { -m } else { m }
}

/// How many doubles deep in the NaN region; 0 for anything else.
const fn beyond_infinity(x: f64) -> u64 {
    (magnitude(x) + 1).saturating_sub(FIRST_NAN)
}

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
    fn squared_is_never_nan() {
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
