//! Inputs evaluated again, each in a process of its own, so that whatever an input does to its process is an answer.

pub mod fatal_input;
pub mod session;
