//! The standard streams of a child that runs a target.

use std::{fs::File, os::fd::AsRawFd};

use penfuzz_error::{Error, plain};

/// Connects `descriptors` of this process to `/dev/null`.
///
/// # Errors
/// When `/dev/null` cannot be opened.
pub fn disconnect(descriptors: &[i32]) -> Result<(), Error> {
    let null = File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(|e| Error::new(format!("cannot open /dev/null: {}", plain(&e))))?;
    for descriptor in descriptors {
        // SAFETY: a system call on open descriptors. If it fails, the target keeps its stream.
        unsafe { libc::dup2(null.as_raw_fd(), *descriptor) };
    }
    Ok(())
}
