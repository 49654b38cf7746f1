//! A campaign: one function, one output directory, from start to report.
//!
//! The supervisor (this process: terminal, Ctrl-C, clock) forks a worker that loads the target and runs the LibAFL stages.
//! They share one page of memory, the shm. Whatever kills the worker, the supervisor records the input that did it and
//! starts another, which goes on from the output directory.

pub mod cluster;
pub mod messages;
pub mod operands;
mod options;
pub mod outcome;
pub mod prepare;
pub mod saved_state;
pub mod supervisor;
pub mod worker;
pub mod worker_shm;

pub use options::{Farm, Options, SearchKind};
pub use supervisor::{Finished, run};
