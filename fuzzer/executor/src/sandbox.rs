//! Intercepts system calls of the target that would harm the campaign. The Rust interface of `sandbox.c`.
//!
//! A target runs in the worker's own process. So its `close` could close a descriptor of the fuzzer, its `fork` would
//! duplicate the search, and its handler of SIGSEGV would replace the guard's. A filter on system calls prevents this:
//! it reports success without making the call, or ends the evaluation as a crash whose reason names the call.
//! `docs/misbehaving.md` lists the calls.

use core::ffi::c_char;
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
    static mut environ: *mut *mut c_char;
}

/// Only descriptors below this number can be protected.
const FILES: usize = 1024;

/// An action that the target may take only if the user allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Allow {
    /// Opening and using sockets.
    Network,
}

/// The descriptors of the process, sorted by owner, and its working directory.
#[derive(Debug)]
pub struct Sandbox {
    allowed: Vec<Allow>,
    before: BTreeSet<RawFd>,
    target_files: BTreeSet<RawFd>,
    working_directory: Option<File>,
    /// The C library's pointer to the environment variables once the target is loaded.
    environment: *mut *mut c_char,
}

impl Sandbox {
    /// Records the open descriptors and the working directory before the target is loaded.
    #[must_use]
    pub fn before_loading() -> Self {
        Self {
            allowed: Vec::new(),
            before: open_files(),
            target_files: BTreeSet::new(),
            working_directory: File::open(".").ok(),
            // SAFETY: only this thread runs code that changes the environment.
            environment: unsafe { environ },
        }
    }

    /// Sets what the target may do beyond the default.
    #[must_use]
    pub fn allowing(self, allowed: &[Allow]) -> Self {
        Self { allowed: allowed.to_vec(), ..self }
    }

    /// Call this when the target is loaded: files that its constructors opened belong to the target.
    pub fn loaded(&mut self) {
        self.target_files = &open_files() - &self.before;
        // SAFETY: as in `before_loading`.
        self.environment = unsafe { environ };
        if let Some(working_directory) = &self.working_directory {
            self.target_files.remove(&working_directory.as_raw_fd());
        }
    }

    /// Installs the filter for this thread and the processes that it forks. The target can no longer close descriptors
    /// that are open now, except its own and the standard streams. The guard must be installed.
    ///
    /// # Errors
    /// If the system has no such filters, or refuses the filter. Then the target is not contained.
    pub fn install(&self) -> io::Result<()> {
        let standard = BTreeSet::from([libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO]);
        for file in &(&open_files() - &self.target_files) - &standard {
            protect(file);
        }
        // SAFETY: adds a filter to this thread; the handler of its signal belongs to the guard.
        match unsafe { sandbox_install(self.allowed.contains(&Allow::Network).into()) } {
            0 => Ok(()),
            e => Err(io::Error::from_raw_os_error(e)),
        }
    }

    /// Installs the filter in a child process that only evaluates. All open descriptors except the standard streams are
    /// protected. Has no effect if the child has inherited a filter. On an error the target is not contained.
    pub(super) fn install_in_child(allowed: &[Allow]) {
        let none = BTreeSet::new();
        let all = Self {
            allowed: allowed.to_vec(),
            before: none.clone(),
            target_files: none,
            working_directory: None,
            environment: core::ptr::null_mut(),
        };
        let _ = all.install();
    }

    /// Restores the working directory of the start, to which the paths of the campaign are relative, and the
    /// floating-point environment and the environment variables of the start. The target may have changed all of them.
    pub fn restore_process_state(&self) {
        // SAFETY: the target does not run.
        unsafe {
            guard_restore_environment();
            environ = self.environment;
        }
        if let Some(working_directory) = &self.working_directory {
            // SAFETY: an open directory. On an error the process stays where it is, and the next write reports it.
            unsafe { libc::fchdir(working_directory.as_raw_fd()) };
        }
    }
}

/// Protects a descriptor from being closed by the target.
pub(super) fn protect(file: RawFd) {
    mark(file, true);
}

/// Ends the protection of a descriptor.
pub(super) fn unprotect(file: RawFd) {
    mark(file, false);
}

fn mark(file: RawFd, is_ours: bool) {
    let Some(i) = usize::try_from(file).ok().filter(|i| *i < FILES) else { return };
    let bit = 1 << (i % 64);
    // SAFETY: only this thread writes the bits; the handler reads them while the target runs.
    unsafe {
        let word = (&raw mut sandbox_files).cast::<u64>().add(i / 64);
        word.write(if is_ours { word.read() | bit } else { word.read() & !bit });
    }
}

/// Returns the open descriptors below [`FILES`]. Reading the directory takes a descriptor; if the process may not open
/// another one, each number is tried.
fn open_files() -> BTreeSet<RawFd> {
    let listed: Vec<RawFd> = match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect(),
        Err(_) => (0..FILES as RawFd).collect(),
    };
    // The descriptor of the directory listing itself is closed by now.
    // SAFETY: only checks whether the descriptor is open.
    listed.into_iter().filter(|f| unsafe { libc::fcntl(*f, libc::F_GETFD) } >= 0).collect()
}

/// Describes the refused call. `refused` is [`super::guard::End::address`] of the end.
#[must_use]
pub fn describe_refusal(refused: u64) -> String {
    let detail = (refused & 0xffff_ffff) as i32;
    match refused >> 32 {
        1 => "starts a process, which is refused".to_owned(),
        2 => "starts a thread, which is refused".to_owned(),
        3 => "starts another program, which is refused".to_owned(),
        4 => format!("sends {} to another process, which is refused", signal_name(detail)),
        6 => "ends the process".to_owned(),
        7 => format!("sends itself {}, which ends the process", signal_name(detail)),
        _ => format!("stops its process ({}), which is refused", signal_name(detail)),
    }
}

#[cfg(test)]
#[path = "sandbox_tests.rs"]
mod tests;
