//! What evaluations allocate. The target's runtime takes it from an arena (`runtime/arena.c` of penfuzz-cc), which is cleared before the
//! next evaluation. So a process can make millions of evaluations of a function that makes an object, and one that writes behind its
//! memory leaves that of the fuzzer whole.
//!
//! There is no arena, and nothing is freed, where memory may still be used: variables with its address are not restored when there is too much state, or
//! when they are those of another shared library.

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
    /// That of a loaded target. `is_restored`: evaluations begin with the variables that it had when it was loaded.
    pub(super) fn of(target: &Target, is_restored: bool) -> Self {
        let is_kept = !is_restored || !outside::libraries(target).is_empty();
        let me = Self { state: target.state(), release: target.release(), is_kept };
        if !is_kept {
            me.end(heap::ARENA);
        }
        me
    }

    /// Frees what the last evaluation has left.
    #[inline]
    pub(super) fn free(&self) {
        // SAFETY: the target stays loaded, and does not run now.
        if unsafe { (*self.state).n_allocated } > 0 {
            self.end(if self.is_kept { heap::LOSE } else { heap::FREE });
        }
    }

    /// Forgets what the last evaluation has left, which a fault has ended.
    pub(super) fn lose(&self) {
        self.end(heap::LOSE);
    }

    /// From now on it comes from the C library.
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
