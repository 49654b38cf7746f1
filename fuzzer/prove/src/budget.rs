//! The time that solvers may take.

use std::{cell::Cell, path::Path, time::Duration};

use penfuzz_report::proof;
use penfuzz_system::process::interrupts;

use super::{
    Limits,
    solver::{Answer, Solver},
};

/// What is left of the time of all solvers. Time in which they wait for a processor does not count, and neither does that of translating.
#[derive(Debug)]
pub struct Budget {
    each: Duration,
    left: Cell<Duration>,
}

impl Budget {
    /// The time within these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { each: limits.each, left: Cell::new(limits.all) }
    }

    /// Is no time left, or has the user interrupted?
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.left.get().is_zero() || interrupts::requested()
    }

    /// What will be left when solvers have taken the time of so many whole queries from now on.
    #[must_use]
    pub fn after(&self, queries: u32) -> Duration {
        self.left.get().saturating_sub(self.each * queries)
    }

    /// Is no more than this left?
    #[must_use]
    pub fn is_down_to(&self, time: Duration) -> bool {
        self.left.get() <= time
    }

    /// Asks a solver, for at most this part of the time of one query. `None` when no time is left, or the user has interrupted.
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

    /// What a solver prints for a query that asks for values, too.
    #[must_use]
    pub fn values(&self, solver: &Solver, file: &Path) -> Option<String> {
        solver.values(file, self.each)
    }
}
