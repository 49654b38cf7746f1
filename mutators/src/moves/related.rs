//! Values made from another argument: conditions such as `x == y`, `x < -y` or `x * y == 1` couple two of them.

use super::{At, Move};
use crate::{line, view::Kind};

/// For every other slot: its value, negative, neighbours, reciprocal, double and half, rounded to the kind of this slot.
///
/// Between slots of one kind the bits are copied, so NaN payloads and large integers survive.
#[derive(Debug, Clone, Copy, Default)]
pub struct Related;

/// Ways to use the other value.
const WAYS: usize = 7;

impl Move for Related {
    fn name(&self) -> &'static str {
        "related"
    }

    fn count(&self, at: &At) -> usize {
        if at.target().kind == Kind::Rounding { 0 } else { WAYS * (numbers(at) - 1) }
    }

    fn candidate(&self, at: &At, index: usize) -> u64 {
        let n_others = numbers(at) - 1;
        // Plain copies from every slot first.
        let other = (at.slot + 1 + index % n_others) % numbers(at);
        from_other(at, other, index / n_others)
    }
}

/// Slots that hold numbers: a rounding mode, which is always the last slot, is no relative of any.
fn numbers(at: &At) -> usize {
    at.slots.len() - usize::from(at.slots.last().is_some_and(|slot| slot.kind == Kind::Rounding))
}

/// `way` below [`WAYS`].
fn from_other(at: &At, other: usize, way: usize) -> u64 {
    let kind = at.target().kind;
    let source = at.slots[other];
    let real = source.real(at.x);
    let same = if source.kind == kind { source.get(at.x) } else { kind.from_real(real) };
    let position = line::position(kind, same);
    match way {
        0 => same,
        1 => negated(kind, same),
        2 => line::raw(kind, line::up(kind, position, 1)),
        3 => line::raw(kind, line::down(position, 1)),
        4 => kind.from_real(1.0 / real),
        5 => kind.from_real(real + real),
        _ => kind.from_real(real / 2.0),
    }
}

/// Two's complement for integers; the sign bit for floats (NaN and zeros too).
pub(crate) const fn negated(kind: Kind, raw: u64) -> u64 {
    if kind.is_float() { raw ^ (1 << (kind.bits() - 1)) } else { raw.wrapping_neg() & kind.mask() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moves::testing::candidates;

    #[test]
    fn another_value_comes_plain_negative_inverse_and_next() {
        let got = candidates(&Related, &[(Kind::F64, 0), (Kind::F64, 4.0f64.to_bits())]);
        for want in [4.0f64, -4.0, 0.25, f64::from_bits(4.0f64.to_bits() + 1)] {
            assert!(got.contains(&want.to_bits()), "{want}");
        }
    }

    #[test]
    fn values_are_converted_between_kinds() {
        let got = candidates(&Related, &[(Kind::I32, 0), (Kind::F64, (-3.0f64).to_bits())]);
        assert_eq!(got[0], u64::from((-3i32) as u32));
    }

    #[test]
    fn a_rounding_mode_is_no_relative() {
        let mode = (Kind::Rounding, 3);
        assert!(candidates(&Related, &[(Kind::F64, 0), mode]).is_empty(), "of a number");
        assert_eq!(candidates(&Related, &[(Kind::F64, 0), (Kind::F64, 0), mode]).len(), WAYS, "of two numbers");
        assert!(candidates(&Related, &[mode]).is_empty(), "and has none");
    }

    #[test]
    fn a_single_slot_has_no_relatives() {
        assert!(candidates(&Related, &[(Kind::F64, 0)]).is_empty());
    }
}
