//! Questions about one function besides a campaign: an input on request, exceptions, path criteria, changed code.
//!
//! | module | contents |
//! | --- | --- |
//! | [`reach`] | an input that executes a line or takes a path |
//! | [`boundary`] | further inputs with equal operands |
//! | [`exceptions`] | floating-point exceptions |
//! | [`paths`] | criteria about the order of branches: paths, loops |
//! | [`code_mutants`] | small changes of the code, and inputs that tell them from the original |

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod boundary;
pub mod code_mutants;
pub mod exceptions;
pub mod paths;
pub mod reach;
