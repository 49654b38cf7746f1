//! The ULP line: every value of a kind as a point on one ordered line of integers.
//!
//! Searches step along this line, not along the reals: one step is the next representable value, a step of `2^52` (for
//! doubles) the next binade, and no step is lost to rounding. Positions lie in `[0, 2^bits)`.
//!
//! Floats, from the lowest position: negative NaN (large payloads first), -infinity, finite negative values, -0 directly
//! below +0, finite positive values, +infinity, positive NaN. Integers stand in their own order.

use crate::view::Kind;

const fn sign_bit(kind: Kind) -> u64 {
    1 << (kind.bits() - 1)
}

/// The position of raw bits; order-preserving, see the module. Bits beyond the kind's width are ignored.
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

/// The raw bits at a position: the inverse of [`position`]. Positions beyond the end are cut to the kind's width.
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

/// The position `steps` above, at most the last one.
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

/// The position `steps` above or below.
#[must_use]
pub const fn step(kind: Kind, position: u64, rising: bool, steps: u64) -> u64 {
    if rising { up(kind, position, steps) } else { down(position, steps) }
}

/// Number of steps between two values.
///
/// One between -0 and +0, unlike the [distances](crate::distance): a branch sees them equal, a search steps over both.
#[must_use]
pub const fn between(kind: Kind, a: u64, b: u64) -> u64 {
    position(kind, a).abs_diff(position(kind, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_stand_in_the_promised_order() {
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
    fn zeros_are_neighbours() {
        assert_eq!(between(Kind::F64, 0.0f64.to_bits(), (-0.0f64).to_bits()), 1);
    }
}
