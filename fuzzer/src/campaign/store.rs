//! The output directory: what is kept is on disk, durably, before anybody is told of it.
//!
//! `queue/` and `pending/` hold inputs under AFL++'s names, `crashes/` and `hangs/` one input per place, `state.json` what a
//! later run cannot recompute.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::identity;
use crate::{
    error::{Error, at},
    executor::{Fault, FaultKind},
    report::durable,
    shrink::Closest,
    target::kind::plain,
};

/// What a campaign must remember besides its inputs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    /// Version of this file.
    pub version: u32,
    /// Describes function and sites; another target does not resume.
    pub fingerprint: String,
    /// Evaluations so far.
    pub evaluations: u64,
    /// Seconds of search so far.
    pub seconds: f64,
    /// Workers started so far.
    pub workers: u32,
    /// Branches given up.
    pub given_up: Vec<u32>,
    /// Branches that only crashing inputs took.
    pub by_crash: Vec<u32>,
    /// Evaluations spent per branch.
    pub spent: Vec<u64>,
    /// Attempts per branch.
    pub attempts: Vec<u32>,
    /// Starts of the paper's search.
    pub starts: u32,
    /// Faults by file name.
    pub faults: BTreeMap<String, Fault>,
    /// The inputs that came closest to uncovered branches.
    #[serde(default)]
    pub closest: BTreeMap<u32, Closest>,
    /// Evaluations when each branch was first taken; 0 for never.
    #[serde(default)]
    pub taken_at: Vec<u64>,
}

/// Version of `state.json`.
pub const VERSION: u32 = 1;

/// See the module.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// Held as long as the campaign runs.
    _lock: File,
    /// What `state.json` says.
    pub remembered: Remembered,
    queue: Vec<(String, Vec<u8>)>,
    pending: Vec<(String, Vec<u8>)>,
    next_id: u32,
}

/// The directories of a campaign.
const DIRECTORIES: [&str; 4] = ["queue", "pending", "crashes", "hangs"];

/// What a campaign must remember besides its inputs.
pub const STATE: &str = "state.json";

fn io(path: &Path, what: &str, e: &std::io::Error) -> Error {
    at(path, format!("{what}: {}", plain(e)))
}

impl Store {
    /// Opens (or begins) the campaign in `dir`, which `lock` holds. An empty `fingerprint` fits any.
    ///
    /// # Errors
    /// When the directory cannot be used, or holds the campaign of another target.
    pub fn open(dir: &Path, lock: File, fingerprint: &str) -> Result<Self, Error> {
        for d in DIRECTORIES {
            let path = dir.join(d);
            fs::create_dir_all(&path).map_err(|e| io(&path, "cannot be created", &e))?;
        }
        let mut remembered = read_state(dir)?;
        if !remembered.fingerprint.is_empty()
            && !fingerprint.is_empty()
            && let Some(conflict) = identity::conflict(&remembered.fingerprint, fingerprint)
        {
            return Err(at(dir, conflict));
        }
        if !fingerprint.is_empty() {
            fingerprint.clone_into(&mut remembered.fingerprint);
        }
        remembered.version = VERSION;
        let mut store = Self {
            dir: dir.to_path_buf(),
            _lock: lock,
            remembered,
            queue: read_inputs(&dir.join("queue"))?,
            pending: read_inputs(&dir.join("pending"))?,
            next_id: 0,
        };
        store.next_id =
            store.queue.iter().chain(&store.pending).filter_map(|(n, _)| id_of(n)).max().map_or(0, |i| i + 1);
        Ok(store)
    }

    /// The output directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Was there anything before?
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.remembered.evaluations > 0 || !self.queue.is_empty() || !self.pending.is_empty()
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

    /// Files below the output directory and bytes of both.
    #[must_use]
    pub fn inputs(&self) -> Vec<(String, Vec<u8>)> {
        let named = |folder: &str, inputs: &[(String, Vec<u8>)]| -> Vec<_> {
            inputs.iter().map(|(name, bytes)| (format!("{folder}/{name}"), bytes.clone())).collect()
        };
        [named("queue", &self.queue), named("pending", &self.pending)].concat()
    }

