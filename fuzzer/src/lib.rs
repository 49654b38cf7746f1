//! penfuzz: a `LibAFL` fuzzer for numeric code.
//!
//! The library holds the parts (executor, observer, feedbacks, stages, objectives) for use in any `LibAFL` fuzzer;
//! `examples/plugin.rs` builds a small one. The program `penfuzz` is [`cli`] over [`campaign`].

pub mod campaign;
pub mod cli;
pub mod compare;
pub mod corpus;
pub mod error;
pub mod exceptions;
pub mod executor;
pub mod objective;
pub mod reach;
pub mod report;
pub mod saturation;
pub mod shrink;
pub mod stage;
pub mod suite;
pub mod sync;
pub mod target;
pub mod watch;

pub use error::Error;
