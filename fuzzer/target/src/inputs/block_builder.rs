//! Blocks under construction.

use penfuzz_mutators::{group::Length, view::Slot};

use super::{
    buffers::Role,
    build::Elements,
    model::{Block, Copy, Owner},
    pointer::Alternative,
    sizes::{Origin, Rule},
    types::TypeId,
};

/// Known facts about a pointer and the memory that it leads to.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct PointerFacts {
    pub nullable: bool,
    pub is_output: bool,
    /// Whether the callee must not write there.
    pub is_const: bool,
    /// Whether the pointer is used without an index.
    pub is_single: bool,
    /// Whether the pointer leads to the name of a file.
    pub names_file: bool,
    /// From the declaration: the number of elements or 0, and the number of bytes that it guarantees.
    pub declared: Option<(usize, usize)>,
    pub depth: usize,
    /// If the pointer is one of several into a buffer.
    pub role: Option<Role<String>>,
    pub absent: Vec<Slot>,
    /// If the pointer belongs to a member of a union.
    pub alternative: Option<Alternative>,
}

/// A block under construction.
pub(super) struct BlockBuilder {
    pub block: Block,
    pub first_slot: usize,
    pub per_element: usize,
    /// Number of elements that have slots.
    pub slotted: usize,
    pub is_full: bool,
    /// Whether a union is being built, whose members have the same bytes.
    pub is_in_union: bool,
}

impl BlockBuilder {
    pub fn new(element: TypeId, stride: usize, path: String) -> Self {
        let block = Block {
            path,
            owner: Owner::Shared,
            element,
            stride,
            capacity: 1,
            length: Length::Fixed(1),
            rule: Rule::Full,
            origin: Origin::Declared,
            is_shared: false,
            is_string: false,
            is_terminated: false,
            part_of: None,
            deferred: None,
            is_const: false,
            is_output: false,
            copies: Vec::new(),
            converted: Vec::new(),
            pointers: Vec::new(),
            initial: Box::default(),
        };
        Self { block, first_slot: 0, per_element: 0, slotted: 0, is_full: false, is_in_union: false }
    }

    /// Whether the byte at this offset belongs to a number of the input.
    pub fn has_number(&self, at: usize) -> bool {
        let is_copied = |c: &Copy| (c.to..c.to + c.size).contains(&at);
        self.block.copies.iter().any(is_copied) || self.block.converted.iter().any(|c| c.to == at)
    }
}

/// A pointer whose block is not built yet.
pub(super) struct PendingPointer {
    pub block: usize,
    pub at: usize,
    pub to: TypeId,
    pub is_const: bool,
    pub is_reference: bool,
    pub path: String,
    pub null: Option<Slot>,
    pub made: PointeeKind,
    pub way: PointerFacts,
    /// For the data pointer of a C++ library object: its elements.
    pub elements: Option<Box<Elements>>,
    pub need: BlockNeed,
}

/// Whether a block is built although it may lie beyond the limits of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockNeed {
    /// The block lies within the limits.
    Within,
    /// Calls have shown that the block is used.
    Shown,
    /// Calls will show whether the block is used.
    Open,
}

impl PendingPointer {
    /// Whether it is built after the needed blocks.
    pub const fn can_wait(&self) -> bool {
        !matches!(self.need, BlockNeed::Shown) && self.way.depth > 0
    }
}

/// What a pointer leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointeeKind {
    Memory,
    /// A `FILE`.
    Stream,
    /// The name of a file.
    Name,
}
