//! Where an attempt at a branch begins, and along what it goes.

use libafl_bolts::rands::Rand;

/// Where an attempt begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The input that came closest so far.
    Closest,
    /// Some kept or pending input.
    Known,
    /// The closest input, and from there along the approach level.
    Approach,
    /// A new point from which first a way to the target's site is searched.
    ViaParent,
    /// A new point.
    Fresh,
}

impl Start {
    /// At first the closest input; later others in turn with it, since it may be stuck.
    pub(super) fn of_attempt<R: Rand>(attempt: u32, rng: &mut R) -> Self {
        match if attempt == 0 { 0 } else { rng.next() % 8 } {
            0 | 1 => Self::Closest,
            2 => Self::Known,
            3 | 4 => Self::ViaParent,
            5 | 6 => Self::Approach,
            _ => Self::Fresh,
        }
    }
}
