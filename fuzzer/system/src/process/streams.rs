//! The standard streams of a child that runs a target.

use std::{fs::File, os::fd::AsRawFd};

use penfuzz_error::{Error, plain};

/// Connects `descriptors` of this process to `/dev/null`: standard input for reading only, the others for writing only.
///
/// # Errors
/// When `/dev/null` cannot be opened.
pub fn disconnect(descriptors: &[i32]) -> Result<(), Error> {
    for descriptor in descriptors {
        let is_input = *descriptor == libc::STDIN_FILENO;
        let null = File::options()
            .read(is_input)
            .write(!is_input)
            .open("/dev/null")
            .map_err(|e| Error::new(format!("cannot open /dev/null: {}", plain(&e))))?;
        // SAFETY: a system call on open descriptors. If it fails, the target keeps its stream.
        unsafe { libc::dup2(null.as_raw_fd(), *descriptor) };
    }
    Ok(())
}
