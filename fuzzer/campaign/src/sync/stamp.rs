//! Records when a file or a directory was last changed, to detect whether it is still being written.

use std::{
    fs::Metadata,
    io,
    time::{Duration, SystemTime},
};

/// A file that was not written to for this time is complete. A directory may also change within one tick of the file
/// system's clock, without a new modification time.
const SETTLED: Duration = Duration::from_secs(1);

/// Size and modification time of a file: if both stay the same, nobody writes to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes.
    pub size: u64,
    /// The time of the last change.
    pub modified: SystemTime,
}

impl Stamp {
    /// The stamp of a file.
    pub fn of(about: &Metadata) -> io::Result<Self> {
        Ok(Self { size: about.len(), modified: about.modified()? })
    }

    /// Whether the last write was long enough before `now`.
    pub fn is_settled(modified: SystemTime, now: SystemTime) -> bool {
        now.duration_since(modified).is_ok_and(|age| age >= SETTLED)
    }
}
