//! Functions whose parameters are not only numbers: structures, arrays and strings are made from an input, under the
//! constraints that the user declares.

#[path = "inputs/assumed.rs"]
mod assumed;
#[path = "inputs/calls.rs"]
mod calls;
#[path = "inputs/globals.rs"]
mod globals;
#[path = "inputs/loops.rs"]
mod loops;
#[path = "inputs/made.rs"]
mod made;
#[path = "inputs/mirrors.rs"]
mod mirrors;
#[path = "inputs/needed.rs"]
mod needed;
#[path = "inputs/objects.rs"]
mod objects;
#[path = "inputs/passed.rs"]
mod passed;
#[path = "inputs/programs.rs"]
mod programs;
#[path = "inputs/questions.rs"]
mod questions;
#[path = "inputs/said.rs"]
mod said;
#[path = "inputs/streams.rs"]
mod streams;
#[path = "inputs/voids.rs"]
mod voids;
