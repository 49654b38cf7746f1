//! Finds of other fuzzers, while both run: what `--sync DIR` imports.
//!
//! The common language is AFL++'s directory: each instance keeps its finds in `NAME/queue/id:…` and looks into the others'
//! (`docs/fuzzing_in_depth.md` of AFL++, "Using multiple cores"). libFuzzer and honggfuzz keep a flat directory of files.
//! Nothing is trusted: what lies there may be half written, empty, huge, no file at all, or gone when it is opened.
//! Nothing but hashes of names is saved, so a corpus of a million files takes some 20 MB (calculated).

mod folder;
mod root;
mod stamp;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use penfuzz_engine::error::{Error, at, plain};

pub use self::folder::Import;
use self::{
    folder::{Batch, Folder},
    root::{Owner, Root},
};

/// Pause between two looks after one that brought something.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Pause between two looks when nothing has come for long.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A pause is at least so many times as long as the look before it: directories of a million files take a while to list.
const PAUSE_PER_LOOK: u32 = 20;

/// See the module.
#[derive(Debug)]
pub struct Importer {
    roots: Vec<Root>,
    owner: Owner,
    folders: BTreeMap<PathBuf, Folder>,
    next_look: Option<Instant>,
    pause: Duration,
    messages: Vec<String>,
    told_long: bool,
}

impl Importer {
    /// Looks into `dirs`, which need not exist yet, but never into the output directory `own` of the campaign (or of one
    /// of its clients).
    ///
    /// # Errors
    /// When one of `dirs` is no directory.
    pub fn new(dirs: &[PathBuf], own: &Path) -> Result<Self, Error> {
        let mut messages = Vec::new();
        for dir in dirs {
            match dir.metadata() {
                Ok(about) if about.is_dir() => {}
                Ok(_) => return Err(at(dir, "is no directory; give the corpus of another fuzzer as --sync")),
                Err(e) => {
                    messages.push(format!(
                        "{} cannot be imported from yet: {}; trying again",
                        dir.display(),
                        plain(&e)
                    ));
                }
            }
        }
        Ok(Self {
            roots: dirs.iter().map(|dir| Root::new(dir)).collect(),
            owner: Owner::new(own),
            folders: BTreeMap::new(),
            next_look: None,
            pause: SHORTEST_PAUSE,
            messages,
            told_long: false,
        })
    }

    /// What has come since the last look, at most 2000 inputs or 4 MiB: the rest comes at the next. Empty until a pause of
    /// 1 to 30 s is over.
    pub fn poll(&mut self, now: Instant) -> Vec<Import> {
        if self.next_look.is_some_and(|next| now < next) {
            return Vec::new();
        }
        let begun = Instant::now();
        self.discover();
        let mut batch = Batch::default();
        for folder in self.folders.values_mut() {
            folder.look(&mut batch);
        }
        self.pause = if batch.is_full() {
            Duration::ZERO
        } else if batch.imports.is_empty() {
            (self.pause.max(SHORTEST_PAUSE) * 3 / 2).min(LONGEST_PAUSE)
        } else {
            SHORTEST_PAUSE
        };
        if batch.is_awaited {
            // Something was half written.
            self.pause = self.pause.min(SHORTEST_PAUSE);
        }
        self.next_look = Some(now + self.pause.max(begun.elapsed() * PAUSE_PER_LOOK));
        self.messages.append(&mut batch.messages);
        if let Some(path) = batch.too_long.filter(|_| !self.told_long) {
            self.told_long = true;
            self.messages.push(format!(
                "{} is longer than 1 MiB and not imported; the next ones are left out silently",
                path.display()
            ));
        }
        batch.imports
    }

    /// Did the last look leave something for the next one?
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.pause.is_zero()
    }

    /// What the user should know, each once: directories that cannot be read, files that are left out.
    pub fn messages(&mut self) -> Vec<String> {
        core::mem::take(&mut self.messages)
    }

    /// Finds the directories of inputs: other fuzzers may start later.
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
