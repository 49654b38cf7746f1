//! A tool as a tree of processes: started on one core, watched for CPU time, ended with all its children.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::process::interrupts;

/// How often a tree is looked at, at most; less often while much of the budget is left.
const SHORTEST_LOOK: Duration = Duration::from_millis(4);
const LONGEST_LOOK: Duration = Duration::from_millis(50);

/// What a run may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// CPU time of the tree.
    pub cpu: Duration,
    /// Wall time: a tool that sleeps uses no CPU.
    pub wall: Duration,
    /// Time to end by itself after a SIGINT.
    pub patience: Duration,
}

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// CPU time of the tree until it ended or was told to.
    pub cpu: Duration,
    /// Wall time until then.
    pub wall: Duration,
    /// Its status, when it ended by itself.
    pub status: Option<ExitStatus>,
}

/// Runs a command on one core until it ends or has used up a limit. What it says is appended to `log`.
///
/// # Errors
/// It cannot be started or watched.
pub fn run(mut command: Command, core: usize, limits: Limits, log: &Path) -> io::Result<Ended> {
    let log = OpenOptions::new().create(true).append(true).open(log)?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    // SAFETY: between fork and exec only system calls that are allowed there.
    unsafe { command.pre_exec(move || prepare(core)) };
    let began = Instant::now();
    let mut child = command.spawn()?;
    let root = child.id();
    let mut cpu = Duration::ZERO;
    loop {
        if let Some((status, used)) = finished(&mut child)? {
            return Ok(Ended { cpu: cpu.max(used), wall: began.elapsed(), status: Some(status) });
        }
        cpu = cpu.max(cpu_time(root));
        if cpu >= limits.cpu || began.elapsed() >= limits.wall || interrupts::requested() {
            let wall = began.elapsed();
            end(&mut child, limits.patience)?;
            return Ok(Ended { cpu, wall, status: None });
        }
        let left = limits.cpu.saturating_sub(cpu).min(limits.wall.saturating_sub(began.elapsed()));
        std::thread::sleep((left / 2).clamp(SHORTEST_LOOK, LONGEST_LOOK));
    }
}

/// In the child before exec: one core, no core dumps, a process group of its own (Ctrl-C is for us), and death with us.
fn prepare(core: usize) -> io::Result<()> {
    // SAFETY: plain system calls on memory of our own.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        if libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) != 0 {
            return Err(io::Error::last_os_error());
        }
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    Ok(())
}

/// Status and CPU time of a child that has ended, with the children that it waited for.
fn finished(child: &mut Child) -> io::Result<Option<(ExitStatus, Duration)>> {
    let (mut status, mut usage) = (0, no_usage());
    // SAFETY: both pointers are to memory of our own; the child is ours and not yet waited for.
    let pid = unsafe { libc::wait4(child.id() as libc::pid_t, &raw mut status, libc::WNOHANG, &raw mut usage) };
    match pid {
        0 => Ok(None),
        pid if pid < 0 => Err(io::Error::last_os_error()),
        _ => {
            let time = |t: libc::timeval| {
                Duration::from_secs(t.tv_sec.unsigned_abs()) + Duration::from_micros(t.tv_usec.unsigned_abs())
            };
            Ok(Some((ExitStatus::from_raw(status), time(usage.ru_utime) + time(usage.ru_stime))))
        }
    }
}

fn no_usage() -> libc::rusage {
    // SAFETY: plain integers, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

/// Tells the tree to end, waits, then kills what is left of it.
fn end(child: &mut Child, patience: Duration) -> io::Result<()> {
    let tree = tree(child.id());
    signal(child.id(), libc::SIGINT);
    let until = Instant::now() + patience;
    let mut gone = false;
    while !gone && Instant::now() < until {
        gone = finished(child)?.is_some();
        if !gone {
            std::thread::sleep(SHORTEST_LOOK);
        }
    }
    let mut left = tree;
    if !gone {
        left.extend(self::tree(child.id()));
        signal(child.id(), libc::SIGKILL);
    }
    // Children of another session or group outlive their parent, unless it took them along.
    for pid in left.into_iter().filter(|pid| *pid != child.id() && is_orphan(*pid, child.id())) {
        signal(pid, libc::SIGKILL);
    }
    while !gone {
        gone = finished(child)?.is_some();
        std::thread::sleep(SHORTEST_LOOK);
    }
    Ok(())
}

/// Without its parent, or with the one that is to end: the number was not given to another process meanwhile.
fn is_orphan(pid: u32, root: u32) -> bool {
    let parent = stat(pid).and_then(|fields| fields.get(1)?.parse::<u32>().ok());
    parent.is_some_and(|p| p <= 1 || p == root || !Path::new(&format!("/proc/{p}")).exists())
}

fn signal(pid: u32, signal: libc::c_int) {
    // SAFETY: kill has no memory effects.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

/// A process and all below it.
fn tree(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut next = 0;
    while next < all.len() {
        let children = children(all[next]);
        all.extend(children);
        next += 1;
    }
    all
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut all = Vec::new();
    for thread in threads.flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        all.extend(text.split_whitespace().filter_map(|w| w.parse::<u32>().ok()));
    }
    all
}

/// The fields of `/proc/PID/stat` behind the name, which may hold anything.
fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = &text[text.rfind(')')? + 1..];
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// CPU time of a process and all below it, with those that were waited for; in steps of the system's tick for each.
fn cpu_time(root: u32) -> Duration {
    // SAFETY: sysconf only reads.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    let ticks: u64 = tree(root)
        .into_iter()
        .filter_map(stat)
        // utime, stime, cutime, cstime.
        .map(|fields| fields.iter().skip(11).take(4).filter_map(|f| f.parse::<u64>().ok()).sum::<u64>())
        .sum();
    Duration::from_secs_f64(ticks as f64 / ticks_per_second)
}

/// The cores that this process may run on.
#[must_use]
pub fn cores() -> Vec<usize> {
    // SAFETY: the set is plain data of ours, and read only within its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return vec![0];
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&core| libc::CPU_ISSET(core, &set)).collect()
    }
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
