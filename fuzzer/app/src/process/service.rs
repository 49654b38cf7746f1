//! Child processes of the supervisor.

use std::{
    ffi::CString,
    time::{Duration, Instant},
};

use penfuzz_engine::error::Error;

/// Starts a child that does `work` and then ends; returns its process id. In lists of processes it is called `penfuzz` and
/// `name`, of which about seven characters are shown. What `work` returns tells its exit status. Neither
/// Ctrl-C nor SIGTERM, which both may go to the whole group, ends the child, but the end of this process does.
///
/// # Errors
/// When the system has no room for a process.
pub fn fork(name: &str, work: impl FnOnce() -> Result<(), Error>) -> Result<i32, Error> {
    // SAFETY: no thread of ours runs, so the child may do anything.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(Error::new("cannot start a worker process: the system has no room for one"));
    }
    if pid > 0 {
        return Ok(pid);
    }
    let name = CString::new(format!("penfuzz {name}")).unwrap_or_default();
    // SAFETY: plain system calls; the name ends with a zero.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::signal(libc::SIGTERM, libc::SIG_IGN);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    let status = i32::from(work().is_err());
    // SAFETY: ends the process; destructors are the parent's.
    unsafe { libc::_exit(status) }
}

/// The status of a child that has ended, as waitpid gives it; `None` as long as it lives.
#[must_use]
pub fn ended(pid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: our own child.
    match unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) } {
        0 => None,
        n if n == pid => Some(status),
        // Someone reaped it for us: treat it as killed.
        _ => Some(libc::SIGKILL),
    }
}

/// Waits for a child to end, and returns its status; kills it when it has not ended in `time`.
#[must_use]
pub fn wait(pid: i32, time: Duration) -> i32 {
    let deadline = Instant::now() + time;
    loop {
        if let Some(status) = ended(pid) {
            return status;
        }
        if Instant::now() > deadline {
            kill(pid);
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Kills a child.
pub fn kill(pid: i32) {
    if pid > 0 {
        // SAFETY: our own child, which is not reaped yet.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}
