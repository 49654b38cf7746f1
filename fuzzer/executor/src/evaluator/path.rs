//! Paths: the sequence of branches that a run should take, and the sequence that it took.

use penfuzz_abi::{action, metric};

use super::{Evaluator, RunStatus};

/// The branches that a run took, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passes {
    /// Branch numbers, up to the capacity.
    pub branches: Vec<u32>,
    /// Number of all branches taken, including those beyond the capacity.
    pub n: usize,
}

impl Evaluator {
    /// Sets the path that runs are compared with, see [`penfuzz_abi::State::path`]. `bits` is the number of bits of
    /// `r` below the number of missing steps. Both slices must have equal length; an empty path disables the
    /// comparison.
    pub fn set_path(&mut self, path: &[u32], back: &[u32], bits: u32) {
        debug_assert_eq!(path.len(), back.len(), "a place to fall back to for each step");
        self.path = path.to_vec();
        self.back = back.to_vec();
        // SAFETY: the state is the target's own and nothing else borrows it; the buffers are replaced only here.
        unsafe {
            let state = &mut *self.state;
            state.path = self.path.as_ptr();
            state.back = self.back.as_ptr();
            state.n_path = path.len() as u32;
            state.path_bits = bits;
        }
    }

    /// Runs one input and returns which of the given branches it takes, in order, at most `room`. `branches` has one
    /// flag per branch of the target; all branches of a site must have the same flag. No path is set during the run, so
    /// this confirms a path independently.
    pub fn passes(&mut self, branches: &[bool], bytes: &[u8], room: usize) -> (RunStatus, Passes) {
        self.set_metric(metric::ULP, u64::MAX);
        self.set_path(&[], &[], u64::BITS);
        self.arm(|b| if branches[b] { action::STEP } else { 0 });
        let mut noted = vec![0; room];
        self.note_passes(noted.as_mut_ptr(), room);
        let ran = self.run(bytes);
        // SAFETY: as in `set_path`.
        let n = unsafe { (*self.state).n_passes } as usize;
        self.note_passes(core::ptr::null_mut(), 0);
        noted.truncate(n);
        (ran, Passes { branches: noted, n })
    }

    fn note_passes(&mut self, to: *mut u32, room: usize) {
        // SAFETY: as in `set_path`; `to` has room for `room` branches, or is null.
        unsafe {
            let state = &mut *self.state;
            state.passes = to;
            state.passes_room = room as u32;
            state.n_passes = 0;
        }
    }
}
