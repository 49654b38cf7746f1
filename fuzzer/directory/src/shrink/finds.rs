//! What is shrunk, what comes of it, and what the child sends on the way.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde::{Deserialize, Serialize};

use super::cover::Kept;

/// What is to be shrunk.
#[derive(Debug, Clone)]
pub struct Finds {
    /// Kept inputs that return.
    pub kept: Vec<Kept>,
    /// For every branch of the target: is it a goal?
    pub goals: Vec<bool>,
    /// Goals that nothing covers.
    pub uncovered: Vec<u32>,
    /// The inputs that came closest to them.
    pub closest: BTreeMap<u32, Closest>,
    /// Faults that can be repeated without harm.
    pub faults: Vec<Failing>,
}

/// The input that came closest to a branch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Closest {
    /// Branch distance, above 0: floats or integers in between.
    pub distance: u64,
    /// The input.
    pub bytes: Vec<u8>,
}

/// An input that crashes or hangs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// Its file, relative to the output directory.
    pub file: String,
    /// The input.
    pub bytes: Vec<u8>,
    /// Place, see [`penfuzz_executor::Fault::key`].
    pub key: u64,
    /// What happened.
    pub reason: String,
}

/// The same, shrunk.
#[derive(Debug, Clone, Default)]
pub struct Shrunk {
    /// The emitted tests: a minimal set in the order in which their inputs were kept.
    pub tests: Vec<Kept>,
    /// The closest inputs by branch.
    pub closest: BTreeMap<u32, Closest>,
    /// The faults by file.
    pub faults: BTreeMap<String, Failing>,
}

/// One thing that is shrunk, as the messages of the child name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Item {
    /// The distances of all kept inputs to the uncovered branches.
    Tracking,
    /// A test, by the file of its input.
    Test(String),
    /// A fault, by its file.
    Fault(String),
    /// The closest input to a branch.
    Closest(u32),
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
pub enum ChildMessage {
    /// Work on an item begins.
    Begin(Item),
    /// A test has become simpler.
    Test { file: String, bytes: Vec<u8>, covers: Vec<u32> },
    /// The others cover what this one does.
    Drop { file: String },
    /// An input came closer than all before, or is simpler.
    Closest { branch: u32, closest: Closest },
    /// A fault has become simpler.
    Fault(Failing),
}

impl Shrunk {
    /// Takes over a message of the child.
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
    /// Equal for equal finds.
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
