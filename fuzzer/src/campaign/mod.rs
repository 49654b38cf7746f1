//! A campaign: one function, one output directory, from start to report.
//!
//! The supervisor (this process: terminal, Ctrl-C, clock) forks a worker that loads the target and runs the LibAFL stages.
//! They share one page of memory, the board. Whatever kills the worker, the supervisor records the input that did it and
//! starts another, which goes on from the output directory.

pub mod afl;
pub mod board;
pub mod client;
pub mod directory;
pub mod disk;
pub mod display;
pub mod farm;
pub mod identity;
pub mod killer;
pub mod leftovers;
pub mod manifest;
pub mod messages;
pub mod operands;
mod options;
pub mod outcome;
pub mod prepare;
pub mod process;
pub mod resume;
pub mod shared;
pub mod snapshots;
mod stopped;
pub mod store;
pub mod supervisor;
mod together;
pub mod worker;

pub use options::{Farm, Monitor, Options, Rounding, SearchKind};
pub use supervisor::{Finished, run};
