//! Watching a campaign while it runs: one [`Snapshot`], made by the supervisor a few times a second, and one file per way
//! of showing it.
//!
//! The supervisor also writes it to `DIR/status.json`, so everything that need not share its terminal reads that file: another
//! process serves it to Prometheus, `penfuzz status` prints it.

mod snapshot;

pub use snapshot::*;

/// A way of showing a campaign.
pub trait Watcher {
    /// Looks at the campaign; called about 20 times a second. It must not block, start threads, or change signal handlers:
    /// the supervisor forks.
    fn tick(&mut self, now: &Snapshot);

    /// The campaign has ended, or is about to print something: leaves the terminal as it was.
    fn end(&mut self);
}
