//! Access to `errno` of this thread.

/// Sets `errno` to 0, calls `work`, and returns its result and the value of `errno` after it.
pub fn errno_after<T>(work: impl FnOnce() -> T) -> (T, i32) {
    // SAFETY: the address of this thread's errno is always valid.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(0) };
    let done = work();
    // SAFETY: as above.
    (done, unsafe { errno.read() })
}
