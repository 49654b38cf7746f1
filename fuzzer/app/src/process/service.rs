//! Child processes that work for the supervisor until they are killed or have done their work.

use std::ffi::CString;

use penfuzz_engine::error::Error;

use crate::process::{fork, interrupts};

/// Starts a child that does `work` and then ends; returns its process id. In lists of processes it is called `penfuzz` and
/// `name`, of which the kernel keeps about seven characters. Its exit status is 0 if `work` succeeds and 1 otherwise. The
/// signals of [`interrupts`] may go to the whole process group; the child ignores them, because the supervisor ends it. It is
/// killed when this process ends.
///
/// # Errors
/// When the system has no room for a process.
pub fn start(name: &str, work: impl FnOnce() -> Result<(), Error>) -> Result<i32, Error> {
    let name = CString::new(format!("penfuzz {name}")).unwrap_or_default();
    fork::fork(|| {
        // SAFETY: the name ends with a zero; no handler is installed.
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
