//! Clears, sets or rounds away the low `k` bits together.
//!
//! Code tests whether a double is an integer, is even, or is exact in single precision. All of these depend on the
//! number of trailing zeros.

use super::{At, Move};
use crate::view::Kind;

/// Clears, sets or rounds away the low `k` bits of the encoding, for `k` from the width of a float's fraction, or one
/// less than the width of an integer, down to 1. Rounding a finite float may overflow to infinity, and setting bits of
/// an infinity gives a NaN.
#[derive(Debug, Clone, Copy, Default)]
pub struct LowBits;

/// Number of candidates per `k`.
const OPERATIONS: usize = 3;

impl Move for LowBits {
    fn name(&self) -> &'static str {
        "low-bits"
    }

    fn count(&self, at: &At) -> usize {
        OPERATIONS * max_run(at.target().kind) as usize
    }

    fn candidate(&self, at: &At, index: usize) -> u64 {
        let kind = at.target().kind;
        // Long runs first: conditions on integers are more common than conditions on a single trailing zero.
        let k = max_run(kind) - (index / OPERATIONS) as u32;
        let low = (1u64 << k) - 1;
        let raw = at.raw();
        match index % OPERATIONS {
            0 => raw & !low,
            1 => raw | low,
            // Adds half a unit of the last place that stays. A carry into the exponent gives the correctly rounded
            // value, too.
            _ => raw.wrapping_add(1 << (k - 1)) & !low & kind.mask(),
        }
    }
}

/// The greatest `k`.
const fn max_run(kind: Kind) -> u32 {
    if kind.is_float() { kind.fraction_bits() } else { kind.bits() - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moves::testing::candidates;

    #[test]
    fn rounding_finds_the_nearest_integer() {
        let got = candidates(&LowBits, &[(Kind::F64, 6.7f64.to_bits())]);
        assert!(got.contains(&7.0f64.to_bits()) && got.contains(&6.0f64.to_bits()));
    }
}
