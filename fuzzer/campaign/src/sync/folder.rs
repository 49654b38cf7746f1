//! Imports from one directory of inputs: tracks which files were read, and which are not ready yet.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    ffi::{OsStr, OsString},
    fs, io,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use penfuzz_error::plain;
use penfuzz_system::files::{
    foreign::{self, LONGEST_INPUT},
    unfit,
};
use penfuzz_target::hash::of_bytes;

use super::{
    root::{SyncSource, is_gone, source_of},
    stamp::Stamp,
};

/// Maximum number of inputs in one poll, and of their bytes.
const MOST_INPUTS: usize = 2000;
const MOST_BYTES: usize = 4 << 20;

/// Maximum number of names from one listing. The next listing follows when they are processed, so that memory stays
/// small.
const MOST_NAMES: usize = 50_000;

/// Maximum number of awaited files; further ones are left out.
const MOST_AWAITED: usize = 1000;

/// An empty file that was not written to for this time is assumed to stay empty.
const STAYS_EMPTY: Duration = Duration::from_mins(10);

/// An input imported from another fuzzer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The unmodified content of the file: 1 byte to 1 MiB.
    pub bytes: Vec<u8>,
    /// Its origin in AFL++'s notation for names: `sync:NAME,src:000123`.
    pub from: String,
}

/// The result of one poll of all folders.
#[derive(Debug, Default)]
pub struct Batch {
    pub imports: Vec<Import>,
    bytes: usize,
    /// Whether some file is not ready yet.
    pub is_awaited: bool,
    pub too_long: Option<PathBuf>,
    pub messages: Vec<String>,
}

impl Batch {
    pub fn is_full(&self) -> bool {
        self.imports.len() >= MOST_INPUTS || self.bytes >= MOST_BYTES
    }
}

enum Reading {
    Ready(Vec<u8>),
    NotYet(Stamp),
    TooLong,
    /// Not a regular file, or a file that stays empty.
    Never,
    Gone,
}

/// A directory of inputs. Each file is imported once, when it is complete.
#[derive(Debug)]
pub struct Folder {
    place: SyncSource,
    /// Hashes of the names that were imported or will never be.
    seen: HashSet<u64>,
    /// Names that are still to be read, none of them in `seen`.
    names: VecDeque<OsString>,
    /// Files that were not ready.
    awaited: BTreeMap<OsString, Stamp>,
    /// The modification time of the directory when all names in it had been listed.
    listed: Option<SystemTime>,
    reported: bool,
}

impl Folder {
    pub fn new(place: SyncSource) -> Self {
        Self {
            place,
            seen: HashSet::new(),
            names: VecDeque::new(),
            awaited: BTreeMap::new(),
            listed: None,
            reported: false,
        }
    }

    /// Takes the new files that are ready, as long as the batch has room.
    pub fn poll(&mut self, batch: &mut Batch) {
        if batch.is_full() {
            return;
        }
        for (name, before) in core::mem::take(&mut self.awaited) {
            if batch.is_full() {
                self.awaited.insert(name, before);
            } else {
                self.take(name, Some(before), batch);
            }
        }
        if self.names.is_empty()
            && let Err(e) = self.list()
        {
            self.report(&e, batch);
        }
        while !batch.is_full() {
            let Some(name) = self.names.pop_front() else { break };
            self.take(name, None, batch);
        }
        batch.is_awaited |= !self.awaited.is_empty();
    }

    /// Lists the new names, unless the directory has not changed.
    fn list(&mut self) -> io::Result<()> {
        let modified = fs::metadata(&self.place.path)?.modified()?;
        if self.listed == Some(modified) {
            return Ok(());
        }
        let listed_at = SystemTime::now();
        let mut names = Vec::new();
        let mut is_complete = true;
        for entry in fs::read_dir(&self.place.path)? {
            let name = entry?.file_name();
            let is_input = source_of(&name.to_string_lossy(), self.place.naming).is_some();
            if is_input && !self.seen.contains(&hash(&name)) && !self.awaited.contains_key(&name) {
                is_complete = names.len() < MOST_NAMES;
                if !is_complete {
                    break;
                }
                names.push(name);
            }
        }
        names.sort_unstable();
        self.names = names.into();
        self.listed = (is_complete && Stamp::is_settled(modified, listed_at)).then_some(modified);
        Ok(())
    }

    fn take(&mut self, name: OsString, before: Option<Stamp>, batch: &mut Batch) {
        match self.read(&name, before) {
            Ok(Reading::Ready(bytes)) => {
                let source = source_of(&name.to_string_lossy(), self.place.naming).unwrap_or_default();
                batch.bytes += bytes.len();
                batch.imports.push(Import { bytes, from: format!("sync:{},src:{source}", self.place.party) });
            }
            Ok(Reading::NotYet(stamp)) if self.awaited.len() < MOST_AWAITED => {
                self.awaited.insert(name, stamp);
                return;
            }
            Ok(Reading::TooLong) => batch.too_long = Some(self.place.path.join(&name)),
            Ok(Reading::NotYet(_) | Reading::Never) => {}
            // A file may appear again under the same name.
            Ok(Reading::Gone) => return,
            Err(e) => self.report(&e, batch),
        }
        self.seen.insert(hash(&name));
    }

    /// Reads a file without ever blocking.
    fn read(&self, name: &OsStr, before: Option<Stamp>) -> io::Result<Reading> {
        let path = self.place.path.join(name);
        let about = match fs::metadata(&path) {
            Ok(about) => about,
            Err(e) if is_gone(&e) => return Ok(Reading::Gone),
            Err(e) => return Err(e),
        };
        if !about.is_file() {
            return Ok(Reading::Never);
        }
        let (stamp, now) = (Stamp::of(&about)?, SystemTime::now());
        if stamp.size > LONGEST_INPUT {
            return Ok(Reading::TooLong);
        }
        if stamp.size == 0 {
            let stays = now.duration_since(stamp.modified).is_ok_and(|age| age > STAYS_EMPTY);
            return Ok(if stays { Reading::Never } else { Reading::NotYet(stamp) });
        }
        // A file whose time is ahead of our clock is ready if it has not changed since the last poll.
        if !Stamp::is_settled(stamp.modified, now) && before != Some(stamp) {
            return Ok(Reading::NotYet(stamp));
        }
        // The file may have become a pipe in the meantime.
        let file = match foreign::open(&path) {
            Ok(file) => file,
            Err(e) if is_gone(&e) => return Ok(Reading::Gone),
            Err(e) if unfit(&e).is_some() => return Ok(Reading::Never),
            Err(e) => return Err(e),
        };
        let bytes = match foreign::read_all(&file, LONGEST_INPUT) {
            Err(e) if unfit(&e).is_some() => return Ok(Reading::TooLong),
            read => read?,
        };
        let after = Stamp::of(&file.metadata()?)?;
        Ok(if after == stamp && bytes.len() as u64 == stamp.size {
            Reading::Ready(bytes)
        } else {
            Reading::NotYet(after)
        })
    }

    /// Adds a message, only once, that something cannot be read.
    fn report(&mut self, e: &io::Error, batch: &mut Batch) {
        if !is_gone(e) && !core::mem::replace(&mut self.reported, true) {
            let path = self.place.path.display();
            batch.messages.push(format!("cannot import all inputs of {path}: {}; trying again", plain(e)));
        }
    }
}

fn hash(name: &OsStr) -> u64 {
    of_bytes(name.as_encoded_bytes())
}
