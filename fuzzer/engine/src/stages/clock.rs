//! When the search must stop. The check is made before every evaluation, so it costs only three loads and a comparison.

use core::sync::atomic::{AtomicU32, Ordering};

use penfuzz_executor::PenEvaluator;

/// The end of a campaign: a number of evaluations, or a flag that is set from outside.
///
/// # Example
/// ```no_run
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// use penfuzz_engine::stages::Clock;
/// use penfuzz_executor::Evaluator;
///
/// static STOP: AtomicU32 = AtomicU32::new(0);
///
/// fn search(evaluator: &mut Evaluator, x: &[u8]) {
///     let clock = Clock::new(100_000, &STOP); // a signal handler may set STOP to 1
///     while !clock.is_over(evaluator) {
///         evaluator.run(x);
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Clock {
    max_evaluations: u64,
    stop: &'static AtomicU32,
}

static NEVER: AtomicU32 = AtomicU32::new(0);

impl Clock {
    /// Creates a clock that ends after `max_evaluations` calls of the representing function, or as soon as `stop` is
    /// not zero.
    #[must_use]
    pub fn new(max_evaluations: u64, stop: &'static AtomicU32) -> Self {
        Self { max_evaluations, stop }
    }

    /// Creates a clock that never ends.
    #[must_use]
    pub fn endless() -> Self {
        Self { max_evaluations: u64::MAX, stop: &NEVER }
    }

    /// Whether `evaluator` must run no further input. Also true if another process must take over from it.
    #[inline]
    #[must_use]
    pub fn is_over<V: PenEvaluator>(&self, evaluator: &V) -> bool {
        evaluator.evaluations() >= self.max_evaluations
            || self.stop.load(Ordering::Relaxed) != 0
            || evaluator.needs_restart()
    }
}