    /// Keeps an input in `queue/`, unless it is there; if it was pending it is so no more.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn keep(&mut self, bytes: &[u8], milliseconds: u64, evaluations: u64, op: &str) -> Result<(), Error> {
        if self.queue.iter().any(|(_, b)| b == bytes) {
            return Ok(());
        }
        let waiting = self.pending.iter().position(|(_, b)| b == bytes);
        let mut name = self.new_name(milliseconds, evaluations, op);
        if let Some((_, found)) = waiting.and_then(|i| self.pending[i].0.split_once(',')) {
            // When it was found, not when it was seen to saturate.
            let id = name.split(',').next().unwrap_or_default();
            name = format!("{id},{found}");
        }
        self.write("queue", &name, bytes)?;
        self.queue.push((name, bytes.to_vec()));
        if let Some(i) = waiting {
            let (old, _) = self.pending.remove(i);
            let path = self.dir.join("pending").join(old);
            fs::remove_file(&path).map_err(|e| io(&path, "cannot be removed", &e))?;
        }
        Ok(())
    }

    /// Keeps an input in `pending/`, unless it is kept already.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn keep_pending(&mut self, bytes: &[u8], milliseconds: u64, evaluations: u64, op: &str) -> Result<(), Error> {
        if self.queue.iter().chain(&self.pending).any(|(_, b)| b == bytes) {
            return Ok(());
        }
        let name = self.new_name(milliseconds, evaluations, op);
        self.write("pending", &name, bytes)?;
        self.pending.push((name, bytes.to_vec()));
        Ok(())
    }

    /// Keeps the input of a crash or a hang, one per place; true when the place is new.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn keep_fault(&mut self, bytes: &[u8], fault: &Fault, milliseconds: u64) -> Result<bool, Error> {
        if self.remembered.faults.values().any(|f| f.key == fault.key) {
            return Ok(false);
        }
        let folder = if fault.kind == FaultKind::Crash { "crashes" } else { "hangs" };
        let number = self.remembered.faults.values().filter(|f| f.kind == fault.kind).count();
        let name = format!("id:{number:06},time:{milliseconds},execs:{},op:penfuzz", self.remembered.evaluations);
        self.write(folder, &name, bytes)?;
        self.remembered.faults.insert(format!("{folder}/{name}"), fault.clone());
        self.save()?;
        Ok(true)
    }

    /// Inputs in `crashes/` and `hangs/`.
    #[must_use]
    pub fn fault_counts(&self) -> (usize, usize) {
        let crashes = self.remembered.faults.values().filter(|f| f.kind == FaultKind::Crash).count();
        (crashes, self.remembered.faults.len() - crashes)
    }

    /// Writes `state.json`.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(&self.remembered).map_err(|e| Error::new(format!("state.json: {e}")))?;
        durable::write(&self.dir.join(STATE), &text).map_err(|e| Error::new(e.to_string()))
    }

    fn new_name(&mut self, milliseconds: u64, evaluations: u64, op: &str) -> String {
        let name = format!("id:{:06},time:{milliseconds},execs:{evaluations},op:{op}", self.next_id);
        self.next_id += 1;
        name
    }

    fn write(&self, folder: &str, name: &str, bytes: &[u8]) -> Result<(), Error> {
        durable::write(&self.dir.join(folder).join(name), bytes).map_err(|e| Error::new(e.to_string()))
    }
}

fn id_of(name: &str) -> Option<u32> {
    name.strip_prefix("id:")?.split(',').next()?.parse().ok()
}

pub(super) fn read_state(dir: &Path) -> Result<Remembered, Error> {
    let path = dir.join(STATE);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Remembered::default()),
        Err(e) => return Err(io(&path, "cannot be read", &e)),
    };
    match serde_json::from_slice::<Remembered>(&bytes) {
        Ok(state) if state.version == VERSION => Ok(state),
        _ => {
            let aside = dir.join("state.json.unreadable");
            fs::rename(&path, &aside).map_err(|e| io(&path, "cannot be moved aside", &e))?;
            eprintln!("penfuzz: {} is not a state of this version; set aside as {}", path.display(), aside.display());
            Ok(Remembered::default())
        }
    }
}

/// The inputs of a directory in the order of their names. Files of other names, and empty ones, are left alone.
pub(super) fn read_inputs(dir: &Path) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| io(dir, "cannot be listed", &e))? {
        let entry = entry.map_err(|e| io(dir, "cannot be listed", &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if id_of(&name).is_none() {
            continue;
        }
        let bytes = fs::read(entry.path()).map_err(|e| io(&entry.path(), "cannot be read", &e))?;
        if !bytes.is_empty() {
            inputs.push((name, bytes));
        }
    }
    inputs.sort();
    Ok(inputs)
}
