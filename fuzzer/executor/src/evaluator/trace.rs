//! The floating-point operations of a run, for code that repeats the computation (in higher precision, for instance).

use penfuzz_abi::{Traced, action, metric, site_kind};

use super::{Evaluator, RunStatus};

impl Evaluator {
    /// Runs one input and returns its floating-point operations in order, including those of functions out of scope.
    /// Returns `None` if the run does not return or has more than `room` operations. All sites are disarmed afterwards.
    pub fn trace(&mut self, bytes: &[u8], room: usize) -> Option<Vec<Traced>> {
        let mut traced = Vec::with_capacity(room);
        self.watch_operations();
        let is_whole = self.trace_again(bytes, &mut traced);
        self.arm_operations(0);
        is_whole.then_some(traced)
    }

    /// Arms all operations for [`Evaluator::trace_again`] and disarms all other sites.
    pub fn watch_operations(&mut self) {
        self.set_metric(metric::ULP, u64::MAX);
        self.arm(|_| 0);
        self.arm_operations(action::ARMED);
    }

    /// Runs one input and writes its operations to `traced`, in order, up to its capacity. Returns false if the run
    /// does not return or has more operations. Call [`Evaluator::watch_operations`] first.
    pub fn trace_again(&mut self, bytes: &[u8], traced: &mut Vec<Traced>) -> bool {
        self.run_traced(bytes, traced) == (RunStatus::Returned, true)
    }

    /// Runs one input and writes the passes of armed operations and mutation points to `traced`, in order, up to its
    /// capacity. Returns how the run ended, and whether `traced` holds all of them.
    pub(super) fn run_traced(&mut self, bytes: &[u8], traced: &mut Vec<Traced>) -> (RunStatus, bool) {
        traced.clear();
        let room = u32::try_from(traced.capacity()).unwrap_or(u32::MAX);
        // SAFETY: as in `run`; `traced` has the capacity, and is not accessed while the target runs.
        unsafe {
            let state = &mut *self.state;
            (state.trace, state.trace_room, state.n_trace) = (traced.as_mut_ptr(), room, 0);
        }
        let ran = self.run(bytes);
        // SAFETY: as above; the runtime wrote that many entries.
        let n = unsafe {
            let state = &mut *self.state;
            (state.trace, state.trace_room) = (core::ptr::null_mut(), 0);
            traced.set_len(state.n_trace.min(room) as usize);
            state.n_trace
        };
        (ran, n <= room)
    }

    /// Sets the first action byte of every operation of the target: 0, or armed without a goal.
    fn arm_operations(&mut self, byte: u8) {
        let actions = self.target.actions();
        for site in self.target.sites.iter().filter(|s| s.kind == site_kind::OPERATION) {
            // SAFETY: there are `n_branches` action bytes, read only while the target runs.
            unsafe { actions.add(site.first_branch).write(byte) };
        }
    }
}
