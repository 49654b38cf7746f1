//! Trace entries that are not an [`operation`](super::operation): values of the lowest 8 bits of
//! [`Traced::what`](super::Traced::what). They are written with `-fpen-moves` only.
//!
//! The values of a function have names: the name of a parameter, or of an instruction that yields a float, is a unique
//! address. Arguments and results of functions are stored by one function and loaded by the other, at small addresses.

/// Names of the operands of the next operation, in `operands`, and of its result, in `result`; 0 for constants.
pub const OPERANDS: u32 = 252;
/// Defines the name `operands[1]`: it is the value with the name `operands[0]`, or an unknown value if that is 0.
pub const VALUE: u32 = 253;
/// A load from the address `operands[0]`; the loaded value gets the name `operands[1]`.
pub const LOAD: u32 = 254;
/// A store of the value with the name `operands[1]` to the address `operands[0]`.
pub const STORE: u32 = 255;

/// The common name of all constants that are moved.
pub const CONSTANT_NAME: u64 = 1;
/// The address of a function's result.
pub const RETURNED: u64 = 2;
/// The address of a function's first parameter; the addresses of the other parameters follow.
pub const PASSED: u64 = 3;
