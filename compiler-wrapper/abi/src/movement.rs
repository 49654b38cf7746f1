//! What else than an [`operation`](super::operation) is in a trace, in the lowest 8 bits of [`Traced::what`](super::Traced::what). Only with `-fpen-moves`. The
//! values of a function have names: each parameter and each instruction that gives a float an address of its own. Arguments and results of functions are stored by one
//! function and loaded by the other, at small addresses.

/// Of the next operation: `operands` and `result` are names, 0 of constants.
pub const OPERANDS: u32 = 252;
/// Of a name, `operands[1]`; it is the value with the name `operands[0]`, if that is known, else that is 0.
pub const VALUE: u32 = 253;
/// From the address `operands[0]`; it gets the name `operands[1]`.
pub const LOAD: u32 = 254;
/// Of the value with the name `operands[1]`, to the address `operands[0]`.
pub const STORE: u32 = 255;

/// The name of all constants that move.
pub const CONSTANT_NAME: u64 = 1;
/// The address of what a function returns.
pub const RETURNED: u64 = 2;
/// The address of its first parameter; those of the others follow.
pub const PASSED: u64 = 3;
