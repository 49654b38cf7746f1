//! Variables with static storage duration, and references to them.

use std::ffi::{c_char, c_void};

use super::{Function, Type};

/// The references of a function, or of the initial value of a variable: functions, and variables except constants of
/// the same translation unit. A record is null if the function or variable is not instrumented.
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
    /// Length of `functions` and `function_names`.
    pub n_functions: u32,
    /// Length of `variables`, `variable_names` and `variable_uses`.
    pub n_variables: u32,
}

/// Flags of a [`Variable`].
pub mod variable_flag {
    /// Never written; it may hold addresses of functions and other variables.
    pub const CONSTANT: u32 = 1;
    /// Each thread has its own instance; the address is null.
    pub const THREAD_LOCAL: u32 = 2;
    /// Not visible to other translation units.
    pub const STATIC: u32 = 4;
    /// Declared in a function: only that function can name it.
    pub const LOCAL: u32 = 8;
}

/// How a function uses a variable; both bits if that is unknown.
pub mod variable_use {
    /// The function may read the variable before it writes it.
    pub const READ: u32 = 1;
    /// The function may write the variable.
    pub const WRITE: u32 = 2;
}

/// One defined variable with static storage duration that is written, is visible to other translation units, or has a
/// name in the source.
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
    /// Size in bytes.
    pub size: u64,
    /// Source line, from 1; 0 if unknown.
    pub line: u32,
    /// Bits of [`variable_flag`].
    pub flags: u32,
}
