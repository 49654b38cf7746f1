//! A target that pen-cc has linked: loads it into the process, describes its functions, and models their inputs.
//!
//! | module | contents |
//! | --- | --- |
//! | [`program`] | functions, sites, branch graph, globals, the state that a call leaves |
//! | [`inputs`] | what a function takes: numbers, structures, arrays and strings, made from the bytes of an input |
//! | [`recorded`] | calls that a program made, as inputs of a function |
//! | [`hash`] | hashes for files and messages, the same in every build |
//!
//! Loading needs no compiler: `penfuzz-compile` makes targets.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod callers;
pub mod hash;
pub mod inputs;
pub mod program;
pub mod recorded;
