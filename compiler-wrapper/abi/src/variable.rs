//! Variables with static storage duration, and what refers to them.

use std::ffi::{c_char, c_void};

use super::{Function, Type};

/// What a function, or the initial value of a variable, refers to: functions, and variables that are not constants of the same
/// translation unit. A record is null if what the name stands for is not instrumented.
#[repr(C)]
#[derive(Debug)]
pub struct References {
    /// Records of functions.
    pub functions: *const *const Function,
    /// Their names in the object file.
    pub function_names: *const *const c_char,
    /// Records of variables.
    pub variables: *const *const Variable,
    /// Their names in the object file.
    pub variable_names: *const *const c_char,
    /// Bits of [`variable_use`].
    pub variable_uses: *const u32,
    /// Length of the first two.
    pub n_functions: u32,
    /// Length of the last three.
    pub n_variables: u32,
}

/// Flags of a [`Variable`].
pub mod variable_flag {
    /// Never written; it may hold addresses of others.
    pub const CONSTANT: u32 = 1;
    /// Its address is null: it has one in each thread.
    pub const THREAD_LOCAL: u32 = 2;
    /// Not visible to other translation units.
    pub const STATIC: u32 = 4;
    /// Declared in a function: only that can name it.
    pub const LOCAL: u32 = 8;
}

/// How a function uses a variable; both bits where that is not known.
pub mod variable_use {
    /// It may read it before it writes it.
    pub const READ: u32 = 1;
    /// It may write it.
    pub const WRITE: u32 = 2;
}

/// One defined variable with static storage duration that is written, is visible to other translation units or has a name in the source.
#[repr(C)]
#[derive(Debug)]
pub struct Variable {
    /// Name as in the source.
    pub name: *const c_char,
    /// Source file.
    pub file: *const c_char,
    /// The source of its translation unit.
    pub unit: *const c_char,
    /// Namespaces and classes around it: `ns::`; empty if there is none.
    pub scope: *const c_char,
    /// Its type; null without debug information.
    pub variable_type: *const Type,
    /// Its address.
    pub address: *mut c_void,
    /// One entry: the references of its initial value.
    pub references: *const References,
    /// Bytes.
    pub size: u64,
    /// Source line, from 1; 0 if unknown.
    pub line: u32,
    /// Bits of [`variable_flag`].
    pub flags: u32,
}
