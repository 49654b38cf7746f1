//! Arithmetic on one number of a point.

use libafl_bolts::rands::Rand;

use crate::{
    line,
    view::{Kind, Slot},
};

/// Whether a search can change the number: a rounding mode has no size.
pub(super) const fn can_be_searched(slot: Slot) -> bool {
    !matches!(slot.kind, Kind::Rounding)
}

/// The magnitude of the number; 1 if it is 0, NaN or infinite.
pub(super) fn size(slot: Slot, x: &[u8]) -> f64 {
    let real = slot.real(x).abs();
    if !real.is_finite() || real == 0.0 {
        1.0
    } else if slot.kind.is_float() {
        real
    } else {
        real.max(1.0)
    }
}

/// `after` minus `before`; for integers modulo the range, as a signed number.
pub(super) fn difference(slot: Slot, before: &[u8], after: &[u8]) -> f64 {
    if slot.kind.is_float() {
        return slot.real(after) - slot.real(before);
    }
    let shift = 64 - slot.kind.bits();
    let steps = (slot.get(after) << shift).wrapping_sub(slot.get(before) << shift) as i64 >> shift;
    steps as f64
}

/// Adds a real number. For an integer it is rounded to nearest, and the sum wraps around. Returns whether the number
/// changed.
pub(super) fn add(slot: Slot, x: &mut [u8], step: f64) -> bool {
    let old = slot.get(x);
    if slot.kind.is_float() {
        slot.set_real(x, slot.real(x) + step);
    } else {
        slot.set(x, old.wrapping_add(step.round() as i128 as u64));
    }
    slot.get(x) != old
}

/// Moves the number by 1 to `2^bits` steps on the ULP line, in a random direction.
pub(super) fn jiggle<R: Rand>(slot: Slot, x: &mut [u8], bits: u32, rng: &mut R) {
    let steps = 1 + (rng.next() >> (64 - bits.clamp(1, 63)));
    let position = line::step(slot.kind, slot.position(x), rng.coinflip(0.5), steps);
    slot.set_position(x, position);
}

/// Rounds to a multiple of `unit`, unless that is not finite.
pub(super) fn round(slot: Slot, x: &mut [u8], unit: f64) {
    let real = slot.real(x);
    let rounded = (real / unit).round() * unit;
    if rounded.is_finite() {
        slot.set_real(x, rounded);
    }
}
