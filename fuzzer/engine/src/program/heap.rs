//! What evaluations allocate and do not free. The target's runtime lists it (`runtime/allocations.c` of penfuzz-cc), and it is freed
//! before the next evaluation, so that a process can make millions of evaluations of a function that makes an object.
//!
//! Nothing is freed where it may still be used: variables with its address are not restored when there is too much state, or
//! when they are those of another shared library.

use penfuzz_cc::abi;

use super::{Target, outside};

/// The memory that evaluations of a target leave allocated.
#[derive(Debug)]
pub(super) struct Heap {
    state: *mut abi::State,
    release: unsafe extern "C" fn(u32),
    is_kept: bool,
}

impl Heap {
    /// That of a loaded target. `is_restored`: evaluations begin with the variables that it had when it was loaded.
    pub(super) fn of(target: &Target, is_restored: bool) -> Self {
        let is_kept = !is_restored || !outside::libraries(target).is_empty();
        Self { state: target.state(), release: target.release(), is_kept }
    }

    /// Frees what the last evaluation has left.
    #[inline]
    pub(super) fn free(&self) {
        // SAFETY: the target stays loaded, and does not run now.
        if unsafe { (*self.state).n_allocated } > 0 {
            self.end(self.is_kept);
        }
    }

    /// Forgets what the last evaluation has left, which a fault has ended.
    pub(super) fn lose(&self) {
        self.end(true);
    }

    #[cold]
    #[inline(never)]
    fn end(&self, is_lost: bool) {
        // SAFETY: a function of the target's runtime, which stays loaded.
        unsafe { (self.release)(u32::from(is_lost)) };
    }
}
