//! Substitution of values of the [`Dictionary`](crate::dictionary::Dictionary): one kind of move for each of its two
//! lists.

use super::{At, Move};

/// Replaces the number by a value that the dictionary derived from a constant of the program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Harvested;

/// Replaces the number by a special value of its kind, such as NaN, an infinity, a limit or a signed zero.
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
