//! The `LibAFL` plugin of penfuzz: goals, saturation and stages that minimize branch distances of numeric code.
//!
//! | module | contents |
//! | --- | --- |
//! | [`goals`] | what makes an input wanted, as a table of pen actions (Mathematical Execution's researcher layer) |
//! | [`saturation`] | which branches are covered and saturated (`CoverMe`, Def. 3.2), observer and feedbacks |
//! | [`stages`] | `LibAFL` stages: basinhopping, havoc, sampling, the algorithm of the paper |
//!
//! `penfuzz-target` loads a target, `penfuzz-executor` evaluates its functions; neither needs a compiler.
//! `examples/plugin.rs` builds a small fuzzer of these parts; `examples/goal.rs` adds a goal of its own.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod goals;
pub mod saturation;
pub mod stages;
