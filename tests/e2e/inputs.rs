//! Functions that take more than numbers: structures, arrays and strings are made from an input.

#[path = "inputs/made.rs"]
mod made;
#[path = "inputs/programs.rs"]
mod programs;
#[path = "inputs/streams.rs"]
mod streams;
