//! Experiments that compare penfuzz with other fuzzers on the same functions (`penfuzz compare SUITE.toml`).
//!
//! ```text
//! suite.toml --subject--> functions --+                                +--> trials/FUNCTION/TOOL/N/trial.json
//!                                     +--plan--> trials --run--> corpus --referee (gcov)--+
//! tools (one file each) --build-------+                                                   |
//!              results.csv, summary.json, table.md, index.html, rerun.sh <--report-- statistics
//! ```
//! A trial is one tool on one function with one seed and one budget, in a process group of its own, on one core. Every
//! tool gets the same [`harness`], the same seeds and the same budget of CPU time, and its corpus is judged by the same
//! [`referee`]. A trial is finished when its `trial.json` exists: an experiment that was killed continues with the
//! unfinished ones.

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod archive;
pub mod assumptions;
pub mod corpus;
pub mod experiment;
pub mod harness;
pub mod machine;
pub mod model;
pub mod prepare;
mod progress;
pub mod referee;
pub mod report;
pub mod runner;
pub mod schedule;
pub mod statistics;
pub mod subject;
pub mod toolchain;
pub mod tools;

pub use model::{Experiment, Trial};
pub use subject::Subject;
