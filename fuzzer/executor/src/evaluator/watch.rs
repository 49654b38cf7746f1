//! The operands of a comparison or an operation at the first time that one of its branches was taken.

use penfuzz_abi::{action, metric};
use penfuzz_target::program::function::Entry;

use super::Evaluator;

/// Operands and result of a comparison or an operation at the first time that a run took the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObservedOperands {
    /// Operands and result: floats as bits of doubles, integers unchanged. The result of a comparison is 1 if its
    /// condition holds, else 0.
    pub values: [u64; 4],
    /// Number of times that the branch was taken.
    pub times: u64,
}

impl Evaluator {
    /// Observes this branch, which must be armed, from now on; `None` observes no branch.
    pub fn watch(&mut self, branch: Option<usize>) {
        // SAFETY: as in `run`.
        let state = unsafe { &mut *self.state };
        state.watch = branch.map_or(u32::MAX, |b| b as u32);
        state.seen = [0; 4];
        state.n_seen = 0;
    }

    /// Returns the operands stored since the last [`Evaluator::watch`]; `None` if the branch was not taken.
    #[must_use]
    pub fn seen(&self) -> Option<ObservedOperands> {
        // SAFETY: as in `run`.
        let state = unsafe { &*self.state };
        (state.n_seen > 0).then_some(ObservedOperands { values: state.seen, times: state.n_seen })
    }

    /// Runs one input and returns the operands at `branch`, a branch of a comparison or an operation in scope. Returns
    /// `None` if the input does not take it.
    pub fn observe(&mut self, branch: usize, bytes: &[u8]) -> Option<ObservedOperands> {
        self.set_metric(metric::ULP, u64::MAX);
        self.arm(|b| if b == branch { action::RECORD } else { 0 });
        self.watch(Some(branch));
        self.run(bytes);
        self.take_hits(&mut Vec::new());
        let seen = self.seen();
        self.watch(None);
        seen
    }

    /// Copies `x` to the input buffer, resets the fuel, and returns the entry of the function.
    pub(crate) fn prepare(&mut self, x: &[u8]) -> Entry {
        let n = x.len().min(self.input_size);
        // SAFETY: as in `run_any`.
        unsafe {
            core::ptr::copy_nonoverlapping(x.as_ptr(), self.input, n);
            self.input.add(n).write_bytes(0, self.input_size - n);
            (*self.state).fuel = self.fuel;
        }
        self.normalise();
        self.entry
    }

    /// The input buffer and the output area.
    pub(crate) fn buffers(&mut self) -> (*const u8, *mut u8) {
        (self.input.cast_const(), self.output.as_mut_ptr().cast())
    }
}
