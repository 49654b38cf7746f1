//! Child processes that work for the supervisor until they are killed or have done their work.

use std::{ffi::CString, os::fd::RawFd};

use penfuzz_error::Error;

use crate::process::{fork, interrupts};

/// Starts a child that runs `work` and then ends; returns its process ID. In process lists it is called `penfuzz`
/// followed by `name`, of which the kernel keeps about seven characters. Its exit status is 0 if `work` succeeds and 1
/// otherwise. The child ignores the signals of [`interrupts`], which may go to the whole process group, because the
/// supervisor ends it. It is killed when this process ends.
///
/// # Errors
/// When the system cannot create a process.
pub fn start(name: &str, work: impl FnOnce() -> Result<(), Error>) -> Result<i32, Error> {
    let name = CString::new(format!("penfuzz {name}")).unwrap_or_default();
    fork::fork(|| {
        // SAFETY: the name is terminated by a zero; no handler is installed.
        unsafe {
            libc::prctl(libc::PR_SET_NAME, name.as_ptr());
            for signal in interrupts::SIGNALS {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
        i32::from(work().is_err())
    })
    .map_err(|_| Error::new("cannot start a worker process: the system has no room for one"))
}

/// Closes every listening socket of this process. They belong to the supervisor, for metrics and for brokers of other
/// machines: a child that runs a target must neither keep them open nor answer on them.
pub fn close_listeners() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<RawFd> = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect();
    for descriptor in open.into_iter().filter(|d| accepts_connections(*d)) {
        // SAFETY: the objects of this process that own such sockets are the parent's, and no code of the child uses
        // them.
        unsafe { libc::close(descriptor) };
    }
}

fn accepts_connections(descriptor: RawFd) -> bool {
    let mut accepts: libc::c_int = 0;
    let mut size = size_of_val(&accepts) as libc::socklen_t;
    // SAFETY: `accepts` has room for the value of the option; the call fails for other descriptors than sockets.
    let done = unsafe {
        libc::getsockopt(descriptor, libc::SOL_SOCKET, libc::SO_ACCEPTCONN, (&raw mut accepts).cast(), &raw mut size)
    };
    done == 0 && accepts != 0
}
