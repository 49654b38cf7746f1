//! The ULP line: the values of a kind numbered in their order (ULP: unit in the last place).
//!
//! Searches step along this line and not along the reals, because no step is lost to rounding: one step leads to the
//! next representable value, and `2^52` steps to the same fraction in the next binade (for doubles).
//!
//! Positions are in `[0, 2^bits)`. The order of floats, from position 0: negative NaN (large payloads first),
//! -infinity, finite negative values, -0 directly below +0, finite positive values, +infinity, positive NaN (small
//! payloads first). The order of integers is their numerical one.
//!
//! # Example
//! ```
//! use penfuzz_mutators::{line, view::Kind};
//!
//! let one = line::position(Kind::F64, 1.0f64.to_bits());
//! assert_eq!(line::raw(Kind::F64, one + 1), (1.0 + f64::EPSILON).to_bits());
//! assert_eq!(line::between(Kind::F64, 1.0f64.to_bits(), 2.0f64.to_bits()), 1 << 52);
//! ```

use crate::kind::Kind;

/// The topmost bit of the kind.
const fn sign_bit(kind: Kind) -> u64 {
    1 << (kind.bits() - 1)
}

/// The position of raw bits, in the order of the values. Bits beyond the kind's width are ignored.
#[must_use]
pub const fn position(kind: Kind, raw: u64) -> u64 {
    let raw = raw & kind.mask();
    let sign = sign_bit(kind);
    match kind {
        Kind::F32 | Kind::F64 if raw & sign != 0 => !raw & kind.mask(),
        _ if kind.is_signed() => raw ^ sign,
        _ => raw,
    }
}

/// The raw bits at a position: the inverse of [`position`]. Bits beyond the kind's width are ignored.
#[must_use]
pub const fn raw(kind: Kind, position: u64) -> u64 {
    let position = position & kind.mask();
    let sign = sign_bit(kind);
    match kind {
        Kind::F32 | Kind::F64 if position & sign == 0 => !position & kind.mask(),
        _ if kind.is_signed() => position ^ sign,
        _ => position,
    }
}

/// The position `steps` above, at most the last one of the kind.
#[must_use]
pub const fn up(kind: Kind, position: u64, steps: u64) -> u64 {
    let sum = position.saturating_add(steps);
    if sum > kind.mask() { kind.mask() } else { sum }
}

/// The position `steps` below, at least 0.
#[must_use]
pub const fn down(position: u64, steps: u64) -> u64 {
    position.saturating_sub(steps)
}

/// The position `steps` above ([`up`]) or below ([`down`]).
#[must_use]
pub const fn step(kind: Kind, position: u64, rising: bool, steps: u64) -> u64 {
    if rising { up(kind, position, steps) } else { down(position, steps) }
}

/// Number of steps between two values, given as raw bits.
///
/// -0 and +0 are one step apart here, because a search steps over both. Their [distance](crate::distance) is 0, because
/// a comparison does not distinguish them.
#[must_use]
pub const fn between(kind: Kind, a: u64, b: u64) -> u64 {
    position(kind, a).abs_diff(position(kind, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_the_documented_order() {
        let values = [
            0xffff_ffff_ffff_ffff, // the largest negative NaN
            0xfff0_0000_0000_0001,
            f64::NEG_INFINITY.to_bits(),
            f64::MIN.to_bits(),
            (-1.0f64).to_bits(),
            0x8000_0000_0000_0001,
            (-0.0f64).to_bits(),
            0.0f64.to_bits(),
            1,
            1.0f64.to_bits(),
            f64::INFINITY.to_bits(),
            f64::INFINITY.to_bits() + 1,
            0x7fff_ffff_ffff_ffff,
        ];
        let positions = values.map(|v| position(Kind::F64, v));
        assert!(positions.is_sorted_by(|a, b| a < b), "{positions:x?}");
    }

    #[test]
    fn the_zeros_are_one_step_apart() {
        assert_eq!(between(Kind::F64, 0.0f64.to_bits(), (-0.0f64).to_bits()), 1);
    }
}
