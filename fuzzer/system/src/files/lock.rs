//! Locks an output directory for one campaign.
//!
//! The lock is a kernel lock (`flock`), which ends with the process. But child processes inherit it, and a target may
//! fork: an orphan of a target then holds the lock of a campaign that ended long ago. Therefore the lock file names the
//! processes that took the lock. If none of them is alive, a new locked file replaces it.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use penfuzz_error::{Error, at, failed};

use crate::files::{atomic::TEMPORARY_PREFIX, foreign, own, unfit};

/// The name of the lock file in a directory.
pub const LOCK: &str = ".lock";

/// Maximum size of a lock file in bytes; it has a few lines of numbers.
const LONGEST: u64 = 4096;

/// Time for a killed process to disappear: a worker dies slightly later than its supervisor.
const PATIENCE: Duration = Duration::from_secs(1);

/// A process. Its start time distinguishes it from later processes with the same ID.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    pid: u32,
    /// Start time, in clock ticks since the machine was booted.
    start: u64,
}

impl Process {
    /// The process with this ID; `None` if there is none, or if it is a zombie.
    fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is the second field, in parentheses, and may contain any characters.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        if matches!(*fields.first()?, "Z" | "X") {
            return None;
        }
        Some(Self { pid, start: fields.get(19)?.parse().ok()? })
    }

    fn lives(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }
}

/// Whether a process with this ID is alive.
#[must_use]
pub fn is_running(pid: u32) -> bool {
    Process::of(pid).is_some()
}

/// The content of the lock file: the process of the campaign, the process that took the lock, and the system in which
/// their IDs are valid.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    processes: Vec<Process>,
    system: String,
}

impl Owner {
    fn new(campaign: u32) -> Self {
        let processes = [campaign, std::process::id()].into_iter().filter_map(Process::of).collect();
        Self { processes, system: system() }
    }

    /// The content as text. The campaign's process ID comes first, because messages show it.
    fn text(&self) -> String {
        let mut lines: Vec<String> = self.processes.iter().map(|p| format!("{} {}", p.pid, p.start)).collect();
        lines.push(self.system.clone());
        lines.join("\n") + "\n"
    }

    /// Parses the text; `None` if it names no process, as a file of an older version or a damaged one.
    fn parse(text: &str) -> Option<Self> {
        let mut lines: Vec<&str> = text.lines().collect();
        let system = lines.pop()?.to_owned();
        let process = |line: &&str| {
            let (pid, start) = line.split_once(' ')?;
            Some(Process { pid: pid.parse().ok()?, start: start.parse().ok()? })
        };
        let processes: Vec<Process> = lines.iter().map(process).collect::<Option<_>>()?;
        (!processes.is_empty()).then_some(Self { processes, system })
    }

    /// Whether all processes are dead. Processes of another system count as alive.
    fn is_dead(&self) -> bool {
        self.system == system() && !self.processes.iter().any(Process::lives)
    }

    /// Whether only the campaign's own process and this one are alive. Then the lock is held by a process that the
    /// target of a dead worker started.
    fn is_ours(&self, campaign: u32) -> bool {
        let known = |p: &&Process| p.pid == campaign || p.pid == std::process::id();
        self.system == system()
            && self.processes.first().is_some_and(|p| p.pid == campaign)
            && !self.processes.iter().any(|p| p.lives() && !known(&p))
    }
}

/// Identifies the boot of the machine and the namespace in which process IDs are valid: containers and other machines
/// have their own.
fn system() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").map(|p| p.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{} {space}", boot.trim())
}

/// Locks a directory for the campaign of process `campaign`.
///
/// # Errors
/// When the directory cannot be created, or another campaign runs in it.
pub fn lock(dir: &Path, campaign: u32) -> Result<File, Error> {
    lock_or(dir, campaign, "give another -o")
}

/// Like [`lock`], with `advice` for the user in case the directory is in use.
///
/// # Errors
/// As for [`lock`].
pub fn lock_or(dir: &Path, campaign: u32, advice: &str) -> Result<File, Error> {
    fs::create_dir_all(dir).map_err(|e| failed(dir, "cannot be created as output directory", e))?;
    let path = dir.join(LOCK);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let file = own::open(&path).map_err(|e| match unfit(&e) {
            Some(_) => failed(&path, "cannot be used as lock", e),
            None => failed(dir, "cannot be written as output directory", e),
        })?;
        let owner = || text(&path).unwrap_or_default();
        match file.try_lock() {
            // Another process may have replaced the file since it was opened.
            Ok(()) if !is_at(&file, &path) => {}
            Ok(()) => return Ok(sign(file, campaign)),
            Err(TryLockError::WouldBlock) => {
                let text = owner();
                let known = Owner::parse(&text);
                if known.is_some_and(|o| o.is_dead() || o.is_ours(campaign)) {
                    if let Some(file) = take_over(dir, &path, &text, campaign)? {
                        return Ok(file);
                    }
                } else if Instant::now() > deadline || is_first_alive(&text) {
                    return Err(in_use(dir, &text, advice));
                }
                sleep(Duration::from_millis(5));
            }
            Err(TryLockError::Error(e)) => return without_locks((dir, advice), file, &e, &owner(), campaign),
        }
    }
}

