//! Values of the [`Dictionary`](crate::dictionary::Dictionary), one move for each of its two lists.

use super::{At, Move};

/// Constants harvested from the program, in all their readings.
#[derive(Debug, Clone, Copy, Default)]
pub struct Harvested;

/// Special values of the kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Special;

impl Move for Harvested {
    fn name(&self) -> &'static str {
        "harvested"
    }

    fn count(&self, at: &At) -> usize {
        at.dictionary.harvested(at.target().kind).len()
    }

    fn candidate(&self, at: &At, index: usize) -> u64 {
        at.dictionary.harvested(at.target().kind)[index]
    }
}

impl Move for Special {
    fn name(&self) -> &'static str {
        "special"
    }

    fn count(&self, at: &At) -> usize {
        at.dictionary.special(at.target().kind).len()
    }

    fn candidate(&self, at: &At, index: usize) -> u64 {
        at.dictionary.special(at.target().kind)[index]
    }
}
