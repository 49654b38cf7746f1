//! Runs a program that may hang, crash, or print without end: limits its time, memory and output, and ends it with this
//! process.

use std::{
    fs::File,
    io::{self, Read, Seek},
    os::unix::process::CommandExt,
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use penfuzz_system::process::{
    deadline, fork, interrupts,
    wait::{kill, time_in_queue, wait_with},
};

/// Maximum memory of a program in bytes.
const MEMORY: u64 = 4 << 30;
/// Maximum output of a solver in bytes.
const OUTPUT: u64 = 1 << 20;
/// Maximum size in bytes of a file that a compiler writes.
const FILE: u64 = 1 << 30;
/// Time between two polls.
const POLL_EVERY: Duration = Duration::from_millis(2);

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// What it printed on standard output.
    pub text: String,
    /// Its exit status; `None` if it was killed at its time limit, or because the user interrupted.
    pub status: Option<ExitStatus>,
    /// Its duration in seconds, without the time in which it was ready to run but had no processor.
    pub seconds: f64,
}

/// Runs a command in a process group of its own. Time in which it waits for a processor does not count towards the
/// limit, but the command is also killed at the deadline of this process ([`deadline`]).
///
/// # Errors
/// When the command cannot be started, or there is no room for its output.
pub fn run(command: Command, limit: Duration) -> io::Result<Ended> {
    run_unless(command, limit, &AtomicBool::new(false))
}

/// As [`run`]. The command is also killed when another thread sets `stop`.
///
/// # Errors
/// As [`run`].
pub fn run_unless(command: Command, limit: Duration, stop: &AtomicBool) -> io::Result<Ended> {
    printed(command, limit, &|| stop.load(Ordering::Relaxed) || deadline::is_past())
}

/// As [`run`], but the command is not killed at the deadline of this process.
///
/// # Errors
/// As [`run`].
pub fn run_past_deadline(command: Command, limit: Duration) -> io::Result<Ended> {
    printed(command, limit, &|| false)
}

fn printed(mut command: Command, limit: Duration, is_stopped: &dyn Fn() -> bool) -> io::Result<Ended> {
    let mut output = tempfile::tempfile()?;
    command.stdout(output.try_clone()?);
    let (status, seconds) = within(command, limit, OUTPUT, is_stopped)?;
    Ok(Ended { text: text_of(&mut output)?, status, seconds })
}

/// Runs a compiler and discards its messages. Returns true if it succeeds within this time.
#[must_use]
pub fn compiles(mut command: Command, limit: Duration) -> bool {
    command.stdout(Stdio::null());
    within(command, limit, FILE, &deadline::is_past)
        .is_ok_and(|(status, _)| status.is_some_and(|status| status.success()))
}

/// Runs a command with a time limit. Files that it writes have at most `bytes`. Returns its status (`None` if it was
/// killed) and its duration in seconds.
fn within(
    mut command: Command,
    limit: Duration,
    bytes: u64,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<(Option<ExitStatus>, f64)> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let parent = std::process::id();
    // SAFETY: `prepare` makes only calls that are allowed between fork and exec.
    unsafe { command.pre_exec(move || prepare(parent, bytes)) };
    let began = Instant::now();
    let pid = command.spawn()?.id().cast_signed();
    let (mut is_killed, mut waited) = (false, Duration::ZERO);
    let ended = wait_with(pid, || {
        waited = time_in_queue(pid).max(waited);
        let is_over = began.elapsed() >= limit + waited || interrupts::requested() || is_stopped();
        if !is_killed && is_over {
            // Kills the whole group, since a solver may be a script that starts another program. SAFETY: kill accesses
            // no memory.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
            kill(pid);
            is_killed = true;
        }
        POLL_EVERY
    });
    let seconds = began.elapsed().saturating_sub(waited).as_secs_f64();
    Ok(((!is_killed).then_some(ended.status), seconds))
}

fn text_of(output: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    output.rewind()?;
    output.take(OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs in the child before exec: sets limits, makes a process group, and requests that the child ends with its parent.
/// Makes only system calls.
fn prepare(parent: u32, bytes: u64) -> io::Result<()> {
    // SAFETY: system calls on local variables.
    unsafe {
        for (what, most) in [(libc::RLIMIT_AS, MEMORY), (libc::RLIMIT_FSIZE, bytes), (libc::RLIMIT_CORE, 0)] {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_compiler_without_end_is_ended_and_counts_as_failed() {
        let limit = Duration::from_millis(200);
        let began = Instant::now();
        assert!(!compiles(shell("sleep 60 & wait"), limit));
        assert!(began.elapsed() < Duration::from_secs(30), "the limit counts");
        assert!(compiles(shell("exit 0"), Duration::from_secs(30)));
        assert!(!compiles(shell("exit 1"), Duration::from_secs(30)));
    }
}
