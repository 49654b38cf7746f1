//! `state.json`: what a later run of a campaign cannot recompute from its inputs.

use std::{collections::BTreeMap, fs, io, path::Path};

use penfuzz_engine::executor::Fault;
use serde::{Deserialize, Serialize};

use super::layout::STATE;
use crate::shrink::Closest;

/// What a campaign must remember besides its inputs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedState {
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
    /// Hashes of the inputs under which workers died, one per death: what is imported again must not kill for ever.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fatal_inputs: Vec<u64>,
}

/// Version of `state.json`.
pub const VERSION: u32 = 1;

/// Reads the content of a `state.json`; `None` when it is no state of this version.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<SavedState> {
    serde_json::from_slice::<SavedState>(bytes).ok().filter(|state| state.version == VERSION)
}

/// The state of the campaign in `dir`, which may be running; nothing is touched.
#[must_use]
pub fn peek_state(dir: &Path) -> Option<SavedState> {
    parse(&fs::read(dir.join(STATE)).ok()?)
}

/// The state that was left, or a fresh one. A file that is no state of this version is renamed, with a message.
pub fn read(dir: &Path, messages: &mut Vec<String>) -> SavedState {
    let path = dir.join(STATE);
    let read = match fs::read(&path) {
        Ok(bytes) => parse(&bytes),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return SavedState::default(),
        Err(_) => None,
    };
    read.unwrap_or_else(|| {
        let aside = dir.join("state.json.unreadable");
        // What cannot be moved is written over by the next state.
        let how = if fs::rename(&path, &aside).is_ok() { "set aside as" } else { "ignored; it cannot be set aside as" };
        messages.push(format!("{} is not a state of this version; {how} {}", path.display(), aside.display()));
        SavedState::default()
    })
}
