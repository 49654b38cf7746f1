//! The blocks of memory that a function gets, and what of an input lies where in them.

use penfuzz_mutators::{
    group::Length,
    view::{Layout, Slot},
};
use serde::{Deserialize, Serialize};

use super::{
    extended,
    library::Class,
    sizes::{Origin, Rule, Size},
    types::{TypeId, Types},
};
use crate::program::{Function, environment::Source, globals::Global};

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
    /// A `double`, and behind it what a `long double` of x86 has besides ([`super::extended`]).
    Extended,
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
    /// Behind the last element of this block.
    End(usize),
    /// No address: how many elements this block has, without the 0 behind a string.
    Count(usize),
    /// This place of the block that the pointer lies in.
    Own(usize),
    /// Nothing.
    Null,
    /// A function that returns the number at this place of the input, or 0 or nothing: the number of its stub.
    Stub(usize),
    /// An object that a call before has made: the number of its handle.
    Made(usize),
    /// A stream over the text of this file.
    Stream(usize),
    /// The name of this file.
    Name(usize),
    /// The name of the program.
    Program,
}

/// The first argument of a program under test.
pub const PROGRAM: &core::ffi::CStr = c"program";
/// A name of no file.
pub const NO_FILE: &core::ffi::CStr = c"/nonexistent/file";

/// A file that the callee gets as a stream or by its name. Its text ends at the first 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// The block with the text.
    pub block: usize,
    /// Of a name: the byte of the input whose lowest bit makes it a name of no file.
    pub missing: Option<Slot>,
}

impl File {
    /// Is the name one of no file in this input?
    #[must_use]
    pub fn is_missing(&self, x: &[u8]) -> bool {
        self.missing.is_some_and(|slot| slot.get(x) != 0)
    }
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

/// Which call a block, or a number of an input, belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Owner {
    /// All of them, or the only one.
    #[default]
    Shared,
    /// That of a maker.
    Maker(usize),
    /// That of the function under test with this number, from 0.
    Step(usize),
}

/// A call of a sequence.
#[derive(Debug, Clone)]
pub struct Call {
    /// The number of the function in the target.
    pub function: usize,
    /// Its description.
    pub f: std::rc::Rc<Function>,
    /// The thunk: it takes the frame, and room for the result.
    pub thunk: crate::program::function::Call,
    /// The block of its arguments.
    pub frame: usize,
    /// Per parameter: its type, and its place in the frame.
    pub parameters: Vec<(TypeId, usize)>,
    /// The object that it fills in: its block, and the number of the parameter.
    pub fills: Option<(usize, usize)>,
}

/// An object that a maker makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handle {
    /// The path of the pointer that it is for: `s`.
    pub path: String,
    /// The number of the maker.
    pub maker: usize,
    /// The block where the maker stores a pointer to it; `None` when it returns one, or fills it in.
    pub out: Option<usize>,
    /// The type of the object.
    pub of: TypeId,
}

/// The calls that one evaluation makes.
#[derive(Debug, Clone)]
pub struct Sequence {
    /// What is called first, once each. If one hands over null, no further call is made.
    pub makers: Vec<Call>,
    /// The calls of the function under test, as many as an input can have.
    pub steps: Vec<Call>,
    /// What they make, in the same order.
    pub handles: Vec<Handle>,
    /// How many of the steps an input has; `None` if there is one only.
    pub count: Option<Slot>,
}

impl Sequence {
    /// The steps that an input has.
    #[must_use]
    pub fn len(&self, x: &[u8]) -> usize {
        self.count.map_or(1, |slot| (slot.get(x) as usize).clamp(1, self.steps.len()))
    }
}

/// Memory for the elements of one type.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Block {
    /// How C would write the pointer to it: `s`, `s->next`. Empty for the frame.
    pub path: String,
    /// The call that it belongs to.
    pub owner: Owner,
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
    /// Its last element is 0, and others may be, too: the characters of a `std::string`.
    pub is_terminated: bool,
    /// The elements of an object of this class of the C++ library.
    pub part_of: Option<Class>,
    /// It has no elements, and would have this size if a call used it.
    pub put_off: Option<Size>,
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
    /// What is in it besides; zeros if it is empty.
    pub initial: Box<[u8]>,
}

