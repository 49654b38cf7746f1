//! Inputs that a verification task reads from its environment.

use std::ffi::{c_char, c_void};

/// The results of a nondeterministic function of a verification task, such as `__VERIFIER_nondet_int`.
#[repr(C)]
#[derive(Debug)]
pub struct Stream {
    /// Name of the function.
    pub name: *const c_char,
    /// `n` numbers of the kind; null outside the fuzzer.
    pub values: *const c_void,
    /// One of [`kind`](super::kind).
    pub kind: u32,
    /// Length of `values`.
    pub n: u32,
    /// Number of calls so far. Once `n` values are used, calls return 0.
    pub taken: u32,
    /// Padding.
    pub unused: u32,
}
