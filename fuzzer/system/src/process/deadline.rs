//! The time at which the work of this process must end, whatever part of it is under way.
//!
//! A time limit that a user gives is wall time and includes everything: solvers, compilers, confirmation and reports.
//! Each part has a budget of its own. The deadline cuts a part short that would exceed the limit of the whole, also on
//! a machine that is loaded by other work.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

/// The share of a limit by which it may be exceeded, and the least time.
const EXCESS: (u32, Duration) = (10, Duration::from_secs(2));

static END: OnceLock<Instant> = OnceLock::new();

/// The time by which a limit may be exceeded: a tenth of it, at least 2 s.
#[must_use]
pub fn excess(limit: Duration) -> Duration {
    (limit / EXCESS.0).max(EXCESS.1)
}

/// Sets the deadline of this process for a limit that began now: half of the [`excess`] is left for the report. Child
/// processes inherit it. The first call counts.
pub fn set(limit: Duration) {
    if let Some(end) = Instant::now().checked_add(limit + excess(limit) / 2) {
        let _ = END.set(end);
    }
}

/// The time that is left until the deadline; `None` if there is none.
#[must_use]
pub fn left() -> Option<Duration> {
    END.get().map(|end| end.saturating_duration_since(Instant::now()))
}

/// Whether the deadline is past.
#[must_use]
pub fn is_past() -> bool {
    left() == Some(Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_limit_may_be_exceeded_by_two_seconds() {
        assert_eq!(excess(Duration::from_secs(5)), Duration::from_secs(2));
        assert_eq!(excess(Duration::from_mins(1)), Duration::from_secs(6));
    }
}
