//! The only place where this program forks.
//!
//! fork copies the calling thread only. A lock that another thread holds at that moment stays locked in the child for
//! ever, so a child of a process with threads may only make async-signal-safe calls (signal-safety(7)). The children
//! here do more: they allocate, write files and load targets. Therefore:
//!
//! - The supervisor and its workers start no threads. The threads that compile a target have ended before the first
//!   fork. The broker and the metrics server have threads, but do not fork. A debug build checks this at each fork.
//! - A library of the target may start threads of its own when it is loaded into a worker (`OpenBLAS` does). They run
//!   no code of this program, so they hold none of its locks, and glibc makes its allocator usable in the child
//!   (malloc(3), Notes). A lock of that library may stay locked: then the evaluation in the child hangs, and the time
//!   limit of the child ends it.
//! - The test harness runs tests in threads. A child forked by a test may hang in the same way, and is ended in the
//!   same way.

use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Whether an interrupted target may hold locks of the C library, if a target can be in this process.
static MAY_HOLD_LOCKS: OnceLock<fn() -> bool> = OnceLock::new();

/// Registers the check that every later fork makes: if `check` returns true, the child is made without the handlers
/// that take the locks of the C library. Without a registered check no lock is assumed to be held. The first
/// registration counts.
pub fn check_locks_with(check: fn() -> bool) {
    let _ = MAY_HOLD_LOCKS.set(check);
}

static HAS_TEST_THREADS: AtomicBool = AtomicBool::new(false);

/// Lets the test harness of another crate, which runs tests in threads, fork children.
pub fn allow_threads_of_tests() {
    HAS_TEST_THREADS.store(true, Ordering::Relaxed);
}

/// Exit status of a child whose work panicked; the same as that of a Rust program that panics.
const PANICKED: i32 = 101;

/// Exit status of a child whose parent had ended before the child could request to end with it. No process waits for
/// such a child.
const ORPHANED: i32 = 1;

/// Time within which threads must disappear after they are joined: a thread scope is left slightly before the last
/// thread ends.
const THREADS_END: Duration = Duration::from_secs(1);

/// Forks a child that runs `work` and exits with the returned status. The child runs no destructors: they belong to the
/// parent, and a target may have left the objects in an inconsistent state. The child is killed when this process ends.
/// Returns the process ID of the child.
///
/// # Errors
/// When the system cannot create a process.
///
/// # Panics
/// In a debug build, when this process has more than one thread; the module documentation explains why it must not.
pub fn fork(work: impl FnOnce() -> i32) -> io::Result<i32> {
    debug_assert!(
        cfg!(test) || HAS_TEST_THREADS.load(Ordering::Relaxed) || is_single_threaded(),
        "a process with several threads must not fork"
    );
    let parent = std::process::id();
    let pid = fork_process();
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if pid > 0 {
        return Ok(pid);
    }
    end_with_parent(parent);
    // No panic may unwind into the frames of the parent that the child has a copy of.
    let status = catch_unwind(AssertUnwindSafe(work)).unwrap_or(PANICKED);
    // SAFETY: ends the process.
    unsafe { libc::_exit(status) }
}

/// Forks. If the target was interrupted, perhaps inside `malloc`, the heap lock of the C library may never be released.
/// `fork` takes this lock and would wait for ever; `_Fork` (glibc 2.34) does not take it. An evaluation in such a child
/// may also wait for the lock; the time limit of the child then ends it.
fn fork_process() -> i32 {
    type Fork = unsafe extern "C" fn() -> i32;
    // Looked up at the first fork, before any evaluation, because finding a symbol may allocate.
    static BARE: OnceLock<Option<Fork>> = OnceLock::new();
    let bare = BARE.get_or_init(|| {
        // SAFETY: the name is a C string; if the symbol exists, it is a function of this type.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, c"_Fork".as_ptr());
            (!found.is_null()).then(|| core::mem::transmute::<*mut libc::c_void, Fork>(found))
        }
    });
    // SAFETY: no other thread of this program runs (see the module), so the child may call any function.
    unsafe {
        bare.filter(|_| MAY_HOLD_LOCKS.get().is_some_and(|check| check())).map_or_else(|| libc::fork(), |bare| bare())
    }
}

/// Makes the kernel kill this process when the process `parent` ends. `parent` must be the process that forked it; its
/// ID is taken before the fork. A parent that ended between the fork and this call sends no signal any more, and this
/// process then has another parent: in that case it exits at once.
///
/// Async-signal-safe, so it may be called between fork and exec. The kernel sends the signal when the *thread* that
/// forked ends: a thread that starts such a child must outlive it.
pub fn end_with_parent(parent: u32) {
    // SAFETY: system calls without pointers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent.cast_signed() {
            libc::_exit(ORPHANED);
        }
    }
}

/// Whether this process has other threads, which a child would lack. A library of the target may have started them.
#[must_use]
pub fn has_other_threads() -> bool {
    threads() > 1
}

fn is_single_threaded() -> bool {
    let deadline = Instant::now() + THREADS_END;
    while threads() > 1 {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(Duration::from_micros(100));
    }
    true
}

/// Number of threads of this process; 0 without `/proc`. Does not read a directory, because that allocates in the C
/// library, whose heap stays locked if the target was interrupted inside it.
fn threads() -> usize {
    // proc_pid_stat(5): num_threads is field 20, the 18th after the name, which may contain any characters.
    const BEHIND_NAME: usize = 17;
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_whitespace().nth(BEHIND_NAME).and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
#[path = "fork_tests.rs"]
mod tests;
