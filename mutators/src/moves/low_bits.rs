//! The low `k` bits at once: cleared, set, or rounded away.
//!
//! Code asks whether a double is an integer, even, or exact in single precision; all of these are about trailing zeros.

use super::{At, Move};
use crate::view::Kind;

/// Clears, sets or rounds the low `k` bits, for `k` from 1 to the width of the fraction (or one less than an integer's).
#[derive(Debug, Clone, Copy, Default)]
pub struct LowBits;

/// Ways to treat the bits.
const WAYS: usize = 3;

impl Move for LowBits {
    fn name(&self) -> &'static str {
        "low-bits"
    }

    fn count(&self, at: &At) -> usize {
        WAYS * longest(at.target().kind) as usize
    }

    fn candidate(&self, at: &At, index: usize) -> u64 {
        let kind = at.target().kind;
        // Long runs first: whole numbers are more common than numbers with just one trailing zero.
        let k = longest(kind) - (index / WAYS) as u32;
        let low = (1u64 << k) - 1;
        let raw = at.raw();
        match index % WAYS {
            0 => raw & !low,
            1 => raw | low,
            // Half of the last place kept; may carry into the exponent, which is the right rounding.
            _ => raw.wrapping_add(1 << (k - 1)) & !low & kind.mask(),
        }
    }
}

const fn longest(kind: Kind) -> u32 {
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
