//! When did the search find something new?

use std::time::{Duration, Instant};

use penfuzz_engine::saturation::Saturation;

/// The last change of the saturated set.
pub struct Progress {
    begun: Instant,
    generation: u64,
    changed: Instant,
}

impl Progress {
    /// Of a search that begins now.
    #[must_use]
    pub fn begin() -> Self {
        let now = Instant::now();
        Self { begun: now, generation: 0, changed: now }
    }

    /// Has nothing changed for the time `patience`, and for as long as everything that is found took, with goals that are open?
    pub fn is_stuck(&mut self, saturation: &Saturation, patience: Duration) -> bool {
        if self.generation != saturation.generation {
            (self.generation, self.changed) = (saturation.generation, Instant::now());
        }
        self.changed.elapsed() >= patience.max(self.changed - self.begun) && has_open(saturation)
    }
}

/// Is there a goal that no input takes, and that is not settled otherwise?
#[must_use]
pub fn has_open(saturation: &Saturation) -> bool {
    saturation.uncovered().any(|branch| !saturation.is_settled(branch))
}
