//! The heap of evaluations. The target's runtime allocates from an arena (`runtime/arena.c` of penfuzz-cc), which is
//! cleared before the next evaluation. So a process can run millions of evaluations of a function that creates an
//! object, and a write beyond an allocation does not damage the heap of the fuzzer.
//!
//! If memory may still be in use after an evaluation, there is no arena, and nothing is freed. That is the case if
//! variables that may hold its address are not restored: there is too much state, or they belong to another shared
//! library.

use penfuzz_abi::{self as abi, heap};

use super::{Target, outside};

/// The memory that evaluations of a target leave allocated.
#[derive(Debug)]
pub(super) struct Heap {
    state: *mut abi::State,
    release: unsafe extern "C" fn(u32),
    is_kept: bool,
}

impl Heap {
    /// Creates the heap of a loaded target. `is_restored` says whether variables are reset before each evaluation.
    pub(super) fn of(target: &Target, is_restored: bool) -> Self {
        let is_kept = !is_restored || !outside::libraries(target).is_empty();
        let me = Self { state: target.state(), release: target.release(), is_kept };
        if !is_kept {
            me.end(heap::ARENA);
        }
        me
    }

    /// Frees the allocations of the last evaluation.
    #[inline]
    pub(super) fn free(&self) {
        // SAFETY: the target stays loaded, and does not run now.
        if unsafe { (*self.state).n_allocated } > 0 {
            self.end(if self.is_kept { heap::LOSE } else { heap::FREE });
        }
    }

    /// Abandons the allocations of the last evaluation, which a fault ended.
    pub(super) fn abandon(&self) {
        self.end(heap::LOSE);
    }

    /// Makes evaluations allocate from the C library's heap from now on.
    pub(super) fn use_system(&self) {
        self.end(heap::SYSTEM);
    }

    #[cold]
    #[inline(never)]
    fn end(&self, how: u32) {
        // SAFETY: a function of the target's runtime, which stays loaded.
        unsafe { (self.release)(how) };
    }
}
