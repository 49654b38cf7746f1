//! The output directory: kept inputs are on disk, durably, before they are displayed.
//!
//! `queue/` and `pending/` hold inputs under AFL++'s names, `crashes/` and `hangs/` one input per place, and
//! `state.json` the state that a later run cannot recompute.
//!
//! # Copies of a kept input
//!
//! While a campaign runs, a kept input exists three times, each time for another purpose:
//!
//! - LibAFL's corpus, and the pending inputs of `Saturation`, in the worker. The search draws its start points from
//!   them, by corpus ids. They end with the worker.
//! - [`Store`], in the worker, and the file of the same name. The store knows the name of each input, keeps no input
//!   twice, and serves to write reports with file names every 5 s, also while the disk is full. It ends with the
//!   worker; the file stays.
//! - The journal of finds in the shared memory of worker and supervisor. Through it, finds that have no file yet
//!   survive a worker that is killed. It holds bytes without names, written by the evaluator at the moment of the find.
//!   It ends with the next successful [`Store::flush`].
//!
//! None of them can be omitted. LibAFL's corpus and the journal have other lifetimes. The store could keep names and
//! hashes only and read the bytes back from the files. But every report needs all bytes, the bytes of unwritten finds
//! must stay in memory in any case, and a report would fail when a file is removed. The memory use is small: each input
//! covers or saturates a goal that no earlier input did, so there are at most two per goal. Each is as large as the
//! arguments of the function (64 bytes for a harness, never more than 4 KiB): at most 8 MB for 1000 goals (calculated).
//!
//! `campaign::worker` reconciles them. `keep` passes new inputs of the corpus to the store, flushes the store, and only
//! then empties the journal. At the start of a worker, `restore` evaluates the inputs that the store has read from the
//! files, and then those in the journal, which rebuilds the corpus. The counters of passed inputs (`synced_kept`,
//! `synced_generation`) only save time: the store recognises known inputs by their bytes, so passing an input twice is
//! harmless.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, ErrorKind::NotFound},
    path::{Path, PathBuf},
};

use penfuzz_error::{Error, at, failed};
use penfuzz_executor::{Fault, FaultKind};
use penfuzz_system::files::{atomic, own};

use super::{
    fingerprint,
    layout::{ASIDE, DIRECTORIES, FAULTS, TESTS},
    manifest,
    recovery::{self, Inputs, RecoveryReader},
    state,
};

pub use super::{
    layout::STATE,
    state::{LongRun, SavedState, VERSION, peek_state},
};

/// The inputs and the state of one campaign, in memory and on disk.
///
/// A kept input is in memory at once and on disk after [`Store::flush`]: writing to a disk takes as long as a hundred
/// thousand evaluations, and writing a group of files takes little longer than one.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// Held as long as the campaign runs.
    _lock: File,
    /// The content of `state.json`.
    pub saved: SavedState,
    /// Messages for the user about the state in which the directory was found.
    pub messages: Vec<String>,
    /// Size of an input in bytes; `None` for harnesses, which take any size.
    size: Option<usize>,
    queue: Inputs,
    pending: Inputs,
    /// The inputs of `saved.faults`.
    fault_inputs: BTreeMap<String, Vec<u8>>,
    /// Files in `crashes/` and `hangs/` that are not in `saved.faults`: the process was killed before the state was
    /// written.
    unlisted: Inputs,
    /// Whether there are faults that are not in `state.json` yet.
    has_new_faults: bool,
    next_id: u32,
    /// Files to be written, relative to the directory.
    unwritten: Inputs,
    /// Files to be removed once all others are written: the same input then exists elsewhere.
    superseded: Vec<PathBuf>,
}

impl Store {
    /// Opens or begins the campaign in `dir`, which `lock` holds, with inputs of `size` bytes. An empty `fingerprint`
    /// matches any.
    ///
    /// # Errors
    /// When the directory cannot be used, or holds the campaign of another target.
    pub fn open(dir: &Path, lock: File, fingerprint: &str, size: Option<usize>) -> Result<Self, Error> {
        for d in DIRECTORIES {
            let path = dir.join(d);
            own::make_directory(&path).map_err(|e| failed(&path, "cannot be used as directory", e))?;
        }
        for d in [TESTS, ASIDE] {
            let path = dir.join(d);
            own::check_directory(&path).map_err(|e| failed(&path, "cannot be used as directory", e))?;
        }
        let mut messages = Vec::new();
        let mut saved = state::read(dir, &mut messages);
        if saved.fingerprint.is_empty() {
            saved.fingerprint = manifest::read(dir).map(|m| m.fingerprint).unwrap_or_default();
        }
        if !saved.fingerprint.is_empty()
            && !fingerprint.is_empty()
            && let Some(conflict) = fingerprint::conflict(&saved.fingerprint, fingerprint)
        {
            return Err(at(dir, conflict));
        }
        if !fingerprint.is_empty() {
            fingerprint.clone_into(&mut saved.fingerprint);
        }
        saved.version = VERSION;
        let mut found = RecoveryReader::new(dir, size);
        recovery::remove_temporary(dir, &["", "queue", "pending", "crashes", "hangs", "tests"]);
        let mut store = Self {
            dir: dir.to_path_buf(),
            _lock: lock,
            saved,
            messages,
            size,
            queue: found.inputs("queue")?,
            pending: found.inputs("pending")?,
            fault_inputs: BTreeMap::new(),
            unlisted: Vec::new(),
            has_new_faults: false,
            next_id: 0,
            unwritten: Vec::new(),
            superseded: Vec::new(),
        };
        for folder in FAULTS {
            for (name, bytes) in found.inputs(folder)? {
                store.unlisted.push((format!("{folder}/{name}"), bytes));
            }
        }
        store.messages.extend(found.message());
        store.make_consistent();
        Ok(store)
    }

