//! The blocks of memory that a function gets, and the positions of the parts of an input in them.

use penfuzz_mutators::{
    group::Length,
    view::{Kind, Layout, Slot},
};
use serde::{Deserialize, Serialize};

use super::{
    extended,
    library::Class,
    paths,
    pointer::{Pointer, Target, Within},
    sizes::{Origin, Rule, Size},
    types::{Member, TypeId, Types},
};
use crate::program::{Function, environment::Source, globals::Global};

/// Bytes of an input that are copied to a block unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// Offset in the input.
    pub from: usize,
    /// Offset in the block.
    pub to: usize,
    /// Number of bytes.
    pub size: usize,
}

/// How a number is converted from its form in an input to its form in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Form {
    /// One byte; only the lowest bit counts.
    Bool,
    /// A `double` becomes a `long double` of x86.
    F80,
    /// A `double`, followed by the bits that it lacks, becomes a `long double` of x86 ([`super::extended`]).
    Extended,
    /// A `double` becomes a `__float128`.
    F128,
}

impl Form {
    /// Size of the number in an input, in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::F80 | Self::F128 => 8,
            Self::Extended => extended::SIZE,
        }
    }
}

/// A number that is converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Converted {
    /// Offset in the input.
    pub from: usize,
    /// Offset in the block.
    pub to: usize,
    /// The conversion.
    pub form: Form,
}

/// The first argument of a program under test.
pub const PROGRAM: &core::ffi::CStr = c"program";
/// The name of a file that does not exist.
pub const NO_FILE: &core::ffi::CStr = c"/nonexistent/file";

/// A file that the callee gets as a stream or by its name. Its text ends at the first 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// The block with the text.
    pub block: usize,
    /// For a file that is passed by its name: the byte of the input whose lowest bit selects the name of no file.
    pub missing: Option<Slot>,
}

impl File {
    /// Whether the name is that of no file in this input.
    #[must_use]
    pub fn is_missing(&self, x: &[u8]) -> bool {
        self.missing.is_some_and(|slot| slot.get(x) != 0)
    }
}

/// The call that a block, or a number of an input, belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Owner {
    /// All calls, or the only one.
    #[default]
    Shared,
    /// The constructor call with this index.
    Constructor(usize),
    /// The call of the function under test with this index.
    Step(usize),
}

/// A call of a sequence.
#[derive(Debug, Clone)]
pub struct Call {
    /// Index of the function in the target.
    pub function: usize,
    /// The description of the function.
    pub f: std::rc::Rc<Function>,
    /// The thunk. It takes the frame, and room for the result.
    pub thunk: crate::program::function::Call,
    /// The block of the arguments.
    pub frame: usize,
    /// For each parameter its type, and its offset in the frame.
    pub parameters: Vec<(TypeId, usize)>,
    /// The object that the call initialises: its block, and the index of the parameter.
    pub fills: Option<(usize, usize)>,
}

/// An object that a constructor creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstructedObject {
    /// The path of the pointer to the object, such as `s`.
    pub path: String,
    /// The index of the constructor call.
    pub maker: usize,
    /// The block where the constructor stores a pointer to the object; `None` if it returns the pointer, or initialises
    /// memory.
    pub out: Option<usize>,
    /// The type of the object.
    pub of: TypeId,
}

/// The calls that one evaluation makes.
#[derive(Debug, Clone)]
pub struct Sequence {
    /// The constructor calls, which come first, once each. If one yields null, no further call is made.
    pub constructors: Vec<Call>,
    /// The calls of the function under test, up to the maximum number of an input.
    pub steps: Vec<Call>,
    /// The objects of the constructors, in the same order.
    pub handles: Vec<ConstructedObject>,
    /// The number of steps of an input; `None` if there is only one step.
    pub count: Option<Slot>,
}

impl Sequence {
    /// Number of steps of an input.
    #[must_use]
    pub fn len(&self, x: &[u8]) -> usize {
        self.count.map_or(1, |slot| (slot.get(x) as usize).clamp(1, self.steps.len()))
    }
}

