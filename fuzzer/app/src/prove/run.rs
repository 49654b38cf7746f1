//! One call of a program that may hang, crash, or print without end: its time, memory and output are limited.

use std::{
    fs::File,
    io::{self, Read, Seek},
    os::unix::process::CommandExt,
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use crate::process::{
    fork, interrupts,
    wait::{kill, time_in_queue, wait_with},
};

/// Bytes of memory that a solver may use.
const MEMORY: u64 = 4 << 30;
/// Bytes that it may print.
const OUTPUT: u64 = 1 << 20;
/// Time between two polls.
const POLL_EVERY: Duration = Duration::from_millis(2);

/// How a call ended.
#[derive(Debug)]
pub struct Ended {
    /// What it printed on standard output.
    pub text: String,
    /// Its status; `None` when it was killed at its limit, or because the user interrupted.
    pub status: Option<ExitStatus>,
    /// Seconds that it took, without those in which it was ready to run, but had no processor.
    pub seconds: f64,
}

/// Runs a command in a process group of its own. Time without a processor does not count for the limit.
///
/// # Errors
/// It cannot be started, or there is no room for what it prints.
pub fn run(mut command: Command, limit: Duration) -> io::Result<Ended> {
    let mut output = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(Stdio::null());
    let parent = std::process::id();
    // SAFETY: `prepare` makes only calls that are allowed between fork and exec.
    unsafe { command.pre_exec(move || prepare(parent)) };
    let began = Instant::now();
    let pid = command.spawn()?.id().cast_signed();
    let (mut is_killed, mut waited) = (false, Duration::ZERO);
    let ended = wait_with(pid, || {
        waited = time_in_queue(pid).max(waited);
        if !is_killed && (began.elapsed() >= limit + waited || interrupts::requested()) {
            // The whole group: a solver may be a script that starts another program.
            // SAFETY: kill accesses no memory.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
            kill(pid);
            is_killed = true;
        }
        POLL_EVERY
    });
    let seconds = began.elapsed().saturating_sub(waited).as_secs_f64();
    Ok(Ended { text: text_of(&mut output)?, status: (!is_killed).then_some(ended.status), seconds })
}

fn text_of(output: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    output.rewind()?;
    output.take(OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// In the child before exec: limits, a process group of its own, and its end with the parent. Only system calls.
fn prepare(parent: u32) -> io::Result<()> {
    // SAFETY: system calls on local variables.
    unsafe {
        for (what, most) in [(libc::RLIMIT_AS, MEMORY), (libc::RLIMIT_FSIZE, OUTPUT), (libc::RLIMIT_CORE, 0)] {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            if libc::setrlimit(what, &raw const limit) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        libc::setpgid(0, 0);
    }
    fork::end_with_parent(parent);
    Ok(())
}