    /// Makes inputs, file names and state consistent, whichever of them is older.
    fn make_consistent(&mut self) {
        // A pending input is promoted by writing it to queue/ before it is removed from pending/.
        let kept: BTreeSet<&[u8]> = self.queue.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        let (twice, pending) = core::mem::take(&mut self.pending).into_iter().partition(|(_, b)| kept.contains(&b[..]));
        let _: &Inputs = &twice;
        self.pending = pending;
        self.superseded = twice.iter().map(|(name, _)| self.dir.join("pending").join(name)).collect();
        recovery::renumber(&self.dir, [("queue", &mut self.queue), ("pending", &mut self.pending)]);
        let names = || self.queue.iter().chain(&self.pending).map(|(name, _)| name.as_str());
        self.next_id = recovery::next_id(names());
        // Input files, whose names hold these figures, are written before the state.
        let figures = |key| names().filter_map(move |name| recovery::figure(name, key)).max().unwrap_or(0);
        let (evaluations, seconds) = (figures("execs"), figures("time") as f64 / 1e3);
        self.saved.evaluations = self.saved.evaluations.max(evaluations).min(state::MOST_EVALUATIONS);
        self.saved.seconds = self.saved.seconds.max(seconds);
        let n_faults = self.saved.faults.len();
        for (file, bytes) in core::mem::take(&mut self.unlisted) {
            if self.saved.faults.contains_key(&file) {
                self.fault_inputs.insert(file, bytes);
            } else {
                self.unlisted.push((file, bytes));
            }
        }
        self.saved.faults.retain(|file, _| self.fault_inputs.contains_key(file));
        let lost = n_faults - self.saved.faults.len();
        if lost > 0 {
            // It is not known which branches they covered. The other faults are run again, see `to_run_again`.
            self.saved.by_crash.clear();
            self.messages.push(format!("the inputs of {lost} crashes or hangs are missing in {}", self.dir.display()));
        }
    }

