//! Values computed from the present one: its negative, reciprocal, double, half, square or rounding, or with another
//! exponent. Neither steps on the ULP line nor bit flips reach most of them at once.

use super::{At, Move, related::negated};
use crate::view::Kind;

/// Replaces the number by its negative, its integer rounding (for integers: its complement), reciprocal, double, half
/// or square, and a float also by values of the same fraction with 12 other exponents.
///
/// The arithmetic is that of doubles, the result converted by [`Kind::from_real`]; so a zero has an infinite
/// reciprocal, and a NaN stays NaN. A `Bool` has one candidate, its negation; a `Rounding` has none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reform;

/// Number of candidates that floats and integers have in common.
const COMMON: usize = 6;

/// Binary exponents to combine with the present fraction: near 0, at the ends of exact integers and exact products, and
/// near the limits of the range.
const EXPONENTS: [i32; 12] = [0, -1, 1, -27, 52, 30, -53, 62, 120, -120, 1000, -1000];

impl Move for Reform {
    fn name(&self) -> &'static str {
        "reform"
    }

    fn count(&self, at: &At) -> usize {
        match at.target().kind {
            Kind::Bool => 1,
            Kind::Rounding => 0,
            Kind::F32 | Kind::F64 => COMMON + EXPONENTS.len(),
            _ => COMMON,
        }
    }

    fn candidate(&self, at: &At, index: usize) -> u64 {
        let kind = at.target().kind;
        let raw = at.raw();
        let real = kind.to_real(raw);
        match index {
            _ if kind == Kind::Bool => raw ^ 1,
            0 => negated(kind, raw),
            1 if kind.is_float() => kind.from_real(real.round()),
            1 => !raw & kind.mask(),
            2 => kind.from_real(1.0 / real),
            3 => kind.from_real(real + real),
            4 => kind.from_real(real / 2.0),
            5 => kind.from_real(real * real),
            _ => with_exponent(kind, raw, EXPONENTS[index - COMMON]),
        }
    }
}

/// The raw bits with another binary exponent. It is clamped to the exponents of normal numbers, so -1000 gives a small
/// normal `F32`.
fn with_exponent(kind: Kind, raw: u64, exponent: i32) -> u64 {
    let fraction_bits = kind.fraction_bits();
    let exponent_bits = kind.bits() - 1 - fraction_bits;
    let bias = (1i32 << (exponent_bits - 1)) - 1;
    let biased = (exponent + bias).clamp(1, 2 * bias) as u64;
    let field = ((1u64 << exponent_bits) - 1) << fraction_bits;
    raw & !field | biased << fraction_bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moves::testing::candidates;

    #[test]
    fn the_negative_comes_first() {
        assert_eq!(candidates(&Reform, &[(Kind::F64, 2.0f64.to_bits())])[0], (-2.0f64).to_bits());
    }

    #[test]
    fn an_exponent_keeps_sign_and_fraction() {
        assert_eq!(with_exponent(Kind::F64, (-6.0f64).to_bits(), 0), (-1.5f64).to_bits());
    }
}
