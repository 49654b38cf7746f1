//! Paths: the sequence of branches that a run is to take, and the one that it took.

use penfuzz_abi::{action, metric};

use super::{Evaluator, RunStatus};

/// The branches that a run took, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Passes {
    /// Branch numbers, as many as there was room for.
    pub branches: Vec<u32>,
    /// Number of all, also of those without room.
    pub n: usize,
}

impl Evaluator {
    /// Lets runs be compared with a path, see [`penfuzz_abi::State::path`]; `bits` of `r` are below the number of missing
    /// steps. Both slices are of equal length; an empty path is none.
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

    /// Runs one input and returns the branches of these that it takes, in order, at most `room`; there is one flag per branch of
    /// the target, the same for the branches of a site. Nothing is compared: this is how a path is confirmed.
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
        // SAFETY: as in `set_path`; `to` has room for as many branches, or is null.
        unsafe {
            let state = &mut *self.state;
            state.passes = to;
            state.passes_room = room as u32;
            state.n_passes = 0;
        }
    }
}
