//! Detects that the search finds nothing new.

use std::time::{Duration, Instant};

use penfuzz_engine::saturation::Saturation;

/// Records the last change of the saturated set.
pub struct Progress {
    begun: Instant,
    generation: u64,
    changed: Instant,
}

impl Progress {
    /// Creates the record of a search that begins now.
    #[must_use]
    pub fn begin() -> Self {
        let now = Instant::now();
        Self { begun: now, generation: 0, changed: now }
    }

    /// Whether goals are open and nothing has changed for at least `patience`, and for at least the time from the start
    /// to the last change.
    pub fn is_stuck(&mut self, saturation: &Saturation, patience: Duration) -> bool {
        if self.generation != saturation.generation {
            (self.generation, self.changed) = (saturation.generation, Instant::now());
        }
        self.changed.elapsed() >= patience.max(self.changed - self.begun) && has_open(saturation)
    }
}

/// Whether there is an uncovered goal that is not settled.
#[must_use]
pub fn has_open(saturation: &Saturation) -> bool {
    saturation.uncovered().any(|branch| !saturation.is_settled(branch))
}
