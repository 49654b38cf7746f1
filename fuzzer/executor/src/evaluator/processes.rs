//! An evaluator seen by other processes, and in a process that was forked off to evaluate.

use std::time::Duration;

use penfuzz_error::Error;

use super::{Entry, Evaluator, Journal, RunStatus};
use crate::{
    guard,
    sandbox::{Allow, Sandbox},
};

/// The same call after a pattern was written over the stack; the entry itself for a harness.
fn behind_soil(entry: Entry) -> Entry {
    match entry {
        Entry::Thunk(call) => Entry::Thunk(guard::behind_soil(call)),
        Entry::Rounded(call) => Entry::Rounded(guard::behind_soil(call)),
        Entry::Unflagged(call) => Entry::Unflagged(guard::behind_soil(call)),
        Entry::Frame(call) => Entry::Frame(guard::behind_soil(call)),
        Entry::Harness(harness) => Entry::Harness(harness),
    }
}

impl Evaluator {
    /// Lets points be written to `input`, evaluations be counted at `count` and finds be noted in `journal` instead, so that
    /// another process can see the point that killed this one, and what was found before.
    ///
    /// # Safety
    /// `input` must have room for [`Evaluator::input_size`] bytes, and all be good as long as this evaluator is used.
    pub unsafe fn show_to_supervisor(&mut self, input: *mut u8, count: *mut u64, journal: Journal) {
        self.input = input;
        self.count = count;
        self.journal = Some(journal);
    }

    /// For a child process that was forked off: what it evaluates is not seen, counted or noted by anybody else, and may take
    /// `timeout`. System calls of the target are filtered as in a campaign.
    ///
    /// # Errors
    /// When the guard cannot be installed.
    pub fn on_its_own(&mut self, timeout: Duration) -> Result<(), Error> {
        self.input = self.own_input.as_mut_ptr();
        self.count = self.own_count;
        self.journal = None;
        guard::install_in_child(timeout, self.memory)?;
        Sandbox::install_in_child(&self.allowed);
        Ok(())
    }

    /// Before each call from now on, a pattern is written over the stack. What differs then depends on local variables that
    /// nothing has initialized, and no test can expect it.
    pub fn soil_stack(&mut self) {
        self.entry = behind_soil(self.entry);
    }

    /// Does an input take `hits` again, with the same actions, on a soiled stack, so that a fresh process would add nothing? Only for
    /// a function that keeps no state (see [`SharedState::keeps_nothing`](penfuzz_target::program::state::SharedState::keeps_nothing)); false
    /// for others. That does not count as an evaluation.
    pub(crate) fn repeats_without_state(&mut self, bytes: &[u8], hits: &[u32]) -> bool {
        if !self.shared.keeps_nothing() || matches!(self.entry, Entry::Harness(_)) {
            return false;
        }
        let (entry, count) = (self.entry, self.evaluations());
        self.soil_stack();
        let (ran, again) = self.run_once(bytes);
        self.entry = entry;
        self.set_evaluations(count);
        ran == RunStatus::Returned && again == hits
    }

    /// For a child process that is to evaluate as a test program of the user does: what the target allocates comes from the C library,
    /// and not from an arena that is cleared before each evaluation.
    pub fn use_system_heap(&self) {
        self.shared.use_system_heap();
    }

    /// What the target may do in a child process of [`Evaluator::on_its_own`] that is refused by default.
    pub fn allow(&mut self, allowed: &[Allow]) {
        self.allowed = allowed.to_vec();
    }
}
