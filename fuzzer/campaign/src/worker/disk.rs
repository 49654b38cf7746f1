//! Schedules the writes of a campaign, and handles their failure: one message, and another attempt every second.

use std::{
    io::{self, ErrorKind},
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_directory::output::store::Losses;
use penfuzz_error::{Error, at};

use crate::worker_shm::WorkerShm;

/// Time from the start to the first write of finds. Most finds are made in the first milliseconds, and are written
/// together.
const FIRST: Duration = Duration::from_millis(50);
/// Time between two writes of finds.
const EVERY: Duration = Duration::from_millis(100);
/// The same time while writing fails.
const AGAIN: Duration = Duration::from_secs(1);

/// When to write next, and whether the last attempt failed.
#[derive(Debug)]
pub struct Disk {
    due: Instant,
    failing: bool,
}

impl Default for Disk {
    fn default() -> Self {
        Self { due: Instant::now() + FIRST, failing: false }
    }
}

impl Disk {
    /// Whether finds should be written now.
    #[must_use]
    pub fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Whether the last attempt failed.
    #[must_use]
    pub const fn is_failing(&self) -> bool {
        self.failing
    }

    /// Records the result of an attempt. `unwritten` is the number of finds that are not on disk yet, and `missing` the
    /// number of finds whose files were removed from it. The user gets a message when writing begins to fail, and when
    /// it succeeds again.
    pub fn note(&mut self, done: &io::Result<()>, unwritten: usize, missing: usize, shm: &WorkerShm) {
        match done {
            Err(e) if !self.failing => shm.warn(&format!(
                "{e}; the search continues in memory; {unwritten} finds wait to be written, which is tried every \
                 second: {}",
                advice(e.kind())
            )),
            Ok(()) if self.failing && missing > 0 => {
                shm.warn(&format!("the disk can be written again, but {missing} files of finds were removed from it"));
            }
            Ok(()) if self.failing => shm.warn("the disk can be written again; everything found so far is on it"),
            _ => {}
        }
        self.failing = done.is_err();
        self.due = Instant::now() + if self.failing { AGAIN } else { EVERY };
    }
}

/// Advice to the user for this kind of error.
fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some space there",
        ErrorKind::ReadOnlyFilesystem => "make the file system writable again",
        ErrorKind::PermissionDenied => "give this user the right to write there",
        ErrorKind::NotFound => "put the directory back",
        _ => "see the log of the system (dmesg)",
    }
}

/// The error of a campaign that ends while writing fails.
#[must_use]
pub fn lost(dir: &Path, e: &io::Error, losses: Losses) -> Error {
    let Losses { unwritten, missing, on_disk } = losses;
    let what = match unwritten {
        n if missing > 0 => {
            let never = if n > 0 { format!(", {n} more were never written") } else { String::new() };
            format!("{missing} finds are lost, because their files were removed{never}")
        }
        n if n > 0 && on_disk == 0 => format!("{n} finds are lost, none is on the disk"),
        0 => "every find is on the disk, but state and reports are those of an earlier moment".to_owned(),
        n => format!("{n} finds are lost, all earlier ones are on the disk"),
    };
    at(dir, format!("could not be written to the end: {e}; {what}; {} and run the campaign again", advice(e.kind())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_counts_removed_files() {
        let e = io::Error::from(ErrorKind::NotFound);
        let text = |unwritten, missing, on_disk| {
            lost(Path::new("out"), &e, Losses { unwritten, missing, on_disk }).to_string()
        };
        assert!(text(0, 0, 3).contains("every find is on the disk"));
        assert!(text(2, 0, 3).contains("2 finds are lost, all earlier ones are on the disk"));
        assert!(text(0, 5, 0).contains("5 finds are lost, because their files were removed; put the directory back"));
        assert!(text(2, 0, 0).contains("2 finds are lost, none is on the disk"));
        assert!(
            text(2, 5, 1).contains("5 finds are lost, because their files were removed, 2 more were never written")
        );
    }

    #[test]
    fn there_is_a_message_when_a_failure_begins_and_when_it_ends() {
        let shm = WorkerShm::map().unwrap();
        let mut disk = Disk::default();
        let fail = || Err(io::Error::from(ErrorKind::StorageFull));
        for done in [Ok(()), fail(), fail(), fail(), Ok(()), Ok(())] {
            disk.note(&done, 3, 0, shm);
        }
        let (sent, _) = shm.messages(0);
        assert_eq!(sent.len(), 2, "{sent:?}");
        assert!(sent[0].contains("3 finds wait") && sent[0].contains("free some space"), "{sent:?}");
        assert!(sent[1].contains("written again"), "{sent:?}");
    }
}
