//! The `LibAFL` plugin of penfuzz: everything that a fuzzer needs to minimize branch distances of numeric code.
//!
//! | room | holds |
//! | --- | --- |
//! | [`program`] | a compiled target, loaded into the process: functions, sites, branch graph |
//! | [`executor`] | one guarded call of a function under test, millions of times a second |
//! | [`saturation`] | which branches are covered and saturated (`CoverMe`, Def. 3.2), observer and feedbacks |
//! | [`inputs`] | what a function takes besides numbers: structures, arrays and strings, made from the bytes of an input |
//! | [`goals`] | what makes an input wanted, as a table of pen actions (Mathematical Execution's researcher layer) |
//! | [`hash`] | hashes for files and messages, the same in every build |
//! | [`stages`] | `LibAFL` stages: basinhopping, havoc, sampling, the algorithm of the paper |
//!
//! `examples/plugin.rs` builds a small fuzzer of these parts; `examples/goal.rs` adds a goal of its own.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod error;
pub mod executor;
pub mod goals;
pub mod hash;
pub mod inputs;
pub mod program;
pub mod saturation;
pub mod stages;

pub use error::Error;
