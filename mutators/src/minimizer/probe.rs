//! Trials of one number, or of consecutive bytes, at a time from the best point so far, with the contract of
//! [`LocalMinimizer::minimize`](super::LocalMinimizer::minimize) on `x` in one place.

use core::ops::Range;

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
    /// The bytes that the present trial of several bytes has replaced.
    replaced: Vec<u8>,
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
        Ok(Self { metric: f.metric(), f, x, best, replaced: Vec::new() })
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

    /// Evaluates the best point with other raw bits in one slot. If the slot has these bits already, the result is
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
        self.judge(keep_ties, |x, _| slot.set(x, old))
    }

    /// Evaluates the best point with other bytes in `span`, which `write` changes in place. If it changes nothing, the
    /// result is [`Verdict::Equal`] without an evaluation. The first call allocates a buffer of the size of the point.
    ///
    /// # Errors
    /// As for [`try_raw`](Self::try_raw).
    ///
    /// # Panics
    /// If the span ends beyond the point.
    pub fn try_bytes(
        &mut self,
        span: Range<usize>,
        write: impl FnOnce(&mut [u8]),
        keep_ties: bool,
    ) -> Result<Verdict, Stop> {
        self.replaced.clear();
        self.replaced.reserve_exact(self.x.len());
        self.replaced.extend_from_slice(&self.x[span.clone()]);
        write(&mut self.x[span.clone()]);
        if self.x[span.clone()] == self.replaced {
            return Ok(Verdict::Equal);
        }
        self.judge(keep_ties, |x, replaced| x[span].copy_from_slice(replaced))
    }

    /// Evaluates the trial that is stored in the point. Unless the trial becomes the best point, `undo` restores the
    /// best point.
    fn judge(&mut self, keep_ties: bool, undo: impl FnOnce(&mut [u8], &[u8])) -> Result<Verdict, Stop> {
        match self.f.evaluate(self.x) {
            Ok(r) if r < self.best => {
                self.best = r;
                Ok(Verdict::Better)
            }
            Ok(r) if r == self.best => {
                if !keep_ties {
                    undo(self.x, &self.replaced);
                }
                Ok(Verdict::Equal)
            }
            Ok(r) => {
                undo(self.x, &self.replaced);
                Ok(Verdict::Worse(r))
            }
            Err(Stop::Found) => Err(Stop::Found),
            Err(stop) => {
                undo(self.x, &self.replaced);
                Err(stop)
            }
        }
    }
}
