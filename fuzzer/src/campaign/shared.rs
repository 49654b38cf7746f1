//! Memory that a process shares with those that it forks.

use core::ptr::NonNull;

/// Room for a `T`, all of it zero, shared with every process forked from now on; it is never unmapped. `None` when the system
/// has no memory.
#[must_use]
pub fn zeroed<T>() -> Option<NonNull<T>> {
    // SAFETY: a fresh anonymous mapping.
    let p = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            size_of::<T>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if p == libc::MAP_FAILED { None } else { NonNull::new(p.cast()) }
}
