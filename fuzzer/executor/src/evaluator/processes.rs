//! An evaluator that shares memory with its supervisor, or that runs in a forked child process.

use std::time::Duration;

use penfuzz_error::Error;

use super::{Entry, Evaluator, Journal, RunStatus};
use crate::{
    guard,
    sandbox::{Allow, Sandbox},
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

    /// Fills the stack with a pattern before each call from now on. A result that changes depends on uninitialized
    /// local variables, so no test can expect it.
    pub fn poison_stack(&mut self) {
        self.entry = with_poisoned_stack(self.entry);
    }

    /// Does the input take `hits` again, with the same actions, on a stack filled with a pattern? If so, a run in a
    /// fresh process would show nothing new. Always false for functions that keep state (see
    /// [`SharedState::is_stateless`](penfuzz_target::program::state::SharedState::keeps_nothing)) and for harnesses.
    /// The run is not counted as an evaluation.
    pub(crate) fn repeats_without_state(&mut self, bytes: &[u8], hits: &[u32]) -> bool {
        if !self.shared.is_stateless() || matches!(self.entry, Entry::Harness(_)) {
            return false;
        }
        let (entry, count) = (self.entry, self.evaluations());
        self.poison_stack();
        let (ran, again) = self.run_once(bytes);
        self.entry = entry;
        self.set_evaluations(count);
        ran == RunStatus::Returned && again == hits
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
