//! Waits for a child: the only implementation, for all kinds of children.
//!
//! A child is polled, with pauses that grow with its running time, so that the end of a short-lived child is noticed
//! soon. SIGCHLD is not used: it is one signal for all children, including those of a target.

use std::{
    os::unix::process::ExitStatusExt,
    process::ExitStatus,
    thread,
    time::{Duration, Instant},
};

/// Shortest and longest pause between two polls of [`wait_until`].
const PAUSE: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(5));

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its exit status. SIGKILL for a child that another part of the process has already waited for.
    pub status: ExitStatus,
    /// Its CPU time, including that of the children that it waited for.
    pub cpu: Duration,
    /// Whether its deadline passed and it was killed. Only set by [`wait_until`].
    pub is_late: bool,
}

/// Returns how the child `pid` ended; `None` as long as it runs. Does not wait.
#[must_use]
pub fn poll(pid: i32) -> Option<Ended> {
    // SAFETY: plain integers, for which zero is a valid value.
    let (mut status, mut usage): (i32, libc::rusage) = (0, unsafe { core::mem::zeroed() });
    // SAFETY: both pointers point to local variables.
    let answer = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) };
    match answer {
        0 => None,
        n if n == pid => Some(Ended {
            status: ExitStatus::from_raw(status),
            cpu: time(usage.ru_utime) + time(usage.ru_stime),
            is_late: false,
        }),
        // It is not a child of this process any more.
        _ => Some(Ended { status: ExitStatus::from_raw(libc::SIGKILL), cpu: Duration::ZERO, is_late: false }),
    }
}

fn time(t: libc::timeval) -> Duration {
    Duration::from_secs(t.tv_sec.unsigned_abs()) + Duration::from_micros(t.tv_usec.unsigned_abs())
}

/// Waits without polling for the child `pid`, which is about to end or was killed. Returns SIGKILL if another part of
/// the process has already waited for it.
#[must_use]
pub fn join(pid: i32) -> ExitStatus {
    loop {
        let mut status = 0;
        // SAFETY: a pointer to a local variable.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            return ExitStatus::from_raw(status);
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return ExitStatus::from_raw(libc::SIGKILL);
        }
    }
}

/// Waits for the child `pid`, and kills it at `deadline`.
#[must_use]
pub fn wait_until(pid: i32, deadline: Instant) -> Ended {
    let begun = Instant::now();
    let mut is_late = false;
    let ended = wait_with(pid, || {
        if Instant::now() >= deadline && !is_late {
            is_late = true;
            kill(pid);
        }
        (begun.elapsed() / 8).clamp(PAUSE.0, PAUSE.1)
    });
    Ended { is_late, ..ended }
}

/// Waits for the child `pid`. As long as the child runs, calls `step`, which may send it signals and returns the pause
/// before the next poll.
pub fn wait_with(pid: i32, mut step: impl FnMut() -> Duration) -> Ended {
    loop {
        if let Some(ended) = poll(pid) {
            return ended;
        }
        thread::sleep(step());
    }
}

/// Kills the child `pid`; does nothing for 0, which means no child. The child must still be waited for.
pub fn kill(pid: i32) {
    signal(pid, libc::SIGKILL);
}

/// Sends a signal to the process `pid`; does nothing for 0, which means no process.
pub fn signal(pid: i32, signal: i32) {
    if pid > 0 {
        // SAFETY: kill accesses no memory.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Total time for which the process was ready to run, but had no processor; zero if the system does not count it.
#[must_use]
pub fn time_in_queue(pid: i32) -> Duration {
    let counts = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    // The file has the nanoseconds on a processor, the nanoseconds waiting for one, and the number of time slices.
    let waited = counts.split_whitespace().nth(1).and_then(|n| n.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper(seconds: &str) -> i32 {
        Command::new("sleep").arg(seconds).spawn().unwrap().id().cast_signed()
    }

    #[test]
    fn a_child_that_ends_by_itself_is_not_late() {
        let pid = sleeper("0.05");
        assert_eq!(poll(pid), None, "it still sleeps");
        let ended = wait_until(pid, Instant::now() + Duration::from_secs(20));
        assert!(ended.status.success() && !ended.is_late, "{ended:?}");
    }

    #[test]
    fn a_child_is_killed_at_its_deadline() {
        let begun = Instant::now();
        let ended = wait_until(sleeper("600"), begun + Duration::from_millis(50));
        assert_eq!((ended.status.signal(), ended.is_late), (Some(libc::SIGKILL), true));
        assert!(begun.elapsed() >= Duration::from_millis(50) && begun.elapsed() < Duration::from_mins(1));
    }

    #[test]
    fn a_process_waits_when_there_are_more_than_processors() {
        let n = thread::available_parallelism().map_or(1, usize::from) + 1;
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut all: Vec<Child> = (0..n).map(|_| spin()).collect();
        let deadline = Instant::now() + Duration::from_secs(20);
        let waited = || all.iter().map(|c| time_in_queue(c.id().cast_signed())).sum::<Duration>();
        while waited() < Duration::from_millis(20) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(10));
        }
        let waited = waited();
        for child in &mut all {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(waited >= Duration::from_millis(20), "{waited:?}");
        assert_eq!(time_in_queue(all[0].id().cast_signed()), Duration::ZERO, "it has ended");
    }

    #[test]
    fn a_child_that_was_waited_for_counts_as_killed() {
        let pid = sleeper("0");
        let ended = wait_with(pid, || Duration::from_millis(1));
        assert!(ended.status.success());
        assert_eq!(poll(pid).and_then(|e| e.status.signal()), Some(libc::SIGKILL));
    }
}
