//! A campaign: one function, one output directory, from start to report.
//!
//! The supervisor (this process: terminal, Ctrl-C, clock) forks a worker that loads the target and runs the LibAFL stages. They
//! share some memory ([`worker_shm`]). When the worker dies, the supervisor records the input that was under evaluation and
//! starts another worker, which goes on from the output directory.

mod claims;
pub mod cluster;
pub mod criteria;
pub mod header;
pub mod limits;
pub mod memory;
mod messages;
pub mod models;
pub mod operands;
mod options;
pub mod outcome;
pub mod prepare;
pub mod prototypes;
mod requirements;
pub mod results;
pub mod saved_state;
pub mod single;
pub mod supervisor;
mod waits;
pub mod worker;
pub mod worker_shm;

pub use options::{Farm, Options, Proofs, SearchKind};
pub use supervisor::{Finished, run};
