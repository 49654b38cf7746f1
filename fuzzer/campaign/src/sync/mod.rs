//! Imports the finds of other fuzzers while both run (`--sync DIR`).
//!
//! The common format is AFL++'s directory: each instance keeps its finds in `NAME/queue/id:…` and reads the others'
//! (`docs/fuzzing_in_depth.md` of AFL++, "Using multiple cores"). libFuzzer and honggfuzz keep a flat directory of
//! files. Nothing is trusted: a file may be incomplete, empty, huge, a pipe or a directory, or missing when it is
//! opened. Only hashes of names are kept, so a corpus of a million files takes about 20 MB (calculated).

mod folder;
mod root;
mod stamp;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use penfuzz_error::{Error, at, plain};

pub use self::folder::Import;
use self::{
    folder::{Batch, Folder},
    root::{Owner, Root},
};

/// Pause after a poll that returned inputs.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Longest pause between two polls, reached when no poll has returned an input for long.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Minimum ratio of a pause to the duration of the poll before it: listing directories of a million files takes a
/// while.
const PAUSE_PER_POLL: u32 = 20;

/// Polls directories of other fuzzers for new inputs. It finds the input directories in them, and reads each complete
/// file once, in batches. While no input arrives, the pauses grow from 1 to 30 s.
#[derive(Debug)]
pub struct Importer {
    roots: Vec<Root>,
    owner: Owner,
    folders: BTreeMap<PathBuf, Folder>,
    next_poll: Option<Instant>,
    pause: Duration,
    messages: Vec<String>,
    reported_long: bool,
}

impl Importer {
    /// Creates an importer for `dirs`, which need not exist yet. It never imports from the output directory `own` of
    /// the campaign (or of one of its clients).
    ///
    /// # Errors
    /// When one of `dirs` is not a directory.
    pub fn new(dirs: &[PathBuf], own: &Path) -> Result<Self, Error> {
        let mut messages = Vec::new();
        for dir in dirs {
            match dir.metadata() {
                Ok(about) if about.is_dir() => {}
                Ok(_) => return Err(at(dir, "is not a directory; give the corpus of another fuzzer as --sync")),
                Err(e) => {
                    messages.push(format!("cannot import from {} yet: {}; trying again", dir.display(), plain(&e)));
                }
            }
        }
        Ok(Self {
            roots: dirs.iter().map(|dir| Root::new(dir)).collect(),
            owner: Owner::new(own),
            folders: BTreeMap::new(),
            next_poll: None,
            pause: SHORTEST_PAUSE,
            messages,
            reported_long: false,
        })
    }

    /// The new inputs since the last poll, at most 2000 inputs or 4 MiB; the rest follows at the next poll. Empty until
    /// a pause of 1 to 30 s has elapsed.
    pub fn poll(&mut self, now: Instant) -> Vec<Import> {
        if self.next_poll.is_some_and(|next| now < next) {
            return Vec::new();
        }
        let begun = Instant::now();
        self.discover();
        let mut batch = Batch::default();
        for folder in self.folders.values_mut() {
            folder.poll(&mut batch);
        }
        self.pause = if batch.is_full() {
            Duration::ZERO
        } else if batch.imports.is_empty() {
            (self.pause.max(SHORTEST_PAUSE) * 3 / 2).min(LONGEST_PAUSE)
        } else {
            SHORTEST_PAUSE
        };
        if batch.is_awaited {
            // A file was incomplete.
            self.pause = self.pause.min(SHORTEST_PAUSE);
        }
        self.next_poll = Some(now + self.pause.max(begun.elapsed() * PAUSE_PER_POLL));
        self.messages.append(&mut batch.messages);
        if let Some(path) = batch.too_long.filter(|_| !self.reported_long) {
            self.reported_long = true;
            self.messages.push(format!(
                "{} is longer than 1 MiB and not imported; further ones are skipped without a message",
                path.display()
            ));
        }
        batch.imports
    }

    /// Whether the last poll left inputs for the next one.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.pause.is_zero()
    }

    /// Messages for the user, each only once: directories that cannot be read, files that are left out.
    pub fn messages(&mut self) -> Vec<String> {
        core::mem::take(&mut self.messages)
    }

    /// Finds the input directories again, because other fuzzers may start later.
    fn discover(&mut self) {
        for root in &mut self.roots {
            for place in root.places(&self.owner, &mut self.messages) {
                self.folders.entry(place.path.clone()).or_insert_with(|| Folder::new(place));
            }
        }
    }
}

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;
