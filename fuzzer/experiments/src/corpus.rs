//! The corpus of a tool: inputs with the time at which it found them.

use std::time::Duration;

/// One input of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamped {
    /// Time since the trial's start, by the tool's own stamp.
    pub at: Duration,
    /// The input of the harness.
    pub bytes: Vec<u8>,
}
