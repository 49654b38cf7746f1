//! Alternating-variable moves: one number of a point is replaced, all others stay.
//!
//! Each kind of move is an enumerable list of candidates at a point, so that a search can go through it systematically
//! and a mutator can draw from it. Searches by these moves need fewer evaluations than the alternatives. A prototype
//! covered, of the branches of the 40 Fdlibm functions of the CoverMe paper (ceiling 97.18 %):
//!
//! | search, by evaluations per function | 100 | 1,000 | 10,000 |
//! | --- | --- | --- | --- |
//! | these moves towards one uncovered branch at a time | 89.9 % | 95.7 % | 97.1 % |
//! | havoc with the program's constants | 81 % | 94.1 % | 96.7 % |
//! | structured random values | 82 % | 93.9 % | 95.2 % |
//! | ULP steps on the single `r` of CoverMe | 66 % | 82 % | 92 % |
//! | Powell's method over the reals (CoverMe) | 60 % | 68 % | 80 % |
//!
//! A new kind of move is a new file and one entry in [`MOVES`], or in [`RUN_MOVES`] if it replaces consecutive bytes.
//!
//! # Example
//! ```
//! use penfuzz_mutators::{
//!     dictionary::Dictionary,
//!     moves::{At, Move, Reform},
//!     view::Layout,
//! };
//!
//! let (layout, dictionary) = (Layout::doubles(8), Dictionary::general());
//! let x = 3.0f64.to_le_bytes();
//! let at = At::new(&x, &layout, 0, &dictionary);
//! let candidates: Vec<f64> = (0..Reform.count(&at)).map(|i| f64::from_bits(Reform.candidate(&at, i))).collect();
//! assert!(candidates.starts_with(&[-3.0, 3.0, 1.0 / 3.0, 6.0, 1.5, 9.0]));
//! ```

mod balanced;
mod bit_flip;
mod constant;
mod low_bits;
mod reform;
mod related;
mod token;
mod ulp_step;

use libafl_bolts::rands::Rand;

pub use self::{
    balanced::Balanced,
    bit_flip::BitFlip,
    constant::{Harvested, Special},
    low_bits::LowBits,
    reform::Reform,
    related::Related,
    token::{RunMove, Token},
    ulp_step::UlpStep,
};
pub(crate) use self::{related::negated, token::write_random};
use crate::{
    dictionary::Dictionary,
    view::{Layout, Slot},
};

/// The start of a move: a point, the slot to replace, and the constants of the program.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// The point. Every slot of `slots` must end within it, otherwise a move panics.
    pub x: &'a [u8],
    /// The slots of the point, from which a move may take values.
    pub slots: &'a [Slot],
    /// Index in `slots` of the slot to replace.
    pub slot: usize,
    /// Constants and special values.
    pub dictionary: &'a Dictionary,
}

impl<'a> At<'a> {
    /// The start of a move that replaces slot number `slot` of a point at least as long as the layout.
    #[must_use]
    pub fn new(x: &'a [u8], layout: &'a Layout, slot: usize, dictionary: &'a Dictionary) -> Self {
        Self { x, slots: layout.slots(), slot, dictionary }
    }

    /// The slot to replace.
    ///
    /// # Panics
    /// If there is no slot of that index.
    #[must_use]
    pub fn target(&self) -> Slot {
        self.slots[self.slot]
    }

    /// The present raw bits of the slot to replace.
    ///
    /// # Panics
    /// If the slot ends beyond the point.
    #[must_use]
    pub fn raw(&self) -> u64 {
        self.target().get(self.x)
    }
}

/// A kind of move: a list of candidates, which are raw bits to replace those of one slot. Must not allocate.
pub trait Move: Sync {
    /// The name, unique among [`MOVES`]; mutators are named after it.
    fn name(&self) -> &'static str;

    /// Number of candidates; may be 0.
    fn count(&self, at: &At) -> usize;

    /// Candidate number `index`, which must be below [`count`](Self::count).
    ///
    /// Bits beyond the width of the slot's kind are 0. The candidate may equal the present bits, and those of a float
    /// may be NaN, infinite or a zero of either sign.
    ///
    /// # Panics
    /// May panic if `index` is too large, or if a slot ends beyond the point.
    fn candidate(&self, at: &At, index: usize) -> u64;
}

/// All kinds of moves. The default minimizer tries the first candidate of each list, then the second of each, and so
/// on, so it finishes short lists early.
pub static MOVES: &[&dyn Move] = &[&Reform, &Harvested, &Special, &Related, &BitFlip, &LowBits, &UlpStep];

/// All kinds of moves of consecutive bytes. They have no candidates where a layout has no run.
pub static RUN_MOVES: &[&dyn RunMove] = &[&Token, &Balanced];

/// A random candidate of a random move: non-empty lists are equally likely, and so are the candidates of a list.
///
/// Returns the present bits if 8 draws of a list give empty ones only, which is rare: every slot has bit flips and
/// steps.
pub fn random_candidate<R: Rand>(rng: &mut R, at: &At) -> u64 {
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
        let mut names: Vec<_> = MOVES.iter().map(|m| m.name()).chain(RUN_MOVES.iter().map(|m| m.name())).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), MOVES.len() + RUN_MOVES.len());
    }
}
