//! Memory that a process shares with those that it forks.

use core::ptr::NonNull;

/// So many bytes, all of them zero, shared with every process forked from now on. `None` when the system has no memory.
#[must_use]
pub fn bytes(n: usize) -> Option<NonNull<u8>> {
    // SAFETY: a fresh anonymous mapping.
    let p = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            n,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if p == libc::MAP_FAILED { None } else { NonNull::new(p.cast()) }
}

/// Room for a `T`, shared in the same way; pages are aligned for any.
#[must_use]
pub fn zeroed<T>() -> Option<NonNull<T>> {
    bytes(size_of::<T>()).map(NonNull::cast)
}
