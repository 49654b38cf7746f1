//! Memory: the arguments of a run, and the values of what is read before it is written.

/// Memory that the fuzzer passes to the function under test.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Address of its first byte.
    pub at: usize,
    /// Size in bytes.
    pub size: usize,
    /// One of [`block_use`].
    pub usage: u64,
}

/// Values of [`Block::usage`].
pub mod block_use {
    /// `free` must not get it, as if it were a variable.
    pub const FIXED: u64 = 0;
    /// As if `malloc` had returned it.
    pub const HEAP: u64 = 1;
    /// The run has freed or reallocated it.
    pub const FREED: u64 = 2;
    /// The run has tried to reallocate it, but there was not enough memory.
    pub const KEPT: u64 = 3;
}

/// Number of values of each type in [`Fill`].
pub const FILL_VALUES: usize = 8;

/// The values of memory that is read before it is written: of local variables, and of blocks from `malloc` and its
/// like.
/// Variables that become registers always begin with one, all others if `on` is not 0. Numbers that follow each other
/// have different places in the arrays.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// Nonzero: memory is filled, too.
    pub on: u64,
    /// Of integers of at most 64 bits, and of pointers.
    pub integer: [u64; FILL_VALUES],
    /// Of a `double`.
    pub real: [f64; FILL_VALUES],
    /// Of a `float`.
    pub real32: [f32; FILL_VALUES],
    /// Of all other types, and of large objects; all are equal.
    pub bytes: [u8; 64],
}
