//! The operands of comparisons that a run passes at armed sites. A search measures them to learn how they depend on the
//! input.

use penfuzz_abi::Compared;

use super::Evaluator;

/// Capacity of the ring buffer: number of latest passes of armed sites.
const ROOM: usize = 256;

/// The ring buffer that the runtime writes to.
pub(super) fn ring() -> Box<[Compared]> {
    let nothing = Compared { actions: core::ptr::null(), a: 0, b: 0, predicate: 0, taken: 0 };
    vec![nothing; ROOM].into_boxed_slice()
}

impl Evaluator {
    /// Sets whether runs store the operands of comparisons at armed two-way sites. Has no effect in the metric
    /// [`SQUARED`](penfuzz_abi::metric::SQUARED). Such runs take a few times as long.
    pub fn set_measuring(&mut self, measures: bool) {
        let to = if measures { self.compared.as_mut_ptr() } else { core::ptr::null_mut() };
        // SAFETY: as in `run`; the ring lives as long as the evaluator, and has a power of two of entries.
        unsafe {
            let state = &mut *self.state;
            state.compared = to;
            state.compared_room = ROOM as u32;
            state.n_compared = 0;
        }
        self.choose_metric();
    }

    /// Calls `look` with the branch that was taken, the other branch, and the operands, for the latest passes since the
    /// last call, in order.
    pub fn take_compared(&mut self, mut look: impl FnMut(usize, usize, &Compared)) {
        // SAFETY: as in `run`.
        let n = unsafe { core::mem::take(&mut (*self.state).n_compared) } as usize;
        let first_action = self.target.actions().cast_const();
        for number in n.saturating_sub(ROOM)..n {
            let entry = &self.compared[number % ROOM];
            // The number of a branch is the offset of its action byte.
            let branch = entry.actions as usize - first_action as usize;
            let taken = branch + entry.taken as usize;
            look(taken, branch + 1 - entry.taken as usize, entry);
        }
    }
}
