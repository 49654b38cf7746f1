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

use super::{
    confinement::Confinement,
    deadline, fork, interrupts,
    wait::{kill, time_in_queue, wait_with},
};

/// Maximum memory of a program in bytes.
const MEMORY: u64 = 4 << 30;
/// Maximum size in bytes of the output that is read.
const OUTPUT: u64 = 1 << 20;
/// Maximum size in bytes of a file that a compiler or a test program writes.
const FILE: u64 = 1 << 30;
/// Time between two polls.
const POLL_EVERY: Duration = Duration::from_millis(2);

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// What it printed: the first MiB.
    pub text: String,
    /// Its exit status; `None` if it was killed at its time limit, or because the user interrupted.
    pub status: Option<ExitStatus>,
    /// Its duration in seconds, without the time in which it was ready to run but had no processor.
    pub seconds: f64,
}

/// What a program may use.
struct Limits<'a> {
    time: Duration,
    /// Address space in bytes.
    memory: Option<u64>,
    /// Size of each file in bytes.
    file: u64,
    confinement: Option<Confinement>,
    /// Whether the program must end now.
    is_stopped: &'a dyn Fn() -> bool,
}

/// Runs a command in a process group of its own, and returns what it prints on standard output. Time in which it waits
/// for a processor does not count towards the limit, but the command is also killed at the deadline of this process
/// ([`deadline`]).
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
    printed(command, &solver(limit, &|| stop.load(Ordering::Relaxed) || deadline::is_past()))
}

/// As [`run`], but the command is not killed at the deadline of this process.
///
/// # Errors
/// As [`run`].
pub fn run_past_deadline(command: Command, limit: Duration) -> io::Result<Ended> {
    printed(command, &solver(limit, &|| false))
}

/// As [`run`] for a compiler: returns its messages, and it may write large files.
///
/// # Errors
/// As [`run`].
pub fn run_compiler(command: Command, limit: Duration) -> io::Result<Ended> {
    with_messages(command, &Limits { file: FILE, ..solver(limit, &deadline::is_past) })
}

/// As [`run`] for a test program, which calls the code under test: it may use any amount of memory, but may not act on
/// other processes. Returns its messages, too.
///
/// # Errors
/// As [`run`], and when the system refuses the filter on system calls.
pub fn run_tests(command: Command, limit: Duration, allow_network: bool) -> io::Result<Ended> {
    let confinement = Some(Confinement::new(allow_network)?);
    with_messages(command, &Limits { file: FILE, memory: None, confinement, ..solver(limit, &deadline::is_past) })
}

/// Runs a compiler and discards its messages. Returns true if it succeeds within this time.
#[must_use]
pub fn compiles(mut command: Command, limit: Duration) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    within(command, &Limits { file: FILE, ..solver(limit, &deadline::is_past) })
        .is_ok_and(|(status, _)| status.is_some_and(|status| status.success()))
}

fn solver(time: Duration, is_stopped: &dyn Fn() -> bool) -> Limits<'_> {
    Limits { time, memory: Some(MEMORY), file: OUTPUT, confinement: None, is_stopped }
}

fn printed(command: Command, limits: &Limits) -> io::Result<Ended> {
    recorded(command, limits, tempfile::tempfile()?, Stdio::null())
}

fn with_messages(command: Command, limits: &Limits) -> io::Result<Ended> {
    let output = tempfile::tempfile()?;
    let messages = output.try_clone()?;
    recorded(command, limits, output, messages.into())
}

fn recorded(mut command: Command, limits: &Limits, mut output: File, messages: Stdio) -> io::Result<Ended> {
    command.stdout(output.try_clone()?).stderr(messages);
    let (status, seconds) = within(command, limits)?;
    Ok(Ended { text: text_of(&mut output)?, status, seconds })
}

/// Runs a command within its limits. Returns its status (`None` if it was killed) and its duration in seconds.
fn within(mut command: Command, limits: &Limits) -> io::Result<(Option<ExitStatus>, f64)> {
    command.stdin(Stdio::null());
    let (parent, memory, file) = (std::process::id(), limits.memory, limits.file);
    let confinement = limits.confinement.clone();
    let prepare = move || {
        prepare(parent, memory, file)?;
        confinement.as_ref().map_or(Ok(()), Confinement::apply)
    };
    // SAFETY: `prepare` makes only calls that are allowed between fork and exec.
    unsafe { command.pre_exec(prepare) };
    let began = Instant::now();
    let pid = command.spawn()?.id().cast_signed();
    let (mut is_killed, mut waited) = (false, Duration::ZERO);
    let ended = wait_with(pid, || {
        waited = time_in_queue(pid).max(waited);
        let is_over = began.elapsed() >= limits.time + waited || interrupts::requested() || (limits.is_stopped)();
        if !is_killed && is_over {
            kill_group(pid);
            kill(pid);
            is_killed = true;
        }
        POLL_EVERY
    });
    if limits.confinement.is_some() {
        kill_group(pid); // processes that a test has left
    }
    let seconds = began.elapsed().saturating_sub(waited).as_secs_f64();
    Ok(((!is_killed).then_some(ended.status), seconds))
}

/// Kills all processes of a group: a solver may be a script that starts another program.
fn kill_group(group: i32) {
    // SAFETY: kill accesses no memory.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}

fn text_of(output: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    output.rewind()?;
    output.take(OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs in the child before exec: sets limits, makes a process group, and requests that the child ends with its parent.
/// Makes only system calls.
fn prepare(parent: u32, memory: Option<u64>, file: u64) -> io::Result<()> {
    let limits = [(libc::RLIMIT_AS, memory), (libc::RLIMIT_FSIZE, Some(file)), (libc::RLIMIT_CORE, Some(0))];
    // SAFETY: system calls on local variables.
    unsafe {
        for (what, most) in limits {
            let Some(most) = most else { continue };
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

    #[test]
    fn the_messages_of_a_compiler_are_read() {
        let ended = run_compiler(shell("echo out; echo err >&2; exit 3"), Duration::from_secs(30)).unwrap();
        assert_eq!((ended.text.as_str(), ended.status.and_then(|s| s.code())), ("out\nerr\n", Some(3)));
    }

    #[test]
    fn tests_do_not_act_on_other_processes() {
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let parent = std::process::id();
        let script = format!("kill -9 -1; kill -TERM {parent}; kill -0 $$ && echo alive");
        let ended = run_tests(shell(&script), Duration::from_secs(30), false).unwrap();
        assert!(ended.text.ends_with("alive\n"), "{}", ended.text);
        assert!(other.try_wait().unwrap().is_none(), "another process of the user lives");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