    /// The output directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the directory already held a campaign.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        let inputs = [&self.queue, &self.pending, &self.unlisted];
        self.saved.evaluations > 0 || inputs.iter().any(|i| !i.is_empty())
    }

    /// Names and bytes in `queue/`.
    #[must_use]
    pub fn queue(&self) -> &[(String, Vec<u8>)] {
        &self.queue
    }

    /// Names and bytes in `pending/`.
    #[must_use]
    pub fn pending(&self) -> &[(String, Vec<u8>)] {
        &self.pending
    }

    /// The inputs of both: the file relative to the output directory, and the bytes.
    #[must_use]
    pub fn inputs(&self) -> Inputs {
        [below("queue", &self.queue), below("pending", &self.pending)].concat()
    }

    /// Inputs of crashes and hangs that must run once more, because the state lacks the fault or its branches.
    #[must_use]
    pub fn to_run_again(&self) -> Vec<Vec<u8>> {
        let unlisted = self.unlisted.iter().map(|(_, bytes)| bytes);
        // Inputs that kill the process are never run without need.
        let is_cheap = |file: &String| self.saved.by_crash.is_empty() && self.saved.faults[file].is_cheap;
        unlisted.chain(self.fault_inputs.iter().filter(|(f, _)| is_cheap(f)).map(|(_, b)| b)).cloned().collect()
    }

    /// Marks the input of a fault as not to be run again: it leaves the process in a state that requires a restart.
    pub fn note_costly(&mut self, bytes: &[u8]) {
        let files = self.fault_inputs.iter().filter(|(_, own)| *own == bytes).map(|(file, _)| file);
        for file in files {
            if let Some(fault) = self.saved.faults.get_mut(file) {
                fault.is_cheap = false;
            }
        }
    }

    /// Keeps an input in `queue/`, unless it is already there. If it was pending, it is moved from `pending/`.
    pub fn keep(&mut self, bytes: &[u8], milliseconds: u64, evaluations: u64, op: &str) {
        let bytes = self.fit(bytes);
        if self.queue.iter().any(|(_, b)| *b == bytes) {
            return;
        }
        let waiting = self.pending.iter().position(|(_, b)| *b == bytes);
        let mut name = self.new_name(milliseconds, evaluations, op);
        if let Some((_, found)) = waiting.and_then(|i| self.pending[i].0.split_once(',')) {
            // The name keeps the time of the find, not the time when the input was seen to saturate.
            let id = name.split(',').next().unwrap_or_default();
            name = format!("{id},{found}");
        }
        self.unwritten.push((format!("queue/{name}"), bytes.clone()));
        self.queue.push((name, bytes));
        if let Some(i) = waiting {
            let old = format!("pending/{}", self.pending.remove(i).0);
            match self.unwritten.iter().position(|(file, _)| *file == old) {
                Some(i) => drop(self.unwritten.remove(i)),
                None => self.superseded.push(self.dir.join(old)),
            }
        }
    }

    /// Keeps an input in `queue/` that exhausts its fuel and returns with more.
    pub fn keep_long(&mut self, bytes: &[u8], long: LongRun, milliseconds: u64, evaluations: u64, op: &str) {
        self.keep(bytes, milliseconds, evaluations, op);
        let bytes = self.fit(bytes);
        if let Some((name, _)) = self.queue.iter().find(|(_, b)| *b == bytes) {
            self.saved.long.insert(format!("queue/{name}"), long);
            // The state must be written as soon as for a new fault.
            self.has_new_faults = true;
        }
    }

    /// The measurements of an input that [`Store::keep_long`] has kept.
    #[must_use]
    pub fn long(&self, bytes: &[u8]) -> Option<&LongRun> {
        let bytes = self.fit(bytes);
        let (name, _) = self.queue.iter().find(|(_, b)| *b == bytes)?;
        self.saved.long.get(&format!("queue/{name}"))
    }

    /// Keeps an input in `pending/`, unless it is already kept.
    pub fn keep_pending(&mut self, bytes: &[u8], milliseconds: u64, evaluations: u64, op: &str) {
        let bytes = self.fit(bytes);
        if self.queue.iter().chain(&self.pending).any(|(_, b)| *b == bytes) {
            return;
        }
        let name = self.new_name(milliseconds, evaluations, op);
        self.unwritten.push((format!("pending/{name}"), bytes.clone()));
        self.pending.push((name, bytes));
    }

    /// Keeps the input of a crash or a hang, one per place. Returns whether it is new.
    pub fn keep_fault(&mut self, bytes: &[u8], fault: &Fault, milliseconds: u64) -> bool {
        let bytes = self.fit(bytes);
        let file = if let Some(i) = self.unlisted.iter().position(|(_, b)| *b == bytes) {
            // It keeps its name, even if the place already has an input: otherwise every run would repeat it.
            self.unlisted.remove(i).0
        } else if self.saved.faults.values().any(|f| f.key == fault.key) {
            return false;
        } else {
            let file = self.new_fault_name(fault.kind, milliseconds);
            self.unwritten.push((file.clone(), bytes.clone()));
            file
        };
        self.fault_inputs.insert(file.clone(), bytes);
        self.saved.faults.insert(file, fault.clone());
        self.has_new_faults = true;
        true
    }

    fn new_fault_name(&self, kind: FaultKind, milliseconds: u64) -> String {
        let folder = if kind == FaultKind::Crash { "crashes" } else { "hangs" };
        let files = self.fault_inputs.keys().chain(self.unlisted.iter().map(|(file, _)| file));
        let number = recovery::next_id(files.filter_map(|file| file.strip_prefix(folder)?.strip_prefix('/')));
        format!("{folder}/id:{number:06},time:{milliseconds},execs:{},op:penfuzz", self.saved.evaluations)
    }

    /// The inputs of faults, by file.
    #[must_use]
    pub fn fault_inputs(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.fault_inputs
    }

    /// The number of files on disk in `queue/`, `pending/`, `crashes/` and `hangs/` that belong to this campaign.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let faults = |kind| self.saved.faults.values().filter(|f| f.kind == kind).count();
        let lacks = |folder: &str| self.unwritten.iter().filter(|(file, _)| file.starts_with(folder)).count();
        Counts {
            kept: self.queue.len() - lacks("queue/"),
            pending: self.pending.len() - lacks("pending/"),
            crashes: faults(FaultKind::Crash) - lacks("crashes/"),
            hangs: faults(FaultKind::Hang) - lacks("hangs/"),
        }
    }

    /// The number of finds that are not on disk yet.
    #[must_use]
    pub fn unwritten(&self) -> usize {
        self.unwritten.len()
    }

    /// Whether the state must be written because it lacks a fault.
    #[must_use]
    pub fn has_new_faults(&self) -> bool {
        self.has_new_faults
    }

    /// Writes all inputs kept since the last flush, and removes the files that have become duplicates.
    ///
    /// # Errors
    /// File system errors; files that could not be written stay pending for the next flush.
    pub fn flush(&mut self) -> io::Result<()> {
        if !self.unwritten.is_empty() {
            self.check_directories()?;
        }
        let files: Vec<_> =
            self.unwritten.iter().map(|(file, bytes)| (self.dir.join(file), bytes.as_slice())).collect();
        if atomic::write_group(&files).is_ok() {
            self.unwritten.clear();
        }
        // A nearly full disk may have room for some of the files.
        while let Some((file, bytes)) = self.unwritten.first() {
            atomic::write(&self.dir.join(file), bytes)?;
            self.unwritten.remove(0);
        }
        while let Some(path) = self.superseded.last() {
            match fs::remove_file(path) {
                Err(e) if e.kind() != NotFound => return Err(e),
                _ => self.superseded.pop(),
            };
        }
        Ok(())
    }

    /// Writes `state.json`, after all files that it refers to.
    ///
    /// # Errors
    /// File system errors.
    pub fn save(&mut self) -> io::Result<()> {
        self.write_removed_again();
        self.flush()?;
        let text = serde_json::to_vec_pretty(&self.saved)?;
        atomic::write(&self.dir.join(STATE), &text)?;
        self.has_new_faults = false;
        Ok(())
    }

    /// Schedules the files of finds that somebody has removed meanwhile.
    fn write_removed_again(&mut self) {
        let all = self.inputs().into_iter().chain(self.fault_inputs.clone());
        let is_gone = |file: &str| fs::symlink_metadata(self.dir.join(file)).is_err_and(|e| e.kind() == NotFound);
        let gone: Vec<_> = all.filter(|(file, _)| is_gone(file)).collect();
        for (file, bytes) in gone {
            if self.unwritten.iter().all(|(other, _)| *other != file) {
                self.unwritten.push((file, bytes));
            }
        }
    }

    /// Fails if an input directory was replaced by a link to another directory.
    fn check_directories(&self) -> io::Result<()> {
        for d in DIRECTORIES {
            let path = self.dir.join(d);
            own::check_directory(&path).map_err(|e| atomic::explain(e, &path))?;
        }
        Ok(())
    }

    /// Checks which finds are on disk.
    #[must_use]
    pub fn losses(&self) -> Losses {
        let inputs = [("queue", &self.queue), ("pending", &self.pending)];
        let names = inputs.iter().flat_map(|(dir, all)| all.iter().map(move |(name, _)| format!("{dir}/{name}")));
        let files: Vec<String> = names.chain(self.fault_inputs.keys().cloned()).collect();
        let unwritten = self.unwritten.len();
        let on_disk = files.iter().filter(|file| self.dir.join(file).exists()).count();
        Losses { unwritten, missing: files.len().saturating_sub(on_disk + unwritten), on_disk }
    }

    fn new_name(&mut self, milliseconds: u64, evaluations: u64, op: &str) -> String {
        let name = format!("id:{:06},time:{milliseconds},execs:{evaluations},op:{op}", self.next_id);
        self.next_id = self.next_id.saturating_add(1);
        name
    }

    /// The bytes as the target uses them: shorter inputs are extended with zeros, longer ones are truncated.
    fn fit(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        if let Some(size) = self.size {
            bytes.resize(size, 0);
        }
        bytes
    }
}

/// The number of finds on disk and of lost finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Losses {
    /// Finds that were never written.
    pub unwritten: usize,
    /// Finds that were written, but whose files were removed.
    pub missing: usize,
    /// Finds that are on disk.
    pub on_disk: usize,
}

/// Numbers of files on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// In `queue/`.
    pub kept: usize,
    /// In `pending/`.
    pub pending: usize,
    /// In `crashes/`.
    pub crashes: usize,
    /// In `hangs/`.
    pub hangs: usize,
}

/// The inputs of `folder`, with their names relative to the output directory.
fn below(folder: &str, inputs: &Inputs) -> Inputs {
    inputs.iter().map(|(name, bytes)| (format!("{folder}/{name}"), bytes.clone())).collect()
}

/// Reads a campaign that may be running: its state, and its kept and pending inputs by their files relative to `dir`.
/// Nothing is changed; unreadable files count as missing.
#[must_use]
pub fn peek(dir: &Path) -> (SavedState, Inputs) {
    let inputs = ["queue", "pending"].map(|folder| below(folder, &recovery::peek(&dir.join(folder)))).concat();
    (peek_state(dir).unwrap_or_default(), inputs)
}
