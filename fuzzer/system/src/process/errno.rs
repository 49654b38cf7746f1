//! `errno` of this thread.

/// Does something, and returns what it leaves in `errno`, which is 0 before.
pub fn left_by<T>(work: impl FnOnce() -> T) -> (T, i32) {
    // SAFETY: the address of this thread's errno is always good.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { errno.write(0) };
    let done = work();
    // SAFETY: as above.
    (done, unsafe { errno.read() })
}
