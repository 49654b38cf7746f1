//! Functions whose parameters are not only numbers: structures, arrays and strings are made from an input, under the
//! constraints that the user declares.

mod assumed;
mod buffers;
mod callbacks;
mod calls;
mod globals;
mod heap;
mod loops;
mod made;
mod mirrors;
mod needed;
mod objects;
mod ordinary;
mod passed;
mod pointers;
mod programs;
mod questions;
mod said;
mod streams;
mod unions;
mod voids;
