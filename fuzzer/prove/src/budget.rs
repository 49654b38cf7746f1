//! The time budget of the solvers.

use std::{cell::Cell, path::Path, time::Duration};

use penfuzz_report::proof;
use penfuzz_system::process::{deadline, interrupts};

use super::{
    Limits,
    solver::{Answer, Solver},
};

/// The time for the values of a model, in addition to twice that of the answer.
const VALUES: Duration = Duration::from_millis(200);

/// The remaining time of all solvers. Time in which a solver waits for a processor does not count, and neither does the
/// time of the translation.
#[derive(Debug)]
pub struct Budget {
    each: Duration,
    left: Cell<Duration>,
}

impl Budget {
    /// A full budget within these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { each: limits.each, left: Cell::new(limits.all) }
    }

    /// Changes the time for one query.
    pub fn allow(&mut self, each: Duration) {
        self.each = each;
    }

    /// Returns true if no time is left, or if the user has interrupted.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left.get().is_zero() || interrupts::requested() || deadline::is_past()
    }

    /// The time that is left after `queries` further queries of maximal length.
    #[must_use]
    pub fn after(&self, queries: u32) -> Duration {
        self.left.get().saturating_sub(self.each * queries)
    }

    /// Returns true if at most `time` is left.
    #[must_use]
    pub fn is_down_to(&self, time: Duration) -> bool {
        self.left.get() <= time
    }

    /// Runs a solver on the query in `file`, for at most the time of one query divided by `part`. Returns `None` if no
    /// time is left, or if the user has interrupted.
    #[must_use]
    pub fn ask(&self, solver: &Solver, file: &Path, part: u32) -> Option<(Answer, proof::Answer)> {
        let time = self.left.get().min(self.each / part);
        if time.is_zero() || self.is_over() {
            return None;
        }
        let (answer, shown) = solver.ask(file, time);
        self.left.set(self.left.get().saturating_sub(Duration::from_secs_f64(shown.seconds)));
        Some((answer, shown))
    }

    /// What a solver prints for a query that also requests values (`get-value`), within twice the time in which it has
    /// answered the query. This time does not count.
    #[must_use]
    pub fn values(&self, solver: &Solver, file: &Path, answer: &proof::Answer) -> Option<String> {
        let time = Duration::from_secs_f64(2.0 * answer.seconds) + VALUES;
        solver.values_past_deadline(file, time.min(self.each))
    }
}