/// The content of a lock file.
fn text(path: &Path) -> Option<String> {
    String::from_utf8(foreign::read_own(path, LONGEST).ok()?).ok()
}

/// Whether the directory has a lock file that names its owners, whether they are alive or not.
#[must_use]
pub fn names_owners(dir: &Path) -> bool {
    text(&dir.join(LOCK)).and_then(|text| Owner::parse(&text)).is_some()
}

fn is_at(file: &File, path: &Path) -> bool {
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    file.metadata().is_ok_and(|a| fs::symlink_metadata(path).is_ok_and(|b| same(a, b)))
}

/// Writes our processes to the lock file. The file is truncated only afterwards, so that a full disk does not leave an
/// empty file.
fn sign(mut file: File, campaign: u32) -> File {
    let text = Owner::new(campaign).text();
    if file.write_all(text.as_bytes()).is_ok() {
        let _ = file.set_len(text.len() as u64);
    }
    file
}

/// Whether the campaign's own process is alive, not just one of its processes that is dying.
fn is_first_alive(text: &str) -> bool {
    Owner::parse(text).is_none_or(|o| o.system != system() || o.processes.first().is_some_and(Process::lives))
}

fn in_use(dir: &Path, owner: &str, advice: &str) -> Error {
    let pid = owner.split_whitespace().next().unwrap_or("unknown");
    at(dir, format!("is in use by another campaign (process {pid}); wait for it or {advice}"))
}

/// Replaces a lock file whose owners are dead by a new one that this process has locked, if its text is still `seen`.
/// Processes that try this at the same time lock the directory itself, so only one succeeds.
fn take_over(dir: &Path, path: &Path, seen: &str, campaign: u32) -> Result<Option<File>, Error> {
    let cannot =
        |e: io::Error| failed(dir, "is locked by a process that a dead campaign started, and cannot be taken over", e);
    let directory = File::open(dir).map_err(cannot)?;
    directory.lock().map_err(cannot)?;
    if text(path).is_some_and(|now| now != seen) {
        return Ok(None);
    }
    let other = dir.join(format!("{TEMPORARY_PREFIX}{}-lock", std::process::id()));
    let file = own::open(&other).map_err(cannot)?;
    if file.try_lock().is_err() {
        return Ok(None);
    }
    let file = sign(file, campaign);
    fs::rename(&other, path).map_err(cannot)?;
    crate::errln!(
        "penfuzz: the campaign that used {} has ended, but a process that it started still runs; continuing",
        dir.display()
    );
    Ok(Some(file))
}

/// For network file systems without locks: only the text of the file decides.
fn without_locks(
    (dir, advice): (&Path, &str),
    file: File,
    e: &io::Error,
    owner: &str,
    campaign: u32,
) -> Result<File, Error> {
    if Owner::parse(owner).is_some_and(|o| !o.is_dead() && !o.is_ours(campaign)) {
        return Err(in_use(dir, owner, advice));
    }
    crate::errln!(
        "penfuzz: {} is on a file system without locks ({e}); make sure that no other campaign uses it",
        dir.display()
    );
    Ok(sign(file, campaign))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: u32 = u32::MAX - 1;

    fn dead(dir: &Path) -> Owner {
        let process = Process { pid: std::process::id(), start: 1 };
        let owner = Owner { processes: vec![process], system: system() };
        fs::write(dir.join(LOCK), owner.text()).unwrap();
        owner
    }

    #[test]
    fn an_owner_can_be_written_and_read() {
        let owner = Owner::new(std::process::id());
        assert_eq!(Owner::parse(&owner.text()), Some(owner));
        assert_eq!(Owner::parse("1234\n"), None);
        assert_eq!(Owner::parse(""), None);
    }

    #[test]
    fn the_same_number_of_another_process_is_not_alive() {
        let dir = tempfile::tempdir().unwrap();
        assert!(dead(dir.path()).is_dead());
        assert!(!Owner::new(std::process::id()).is_dead());
    }

    #[test]
    fn processes_of_another_machine_are_not_taken_for_dead() {
        let dir = tempfile::tempdir().unwrap();
        let owner = Owner { system: "another".to_owned(), ..dead(dir.path()) };
        assert!(!owner.is_dead());
    }

    #[test]
    fn a_lock_of_the_dead_is_taken_over_by_one_of_many() {
        let dir = tempfile::tempdir().unwrap();
        let orphan = own::open(&dir.path().join(LOCK)).unwrap();
        dead(dir.path());
        orphan.try_lock().unwrap();
        let locks: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| lock(dir.path(), PARENT))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(locks.iter().filter(|l| l.is_ok()).count(), 1, "{locks:?}");
        let refused = locks.iter().find_map(|l| l.as_ref().err()).unwrap().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
    }

    #[test]
    fn without_locks_the_living_owner_still_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK);
        let e = io::Error::from(io::ErrorKind::Unsupported);
        let owner = Owner { processes: vec![Process::of(1).unwrap()], system: system() }.text();
        assert!(without_locks((dir.path(), ""), own::open(&path).unwrap(), &e, &owner, PARENT).is_err());
        assert!(
            without_locks((dir.path(), ""), own::open(&path).unwrap(), &e, &dead(dir.path()).text(), PARENT).is_ok()
        );
    }
}