/// Memory for the elements of one type.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Block {
    /// The pointer to the block in C notation: `s`, `s->next`. Empty for the frame.
    pub path: String,
    /// The call that the block belongs to.
    pub owner: Owner,
    /// Type of its elements; not used for the frame.
    pub element: TypeId,
    /// Size of an element in bytes.
    pub stride: usize,
    /// Number of elements that there is memory for.
    pub capacity: usize,
    /// Number of elements in an input.
    pub length: Length,
    /// The rule behind `length`.
    pub rule: Rule,
    /// How the size is known.
    pub origin: Origin,
    /// Whether it is a buffer that several pointers lead into.
    pub is_shared: bool,
    /// Whether the block is a string: all elements from the first 0 on are 0, and so is the last element.
    pub is_string: bool,
    /// Whether the last element is 0, and others may be 0, too: the characters of a `std::string`.
    pub is_terminated: bool,
    /// The class of the C++ library object that the elements belong to, if any.
    pub part_of: Option<Class>,
    /// The size that the block gets if a call uses it. Until then it has no elements.
    pub deferred: Option<Size>,
    /// Whether the callee must not write to the block.
    pub is_const: bool,
    /// Whether no part of the block is in an input.
    pub is_output: bool,
    /// Bytes that are copied from the input, in the order of their offsets in the block.
    pub copies: Vec<Copy>,
    /// Numbers that are converted, in the same order.
    pub converted: Vec<Converted>,
    /// Pointers, in the same order.
    pub pointers: Vec<Pointer>,
    /// The content of the other bytes; zeros if it is empty.
    pub initial: Box<[u8]>,
}

impl Block {
    /// Size of its memory in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.capacity * self.stride
    }

    /// Whether an object of the C++ library frees the block.
    #[must_use]
    pub fn is_owned(&self) -> bool {
        self.part_of.as_ref().is_some_and(Class::owns)
    }

    /// Number of elements in this input.
    #[must_use]
    pub fn len(&self, x: &[u8]) -> usize {
        self.length.of(x, self.capacity)
    }
}

/// A function that the code under test calls through a pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct Stub {
    /// The pointer in C notation.
    pub path: String,
    /// The type of the result.
    pub result: TypeId,
    /// The number that the function returns; `None` for nothing or 0.
    pub slot: Option<Slot>,
    /// The kinds of its parameters, as [`Prototype::parameters`](super::types::Prototype::parameters).
    pub parameters: Option<Vec<Option<Kind>>>,
}

impl Stub {
    /// Whether the function returns a pointer, which is null.
    #[must_use]
    pub fn returns_pointer(&self, types: &Types) -> bool {
        self.slot.is_none() && matches!(types[self.result].form, super::types::Form::Pointer(_))
    }
}

/// A function of the environment whose results are numbers of an input.
#[derive(Debug, Clone)]
pub struct Nondet {
    /// The function, and the place of its results during a call.
    pub source: Source,
    /// The block with its results.
    pub block: usize,
}

/// A variable with static storage duration, whose content is that of a block.
#[derive(Debug, Clone)]
pub struct Variable {
    /// The variable.
    pub global: Global,
    /// The block that is copied to the variable: before the first call, or before its own call if it belongs to one.
    pub block: usize,
}

/// The inputs of a function, and the memory and calls that they become.
#[derive(Debug, Clone)]
pub struct Model {
    /// The types that occur.
    pub types: Types,
    /// The blocks of memory; the first one is the frame.
    pub blocks: Vec<Block>,
    /// For each parameter its type, and its offset in the frame.
    pub parameters: Vec<(TypeId, usize)>,
    /// The frames of the calls of the function under test.
    pub frames: Vec<usize>,
    /// Functions that the function under test gets as arguments.
    pub stubs: Vec<Stub>,
    /// The calls, if there is more than one.
    pub sequence: Option<Sequence>,
    /// The block with the text of standard input, if the function can read it. The text ends at the first 0.
    pub input: Option<usize>,
    /// Whether standard input is the file of descriptor 0, because some code does not read it through `stdin`.
    pub is_descriptor: bool,
    /// Whether the function is `main`, with the arguments of a program.
    pub is_program: bool,
    /// Files that the function gets.
    pub files: Vec<File>,
    /// Results of functions of the environment.
    pub nondet: Vec<Nondet>,
    /// Variables that are inputs or results.
    pub globals: Vec<Variable>,
    /// The type and the frame offset of a result that is a structure.
    pub result: Option<(TypeId, usize)>,
    /// The numbers of an input.
    pub layout: Layout,
    /// Paths of numbers in C notation, with the indices of their slots.
    pub numbers: Vec<(String, usize)>,
    /// The indices of slots whose numbers are enumerations, with these types.
    pub enumerations: Vec<(usize, TypeId)>,
}

