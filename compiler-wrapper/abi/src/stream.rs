//! What a verification task takes from its environment.

use std::ffi::{c_char, c_void};

/// The results of a function that a verification task leaves to its environment (`__VERIFIER_nondet_int`).
#[repr(C)]
#[derive(Debug)]
pub struct Stream {
    /// Name of the function.
    pub name: *const c_char,
    /// `n` numbers of the kind; null outside the fuzzer.
    pub values: *const c_void,
    /// One of [`kind`](super::kind).
    pub kind: u32,
    /// How many there are.
    pub n: u32,
    /// Calls so far; from the nth on they return 0.
    pub taken: u32,
    /// Padding.
    pub unused: u32,
}
