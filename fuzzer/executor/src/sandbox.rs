//! Contains a target whose system calls would harm the campaign: `sandbox.c` seen from Rust.
//!
//! A target runs in the worker's own process, so its `close` closes our files, its `fork` copies the search, and its handler of
//! SIGSEGV replaces the guard's. A filter on system calls prevents this: such a call is answered as if it had been made,
//! or ends the evaluation as a crash whose reason names the call. `docs/misbehaving.md` lists which is which.

use std::{
    collections::BTreeSet,
    fs::File,
    io,
    os::fd::{AsRawFd, RawFd},
};

use serde::{Deserialize, Serialize};

use super::signals::signal_name;

unsafe extern "C" {
    static mut sandbox_files: [u64; FILES / 64];
    fn sandbox_install(allow_network: i32) -> i32;
    fn guard_restore_environment();
}

/// Descriptors below this can be kept open.
const FILES: usize = 1024;

/// What a target may do that is refused by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allow {
    /// Open and use sockets.
    Network,
}

/// What the filter needs to know of the process, and the directory it works in.
#[derive(Debug)]
pub struct Sandbox {
    allowed: Vec<Allow>,
    before: BTreeSet<RawFd>,
    of_target: BTreeSet<RawFd>,
    home: Option<File>,
}

impl Sandbox {
    /// Looks at the process before the target is loaded.
    #[must_use]
    pub fn before_loading() -> Self {
        Self { allowed: Vec::new(), before: open_files(), of_target: BTreeSet::new(), home: File::open(".").ok() }
    }

    /// Lets the target do this as well.
    #[must_use]
    pub fn allowing(self, allowed: &[Allow]) -> Self {
        Self { allowed: allowed.to_vec(), ..self }
    }

    /// The target is loaded: files that its constructors opened are its own.
    pub fn loaded(&mut self) {
        self.of_target = &open_files() - &self.before;
        if let Some(home) = &self.home {
            self.of_target.remove(&home.as_raw_fd());
        }
    }

    /// From now on calls of this thread, and of the processes it forks, are filtered; what is open now stays open, but the
    /// target's own files and the standard streams. The guard must be installed.
    ///
    /// # Errors
    /// When the system has no such filters, or refuses the filter. Then the target is not contained.
    pub fn install(&self) -> io::Result<()> {
        let standard = BTreeSet::from([libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO]);
        for file in &(&open_files() - &self.of_target) - &standard {
            keep(file);
        }
        // SAFETY: adds a filter to this thread; the handler of its signal belongs to the guard.
        match unsafe { sandbox_install(self.allowed.contains(&Allow::Network).into()) } {
            0 => Ok(()),
            e => Err(io::Error::from_raw_os_error(e)),
        }
    }

    /// For a child process that only evaluates: keeps all open files open but the standard streams, and does nothing when the child
    /// has inherited a filter. On an error the target is not contained.
    pub(super) fn install_in_child(allowed: &[Allow]) {
        let none = BTreeSet::new();
        let all = Self { allowed: allowed.to_vec(), before: none.clone(), of_target: none, home: None };
        let _ = all.install();
    }

    /// Returns to the directory of the start, from which the paths of the campaign are seen, and to the floating-point
    /// environment of the start: the target may have left both.
    pub fn come_back(&self) {
        // SAFETY: the target does not run.
        unsafe { guard_restore_environment() };
        if let Some(home) = &self.home {
            // SAFETY: an open directory. On an error the process stays where it is, and the next write reports it.
            unsafe { libc::fchdir(home.as_raw_fd()) };
        }
    }
}

/// Keeps the target from closing a descriptor.
pub(super) fn keep(file: RawFd) {
    mark(file, true);
}

/// Lets the target close it again.
pub(super) fn give(file: RawFd) {
    mark(file, false);
}

fn mark(file: RawFd, is_ours: bool) {
    let Some(i) = usize::try_from(file).ok().filter(|i| *i < FILES) else { return };
    let bit = 1 << (i % 64);
    // SAFETY: this thread alone touches the bits, which the handler reads while the target runs.
    unsafe {
        let word = (&raw mut sandbox_files).cast::<u64>().add(i / 64);
        word.write(if is_ours { word.read() | bit } else { word.read() & !bit });
    }
}

/// The open descriptors; none when /proc is missing.
fn open_files() -> BTreeSet<RawFd> {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return BTreeSet::new() };
    let listed: Vec<RawFd> = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect();
    // That of the listing itself is closed by now.
    // SAFETY: only checks whether the descriptor is open.
    listed.into_iter().filter(|f| unsafe { libc::fcntl(*f, libc::F_GETFD) } >= 0).collect()
}

/// The refused call in words: `refused` is [`super::guard::End::address`] of such an end.
#[must_use]
pub fn refusal(refused: u64) -> String {
    let detail = (refused & 0xffff_ffff) as i32;
    match refused >> 32 {
        1 => "starts a process, which is refused".to_owned(),
        2 => "starts a thread, which is refused".to_owned(),
        3 => "starts another program, which is refused".to_owned(),
        4 => format!("sends {} to another process, which is refused", signal_name(detail)),
        6 => "ends the process".to_owned(),
        _ => format!("stops its process ({}), which is refused", signal_name(detail)),
    }
}

#[cfg(test)]
#[path = "sandbox_tests.rs"]
mod tests;
