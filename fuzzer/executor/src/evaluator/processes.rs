//! An evaluator that shares memory with its supervisor, or that runs in a forked child process.

use std::time::Duration;

use penfuzz_error::Error;

use super::{Entry, Evaluator, Journal, RunStatus};
use crate::{
    guard,
    sandbox::{Allow, Sandbox},
    uninitialized::{self, FILLS, Fill},
};

/// Returns the same call through a thunk that first fills the stack with a pattern. A harness is returned
/// unchanged.
fn with_poisoned_stack(entry: Entry) -> Entry {
    match entry {
        Entry::Thunk(call) => Entry::Thunk(guard::with_poisoned_stack(call)),
        Entry::Rounded(call) => Entry::Rounded(guard::with_poisoned_stack(call)),
        Entry::Unflagged(call) => Entry::Unflagged(guard::with_poisoned_stack(call)),
        Entry::Frame(call) => Entry::Frame(guard::with_poisoned_stack(call)),
        Entry::Harness(harness) => Entry::Harness(harness),
    }
}

impl Evaluator {
    /// Makes the evaluator write points to `input`, count evaluations at `count`, and store finds in `journal`. Another
    /// process can then see which point killed this one, and what was found before.
    ///
    /// # Safety
    /// `input` must have room for [`Evaluator::input_size`] bytes, and all pointers must be valid as long as this
    /// evaluator is used.
    pub unsafe fn attach_to_supervisor(&mut self, input: *mut u8, count: *mut u64, journal: Journal) {
        self.input = input;
        self.count = count;
        self.journal = Some(journal);
    }

    /// Prepares the evaluator for a forked child process: its evaluations are no longer visible to other processes, not
    /// counted by them and not written to the journal. Each may take `timeout`. System calls of the target are filtered
    /// as in a campaign.
    ///
    /// # Errors
    /// If the guard cannot be installed.
    pub fn detach_from_supervisor(&mut self, timeout: Duration) -> Result<(), Error> {
        self.input = self.own_input.as_mut_ptr();
        self.count = self.own_count;
        self.journal = None;
        guard::install_in_child(timeout, self.memory)?;
        Sandbox::install_in_child(&self.allowed);
        Ok(())
    }

    /// Gives uninitialized memory this value from now on, and fills the stack with it before each call. A result that
    /// changes depends on uninitialized memory, so no test can expect it.
    pub fn fill_memory(&mut self, fill: Fill) {
        guard::set_poison(fill.byte());
        self.target().set_fill(&fill.values());
        self.entry = with_poisoned_stack(self.entry);
    }

    /// Returns true if the last run may have read uninitialized memory: it has allocated memory, or code of the target
    /// may read local variables before it writes them. This is an upper bound, made without another run.
    #[must_use]
    pub fn may_have_read_uninitialized(&self) -> bool {
        // SAFETY: the state of the loaded target, which does not run now.
        self.target().may_read_uninitialized() || unsafe { (*self.target().state()).n_allocated } > 0
    }

    /// Does the input take `hits` again, with the same actions, whatever uninitialized memory contains? If so, a run in
    /// a fresh process would show nothing new. Always false for functions that keep state (see
    /// [`SharedState::is_stateless`](penfuzz_target::program::state::SharedState::keeps_nothing)) and for harnesses.
    /// The runs are not counted as evaluations.
    pub(crate) fn repeats_without_state(&mut self, bytes: &[u8], hits: &[u32]) -> bool {
        if !self.shared.is_stateless() || matches!(self.entry, Entry::Harness(_)) {
            return false;
        }
        self.with_all_fills(bytes).is_some_and(|all| all.iter().all(|again| again == hits))
    }

    /// Removes from `hits` the branches that the input takes only with some contents of uninitialized memory, and
    /// returns them. Only if earlier evaluations have shown that the function depends on it; the actions must be
    /// unchanged. The runs are not counted as evaluations.
    pub(crate) fn remove_uninitialized(&mut self, bytes: &[u8], hits: &mut Vec<u32>) -> Vec<u32> {
        if self.search_fill == 0 {
            return Vec::new();
        }
        let Some(all) = self.with_all_fills(bytes) else { return Vec::new() };
        let (always, sometimes) = hits.iter().partition(|b| all.iter().all(|again| again.contains(b)));
        *hits = always;
        sometimes
    }

    /// The branches that the input takes with each content of uninitialized memory; `None` if a run does not return, or
    /// leaves a state of the processor that a process of its own must show.
    fn with_all_fills(&mut self, bytes: &[u8]) -> Option<Vec<Vec<u32>>> {
        let (entry, count) = (self.entry, self.evaluations());
        let mut run = |fill: &Fill| {
            self.fill_memory(*fill);
            let (ran, again) = self.run_once(bytes);
            (ran == RunStatus::Returned && !guard::left_alignment_check()).then_some(again)
        };
        let all = FILLS.iter().map(&mut run).collect();
        self.entry = entry;
        self.set_search_fill();
        self.set_evaluations(count);
        all
    }

    /// Gives uninitialized memory the next of [`FILLS`] in all further evaluations. For a function that depends on it:
    /// with what earlier calls have left there, evaluations would take the same unconfirmed branches again and again.
    /// With some of the values they do not.
    pub(crate) fn change_search_fill(&mut self) {
        self.search_fill += 1;
        self.set_search_fill();
    }

    /// Gives uninitialized memory a value of its own in all further evaluations, so that they do not depend on those
    /// before. Without that, evaluations are faster.
    pub fn fill_locals(&mut self) {
        if self.search_fill == 0 {
            self.change_search_fill();
        }
    }

    fn set_search_fill(&self) {
        let fill = self.search_fill.checked_sub(1).map(|n| FILLS[n % FILLS.len()]);
        self.target().set_fill(&fill.map_or(uninitialized::SEARCH, Fill::values));
    }

    /// Makes the target allocate from the C library's heap instead of an arena that is cleared before each evaluation.
    /// For a child process that must evaluate as a test program of the user does.
    pub fn use_system_heap(&self) {
        self.shared.use_system_heap();
    }

    /// Sets what the target may do, beyond the default, in a child process of [`Evaluator::detach_from_supervisor`].
    pub fn allow(&mut self, allowed: &[Allow]) {
        self.allowed = allowed.to_vec();
    }
}
