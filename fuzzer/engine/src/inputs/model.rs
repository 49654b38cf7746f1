//! The blocks of memory that a function gets, and what of an input lies where in them.

use penfuzz_mutators::{
    group::Length,
    view::{Layout, Slot},
};
use serde::{Deserialize, Serialize};

use super::{
    sizes::{Origin, Rule},
    types::{TypeId, Types},
};

/// Bytes of an input that go to a block as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// Place in the input.
    pub from: usize,
    /// Place in the block.
    pub to: usize,
    /// Bytes.
    pub size: usize,
}

/// A number that lies in memory in another form than in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// One byte of which the lowest bit counts.
    Bool,
    /// A `double` as a `long double` of x86.
    F80,
    /// A `double` as a `__float128`.
    F128,
}

/// A number that is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Converted {
    /// Place in the input.
    pub from: usize,
    /// Place in the block.
    pub to: usize,
    /// How.
    pub form: Form,
}

/// What a pointer leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The first element of this block.
    Block(usize),
    /// Nothing.
    Null,
    /// A function that returns the number at this place of the input, or 0 or nothing: the number of its stub.
    Stub(usize),
}

/// A pointer in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// Place in the block.
    pub at: usize,
    /// What it leads to.
    pub target: Target,
    /// The byte of the input whose lowest bit makes it null.
    pub null: Option<Slot>,
}

/// Memory for the elements of one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// How C would write the pointer to it: `s`, `s->next`. Empty for the frame.
    pub path: String,
    /// Type of its elements; of the frame it is not used.
    pub element: TypeId,
    /// Bytes of an element.
    pub stride: usize,
    /// Elements that there is memory for.
    pub capacity: usize,
    /// How many of them an input has.
    pub length: Length,
    /// The rule behind `length`.
    pub rule: Rule,
    /// How the size is known.
    pub origin: Origin,
    /// It is a string: all from the first 0 on is 0, and so is the last element.
    pub is_string: bool,
    /// The callee must not write there.
    pub is_const: bool,
    /// Nothing of it is in an input.
    pub is_output: bool,
    /// By their places in the block.
    pub copies: Vec<Copy>,
    /// Likewise.
    pub converted: Vec<Converted>,
    /// Likewise.
    pub pointers: Vec<Pointer>,
}

impl Block {
    /// Bytes that there is memory for.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.capacity * self.stride
    }

    /// Elements in an input.
    #[must_use]
    pub fn len(&self, x: &[u8]) -> usize {
        self.length.of(x, self.capacity)
    }
}

/// A function that the code under test calls through a pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct Stub {
    /// How C would write the pointer.
    pub path: String,
    /// The type of its result.
    pub result: TypeId,
    /// The number that it returns; `None` for nothing or 0.
    pub slot: Option<Slot>,
}

/// How a function takes its input.
#[derive(Debug, Clone)]
pub struct Model {
    /// The types that occur.
    pub types: Types,
    /// The first one is the frame.
    pub blocks: Vec<Block>,
    /// Per parameter: its type, and its place in the frame.
    pub parameters: Vec<(TypeId, usize)>,
    /// Functions that it gets.
    pub stubs: Vec<Stub>,
    /// The block with the text of standard input, if the function can read it. The text ends at the first 0.
    pub input: Option<usize>,
    /// A result that is a structure: its type and its place in the frame.
    pub result: Option<(TypeId, usize)>,
    /// The numbers of an input.
    pub layout: Layout,
    /// Paths of numbers, as C would write them, with the indices of their slots.
    pub numbers: Vec<(String, usize)>,
}

impl Model {
    /// The block that a pointer in a block leads to.
    #[must_use]
    pub fn pointer_at(&self, block: usize, at: usize) -> Option<&Pointer> {
        let pointers = &self.blocks[block].pointers;
        pointers.binary_search_by_key(&at, |p| p.at).ok().map(|i| &pointers[i])
    }

    /// Is the pointer null in this input?
    #[must_use]
    pub fn is_null(&self, pointer: &Pointer, x: &[u8]) -> bool {
        pointer.target == Target::Null || pointer.null.is_some_and(|slot| slot.get(x) != 0)
    }
}
