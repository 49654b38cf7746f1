//! Evaluation of functions that take structures, arrays and strings ([`penfuzz_target::inputs`]).

use penfuzz_target::{inputs::Model, program::function::Call};

use super::{Evaluator, RunStatus};
use crate::{
    blocks::{AdjacentAccess, Blocks},
    guard,
};

impl Evaluator {
    /// Calls the function with the blocks that `input` describes. Returns true if the function returned.
    ///
    /// # Safety
    /// As in `run_any`: `input` holds a complete input, and nothing else borrows the state.
    pub(super) unsafe fn run_frame(&mut self, call: Call) -> bool {
        let f = &self.target.functions[self.function];
        let has_environment = f.has_rounding || f.uses_environment;
        self.shared.restore();
        let Some((frame, out)) = self.compose() else { return true };
        // SAFETY: the frame is as large as in the function table, and the input is complete.
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

    /// Writes the blocks from `input`. Returns the frame, and where the result goes.
    pub(crate) fn compose(&mut self) -> Option<(*mut u8, *mut u8)> {
        // SAFETY: `input` holds `input_size` bytes.
        let x = unsafe { core::slice::from_raw_parts(self.input.cast_const(), self.input_size) };
        let blocks = self.blocks.as_mut()?;
        let frame_and_result = blocks.write(x);
        let (at, n) = blocks.places();
        // SAFETY: the target does not run now, and the blocks stay where they are while it does.
        unsafe { ((*self.state).blocks, (*self.state).n_blocks) = (at, n) };
        Some(frame_and_result)
    }

    /// The memory of the function's blocks; `None` if it takes numbers only.
    #[must_use]
    pub fn blocks(&self) -> Option<&Blocks> {
        self.blocks.as_ref()
    }

    /// The model of the inputs; `None` if the function takes numbers only.
    #[must_use]
    pub fn model(&self) -> Option<&Model> {
        self.blocks.as_ref().map(|blocks| &**blocks.model())
    }

    /// Overrides the lengths of the blocks whatever the input contains, for probing; with `None` the input determines
    /// them.
    pub fn set_lengths(&mut self, lengths: Option<Vec<usize>>) {
        if let Some(blocks) = &mut self.blocks {
            blocks.set_lengths(lengths);
        }
    }

    /// Marks pointers to memory that the model has no room for, as [`Blocks::mark_limits`] does.
    pub fn mark_limits(&mut self, marks: bool) {
        if let Some(blocks) = &mut self.blocks {
            blocks.mark_limits(marks);
        }
    }

    /// Fills a block with noise in the next runs, for probing.
    pub(crate) fn set_noise(&mut self, noise: Option<(usize, u8)>) {
        if let Some(blocks) = &mut self.blocks {
            blocks.set_noise(noise);
        }
    }

    /// The access next to a block that ended the last run, if any.
    pub(crate) const fn last_adjacent_access(&self) -> Option<AdjacentAccess> {
        self.last_adjacent_access
    }

    /// Number of runs that ended because they accessed memory next to a block whose size is only inferred.
    #[must_use]
    pub const fn n_adjacent_accesses(&self) -> u64 {
        self.n_adjacent_accesses
    }

    /// If the last run ended by an access next to a block: the block and the offset.
    fn adjacent_access(&self) -> Option<AdjacentAccess> {
        let end = self.last_end.as_ref().filter(|end| end.signal == libc::SIGSEGV)?;
        self.blocks.as_ref()?.adjacent_access(end.address)
    }

    /// Did the last run end by an access next to a block whose size is only inferred?
    pub(super) fn ended_next_to_inferred_block(&mut self) -> bool {
        self.last_adjacent_access = self.adjacent_access();
        let Some(adjacent_access) = self.last_adjacent_access else { return false };
        // SAFETY: `input` holds `input_size` bytes.
        let x = unsafe { core::slice::from_raw_parts(self.input.cast_const(), self.input_size) };
        self.model().is_some_and(|model| {
            let block = &model.blocks[adjacent_access.block];
            // The input asks for more elements than the block has room for.
            let is_short = block.length.of(x, usize::MAX) > block.capacity;
            !block.origin.is_sure() || is_short
        })
    }

    /// Discards a run that shows only that a size is unknown: it takes no branch, and `r` is the largest value.
    pub(super) fn forget_run(&mut self) -> RunStatus {
        self.n_adjacent_accesses += 1;
        self.last_end = None;
        self.take_hits(&mut Vec::new());
        // SAFETY: as in `run`.
        unsafe { (*self.state).r = u64::MAX };
        RunStatus::Returned
    }
}
