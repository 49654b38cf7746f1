//! Runs a tool as a tree of processes: started on one core, limited in CPU time, ended with all its descendants.

use std::{
    fs, io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use libafl_bolts::core_affinity;

use crate::{
    files::own,
    process::{
        fork, interrupts,
        wait::{self, kill, signal},
    },
};

/// Shortest and longest time between two polls of a tree. Polls are rarer while much of the budget is left.
const POLL_EVERY: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(50));

/// The limits of a run.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// CPU time of the whole tree.
    pub cpu: Duration,
    /// Wall time: a tool that sleeps uses no CPU time.
    pub wall: Duration,
    /// Time to end by itself after a SIGINT.
    pub patience: Duration,
}

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// CPU time of the tree until it ended or was sent its SIGINT.
    pub cpu: Duration,
    /// Wall time until then.
    pub wall: Duration,
    /// Its exit status, if it ended by itself.
    pub status: Option<ExitStatus>,
}

/// Runs a command on one core until it ends, reaches a limit, or the user interrupts ([`interrupts`]). In the latter
/// cases it is sent a SIGINT and has [`Limits::patience`] to end by itself; then the rest of the tree is killed. Its
/// output is appended to `log`.
///
/// # Errors
/// When the command cannot be started, or `log` cannot be written.
pub fn run(mut command: Command, core: usize, limits: Limits, log: &Path) -> io::Result<Ended> {
    let log = own::append(log)?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let parent = std::process::id();
    // SAFETY: `prepare` makes only calls that are allowed between fork and exec.
    unsafe { command.pre_exec(move || prepare(core, parent)) };
    let began = Instant::now();
    let root = command.spawn()?.id().cast_signed();
    let mut cpu = Duration::ZERO;
    let mut ending: Option<Ending> = None;
    let ended = wait::wait_with(root, || {
        if let Some(ending) = &mut ending {
            ending.step(root, limits.patience);
            return POLL_EVERY.0;
        }
        cpu = cpu.max(cpu_time(root));
        let wall = began.elapsed();
        if cpu >= limits.cpu || wall >= limits.wall || interrupts::requested() {
            ending = Some(Ending::begin(root, wall));
            return POLL_EVERY.0;
        }
        let left = limits.cpu.saturating_sub(cpu).min(limits.wall.saturating_sub(wall));
        (left / 2).clamp(POLL_EVERY.0, POLL_EVERY.1)
    });
    Ok(match ending {
        None => Ended { cpu: cpu.max(ended.cpu), wall: began.elapsed(), status: Some(ended.status) },
        Some(ending) => {
            ending.kill_orphans(root);
            Ended { cpu, wall: ending.wall, status: None }
        }
    })
}

/// Prepares the child before exec: one core, no core dumps, a process group of its own (Ctrl-C is for the parent), and
/// its end with the parent. Makes only system calls: nothing else is allowed between fork and exec. For the same reason
/// libc sets the core: `CoreId::set_affinity` allocates when it fails.
fn prepare(core: usize, parent: u32) -> io::Result<()> {
    // SAFETY: system calls on local variables.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        if libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) != 0 {
            return Err(io::Error::last_os_error());
        }
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::setpgid(0, 0);
    }
    fork::end_with_parent(parent);
    Ok(())
}

/// A tree that was sent its SIGINT.
struct Ending {
    /// Its processes at that moment, and those found later.
    tree: Vec<i32>,
    /// Wall time of the run until then.
    wall: Duration,
    began: Instant,
    is_killed: bool,
}

impl Ending {
    fn begin(root: i32, wall: Duration) -> Self {
        let tree = tree(root);
        signal(root, libc::SIGINT);
        Self { tree, wall, began: Instant::now(), is_killed: false }
    }

    /// Kills the tree once `patience` has elapsed.
    fn step(&mut self, root: i32, patience: Duration) {
        if !self.is_killed && self.began.elapsed() >= patience {
            self.is_killed = true;
            self.tree.extend(tree(root));
            kill(root);
            // Done while the root is still their parent: afterwards their parent may be any process that adopts
            // orphans.
            self.kill_orphans(root);
        }
    }

    /// Kills the remaining processes: children in another session or group outlive their parent unless it ends them.
    fn kill_orphans(&self, root: i32) {
        for pid in self.tree.iter().filter(|pid| **pid != root && is_orphan(**pid, root)) {
            kill(*pid);
        }
    }
}

/// Whether the process has no living parent, or its parent is `root`. Otherwise its ID was reused by another process.
fn is_orphan(pid: i32, root: i32) -> bool {
    let parent = stat(pid).and_then(|fields| fields.get(1)?.parse::<i32>().ok());
    parent.is_some_and(|p| p <= 1 || p == root || !Path::new(&format!("/proc/{p}")).exists())
}

/// The IDs of a process and all its descendants.
fn tree(root: i32) -> Vec<i32> {
    let mut all = vec![root];
    let mut next = 0;
    while next < all.len() {
        let children = children(all[next]);
        all.extend(children);
        next += 1;
    }
    all
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut all = Vec::new();
    for thread in threads.flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        all.extend(text.split_whitespace().filter_map(|w| w.parse::<i32>().ok()));
    }
    all
}

/// The fields of `/proc/PID/stat` after the name, which may contain spaces and parentheses.
fn stat(pid: i32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = &text[text.rfind(')')? + 1..];
    Some(fields.split_whitespace().map(str::to_owned).collect())
}

/// CPU time of a process, its descendants, and the children that they waited for. The kernel counts in ticks.
fn cpu_time(root: i32) -> Duration {
    // SAFETY: sysconf only reads.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    let ticks: u64 = tree(root)
        .into_iter()
        .filter_map(stat)
        // The fields utime, stime, cutime, cstime.
        .map(|fields| fields.iter().skip(11).take(4).filter_map(|f| f.parse::<u64>().ok()).sum::<u64>())
        .sum();
    Duration::from_secs_f64(ticks as f64 / ticks_per_second)
}

/// The cores that this process may run on.
#[must_use]
pub fn cores() -> Vec<usize> {
    core_affinity::get_core_ids().map_or_else(|_| vec![0], |ids| ids.into_iter().map(|core| core.0).collect())
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
