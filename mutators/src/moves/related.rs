//! Values derived from another argument, because conditions such as `x == y`, `x < -y` or `x * y == 1` relate two of
//! them.

use super::{At, Move};
use crate::{line, view::Kind};

/// Replaces the number by the value of another slot, or by its negative, one of its two neighbours on the ULP line, its
/// reciprocal, its double or its half.
///
/// Values of another kind are converted through a double by [`Kind::from_real`]. Between slots of one kind the bits are
/// copied, so NaN payloads and large integers are kept. A rounding mode neither has candidates nor is used for any.
#[derive(Debug, Clone, Copy, Default)]
pub struct Related;

/// Number of candidates per other slot.
const DERIVATIONS: usize = 7;

impl Move for Related {
    fn name(&self) -> &'static str {
        "related"
    }

    fn count(&self, at: &At) -> usize {
        if at.target().kind == Kind::Rounding { 0 } else { DERIVATIONS * (numbers(at) - 1) }
    }

    fn candidate(&self, at: &At, index: usize) -> u64 {
        let n_others = numbers(at) - 1;
        // Copies of every other slot come before all other derivations.
        from_other(at, other(at, index % n_others), index / n_others)
    }
}

/// Maximum number of slots in use: for larger layouts, the first ones and those after the slot to replace. An array of
/// hundreds of elements would otherwise have hundreds of thousands of candidates.
const MAX_SLOTS: usize = 24;

/// Number of slots in use, without the rounding mode, which is the last slot if there is one.
fn numbers(at: &At) -> usize {
    all_numbers(at).min(MAX_SLOTS)
}

fn all_numbers(at: &At) -> usize {
    at.slots.len() - usize::from(at.slots.last().is_some_and(|slot| slot.kind == Kind::Rounding))
}

/// Index of the slot from which candidate `index` is derived.
fn other(at: &At, index: usize) -> usize {
    let all = all_numbers(at);
    if all <= MAX_SLOTS || index.is_multiple_of(2) {
        let behind = if all <= MAX_SLOTS { index } else { index / 2 };
        return (at.slot + 1 + behind) % all;
    }
    index / 2
}

/// The candidate that derivation number `derivation` gives for the slot number `other`.
fn from_other(at: &At, other: usize, derivation: usize) -> u64 {
    let kind = at.target().kind;
    let source = at.slots[other];
    let real = source.real(at.x);
    let same = if source.kind == kind { source.get(at.x) } else { kind.from_real(real) };
    let position = line::position(kind, same);
    match derivation {
        0 => same,
        1 => negated(kind, same),
        2 => line::raw(kind, line::up(kind, position, 1)),
        3 => line::raw(kind, line::down(position, 1)),
        4 => kind.from_real(1.0 / real),
        5 => kind.from_real(real + real),
        _ => kind.from_real(real / 2.0),
    }
}

/// The raw bits of the negative: two's complement for integers, the other sign bit for floats, NaN and zeros included.
pub(crate) const fn negated(kind: Kind, raw: u64) -> u64 {
    if kind.is_float() { raw ^ (1 << (kind.bits() - 1)) } else { raw.wrapping_neg() & kind.mask() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moves::testing::candidates;

    #[test]
    fn another_value_gives_itself_its_negative_reciprocal_and_neighbour() {
        let got = candidates(&Related, &[(Kind::F64, 0), (Kind::F64, 4.0f64.to_bits())]);
        for expected in [4.0f64, -4.0, 0.25, f64::from_bits(4.0f64.to_bits() + 1)] {
            assert!(got.contains(&expected.to_bits()), "{expected}");
        }
    }

    #[test]
    fn values_are_converted_between_kinds() {
        let got = candidates(&Related, &[(Kind::I32, 0), (Kind::F64, (-3.0f64).to_bits())]);
        assert_eq!(got[0], u64::from((-3i32) as u32));
    }

    #[test]
    fn a_rounding_mode_is_related_to_nothing() {
        let mode = (Kind::Rounding, 3);
        assert!(candidates(&Related, &[(Kind::F64, 0), mode]).is_empty(), "of a number");
        assert_eq!(candidates(&Related, &[(Kind::F64, 0), (Kind::F64, 0), mode]).len(), DERIVATIONS, "of two numbers");
        assert!(candidates(&Related, &[mode]).is_empty(), "of the mode");
    }

    #[test]
    fn a_single_slot_has_no_candidates() {
        assert!(candidates(&Related, &[(Kind::F64, 0)]).is_empty());
    }
}
