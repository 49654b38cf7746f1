//! What one evaluation may use.

use std::time::Duration;

/// Loop iterations and non-leaf calls that one evaluation may use: about a millisecond.
pub const DEFAULT_FUEL: i64 = 1 << 20;

/// Limits of one evaluation.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Wall time; the backstop for code without hooks.
    pub timeout: Duration,
    /// Loop iterations and calls, counted by the hooks: the same at every run.
    pub fuel: i64,
    /// Bytes of memory that the process may grow by.
    pub memory: u64,
}

/// Memory for the target by default: 1 GiB.
pub const DEFAULT_MEMORY: u64 = 1 << 30;

impl Default for Limits {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(1), fuel: DEFAULT_FUEL, memory: DEFAULT_MEMORY }
    }
}
