//! Data that an evaluator keeps across runs: finds for the supervisor, places of faults, the closest inputs, and when
//! branches were first taken.

use penfuzz_abi::site_kind;

use super::Evaluator;
use crate::guard;

impl Evaluator {
    /// Must the process be replaced? True if the target holds much memory, or was interrupted where the C library may
    /// hold a lock.
    #[inline]
    #[must_use]
    pub fn needs_restart(&self) -> bool {
        if guard::had_high_memory() {
            // The allocations of the last evaluation would be freed before the next one anyway.
            self.shared.free_heap();
        }
        guard::needs_restart()
    }

    /// Appends an input to the journal, if there is one and it has room: its length in four bytes, then the input.
    pub fn note_find(&mut self, x: &[u8]) {
        const HEAD: usize = size_of::<u32>();
        let Some(journal) = self.journal else { return };
        // SAFETY: `used` and `bytes` are valid by the contract of `attach_to_supervisor`; the room is checked.
        unsafe {
            let used = journal.used.read() as usize;
            // The target may have overwritten the number.
            if journal.room.checked_sub(used).is_none_or(|left| left < HEAD + x.len()) {
                return;
            }
            let at = journal.bytes.add(used);
            core::ptr::copy_nonoverlapping((x.len() as u32).to_ne_bytes().as_ptr(), at, HEAD);
            core::ptr::copy_nonoverlapping(x.as_ptr(), at.add(HEAD), x.len());
            // Written last, so that the journal has no partial entry if the process dies in between.
            journal.used.write((used + HEAD + x.len()) as u64);
        }
    }

    /// Is the fault of the last run new? Returns true once per [`Evaluator::fault_key`].
    pub fn is_new_fault(&mut self) -> bool {
        self.fault_key().is_some_and(|key| self.known_faults.insert(key))
    }

    /// Number of branches and cases whose smallest distance the last run reduced.
    #[inline]
    pub(super) fn n_improved(&self) -> u32 {
        // SAFETY: as in `Evaluator::run`.
        unsafe { (*self.state).n_improved }
    }

    /// Stores the input of the last run for each branch or case whose smallest distance it reduced.
    #[cold]
    pub(super) fn remember_closest(&mut self) {
        for i in 0..(self.n_improved() as usize).min(self.improved.len()) {
            let number = self.improved[i] as usize;
            let Some(listed) = self.is_improved.get_mut(number) else { continue };
            *listed = 0;
            self.near.note(number.wrapping_sub(self.taken.len()));
            let at = number * self.input_size;
            // SAFETY: `input` holds `input_size` bytes and is not part of `closest`.
            let x = unsafe { core::slice::from_raw_parts(self.input, self.input_size) };
            self.closest[at..at + self.input_size].copy_from_slice(x);
        }
        // SAFETY: as in `Evaluator::run`.
        unsafe { (*self.state).n_improved = 0 };
    }

    /// The smallest distance to a tracked branch, and the input that has it.
    #[must_use]
    pub fn closest(&self, branch: usize) -> Option<(u64, &[u8])> {
        let own = Some((self.best[branch], branch)).filter(|(d, _)| *d != u64::MAX);
        let (d, number) = match (own, self.closest_at_switch(branch)) {
            (Some(own), Some(near)) => {
                if near.0 < own.0 {
                    near
                } else {
                    own
                }
            }
            (own, near) => own.or(near)?,
        };
        let at = number * self.input_size;
        Some((d, &self.closest[at..at + self.input_size]))
    }

    /// The smallest distance of an operand of the switch to `branch`, and the index of its input in `closest`.
    fn closest_at_switch(&self, branch: usize) -> Option<(u64, usize)> {
        let site = &self.target.sites[self.target.site_of(branch)];
        if site.kind != site_kind::SWITCH {
            return None;
        }
        let (distance, case) = self.near.closest(&self.target, site, branch)?;
        Some((distance, self.target.n_branches + case))
    }

    /// Restores an input that came close to a branch in an earlier part of the campaign, unless a closer one is stored.
    pub fn recall_closest(&mut self, branch: usize, distance: u64, bytes: &[u8]) {
        if distance < self.best[branch] && bytes.len() == self.input_size {
            self.best[branch] = distance;
            let at = branch * self.input_size;
            self.closest[at..at + self.input_size].copy_from_slice(bytes);
        }
    }

    /// Per branch: the number of evaluations at its first hit; 0 if it was never taken.
    #[must_use]
    pub fn taken_at(&self) -> &[u64] {
        &self.taken_at
    }

    /// Sets whether the target's state is restored before each run, which is the default; see
    /// [`SharedState::set_restoring`]. If not, runs see what earlier runs left.
    ///
    /// [`SharedState::set_restoring`]: penfuzz_target::program::state::SharedState::set_restoring
    pub fn set_restoring(&mut self, on: bool) {
        self.shared.set_restoring(on);
    }

    /// Marks branches that another process took as taken now, unless they were taken before.
    pub fn note_taken(&mut self, branches: &[u32]) {
        let now = self.evaluations();
        for branch in branches {
            if let Some(first) = self.taken_at.get_mut(*branch as usize).filter(|first| **first == 0) {
                *first = now;
            }
        }
    }

    /// Restores the values of an earlier part of the campaign.
    pub fn recall_taken_at(&mut self, taken_at: &[u64]) {
        for (own, earlier) in self.taken_at.iter_mut().zip(taken_at).filter(|(_, earlier)| **earlier > 0) {
            *own = *earlier;
        }
    }

    /// Sets the count of evaluations: a resumed campaign continues its count, and runs that only repeat others are not
    /// counted. A first hit recorded after that count is moved back to it.
    pub fn set_evaluations(&mut self, evaluations: u64) {
        // SAFETY: `count` is the evaluator's own or valid by the contract of `attach_to_supervisor`.
        unsafe { self.count.write(evaluations) };
        for first in &mut self.taken_at {
            // 0 would mean never.
            *first = (*first).min(evaluations.max(1));
        }
    }

    /// Removes the closest input of a branch, so that a different one can be stored. At a switch, inputs stored at its
    /// other cases stay.
    pub fn forget_closest(&mut self, branch: usize) {
        self.best[branch] = u64::MAX;
        self.near.forget(branch);
    }
}
