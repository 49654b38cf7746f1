//! The arguments of a call, read from the registers and the stack at the entry of a function: System V ABI, AMD64
//! supplement, Sect. 3.2.3 ("Parameter Passing").
//!
//! Each eight bytes of a value have a class: integer or floating point. A value of at most 16 bytes is in registers if
//! there are enough of them. All other values are on the stack.

use serde::{Deserialize, Serialize};

use penfuzz_abi::type_flag;

use crate::{
    inputs::types::{Form, Number, Reader, TypeId, Types},
    program::{Function, Target},
};

/// Registers and stack at the entry of a function.
#[derive(Debug, Clone, Default)]
pub struct Registers {
    /// `rdi`, `rsi`, `rdx`, `rcx`, `r8`, `r9`.
    pub integers: [u64; 6],
    /// The low 128 bits of `xmm0` to `xmm7`, low half first.
    pub floats: [[u64; 2]; 8],
    /// The stack after the return address.
    pub stack: Vec<u8>,
}

/// The class of eight bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Class {
    None,
    Float,
    /// The second half of a value in one vector register.
    FloatUpper,
    Integer,
}

/// How a value is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Passing {
    Registers([Class; 2]),
    /// On the stack, with this alignment.
    Stack(usize),
}

/// Where the arguments of a function are at its entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// Whether the first integer register has the address of the memory for the result.
    has_result_address: bool,
    /// How each argument is passed, and its size in bytes.
    parameters: Vec<(Passing, usize)>,
}

impl Signature {
    /// The signature of a function; `None` if a type has no known calling convention, such as a class that may have a
    /// copy constructor.
    #[must_use]
    pub fn of(target: &Target, f: &Function) -> Option<Self> {
        let mut reader = Reader::new(target, None);
        let types: Vec<TypeId> = f.shapes().iter().map(|s| reader.read(s.declared)).collect::<Option<_>>()?;
        let result = f.result_shape().map(|(record, _)| reader.read(record));
        let types_of = &reader.types;
        let has_result_address = match result {
            Some(of) => matches!(passing(types_of, of?)?, Passing::Stack(_)),
            None => false,
        };
        let parameter = |of: TypeId| Some((passing(types_of, of)?, types_of[of].size));
        Some(Self { has_result_address, parameters: types.into_iter().map(parameter).collect::<Option<_>>()? })
    }

    /// The bytes of each argument; `None` if too little of the stack is known.
    #[must_use]
    pub fn arguments(&self, registers: &Registers) -> Option<Vec<Vec<u8>>> {
        let integers = usize::from(self.has_result_address);
        let mut reader = RegisterReader { registers, integers, floats: 0, stack: 0 };
        self.parameters.iter().map(|(passing, size)| reader.argument(*passing, *size)).collect()
    }
}

/// Reads arguments one after another.
struct RegisterReader<'a> {
    registers: &'a Registers,
    /// Numbers of registers, and of bytes of the stack, that are read.
    integers: usize,
    floats: usize,
    stack: usize,
}

impl RegisterReader<'_> {
    fn argument(&mut self, passing: Passing, size: usize) -> Option<Vec<u8>> {
        let Passing::Registers(classes) = passing else { return self.of_stack(passing, size) };
        let n = |class| classes.iter().filter(|c| **c == class).count();
        let is_in_registers = self.integers + n(Class::Integer) <= self.registers.integers.len()
            && self.floats + n(Class::Float) <= self.registers.floats.len();
        if !is_in_registers {
            return self.of_stack(passing, size);
        }
        let mut bytes = Vec::with_capacity(16);
        for class in classes {
            bytes.extend(self.eight_bytes(class).to_le_bytes());
        }
        bytes.truncate(size);
        Some(bytes)
    }

    fn eight_bytes(&mut self, class: Class) -> u64 {
        match class {
            Class::None => 0,
            Class::Integer => {
                self.integers += 1;
                self.registers.integers[self.integers - 1]
            }
            Class::Float => {
                self.floats += 1;
                self.registers.floats[self.floats - 1][0]
            }
            Class::FloatUpper => self.registers.floats[self.floats - 1][1],
        }
    }

    fn of_stack(&mut self, passing: Passing, size: usize) -> Option<Vec<u8>> {
        let alignment = if let Passing::Stack(alignment) = passing { alignment } else { 8 };
        let from = self.stack.next_multiple_of(alignment);
        self.stack = from + size.next_multiple_of(8);
        self.registers.stack.get(from..from + size).map(<[u8]>::to_vec)
    }
}

/// How a value of this type is passed; `None` if that is not known.
fn passing(types: &Types, of: TypeId) -> Option<Passing> {
    let mut parts = Vec::new();
    add_parts(types, of, 0, &mut parts)?;
    let alignment = if parts.iter().any(|p| p.is_aligned_to_16) { 16 } else { 8 };
    if types[of].size > 16 || parts.iter().any(|p| p.class.is_none()) {
        return Some(Passing::Stack(alignment));
    }
    let mut classes = [Class::None; 2];
    for part in parts {
        let class = &mut classes[part.at / 8];
        *class = match (*class, part.class?) {
            (Class::Integer, _) | (_, Class::Integer) => Class::Integer,
            (_, new) => new,
        };
    }
    Some(Passing::Registers(classes))
}

/// A number or an address in a value.
struct Part {
    /// Offset in the value.
    at: usize,
    /// `None` for a number that is always on the stack.
    class: Option<Class>,
    is_aligned_to_16: bool,
}

fn add_parts(types: &Types, of: TypeId, at: usize, parts: &mut Vec<Part>) -> Option<()> {
    let t = &types[of];
    let mut add = |at: usize, class, is_aligned_to_16| parts.push(Part { at, class, is_aligned_to_16 });
    match &t.form {
        Form::Number(Number::Plain(kind)) if kind.is_float() => add(at, Some(Class::Float), false),
        Form::Number(Number::Plain(_)) | Form::Pointer(_) => add(at, Some(Class::Integer), false),
        Form::Number(Number::F16) => add(at, Some(Class::Float), false),
        Form::Number(Number::F80) => add(at, None, true),
        Form::Number(Number::F128) => {
            add(at, Some(Class::Float), true);
            add(at + 8, Some(Class::FloatUpper), true);
        }
        Form::Number(Number::Wide { .. }) => {
            add(at, Some(Class::Integer), true);
            add(at + 8, Some(Class::Integer), true);
        }
        Form::Array(element, n) => {
            for i in 0..*n {
                add_parts(types, *element, at + i * types[*element].size, parts)?;
            }
        }
        // A class with a copy constructor or a destructor is passed by its address.
        Form::Struct(_) | Form::Union(_) if t.has(type_flag::CLASS) && !t.has(type_flag::AGGREGATE) => return None,
        Form::Struct(members) | Form::Union(members) => {
            for m in members.iter().filter(|m| m.bits > 0) {
                parts.push(Part { at: at + m.offset / 8, class: Some(Class::Integer), is_aligned_to_16: false });
            }
            for m in members.iter().filter(|m| m.bits == 0) {
                add_parts(types, m.of, at + m.offset / 8, parts)?;
            }
        }
        Form::Library(_) | Form::Function(_) | Form::Void | Form::Incomplete | Form::Other => return None,
    }
    // More than 16 bytes are on the stack, whatever they are.
    Some(())
}
