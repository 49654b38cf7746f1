//! An evaluator seen by other processes, and in a process that was forked off to evaluate.

use std::time::Duration;

use super::{Evaluator, Journal};
use crate::{
    error::Error,
    executor::{
        guard,
        sandbox::{Allow, Sandbox},
    },
};

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

    /// For a child process: before each call from now on, a pattern is written over the stack. What differs then depends on local variables that
    /// nothing has initialized, and no test can expect it.
    pub fn soil_stack(&mut self) {
        use super::Entry::{Frame, Harness, Rounded, Thunk, Unflagged};
        self.entry = match self.entry {
            Thunk(call) => Thunk(guard::behind_soil(call)),
            Rounded(call) => Rounded(guard::behind_soil(call)),
            Unflagged(call) => Unflagged(guard::behind_soil(call)),
            Frame(call) => Frame(guard::behind_soil(call)),
            Harness(harness) => Harness(harness),
        };
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
