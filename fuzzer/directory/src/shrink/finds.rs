//! The inputs to shrink, the results, and the messages of the child process.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::{Deserialize, Serialize};

use super::{cover::Kept, objects::FilledObject};

/// The inputs to shrink.
#[derive(Debug, Clone)]
pub struct Finds {
    /// Kept inputs that return.
    pub kept: Vec<Kept>,
    /// For each branch of the target, whether it is a goal.
    pub goals: Vec<bool>,
    /// The goals that no kept input covers.
    pub uncovered: Vec<u32>,
    /// For uncovered goals the input with the smallest branch distance.
    pub closest: BTreeMap<u32, Closest>,
    /// Faults that can be reproduced without harm.
    pub faults: Vec<Failing>,
}

/// The input with the smallest branch distance to a branch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Closest {
    /// The branch distance, above 0: the number of floats or integers in between.
    pub distance: u64,
    /// The input.
    pub bytes: Vec<u8>,
}

/// An input that crashes or hangs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Its file, relative to the output directory.
    pub file: String,
    /// The input.
    pub bytes: Vec<u8>,
    /// Identifies the place of the fault ([`penfuzz_executor::Fault::key`]).
    pub key: u64,
    /// What happened, for messages.
    pub reason: String,
    /// Whether experiments have looked for the preconditions that the input violates.
    #[serde(default)]
    pub is_examined: bool,
    /// The likely preconditions that the input violates.
    #[serde(default)]
    pub violates: Vec<String>,
    /// The object on whose content the crash depends, although other functions construct such objects.
    #[serde(default)]
    pub depends_on: Option<FilledObject>,
    /// The variables that the function frees or reallocates before the fault, or tries to.
    #[serde(default)]
    pub from_malloc: Vec<String>,
}

/// The shrunk inputs.
#[derive(Debug, Clone, Default)]
pub struct Shrunk {
    /// The tests to emit: a minimal set, in the order in which their inputs were kept.
    pub tests: Vec<Kept>,
    /// The closest inputs, by branch.
    pub closest: BTreeMap<u32, Closest>,
    /// The faults, by file.
    pub faults: BTreeMap<String, Failing>,
}

/// A unit of work in messages of the child.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Item {
    /// Measures the distances of all kept inputs to the uncovered branches.
    Tracking,
    /// Shrinks a test, identified by the file of its input.
    Test(String),
    /// Gives the numbers of a test ordinary values.
    Telling(String),
    /// Shrinks a fault, identified by its file.
    Fault(String),
    /// Finds the preconditions that a fault violates, identified by its file.
    Preconditions(String),
    /// Shrinks the closest input to a branch.
    Closest(u32),
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
pub enum ChildMessage {
    /// Work on an item begins.
    Begin(Item),
    /// A test has become simpler.
    Test { file: String, bytes: Vec<u8>, covers: Vec<u32> },
    /// A test is dropped, since the others cover what it covers.
    Drop { file: String },
    /// The closest input to a branch is closer, or simpler.
    Closest { branch: u32, closest: Closest },
    /// A fault has become simpler.
    Fault(Failing),
}

impl Shrunk {
    /// Applies a message of the child.
    pub fn note(&mut self, message: ChildMessage) {
        match message {
            ChildMessage::Test { file, bytes, covers } => {
                if let Some(test) = self.tests.iter_mut().find(|t| t.file == file) {
                    (test.bytes, test.covers) = (bytes, covers);
                }
            }
            ChildMessage::Drop { file } => self.tests.retain(|t| t.file != file),
            ChildMessage::Closest { branch, closest } => {
                self.closest.insert(branch, closest);
            }
            ChildMessage::Fault(failing) => {
                self.faults.insert(failing.file.clone(), failing);
            }
            ChildMessage::Begin(_) => {}
        }
    }
}

impl Finds {
    /// A hash that is equal for equal finds.
    #[must_use]
    pub fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for kept in &self.kept {
            (&kept.file, &kept.bytes, &kept.covers).hash(&mut hasher);
        }
        (&self.uncovered, &self.closest).hash(&mut hasher);
        for fault in &self.faults {
            (&fault.file, fault.key).hash(&mut hasher);
        }
        hasher.finish()
    }
}
