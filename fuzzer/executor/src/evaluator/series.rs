//! Many calls in one go: what guards one call costs more than a small function.

use super::{Entry, Evaluator};
use crate::guard;

impl Evaluator {
    /// Can [`Evaluator::run_series`] call the function: does it take one number of 8 bytes by value and return one?
    #[must_use]
    pub fn can_run_series(&self) -> bool {
        let f = self.function();
        let is_called_alone = matches!(self.entry, Entry::Thunk(_) | Entry::Rounded(_) | Entry::Unflagged(_));
        is_called_alone
            && self.blocks.is_none()
            && matches!(f.parameters.as_slice(), [p] if !p.pointer)
            && self.input_size == size_of::<u64>()
            && f.mode_bits() == 0
            && f.result_kind.is_some()
    }

    /// Calls the function at each of `inputs` and writes the raw bits of what it returns to `results`, which must be as long. Returns how many
    /// calls returned; the one after them did not, or used up the fuel of all. The floating-point environment is set once for all of
    /// them, what they share is restored before the first one alone, and inputs are not brought into their domains. No branch may be armed.
    ///
    /// # Panics
    /// If [`Evaluator::can_run_series`] is false.
    pub fn run_series(&mut self, inputs: &[u64], results: &mut [u64]) -> usize {
        assert!(self.can_run_series() && inputs.len() == results.len());
        let (Entry::Thunk(call) | Entry::Rounded(call) | Entry::Unflagged(call)) = self.entry else { return 0 };
        self.begin(inputs.len() as u64);
        // SAFETY: each input is a whole one, and `output` has a cell for the result.
        let returned = unsafe { guard::call_series(call, inputs, results, self.output.as_mut_ptr().cast()) };
        self.note_end(returned == inputs.len());
        returned
    }
}
