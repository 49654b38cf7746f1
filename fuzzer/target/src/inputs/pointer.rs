//! Pointers in the blocks of memory that a function gets.

use penfuzz_mutators::view::Slot;
use serde::{Deserialize, Serialize};

use super::types::TypeId;

/// What a pointer leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The first element of this block.
    Block(usize),
    /// Past the last element of this block.
    End(usize),
    /// No address: the number of elements of this block, without the terminator of a string.
    Count(usize),
    /// This offset in the block that contains the pointer.
    Own(usize),
    /// A place in the block that another pointer leads to.
    Within(Within),
    /// Null.
    Null,
    /// A function that returns a number of the input, 0 or nothing: the index of its stub.
    Stub(usize),
    /// An object that an earlier call has constructed: its index in [`super::Sequence::handles`].
    Made(usize),
    /// A stream over the text of this file.
    Stream(usize),
    /// The name of this file.
    Name(usize),
    /// The name of the program.
    Program,
}

/// A place in a buffer that several pointers lead into: the start of an element, or the end. Its number is
/// [`super::Model::element`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Within {
    /// The block of the buffer.
    pub block: usize,
    /// The number of the input that selects the element; `None` for the first one, or for the end if `is_end`.
    pub number: Option<Slot>,
    /// The block and the offset of the pointer that this one must not exceed; `None` for the end of the block.
    pub upper: Option<(usize, usize)>,
    /// Whether elements are counted from the end: 0 is the end.
    pub is_end: bool,
    /// Whether the last element is the greatest place.
    pub is_inclusive: bool,
    /// The byte of the input whose lowest bit makes the first pointer into the buffer null, and this one.
    pub base_null: Option<Slot>,
}

/// A pointer in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// Offset in the block.
    pub at: usize,
    /// What it leads to.
    pub target: Target,
    /// The byte of the input whose lowest bit makes the pointer null.
    pub null: Option<Slot>,
    /// If the pointer belongs to a member of a union: without the choice of this member there is no pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternative: Option<Alternative>,
}

impl Pointer {
    /// A pointer that is never null, unless it leads nowhere.
    #[must_use]
    pub const fn new(at: usize, target: Target) -> Self {
        Self { at, target, null: None, alternative: None }
    }

    /// Whether the pointer exists in this input: it is not part of a union, or its member is chosen.
    #[must_use]
    pub fn exists(&self, x: &[u8]) -> bool {
        self.alternative.is_none_or(|alternative| alternative.is_chosen(x))
    }
}

/// A member of a union whose members lead to different memory. A number of the input chooses one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alternative {
    /// The number that chooses, modulo `n`.
    pub choice: Slot,
    /// The number of this member in `Types::alternatives`.
    pub number: u8,
    /// Number of alternatives.
    pub n: u8,
    /// The union.
    pub of: TypeId,
}

impl Alternative {
    /// Whether an input chooses this member.
    #[must_use]
    pub fn is_chosen(&self, x: &[u8]) -> bool {
        self.chosen(x) == usize::from(self.number)
    }

    /// The number of the member that an input chooses.
    #[must_use]
    pub fn chosen(&self, x: &[u8]) -> usize {
        (self.choice.get(x) % u64::from(self.n)) as usize
    }
}
