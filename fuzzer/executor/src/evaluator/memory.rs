//! What an evaluator remembers beyond a run: finds for the supervisor, places of faults, the inputs that came closest, and when
//! branches were first taken.

use penfuzz_abi::site_kind;

use super::Evaluator;
use crate::guard;

impl Evaluator {
    /// Should another process take over: has the target left much memory behind, or was it interrupted where the C library may be
    /// locked?
    #[inline]
    #[must_use]
    pub fn is_worn_out(&self) -> bool {
        if guard::had_much_memory() {
            // What the last evaluation has allocated would be freed before the next one.
            self.shared.free_heap();
        }
        guard::is_worn_out()
    }

    /// Notes an input in the journal, if there is one and it has room: its length in four bytes, then the input.
    pub fn note_find(&mut self, x: &[u8]) {
        const HEAD: usize = size_of::<u32>();
        let Some(journal) = self.journal else { return };
        // SAFETY: `used` and `bytes` are good by the contract of `show_to_supervisor`; the room is checked.
        unsafe {
            let used = journal.used.read() as usize;
            // The target may have written any number there.
            if journal.room.checked_sub(used).is_none_or(|left| left < HEAD + x.len()) {
                return;
            }
            let at = journal.bytes.add(used);
            core::ptr::copy_nonoverlapping((x.len() as u32).to_ne_bytes().as_ptr(), at, HEAD);
            core::ptr::copy_nonoverlapping(x.as_ptr(), at.add(HEAD), x.len());
            // Last: a death in between leaves no half of an entry.
            journal.used.write((used + HEAD + x.len()) as u64);
        }
    }

    /// Is the fault of the last run at a place not met before? Each place answers yes once.
    pub fn is_new_fault(&mut self) -> bool {
        self.fault_key().is_some_and(|key| self.known_faults.insert(key))
    }

    /// Branches and cases that the last run came closer to than any before.
    #[inline]
    pub(super) fn n_improved(&self) -> u32 {
        // SAFETY: as in `Evaluator::run`.
        unsafe { (*self.state).n_improved }
    }

    /// Copies the input of the last run to each branch or case that it came closest to.
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

    /// The smallest distance to a tracked branch and the input that got there.
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

    /// The smallest distance of an operand of the switch of `branch`, and the number of its input.
    fn closest_at_switch(&self, branch: usize) -> Option<(u64, usize)> {
        let site = &self.target.sites[self.target.site_of(branch)];
        if site.kind != site_kind::SWITCH {
            return None;
        }
        let (distance, case) = self.near.closest(&self.target, site, branch)?;
        Some((distance, self.target.n_branches + case))
    }

    /// Notes an input that came close to a branch in an earlier part of the campaign; a closer one is kept.
    pub fn recall_closest(&mut self, branch: usize, distance: u64, bytes: &[u8]) {
        if distance < self.best[branch] && bytes.len() == self.input_size {
            self.best[branch] = distance;
            let at = branch * self.input_size;
            self.closest[at..at + self.input_size].copy_from_slice(bytes);
        }
    }

    /// The count of evaluations at which each branch was first seen taken; 0 for never.
    #[must_use]
    pub fn taken_at(&self) -> &[u64] {
        &self.taken_at
    }

    /// Lets runs see what earlier ones have left, or not, which is the default ([`SharedState::set_restoring`]).
    ///
    /// [`SharedState::set_restoring`]: penfuzz_target::program::state::SharedState::set_restoring
    pub fn set_restoring(&mut self, on: bool) {
        self.shared.set_restoring(on);
    }

    /// Notes branches as taken now, if they were not before: another process took them.
    pub fn note_taken(&mut self, branches: &[u32]) {
        let now = self.evaluations();
        for branch in branches {
            if let Some(first) = self.taken_at.get_mut(*branch as usize).filter(|first| **first == 0) {
                *first = now;
            }
        }
    }

    /// Takes over what an earlier part of the campaign noted.
    pub fn recall_taken_at(&mut self, taken_at: &[u64]) {
        for (own, earlier) in self.taken_at.iter_mut().zip(taken_at).filter(|(_, earlier)| **earlier > 0) {
            *own = *earlier;
        }
    }

    /// Sets the count of evaluations: those of an earlier part of the campaign go on, and those that only repeat others do not count.
    /// What was first seen taken after that count was taken by then.
    pub fn set_evaluations(&mut self, evaluations: u64) {
        // SAFETY: `count` is the evaluator's own or was promised to be good.
        unsafe { self.count.write(evaluations) };
        for first in &mut self.taken_at {
            // 0 would be never.
            *first = (*first).min(evaluations.max(1));
        }
    }

    /// Forgets the closest input of a branch, so that another way there is saved. At a switch, those that are noted at its other
    /// cases stay.
    pub fn forget_closest(&mut self, branch: usize) {
        self.best[branch] = u64::MAX;
        self.near.forget(branch);
    }
}
