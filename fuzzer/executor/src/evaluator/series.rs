//! Many calls within one guarded region: entering the region for each call costs more than a small function.

use super::{Entry, Evaluator};
use crate::guard;

impl Evaluator {
    /// Can [`Evaluator::run_series`] call the function? It must take one number of 8 bytes by value and return a
    /// number.
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

    /// Calls the function at each of `inputs`, and writes the raw bits of each result to `results`, which must be as
    /// long. Returns the number of calls that returned. If it is less than the number of inputs, the next call did not
    /// return or used up the fuel of the whole series. The floating-point environment is set once, and shared state is
    /// restored only before the first call. Inputs are not mapped into their domains. No branch may be armed.
    ///
    /// # Panics
    /// If [`Evaluator::can_run_series`] is false, or the lengths differ.
    pub fn run_series(&mut self, inputs: &[u64], results: &mut [u64]) -> usize {
        assert!(self.can_run_series() && inputs.len() == results.len());
        let (Entry::Thunk(call) | Entry::Rounded(call) | Entry::Unflagged(call)) = self.entry else { return 0 };
        self.begin(inputs.len() as u64);
        // SAFETY: each element is a complete input, and `output` has a cell for the result.
        let returned = unsafe { guard::call_series(call, inputs, results, self.output.as_mut_ptr().cast()) };
        self.note_end(returned == inputs.len());
        returned
    }
}
