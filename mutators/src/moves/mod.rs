//! Alternating-variable moves: one number of a point is replaced, all others stay (DESIGN decision 10).
//!
//! Each kind of move is an enumerable list of candidates at a point, so that searches may go through it systematically
//! and mutators may draw from it. A new move is a new file and one line in [`MOVES`].

mod bit_flip;
mod constant;
mod low_bits;
mod reform;
mod related;
mod ulp_step;

use libafl_bolts::rands::Rand;

pub(crate) use self::related::negated;
pub use self::{
    bit_flip::BitFlip,
    constant::{Harvested, Special},
    low_bits::LowBits,
    reform::Reform,
    related::Related,
    ulp_step::UlpStep,
};
use crate::{
    dictionary::Dictionary,
    view::{Layout, Slot},
};

/// Where a move starts: a point, one of its slots, and what is known about the program.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The point; at least as long as the end of every slot used.
    pub x: &'a [u8],
    /// Slots that lie within the point.
    pub slots: &'a [Slot],
    /// Index of the slot to replace.
    pub slot: usize,
    /// Constants and special values.
    pub dictionary: &'a Dictionary,
}

impl<'a> At<'a> {
    /// At slot number `slot` of a whole point.
    #[must_use]
    pub fn new(x: &'a [u8], layout: &'a Layout, slot: usize, dictionary: &'a Dictionary) -> Self {
        Self { x, slots: layout.slots(), slot, dictionary }
    }

    /// The slot to replace.
    #[must_use]
    pub fn target(&self) -> Slot {
        self.slots[self.slot]
    }

    /// Raw bits that it holds now.
    #[must_use]
    pub fn raw(&self) -> u64 {
        self.target().get(self.x)
    }
}

/// A list of replacements for the raw bits of one slot. Allocation-free.
pub trait Move: Sync {
    /// For tables and for the names of mutators.
    fn name(&self) -> &'static str;

    /// Number of candidates at this place; may be 0.
    fn count(&self, at: &At) -> usize;

    /// Candidate number `index`, below [`count`](Self::count), as raw bits of the slot's kind. May equal the present bits.
    fn candidate(&self, at: &At, index: usize) -> u64;
}

/// Every move. Searches go through the lists in turn, so short ones come to their end early.
pub static MOVES: &[&dyn Move] = &[&Reform, &Harvested, &Special, &Related, &BitFlip, &LowBits, &UlpStep];

/// One candidate of one move, each non-empty list being equally likely; the present bits when all lists are empty.
pub fn random_candidate<R: Rand>(rng: &mut R, at: &At) -> u64 {
    // A slot always has bit flips, so this ends.
    for _ in 0..8 {
        let choice = MOVES[rng.below_or_zero(MOVES.len())];
        let count = choice.count(at);
        if count > 0 {
            return choice.candidate(at, rng.below_or_zero(count));
        }
    }
    at.raw()
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::view::Kind;

    /// All candidates of a move at the first of the given slots.
    pub(crate) fn candidates(tested: &dyn Move, slots: &[(Kind, u64)]) -> Vec<u64> {
        let kinds: Vec<Kind> = slots.iter().map(|s| s.0).collect();
        let layout = Layout::packed(&kinds);
        let mut x = vec![0; layout.size()];
        for (slot, &(_, raw)) in layout.slots().iter().zip(slots) {
            slot.set(&mut x, raw);
        }
        let dictionary = Dictionary::general();
        let at = At::new(&x, &layout, 0, &dictionary);
        (0..tested.count(&at)).map(|i| tested.candidate(&at, i)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = MOVES.iter().map(|m| m.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), MOVES.len());
    }
}