impl Block {
    /// Bytes that there is memory for.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.capacity * self.stride
    }

    /// Does an object of the C++ library free it?
    #[must_use]
    pub fn is_owned(&self) -> bool {
        self.part_of.as_ref().is_some_and(Class::owns)
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

/// A function of the environment whose results are numbers of an input.
#[derive(Debug, Clone)]
pub struct Nondet {
    /// The function, and where its results lie during a call.
    pub source: Source,
    /// The block with its results.
    pub block: usize,
}

/// A variable with static storage duration, whose content is that of a block.
#[derive(Debug, Clone)]
pub struct Variable {
    /// The variable.
    pub global: Global,
    /// The block that is copied there: before the first call, or, of a block of one call, before that.
    pub block: usize,
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
    /// The frames of the calls of the function under test.
    pub frames: Vec<usize>,
    /// Functions that it gets.
    pub stubs: Vec<Stub>,
    /// The calls, if there is more than one.
    pub sequence: Option<Sequence>,
    /// The block with the text of standard input, if the function can read it. The text ends at the first 0.
    pub input: Option<usize>,
    /// Standard input is the file of descriptor 0, because not everything reads it through `stdin`.
    pub is_descriptor: bool,
    /// It is `main`, with the arguments of a program.
    pub is_program: bool,
    /// Files that it gets.
    pub files: Vec<File>,
    /// What it takes from its environment.
    pub nondet: Vec<Nondet>,
    /// Variables that are inputs, or results.
    pub globals: Vec<Variable>,
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

    /// Does the function get objects of the C++ library that have elements elsewhere?
    #[must_use]
    pub fn has_objects(&self) -> bool {
        let is_of_object = |p: &Pointer| matches!(p.target, Target::End(_) | Target::Count(_) | Target::Own(_));
        self.blocks.iter().any(|b| b.is_owned() || b.pointers.iter().any(is_of_object))
    }

    /// The variable that a block is the content of.
    #[must_use]
    pub fn global_of(&self, block: usize) -> Option<&Global> {
        self.globals.iter().find(|v| v.block == block).map(|v| &v.global)
    }

    /// The input with which the variables are as at the start of the program; `None` if all of its numbers are 0.
    #[must_use]
    pub fn at_start(&self) -> Option<Vec<u8>> {
        let mut x = vec![0; self.layout.size()];
        for block in self.globals.iter().map(|v| &self.blocks[v.block]) {
            for c in &block.copies {
                x[c.from..c.from + c.size].copy_from_slice(&block.initial[c.to..c.to + c.size]);
            }
            for c in &block.converted {
                let initial = &block.initial[c.to..];
                match c.form {
                    Form::Bool => x[c.from] = initial[0] & 1,
                    Form::Extended => extended::store(extended::number(initial), &mut x[c.from..]),
                    Form::F80 | Form::F128 => {}
                }
            }
        }
        x.iter().any(|byte| *byte != 0).then_some(x)
    }

    /// Is there a way to call `f` with what the model makes?
    pub(crate) fn can_be_given(&self, f: &Function) -> bool {
        let is_packed = !self.globals.is_empty() && f.call().is_some();
        f.frame_call().is_some() || self.sequence.is_some() || is_packed
    }

    /// Is the pointer null in this input?
    #[must_use]
    pub fn is_null(&self, pointer: &Pointer, x: &[u8]) -> bool {
        let is_absent = match pointer.target {
            Target::Null => true,
            // There is not even its end.
            Target::Block(b) => self.blocks[b].is_string && self.blocks[b].len(x) == 0,
            _ => false,
        };
        is_absent || pointer.null.is_some_and(|slot| slot.get(x) != 0)
    }
}