impl Model {
    /// The pointer at this offset of a block; `None` if there is none. Of those of a union's members, the first one.
    #[must_use]
    pub fn pointer_at(&self, block: usize, at: usize) -> Option<&Pointer> {
        let pointers = &self.blocks[block].pointers;
        pointers.get(pointers.partition_point(|p| p.at < at)).filter(|p| p.at == at)
    }

    /// The pointer at this offset of a block in this input.
    #[must_use]
    pub fn pointer_in(&self, block: usize, at: usize, x: &[u8]) -> Option<&Pointer> {
        self.blocks[block].pointers.iter().find(|p| p.at == at && p.exists(x))
    }

    /// The member that has a value, of a union at this offset of a block.
    #[must_use]
    pub fn union_member<'a>(
        &'a self,
        of: TypeId,
        members: &'a [Member],
        block: usize,
        at: usize,
        x: &[u8],
    ) -> Option<&'a Member> {
        let bytes = at..at + self.types[of].size;
        let inside = self.blocks[block].pointers.iter().filter(|p| bytes.contains(&p.at));
        match inside.filter_map(|p| p.alternative).find(|alternative| alternative.of == of) {
            Some(alternative) => self.types.alternatives(members).get(alternative.chosen(x)).copied(),
            None => self.types.of_union(members),
        }
    }

    /// The element of its block that a pointer leads to, if the block has `n` elements: at most `n`, which is the end.
    #[must_use]
    pub fn element(&self, within: &Within, x: &[u8], n: usize) -> usize {
        let room = self.room(within, x, n);
        let number = within.number.map_or(0, |slot| slot.get(x) as usize) % (room + 1);
        if within.is_end { room - number } else { number }
    }

    /// Sets the number of a pointer such that it leads to this element, or to the closest possible one.
    pub fn set_element(&self, within: &Within, x: &mut [u8], n: usize, element: usize) {
        let room = self.room(within, x, n);
        let element = element.min(room);
        if let Some(slot) = within.number {
            slot.set(x, if within.is_end { room - element } else { element } as u64);
        }
    }

    /// The greatest element that a pointer may lead to.
    fn room(&self, within: &Within, x: &[u8], n: usize) -> usize {
        let upper = within.upper.and_then(|(block, at)| self.pointer_at(block, at));
        match upper.map(|p| p.target) {
            Some(Target::Within(upper)) => self.element(&upper, x, n),
            _ if within.is_inclusive => n.saturating_sub(1),
            _ => n,
        }
    }

    /// A pointer of a block in C notation; `None` if it is no named member.
    #[must_use]
    pub fn pointer_path(&self, block: usize, pointer: usize) -> Option<String> {
        let b = &self.blocks[block];
        let at = b.pointers.get(pointer)?.at;
        let value = paths::element_path(&b.path, at / b.stride, b.capacity, &self.types[b.element].form);
        paths::member_path(&self.types, b.element, at % b.stride, &value).filter(|_| !b.path.is_empty())
    }

    /// Whether the function gets objects of the C++ library whose elements lie elsewhere.
    #[must_use]
    pub fn has_objects(&self) -> bool {
        let is_of_object = |p: &Pointer| matches!(p.target, Target::End(_) | Target::Count(_) | Target::Own(_));
        self.blocks.iter().any(|b| b.is_owned() || b.pointers.iter().any(is_of_object))
    }

    /// The variable whose content is this block.
    #[must_use]
    pub fn global_of(&self, block: usize) -> Option<&Global> {
        self.globals.iter().find(|v| v.block == block).map(|v| &v.global)
    }

    /// The input with which the variables have their values at the start of the program; `None` if all of its numbers
    /// are 0.
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

    /// Whether `f` can be called with what the model builds.
    pub(crate) fn can_be_given(&self, f: &Function) -> bool {
        let is_packed = !self.globals.is_empty() && f.call().is_some();
        f.frame_call().is_some() || self.sequence.is_some() || is_packed
    }

    /// Whether the pointer is null in this input, or does not exist.
    #[must_use]
    pub fn is_null(&self, pointer: &Pointer, x: &[u8]) -> bool {
        let is_absent = match pointer.target {
            _ if !pointer.exists(x) => true,
            Target::Null => true,
            // Not even the terminator of the string exists.
            Target::Block(b) => self.blocks[b].is_string && self.blocks[b].len(x) == 0,
            Target::Within(within) => within.base_null.is_some_and(|slot| slot.get(x) != 0),
            _ => false,
        };
        is_absent || pointer.null.is_some_and(|slot| slot.get(x) != 0)
    }
}
