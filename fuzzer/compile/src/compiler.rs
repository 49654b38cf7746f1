//! Runs the compiler so that it can be ended early. clang starts further processes (the linker), so it gets its own
//! process group, which is ended as a whole.

use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use penfuzz_cc::{Compile, Error};

/// Returns whether the compilation must end. Called every few milliseconds, from several threads.
pub type Stop<'a> = dyn Fn() -> bool + Sync + 'a;

/// Shortest and longest pause between two polls of a compiler.
const PAUSE: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(5));

/// Time that a compiler has to remove its temporary files after SIGTERM, before SIGKILL.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs a compilation; the compiler's messages go to the file `messages`. With `stop`, the compiler runs in its own
/// process group, which is ended when `stop` returns true. Without, it receives the signals of the terminal itself.
///
/// # Errors
/// Returns [`Error::Compiler`] with the compiler's messages if it rejects the source or was ended; otherwise the reason
/// why it could not be run.
pub fn run(compile: &Compile, messages: &Path, stop: Option<&Stop>) -> Result<(), Error> {
    let mut command = compile.command()?;
    let status = start(&mut command, messages, stop.is_some())
        .and_then(|child| wait(child, stop))
        .map_err(|source| Error::NoClang { path: command.get_program().into(), source })?;
    if status.success() {
        return Ok(());
    }
    let stderr = fs::read(messages).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
    Err(Error::Compiler { status: penfuzz_cc::exit_status(status), stderr })
}

fn start(command: &mut Command, messages: &Path, has_group: bool) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(messages)?);
    if has_group {
        command.process_group(0);
        let parent = std::process::id();
        // SAFETY: `end_with_parent` makes only calls that are allowed between fork and exec.
        unsafe { command.pre_exec(move || end_with_parent(parent)) };
    }
    command.spawn()
}

/// Makes the kernel kill the compiler when this process is killed, because nothing waits for it any more. The kernel
/// requires that the thread that starts the compiler outlives it; it does.
fn end_with_parent(parent: u32) -> io::Result<()> {
    // SAFETY: system calls without pointers.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent.cast_signed() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    Ok(())
}

fn wait(mut child: Child, stop: Option<&Stop>) -> io::Result<ExitStatus> {
    let Some(stop) = stop else { return child.wait() };
    let begun = Instant::now();
    let mut stopped: Option<Instant> = None;
    loop {
        if has_ended(&child) {
            if stopped.is_some() {
                signal_group(&child, libc::SIGKILL);
            }
            return child.wait();
        }
        match stopped {
            None if stop() => {
                stopped = Some(Instant::now());
                signal_group(&child, libc::SIGTERM);
            }
            Some(since) if since.elapsed() >= PATIENCE => signal_group(&child, libc::SIGKILL),
            _ => {}
        }
        thread::sleep((begun.elapsed() / 8).clamp(PAUSE.0, PAUSE.1));
    }
}

/// Has the compiler ended? The process is not reaped, so that its process id stays reserved for its group.
fn has_ended(child: &Child) -> bool {
    // SAFETY: plain integers and pointers, for which zero is a value; the call writes to the local variable only.
    unsafe {
        let mut info: libc::siginfo_t = core::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, child.id(), &raw mut info, options) != 0 || info.si_pid() != 0
    }
}

/// Sends a signal to the process group of the compiler. The compiler must not be reaped yet, because its id could then
/// belong to another process.
fn signal_group(child: &Child, signal: i32) {
    // SAFETY: kill accesses no memory.
    unsafe { libc::kill(-child.id().cast_signed(), signal) };
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn shell(script: &str, messages: &Path) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        start(&mut command, messages, true).unwrap()
    }

    fn is_gone(pid: &str) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        state.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
    }

    #[test]
    fn a_stopped_compiler_ends_with_what_it_has_started() {
        let directory = tempfile::tempdir().unwrap();
        let pid = directory.path().join("pid");
        // The shell ignores SIGTERM, and its child is killed with it.
        let script = format!("trap '' TERM; sleep 600 & echo $! > {}; wait; wait", pid.display());
        let child = shell(&script, &directory.path().join("messages"));
        let begun = Instant::now();
        let status = wait(child, Some(&|| fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')))).unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL), "{status}");
        assert!(begun.elapsed() < Duration::from_mins(1), "ended, not waited for");
        let grandchild = fs::read_to_string(&pid).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_gone(&grandchild) {
            assert!(Instant::now() < deadline, "process {grandchild} still runs");
            thread::sleep(PAUSE.1);
        }
    }

    #[test]
    fn a_compiler_that_ends_by_itself_has_its_status_and_messages() {
        let directory = tempfile::tempdir().unwrap();
        let messages = directory.path().join("messages");
        let status = wait(shell("echo no >&2; exit 3", &messages), Some(&|| false)).unwrap();
        assert_eq!((status.code(), fs::read_to_string(messages).unwrap().as_str()), (Some(3), "no\n"));
    }
}
