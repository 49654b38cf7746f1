//! A [`Model`] as plain data, for programs that decode inputs without this library, such as the harnesses of other
//! fuzzers.

use std::fmt::Write;

use penfuzz_abi::type_flag;
use penfuzz_mutators::{
    domain::Domain,
    group::Length,
    view::{Kind, Slot},
};
use serde::{Deserialize, Serialize};

use super::{
    model::{Block, Converted, Copy, Model},
    pointer::Pointer,
    types::{Form, Number, TypeId},
};

/// A [`Model`] without names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decoding {
    /// The kinds of the numbers of an input, run-length encoded as (kind, repetitions). The numbers have no padding
    /// between them; a rounding mode comes last.
    pub kinds: Vec<(Kind, usize)>,
    /// Numbers whose values are first mapped into a domain.
    pub domains: Vec<(Slot, Domain)>,
    /// The blocks of memory; the first one is the frame.
    pub blocks: Vec<Memory>,
    /// For each callback the slot of its return value; `None` if it returns nothing or 0.
    pub stubs: Vec<Option<Slot>>,
    /// The block with the text of standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<usize>,
    /// Whether the function has inputs that are not described here: calls of other functions, program arguments,
    /// objects of the C++ library, files, results of its environment, variables.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_partial: bool,
    /// C definitions of the structures below, with the same sizes as those of the function.
    pub types: String,
    /// For each parameter its type in C and its offset in the frame. All pointers are `void *`.
    pub parameters: Vec<(String, usize)>,
    /// The type of the result, if it is a structure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// A [`Block`] without names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Size of an element in bytes.
    pub stride: usize,
    /// Number of elements that there is memory for.
    pub capacity: usize,
    /// Number of elements in an input.
    pub length: Length,
    /// Whether an access outside is an error of the function, as long as the input does not request more elements than
    /// there is memory for.
    pub is_sure: bool,
    /// Whether the block is a string: all elements from the first 0 on are 0, and so is the last element.
    pub is_string: bool,
    /// Whether an element is a single number.
    pub is_of_numbers: bool,
    /// Bytes that are copied from the input, in the order of their offsets in the block.
    pub copies: Vec<Copy>,
    /// Numbers that are converted, in the same order.
    pub converted: Vec<Converted>,
    /// Pointers, in the same order.
    pub pointers: Vec<Pointer>,
}

impl Decoding {
    /// Describes a model.
    #[must_use]
    pub fn of(model: &Model) -> Self {
        let mut kinds: Vec<(Kind, usize)> = Vec::new();
        for slot in model.layout.slots() {
            match kinds.last_mut() {
                Some((kind, n)) if *kind == slot.kind => *n += 1,
                _ => kinds.push((slot.kind, 1)),
            }
        }
        let mut mirror = Mirror { model, known: Vec::new(), text: String::new() };
        let parameters = model.parameters.iter().map(|(of, at)| (mirror.name(*of), *at)).collect();
        let result = model.result.map(|(of, _)| mirror.name(of));
        Self {
            kinds,
            domains: model.layout.domains().collect(),
            blocks: model.blocks.iter().map(|b| Memory::of(b, model)).collect(),
            stubs: model.stubs.iter().map(|s| s.slot).collect(),
            input: model.input,
            is_partial: model.sequence.is_some()
                || model.is_program
                || model.has_objects()
                || !(model.files.is_empty() && model.nondet.is_empty() && model.globals.is_empty()),
            types: mirror.text,
            parameters,
            result,
        }
    }

    /// Size of an input in bytes.
    #[must_use]
    pub fn input_size(&self) -> usize {
        self.kinds.iter().map(|(kind, n)| kind.size() * n).sum()
    }

    /// Whether a pointer leads to a structure, an array or a string.
    #[must_use]
    pub fn is_composite(&self) -> bool {
        self.blocks.iter().skip(1).any(|b| !b.is_of_numbers || b.length != Length::Fixed(1))
    }
}

impl Memory {
    fn of(b: &Block, model: &Model) -> Self {
        Self {
            stride: b.stride,
            capacity: b.capacity,
            length: b.length,
            is_sure: b.origin.is_sure(),
            is_string: b.is_string,
            is_of_numbers: matches!(model.types[b.element].form, Form::Number(_)),
            copies: b.copies.clone(),
            converted: b.converted.clone(),
            pointers: b.pointers.clone(),
        }
    }
}

/// Writes C structures that are passed in the same way as those of the function: their members have the same types at
/// the same offsets.
struct Mirror<'a> {
    model: &'a Model,
    known: Vec<TypeId>,
    text: String,
}

impl Mirror<'_> {
    fn name(&mut self, of: TypeId) -> String {
        let t = &self.model.types[of];
        match &t.form {
            Form::Number(number) => number_name(*number).to_owned(),
            Form::Array(element, _) if t.has(type_flag::COMPLEX) => format!("_Complex {}", self.name(*element)),
            Form::Struct(members) => self.aggregate("struct", of, members),
            Form::Union(members) => self.aggregate("union", of, members),
            _ => "void *".to_owned(),
        }
    }

    fn aggregate(&mut self, what: &str, of: TypeId, members: &[super::types::Member]) -> String {
        let name = format!("{what} penfuzz_type{of}");
        if self.known.contains(&of) {
            return name;
        }
        self.known.push(of);
        let lines: String = members.iter().enumerate().map(|(i, m)| self.member(m, i)).collect();
        let size = self.model.types[of].size;
        // A structure of another size would be passed in another way.
        let _ =
            writeln!(self.text, "{name} {{{lines} }};\n_Static_assert(sizeof({name}) == {size}, \"the same size\");");
        name
    }

    fn member(&mut self, m: &super::types::Member, number: usize) -> String {
        if m.bits > 0 {
            return format!(" {} m{number} : {};", self.name(m.of), m.bits);
        }
        let (mut of, mut dimensions) = (m.of, String::new());
        while let Form::Array(element, n) = &self.model.types[of].form {
            if self.model.types[of].has(type_flag::COMPLEX) {
                break;
            }
            let _ = write!(dimensions, "[{n}]");
            of = *element;
        }
        format!(" {} m{number}{dimensions};", self.name(of))
    }
}

const fn number_name(number: Number) -> &'static str {
    match number {
        Number::Plain(kind) => match kind {
            Kind::F32 => "float",
            Kind::F64 => "double",
            Kind::I8 => "signed char",
            Kind::I16 => "short",
            Kind::I32 => "int",
            Kind::I64 => "long long",
            Kind::U8 | Kind::Rounding => "unsigned char",
            Kind::U16 => "unsigned short",
            Kind::U32 => "unsigned int",
            Kind::U64 => "unsigned long long",
            Kind::Bool => "_Bool",
        },
        Number::F16 => "_Float16",
        Number::F80 => "long double",
        Number::F128 => "__float128",
        Number::Wide { signed: true } => "__int128",
        Number::Wide { signed: false } => "unsigned __int128",
    }
}
