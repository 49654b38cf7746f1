//! Functions that take structures, arrays and strings: [`penfuzz_target::inputs`].

use penfuzz_target::{inputs::Model, program::function::Call};

use super::{Evaluator, RunStatus};
use crate::{
    blocks::{Beside, Blocks},
    guard,
};

impl Evaluator {
    /// Calls the function with the blocks that `input` describes; true when it returned.
    ///
    /// # Safety
    /// As in `run_any`: `input` holds a whole input, and nothing else borrows the state.
    pub(super) unsafe fn run_frame(&mut self, call: Call) -> bool {
        let f = &self.target.functions[self.function];
        let has_environment = f.has_rounding || f.uses_environment;
        self.shared.restore();
        let Some((frame, out)) = self.compose() else { return true };
        // SAFETY: the frame is as large as the function table says, and the input is whole.
        let returned = unsafe {
            *self.count = (*self.count).wrapping_add(1);
            (*self.state).r = self.r0;
            (*self.state).fuel = self.fuel_cap;
            (*self.state).path_at = 0;
            if has_environment {
                let mode = self.mode();
                guard::call_rounded(call, frame, out, mode)
            } else {
                guard::call(call, frame, out)
            }
        };
        if let Some(blocks) = &mut self.blocks {
            blocks.finish();
            if returned {
                blocks.mark_returned();
            }
        }
        returned
    }

    /// Writes the blocks from `input`: the frame, and the place of the result.
    pub(crate) fn compose(&mut self) -> Option<(*mut u8, *mut u8)> {
        // SAFETY: `input` holds `input_size` bytes.
        let x = unsafe { core::slice::from_raw_parts(self.input.cast_const(), self.input_size) };
        self.blocks.as_mut().map(|blocks| blocks.write(x))
    }

    /// The memory of the function's blocks; `None` when it takes numbers only.
    #[must_use]
    pub fn blocks(&self) -> Option<&Blocks> {
        self.blocks.as_ref()
    }

    /// The model of the inputs; `None` when the function takes numbers only.
    #[must_use]
    pub fn model(&self) -> Option<&Model> {
        self.blocks.as_ref().map(|blocks| &**blocks.model())
    }

    /// Gives the blocks these lengths whatever the input says, for probing; with `None` what their rules say.
    pub fn set_lengths(&mut self, lengths: Option<Vec<usize>>) {
        if let Some(blocks) = &mut self.blocks {
            blocks.set_lengths(lengths);
        }
    }

    /// Fills a block with noise in the next runs, for probing.
    pub(crate) fn set_noise(&mut self, noise: Option<(usize, u8)>) {
        if let Some(blocks) = &mut self.blocks {
            blocks.set_noise(noise);
        }
    }

    /// Where the last run that ended beside a block did so.
    pub(crate) const fn last_beside(&self) -> Option<Beside> {
        self.last_beside
    }

    /// Runs that ended because they touched memory beside a block whose size is only inferred.
    #[must_use]
    pub const fn n_beside(&self) -> u64 {
        self.n_beside
    }

    /// The block that the last run touched something beside, if that ended it.
    fn beside(&self) -> Option<Beside> {
        let end = self.last_end.as_ref().filter(|end| end.signal == libc::SIGSEGV)?;
        self.blocks.as_ref()?.beside(end.address)
    }

    /// Did the last run end beside a block whose size is only inferred?
    pub(super) fn is_beside_inferred(&mut self) -> bool {
        self.last_beside = self.beside();
        let Some(beside) = self.last_beside else { return false };
        // SAFETY: `input` holds `input_size` bytes.
        let x = unsafe { core::slice::from_raw_parts(self.input.cast_const(), self.input_size) };
        self.model().is_some_and(|model| {
            let block = &model.blocks[beside.block];
            // There is less memory than the input says.
            let is_short = block.length.of(x, usize::MAX) > block.capacity;
            !block.origin.is_sure() || is_short
        })
    }

    /// A run that shows nothing but that a size is unknown: it takes no branch and comes close to none.
    pub(super) fn forget_run(&mut self) -> RunStatus {
        self.n_beside += 1;
        self.last_end = None;
        self.take_hits(&mut Vec::new());
        // SAFETY: as in `run`.
        unsafe { (*self.state).r = u64::MAX };
        RunStatus::Returned
    }
}
