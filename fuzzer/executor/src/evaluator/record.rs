//! The recorded branches that runs took, and the edges that `SanCov` counts.

use penfuzz_abi::action;

use super::Evaluator;

impl Evaluator {
    /// Did runs since the last [`Evaluator::take_hits`] take a recorded branch?
    #[inline]
    #[must_use]
    pub fn has_hits(&self) -> bool {
        // SAFETY: as in `run`.
        unsafe { (*self.state).hits > 0 }
    }

    /// Moves the recorded branches that were taken to `into`, in ascending order, and clears the record.
    pub fn take_hits(&mut self, into: &mut Vec<u32>) {
        into.clear();
        let now = self.evaluations();
        // SAFETY: as in `run`.
        let n = unsafe { core::mem::take(&mut (*self.state).hits) } as usize;
        // The target may have overwritten the count; then the whole list is scanned.
        for b in &self.taken[..n.min(self.taken.len())] {
            let Some(outcome) = self.outcomes.get_mut(*b as usize) else { continue };
            *outcome = 0;
            // SAFETY: there are `n_branches` action bytes.
            let is_recorded = unsafe { self.target.actions().add(*b as usize).read() } & action::RECORD != 0;
            if is_recorded {
                into.push(*b);
                let first = &mut self.taken_at[*b as usize];
                *first = if *first == 0 { now } else { *first };
            }
        }
        into.sort_unstable();
    }

    /// Enables counting of edges by `SanCov`, for a map observer of LibAFL. The map has one saturating counter of 8
    /// bits per guard of the target ([`penfuzz_target::program::Target::n_guards`]), after one unused counter. Runs by
    /// [`PenExecutor`](crate::PenExecutor) are counted; direct calls of [`Evaluator::run`] are not, because the
    /// callbacks make a run two to three times as long. The target must be compiled with `SanCov`, as pen-cc does
    /// (`penfuzz_compile::Recipe::san_cov`).
    ///
    /// # Safety
    /// `map` must have room for `n_guards + 1` bytes as long as this evaluator is used.
    pub unsafe fn count_edges(&mut self, map: *mut u8) {
        self.counts_edges = true;
        // SAFETY: as in `run`.
        unsafe { (*self.state).coverage = map };
    }

    /// Was [`Evaluator::count_edges`] called?
    #[must_use]
    pub fn counts_edges(&self) -> bool {
        self.counts_edges
    }
}
