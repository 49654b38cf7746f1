//! When a file or a directory was last changed, to know whether somebody still writes to it.

use std::{
    fs::Metadata,
    io,
    time::{Duration, SystemTime},
};

/// A file that was not written to for so long is complete. Directories change within one tick of the file system's clock,
/// too, without a new time of their own.
const SETTLED: Duration = Duration::from_secs(1);

/// Size and time of a file: when both stay, nobody writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// The time of the last change.
    pub modified: SystemTime,
}

impl Stamp {
    /// Of a file.
    pub fn of(about: &Metadata) -> io::Result<Self> {
        Ok(Self { size: about.len(), modified: about.modified()? })
    }

    /// Was it last written to long enough before `now`?
    pub fn is_settled(modified: SystemTime, now: SystemTime) -> bool {
        now.duration_since(modified).is_ok_and(|age| age >= SETTLED)
    }
}
