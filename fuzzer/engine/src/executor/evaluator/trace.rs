//! The operations of a run, for those who compute it again.

use penfuzz_cc::abi::{Traced, action, metric, site_kind};

use super::{Evaluator, RunStatus};

impl Evaluator {
    /// Runs one input and returns its floating-point operations in order, those of functions out of scope too. `None`
    /// when it does not return or there are more than `room`. All sites are at rest afterwards.
    pub fn trace(&mut self, bytes: &[u8], room: usize) -> Option<Vec<Traced>> {
        let nothing = Traced { actions: core::ptr::null(), operands: [0; 3], result: 0, what: 0, unused: 0 };
        let mut traced = vec![nothing; room];
        self.set_metric(metric::ULP, u64::MAX);
        self.arm(|_| 0);
        self.arm_operations(action::ARMED);
        self.note_operations(traced.as_mut_ptr(), room);
        let ran = self.run(bytes);
        // SAFETY: as in `run`.
        let n = unsafe { (*self.state).n_trace } as usize;
        self.note_operations(core::ptr::null_mut(), 0);
        self.arm_operations(0);
        traced.truncate(n);
        (ran == RunStatus::Returned && n <= room).then_some(traced)
    }

    /// The first byte of every operation of the target: at rest, or armed without a goal.
    fn arm_operations(&mut self, byte: u8) {
        let actions = self.target.actions();
        for site in self.target.sites.iter().filter(|s| s.kind == site_kind::OPERATION) {
            // SAFETY: there are `n_branches` action bytes, read only while the target runs.
            unsafe { actions.add(site.first_branch).write(byte) };
        }
    }

    fn note_operations(&mut self, to: *mut Traced, room: usize) {
        // SAFETY: as in `run`; `to` has room for as many operations, or is null.
        unsafe {
            let state = &mut *self.state;
            state.trace = to;
            state.trace_room = room as u32;
            state.n_trace = 0;
        }
    }
}
