//! The limits of one evaluation: time, fuel and memory.

use std::time::Duration;

/// Default number of loop iterations and non-leaf calls per evaluation: about a millisecond.
pub const DEFAULT_FUEL: i64 = 1 << 20;

/// The limits of one evaluation.
#[derive(Debug, Clone, Copy)]
pub struct EvaluationLimits {
    /// Wall time. It ends evaluations in code without hooks.
    pub timeout: Duration,
    /// Number of loop iterations and calls, counted by the hooks, so it is reproducible.
    pub fuel: i64,
    /// Number of bytes by which the memory of the process may grow.
    pub memory: u64,
}

/// Default memory for the target: 1 GiB.
pub const DEFAULT_MEMORY: u64 = 1 << 30;

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(1), fuel: DEFAULT_FUEL, memory: DEFAULT_MEMORY }
    }
}
