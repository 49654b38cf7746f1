//! The best point so far, and trials of one number at a time.

use crate::{
    evaluate::{Metric, RepresentingFunction, Stop},
    view::Slot,
};

/// A representing function together with the best point evaluated; trials write into the point and are undone if worse.
///
/// Keeps the promise of [`LocalMinimizer::minimize`](super::LocalMinimizer::minimize) about `x` in one place.
pub struct Probe<'a> {
    f: &'a mut dyn RepresentingFunction,
    x: &'a mut [u8],
    metric: Metric,
    best: u64,
}

/// What a trial came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Smaller than before; the point has moved.
    Better,
    /// Exactly as before; the point has moved if ties were to be kept.
    Equal,
    /// Larger, with its value; the point is as before.
    Worse(u64),
}

impl<'a> Probe<'a> {
    /// Evaluates the start.
    ///
    /// # Errors
    /// What the evaluation returned; `x` is as before.
    pub fn start(f: &'a mut dyn RepresentingFunction, x: &'a mut [u8]) -> Result<Self, Stop> {
        let best = f.evaluate(x)?;
        Ok(Self { metric: f.metric(), f, x, best })
    }

    /// The value at the best point.
    #[must_use]
    pub const fn best(&self) -> u64 {
        self.best
    }

    /// Whether a zero is found.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.best == 0
    }

    /// The best point.
    #[must_use]
    pub const fn x(&self) -> &[u8] {
        self.x
    }

    /// How values are to be read.
    #[must_use]
    pub const fn metric(&self) -> Metric {
        self.metric
    }

    /// Evaluates with other bits in one slot. Bits that are there already cost no evaluation and are `Equal`.
    ///
    /// # Errors
    /// What the evaluation returned. On [`Stop::Found`] the point has moved, else it is as before.
    pub fn try_raw(&mut self, slot: Slot, raw: u64, keep_ties: bool) -> Result<Verdict, Stop> {
        let old = slot.get(self.x);
        if raw == old {
            return Ok(Verdict::Equal);
        }
        slot.set(self.x, raw);
        match self.f.evaluate(self.x) {
            Ok(r) if r < self.best => {
                self.best = r;
                Ok(Verdict::Better)
            }
            Ok(r) if r == self.best => {
                if !keep_ties {
                    slot.set(self.x, old);
                }
                Ok(Verdict::Equal)
            }
            Ok(r) => {
                slot.set(self.x, old);
                Ok(Verdict::Worse(r))
            }
            Err(Stop::Found) => Err(Stop::Found),
            Err(stop) => {
                slot.set(self.x, old);
                Err(stop)
            }
        }
    }
}
