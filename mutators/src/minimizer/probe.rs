//! Trials of one number at a time from the best point so far, with the contract of
//! [`LocalMinimizer::minimize`](super::LocalMinimizer::minimize) on `x` in one place.

use crate::{
    evaluate::{Metric, RepresentingFunction, Stop},
    view::Slot,
};

/// A representing function with the best point evaluated so far. A trial writes to that point, and is undone if the
/// value is larger.
pub struct Probe<'a> {
    f: &'a mut dyn RepresentingFunction,
    x: &'a mut [u8],
    metric: Metric,
    best: u64,
}

/// The result of a trial, compared with the best value before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The value is smaller; the trial is the best point now.
    Better,
    /// The value is the same; the trial is the best point now if ties were to be kept.
    Equal,
    /// The value, which is larger; the best point is as before.
    Worse(u64),
}

impl<'a> Probe<'a> {
    /// Evaluates the start `x`, which is the best point then.
    ///
    /// # Errors
    /// The [`Stop`] of the evaluation; `x` is as before.
    pub fn start(f: &'a mut dyn RepresentingFunction, x: &'a mut [u8]) -> Result<Self, Stop> {
        let best = f.evaluate(x)?;
        Ok(Self { metric: f.metric(), f, x, best })
    }

    /// The value at the best point.
    #[must_use]
    pub const fn best(&self) -> u64 {
        self.best
    }

    /// Whether the value at the best point is 0.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.best == 0
    }

    /// The best point so far.
    #[must_use]
    pub const fn x(&self) -> &[u8] {
        self.x
    }

    /// The encoding of the values.
    #[must_use]
    pub const fn metric(&self) -> Metric {
        self.metric
    }

    /// Evaluates the best point with other raw bits in one slot. For the bits that are there already, the result is
    /// [`Verdict::Equal`] without an evaluation.
    ///
    /// # Errors
    /// The [`Stop`] of the evaluation. On [`Stop::Found`] the trial is the best point, else the best point is as
    /// before.
    ///
    /// # Panics
    /// If the slot ends beyond the point.
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
