//! The corpus of a tool: inputs with the time at which it found them. The clock is the same for all tools: it starts
//! with the first process of the trial.

use std::time::Duration;

/// One input of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamped {
    /// Time since the trial's start.
    pub at: Duration,
    /// The input of the harness.
    pub bytes: Vec<u8>,
}
