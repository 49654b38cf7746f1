//! `state.json`: the state that a later run of a campaign cannot recompute from its inputs.

use std::{collections::BTreeMap, fs, io, path::Path};

use penfuzz_executor::Fault;
use penfuzz_system::files::foreign;
use serde::{Deserialize, Serialize};

use super::layout::{FAULTS, STATE, STATE_ASIDE};
use crate::shrink::Closest;

/// The state of a campaign besides its inputs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedState {
    /// Version of this file format.
    pub version: u32,
    /// Identifies function and sites; another target does not resume.
    pub fingerprint: String,
    /// Number of evaluations so far.
    pub evaluations: u64,
    /// Seconds of search so far.
    pub seconds: f64,
    /// Number of workers started so far.
    pub workers: u32,
    /// Branches given up.
    pub given_up: Vec<u32>,
    /// Branches that only crashing inputs took.
    pub by_crash: Vec<u32>,
    /// Number of replays in a fresh process that did not take a branch that the evaluation took, by branch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unconfirmed: BTreeMap<u32, u32>,
    /// Those of them that depend on uninitialized memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uninitialized: Vec<u32>,
    /// Units of the search budget spent per branch.
    pub spent: Vec<u64>,
    /// Evaluations spent on each branch.
    #[serde(default)]
    pub evaluated: Vec<u64>,
    /// Units of the search budget that were spent per branch when a closer input was last found.
    #[serde(default)]
    pub improved: Vec<u64>,
    /// Search attempts per branch.
    pub attempts: Vec<u32>,
    /// Number of start points of the paper's search.
    pub starts: u32,
    /// Faults by file name.
    pub faults: BTreeMap<String, Fault>,
    /// The inputs closest to uncovered branches.
    #[serde(default)]
    pub closest: BTreeMap<u32, Closest>,
    /// Number of evaluations when each branch was first taken; 0 for never.
    #[serde(default)]
    pub taken_at: Vec<u64>,
    /// Hashes of the inputs under which workers died, one per death: an import must not kill workers for ever.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fatal_inputs: Vec<u64>,
    /// Kept inputs that exhaust their fuel and return with more, by their files in `queue/`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub long: BTreeMap<String, LongRun>,
}

/// The measurements of an input that exhausts its fuel and returns with more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongRun {
    /// Wall time of a run with all sites inactive, in milliseconds, rounded down.
    pub milliseconds: u64,
    /// The branches that it takes, in ascending order.
    pub covers: Vec<u32>,
}

/// Maximum seconds of search in a state: 300 years.
const MOST_SECONDS: f64 = 1e10;

/// Maximum evaluations in a state: those of two campaigns can be added, and more can follow.
pub const MOST_EVALUATIONS: u64 = u64::MAX / 4;

/// Maximum number of hashes of fatal inputs in a state.
pub const MOST_FATAL_INPUTS: usize = 1000;

impl SavedState {
    /// Clips all numbers so that they can be added without overflow, and drops faults whose files do not lie in the
    /// directories of faults: the file may have been edited. Values that depend on the target are checked where they
    /// are used.
    #[must_use]
    fn within_bounds(mut self) -> Self {
        let seconds = Some(self.seconds).filter(|s| s.is_finite());
        self.seconds = seconds.map_or(0.0, |s| s.clamp(0.0, MOST_SECONDS));
        self.evaluations = self.evaluations.min(MOST_EVALUATIONS);
        for n in self.spent.iter_mut().chain(&mut self.evaluated) {
            *n = (*n).min(u64::MAX >> 16);
        }
        self.attempts.iter_mut().for_each(|n| *n = (*n).min(u32::MAX / 2));
        self.starts = self.starts.min(u32::MAX / 2);
        self.fatal_inputs.truncate(MOST_FATAL_INPUTS);
        self.faults.retain(|file, _| is_file_of_a_fault(file));
        self.long.retain(|file, _| is_file_in(file, &["queue"]));
        self
    }
}

/// Whether it is a file in `crashes/` or `hangs/`, and nowhere else.
fn is_file_of_a_fault(file: &str) -> bool {
    is_file_in(file, &FAULTS)
}

/// Whether it is a file in one of these folders, and nowhere else.
fn is_file_in(file: &str, folders: &[&str]) -> bool {
    file.split_once('/').is_some_and(|(folder, name)| {
        folders.contains(&folder) && !name.contains(['/', '\0']) && !["", ".", ".."].contains(&name)
    })
}

/// Version of `state.json`.
pub const VERSION: u32 = 1;

/// Parses the content of a `state.json`; `None` if it is not a state of this version.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<SavedState> {
    serde_json::from_slice::<SavedState>(bytes).ok().filter(|state| state.version == VERSION)
}

/// Reads the state of the campaign in `dir`, which may be running; changes nothing.
#[must_use]
pub fn peek_state(dir: &Path) -> Option<SavedState> {
    parse(&foreign::read_own(&dir.join(STATE), foreign::LONGEST_TEXT).ok()?).map(SavedState::within_bounds)
}

/// Reads the saved state, or returns a new one. A file that is not a state of this version is renamed, with a message.
pub fn read(dir: &Path, messages: &mut Vec<String>) -> SavedState {
    let path = dir.join(STATE);
    let read = match foreign::read_own(&path, foreign::LONGEST_TEXT) {
        Ok(bytes) => parse(&bytes).map(SavedState::within_bounds),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return SavedState::default(),
        Err(_) => None,
    };
    read.unwrap_or_else(|| {
        let aside = dir.join(STATE_ASIDE);
        // A file that cannot be moved is overwritten by the next state.
        let how = if fs::rename(&path, &aside).is_ok() { "set aside as" } else { "ignored; it cannot be set aside as" };
        messages.push(format!("{} is not a state of this version; {how} {}", path.display(), aside.display()));
        SavedState::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_somebody_edited_is_within_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let fault = Fault {
            kind: penfuzz_executor::FaultKind::Crash,
            key: 1,
            reason: String::new(),
            place: String::new(),
            stack: Vec::new(),
            is_cheap: true,
            is_out_of_fuel: false,
        };
        let files =
            ["crashes/id:000000", "../../precious", "/etc/passwd", "crashes/../../precious", "queue/x", "hangs/.."];
        let saved = SavedState {
            version: VERSION,
            seconds: -1e300,
            evaluations: u64::MAX,
            spent: vec![u64::MAX; 2],
            attempts: vec![u32::MAX],
            faults: files.iter().map(|f| ((*f).to_owned(), fault.clone())).collect(),
            ..SavedState::default()
        };
        fs::write(dir.path().join(STATE), serde_json::to_vec(&saved).unwrap()).unwrap();
        let mut read = peek_state(dir.path()).unwrap();
        assert_eq!(read.seconds.to_bits(), 0);
        assert_eq!(read.faults.keys().collect::<Vec<_>>(), ["crashes/id:000000"]);
        read.add(&read.clone());
        assert!(read.spent.iter().sum::<u64>() > 0, "no sum overflows");
    }
}
