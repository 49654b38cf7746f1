//! A campaign: the search on one function, with one output directory, from start to report.
//!
//! The supervisor (this process: terminal, Ctrl-C, clock) forks a worker that loads the target and runs the LibAFL
//! stages. Both share memory ([`worker_shm`]). When the worker dies, the supervisor records the input that was under
//! evaluation and starts another worker, which continues from the output directory.

pub mod assembly;
pub mod callers;
pub mod cluster;
pub mod corpus;
mod messages;
pub mod models;
mod options;
pub mod prepare;
pub mod saved_state;
pub mod supervisor;
pub mod sync;
pub mod watch;
pub mod worker;
pub mod worker_shm;

pub use options::{CallerSearch, Farm, Options, Proofs, RunOptions};
pub use supervisor::{Finished, run};
