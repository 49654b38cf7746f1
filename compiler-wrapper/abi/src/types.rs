//! Parameters, and their types as the debug information describes them.

use std::ffi::c_char;

/// What a type is.
pub mod type_kind {
    /// Nothing that can be made from numbers: a class with virtual functions, a variable number of arguments.
    pub const OTHER: u32 = 0;
    /// A number or an enumeration.
    pub const NUMBER: u32 = 1;
    /// A pointer or a reference.
    pub const POINTER: u32 = 2;
    /// An array.
    pub const ARRAY: u32 = 3;
    /// A structure or a class.
    pub const STRUCT: u32 = 4;
    /// A union.
    pub const UNION: u32 = 5;
    /// A function; only behind pointers.
    pub const FUNCTION: u32 = 6;
    /// `void`; only behind pointers.
    pub const VOID: u32 = 7;
    /// A structure that is declared and not defined in its translation unit.
    pub const INCOMPLETE: u32 = 8;
}

/// Bits of [`Type::flags`].
pub mod type_flag {
    /// Of a pointer: the callee must not write what it points to.
    pub const CONST: u32 = 1;
    /// Of a pointer: a reference of C++.
    pub const REFERENCE: u32 = 2;
    /// Of an array of two numbers: a complex number.
    pub const COMPLEX: u32 = 4;
    /// Of a number: the members are its enumerators.
    pub const ENUM: u32 = 8;
    /// Of a structure: only C++ has it (base classes, access control, constructors).
    pub const CLASS: u32 = 16;
    /// Of a number: plain `char`.
    pub const CHAR: u32 = 32;
    /// Of a structure of C++: no constructors, no base classes, and all members are public.
    pub const AGGREGATE: u32 = 64;
    /// Of a class: there is no object of it, only of classes that derive from it.
    pub const ABSTRACT: u32 = 128;
}

/// A type without typedefs and qualifiers. The records of two translation units may describe one type.
#[repr(C)]
#[derive(Debug)]
pub struct Type {
    /// As C writes it: `struct point`, `double`, `ns::color`; empty if the type has no name.
    pub name: *const c_char,
    /// Element, pointee, or the result of a function; else null.
    pub target: *const Type,
    /// Of a structure or union; of an enumeration its enumerators.
    pub members: *const Member,
    /// Bytes.
    pub size: u64,
    /// Of an array: elements; 0 if the declaration leaves it open.
    pub count: u64,
    /// One of [`type_kind`].
    pub kind: u32,
    /// One of [`kind`](super::kind), of a number.
    pub number: u32,
    /// Bits of [`type_flag`].
    pub flags: u32,
    /// Length of `members`.
    pub n_members: u32,
}

/// A member of a structure or union, or an enumerator.
#[repr(C)]
#[derive(Debug)]
pub struct Member {
    /// Empty of an unnamed member and of a base class.
    pub name: *const c_char,
    /// Null of an enumerator.
    pub member_type: *const Type,
    /// Bits from the start of the structure; of an enumerator its value.
    pub offset: u64,
    /// Of a bit-field; else 0.
    pub bits: u32,
    /// 1: some function of the translation unit compares this pointer with null.
    pub nullable: u32,
}

/// A parameter. The values of an input are little-endian, without padding, in the order of the parameters.
#[repr(C)]
#[derive(Debug)]
pub struct Param {
    /// Name; empty if the source gives none.
    pub name: *const c_char,
    /// Type as C writes it, for example `const double *`.
    pub type_name: *const c_char,
    /// Its type; null without debug information.
    pub shape: *const Type,
    /// `n_passed` entries, of a pointer.
    pub passed: *const Passed,
    /// One of [`kind`](super::kind), of the value or of what the parameter points to.
    pub kind: u32,
    /// 1: the callee gets the address of one such value and may write to it.
    pub pointer: u32,
    /// Bytes from the start of the input.
    pub offset: u32,
    /// Bytes; of [`kind::OUTPUT`](super::kind::OUTPUT) those of the structure.
    pub size: u32,
    /// Of a pointer: bytes from the start of the output area to its block; else 0.
    pub cell: u32,
    /// Bytes from the start of the frame, see [`Function::call_frame`](super::Function::call_frame).
    pub frame: u32,
    /// 1: the function compares this pointer with null.
    pub nullable: u32,
    /// 1: of a pointer: as far as the translation unit shows, what it points to is read before it is written.
    pub reads: u32,
    /// 1: of a pointer: there may be an array.
    pub indexes: u32,
    /// Of a pointer: bytes that the declaration promises (a reference, `[static 10]`); else 0.
    pub promised: u32,
    /// 1: of a pointer: a file is opened by this name.
    pub names_file: u32,
    /// Of a pointer: the loops of the function reach `reach_times * n + reach_plus` bytes behind it. `n` is the parameter of this number,
    /// from 1; 0 if that is not known.
    pub reach_first: u32,
    /// The number of a parameter that is a further factor of `n`; 0 for none.
    pub reach_second: u32,
    /// See `reach_first`.
    pub reach_times: u32,
    /// See `reach_first`.
    pub reach_plus: i32,
    /// The number of its first argument in the compiled code, from 0; a result in memory counts.
    pub argument: u32,
    /// Length of `passed`.
    pub n_passed: u32,
    /// Padding.
    pub unused: u32,
}

/// An argument that a pointer parameter is passed on as, to a function that neither this translation unit nor the C library defines.
#[repr(C)]
#[derive(Debug)]
pub struct Passed {
    /// Null if it is not instrumented.
    pub function: *const super::Function,
    /// As [`Param::argument`].
    pub argument: u32,
    /// 1: if that function reads the memory, it is read before it is written.
    pub is_first: u32,
}

/// The type that the code of a function gives to what a `void *` points to.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Cast {
    /// The structure whose member it is; null: it is a parameter.
    pub of: *const Type,
    /// The pointer type that stands for `void *`; null: the function gives it several that contradict each other.
    pub to: *const Type,
    /// Bytes from the start of the structure, or the number of the parameter, from 0.
    pub at: u64,
}
