//! Parameters, and their types as the debug information describes them.

use std::ffi::c_char;

/// The kinds of types.
pub mod type_kind {
    /// A type that cannot be built from numbers: a class with virtual functions, a variable number of arguments.
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
    /// Pointers: the callee must not write to the pointee.
    pub const CONST: u32 = 1;
    /// Pointers: a C++ reference.
    pub const REFERENCE: u32 = 2;
    /// Arrays of two numbers: a complex number.
    pub const COMPLEX: u32 = 4;
    /// Numbers: an enumeration; the members are its enumerators.
    pub const ENUM: u32 = 8;
    /// Structures: has features that only C++ has (base classes, access control, constructors).
    pub const CLASS: u32 = 16;
    /// Numbers: plain `char`.
    pub const CHAR: u32 = 32;
    /// C++ structures: has no constructors and no base classes, and all members are public.
    pub const AGGREGATE: u32 = 64;
    /// Classes: abstract; only objects of derived classes exist.
    pub const ABSTRACT: u32 = 128;
    /// Functions: the members are all their parameters, which are numbers and pointers.
    pub const PROTOTYPE: u32 = 256;
}

/// A type without typedefs and qualifiers. The records of two translation units may describe one type.
#[repr(C)]
#[derive(Debug)]
pub struct Type {
    /// Its C notation: `struct point`, `double`, `ns::color`; empty if the type has no name.
    pub name: *const c_char,
    /// Element type, pointee type, or result type of a function; else null.
    pub target: *const Type,
    /// Members of a structure or union, enumerators of an enumeration.
    pub members: *const Member,
    /// Size in bytes.
    pub size: u64,
    /// Number of elements of an array; 0 if the declaration leaves it open.
    pub count: u64,
    /// One of [`type_kind`].
    pub kind: u32,
    /// Type of a number: one of [`kind`](super::kind).
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
    /// Name; empty for an unnamed member and for a base class.
    pub name: *const c_char,
    /// Type of the member; null for an enumerator.
    pub member_type: *const Type,
    /// Offset from the start of the structure in bits; the value of an enumerator.
    pub offset: u64,
    /// Width of a bit-field in bits; else 0.
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
    /// `n_passed` entries; for a pointer only.
    pub passed: *const Passed,
    /// Type of the value or of the pointee: one of [`kind`](super::kind).
    pub kind: u32,
    /// 1: the callee gets the address of one value of this kind and may write to it.
    pub pointer: u32,
    /// Offset in the input, in bytes.
    pub offset: u32,
    /// Size in bytes; for [`kind::OUTPUT`](super::kind::OUTPUT) that of the structure.
    pub size: u32,
    /// For a pointer: bytes from the start of the output area to its block; else 0.
    pub cell: u32,
    /// Bytes from the start of the frame, see [`Function::call_frame`](super::Function::call_frame).
    pub frame: u32,
    /// 1: the function compares this pointer with null.
    pub nullable: u32,
    /// For a pointer, 1: as far as the translation unit shows, the pointee is read before it is written.
    pub reads: u32,
    /// For a pointer, bits: 1: it may point to an array; 2: the function converts the address to a number.
    pub indexes: u32,
    /// For a pointer: number of bytes that the declaration guarantees (a reference, `[static 10]`); else 0.
    pub promised: u32,
    /// For a pointer, 1: the function opens a file with this name.
    pub names_file: u32,
    /// For a pointer: the loops of the function access `reach_times * n + reach_plus` bytes from it, where `n` is the
    /// parameter with this number, from 1. 0 if the parameter is unknown.
    pub reach_first: u32,
    /// The number of a second parameter by which `n` is multiplied; 0 for none.
    pub reach_second: u32,
    /// See `reach_first`.
    pub reach_times: u32,
    /// See `reach_first`.
    pub reach_plus: i32,
    /// The index of its first argument in the compiled code, from 0; a result in memory counts as an argument.
    pub argument: u32,
    /// Length of `passed`.
    pub n_passed: u32,
    /// Padding.
    pub unused: u32,
}

/// An argument of a further function as which a pointer parameter is passed on. Neither this translation unit nor the C
/// library defines that function.
#[repr(C)]
#[derive(Debug)]
pub struct Passed {
    /// The called function; null if it is not instrumented.
    pub function: *const super::Function,
    /// As [`Param::argument`].
    pub argument: u32,
    /// 1: if the called function reads the memory, the memory has not been written before.
    pub is_first: u32,
}

/// The pointee type of a `void *`, inferred from its uses in a function.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Cast {
    /// The structure that contains the `void *` as a member; null if it is a parameter.
    pub of: *const Type,
    /// The pointer type that replaces `void *`; null if the uses in the function contradict each other.
    pub to: *const Type,
    /// Offset in the structure in bytes, or the index of the parameter, from 0.
    pub at: u64,
}

/// Bits of [`BufferPair::flags`].
pub mod buffer_flag {
    /// The second pointer leads to the last element at most, not to the end.
    pub const INCLUSIVE: u32 = 1;
    /// The function accesses no memory through the second pointer, and does not change it.
    pub const LIMIT: u32 = 2;
    /// The pointers are only compared for equality: this counts if another pair has one of them.
    pub const WEAK: u32 = 4;
}

/// Two pointers that the code of a function compares as places in one buffer, the one with the lower address first.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct BufferPair {
    /// The structure that the first pointer is a member of, as LLVM names it (`ns::color`); empty if the pointer lies
    /// where the parameter points to; null if it is the parameter itself.
    pub first_of: *const c_char,
    /// The same of the second pointer.
    pub second_of: *const c_char,
    /// Of a member: bytes from the start of its structure.
    pub first_at: u64,
    /// The same of the second pointer.
    pub second_at: u64,
    /// The parameter, or the one from which the member is reached, from 1; 0 if it is unknown.
    pub first_parameter: u32,
    /// The same of the second pointer.
    pub second_parameter: u32,
    /// How clearly comparisons show the order; 0 if they do not.
    pub votes: u32,
    /// Bits of [`buffer_flag`].
    pub flags: u32,
}
