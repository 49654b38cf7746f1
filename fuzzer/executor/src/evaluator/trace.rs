//! The operations of a run, for those who compute it again.

use penfuzz_abi::{Traced, action, metric, site_kind};

use super::{Evaluator, RunStatus};

impl Evaluator {
    /// Runs one input and returns its floating-point operations in order, those of functions out of scope too. `None`
    /// when it does not return or there are more than `room`. All sites are at rest afterwards.
    pub fn trace(&mut self, bytes: &[u8], room: usize) -> Option<Vec<Traced>> {
        let mut traced = Vec::with_capacity(room);
        self.watch_operations();
        let is_whole = self.trace_again(bytes, &mut traced);
        self.arm_operations(0);
        is_whole.then_some(traced)
    }

    /// All operations are recorded from now on, by [`Evaluator::trace_again`] alone; other sites are at rest.
    pub fn watch_operations(&mut self) {
        self.set_metric(metric::ULP, u64::MAX);
        self.arm(|_| 0);
        self.arm_operations(action::ARMED);
    }

    /// Runs one input and writes its operations to `traced`, in order, as many as fit into its capacity. False when it does not return, or there are more.
    /// After [`Evaluator::watch_operations`].
    pub fn trace_again(&mut self, bytes: &[u8], traced: &mut Vec<Traced>) -> bool {
        self.run_traced(bytes, traced) == (RunStatus::Returned, true)
    }

    /// Runs one input and writes what is armed to `traced`, in order, as much as fits into its capacity. Returns how the run has ended, and
    /// whether all is there.
    pub(super) fn run_traced(&mut self, bytes: &[u8], traced: &mut Vec<Traced>) -> (RunStatus, bool) {
        traced.clear();
        let room = u32::try_from(traced.capacity()).unwrap_or(u32::MAX);
        // SAFETY: as in `run`; `traced` has the room, and is not touched while the target runs.
        unsafe {
            let state = &mut *self.state;
            (state.trace, state.trace_room, state.n_trace) = (traced.as_mut_ptr(), room, 0);
        }
        let ran = self.run(bytes);
        // SAFETY: as above; so many entries were written.
        let n = unsafe {
            let state = &mut *self.state;
            (state.trace, state.trace_room) = (core::ptr::null_mut(), 0);
            traced.set_len(state.n_trace.min(room) as usize);
            state.n_trace
        };
        (ran, n <= room)
    }

    /// The first byte of every operation of the target: at rest, or armed without a goal.
    fn arm_operations(&mut self, byte: u8) {
        let actions = self.target.actions();
        for site in self.target.sites.iter().filter(|s| s.kind == site_kind::OPERATION) {
            // SAFETY: there are `n_branches` action bytes, read only while the target runs.
            unsafe { actions.add(site.first_branch).write(byte) };
        }
    }
}
