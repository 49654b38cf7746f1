//! What a report shows is made readable: the emitted tests are few and their arguments simple, without losing a branch.
//!
//! 1. [`cover`] chooses few of the kept inputs.
//! 2. [`Simplifier`](penfuzz_mutators::simplify::Simplifier) makes each of them simpler, as long as it returns, covers every
//!    branch that no other of them covers, and covers nothing that no kept input covers (shrinking is no search: what it
//!    stumbles on would be found without being counted).
//! 3. What has become superfluous is dropped; so the set is minimal.
//!
//! Crashes and hangs are shrunk likewise, as long as they fail at the same place and by the same covered branches, and the
//! inputs that came closest to uncovered branches, as long as they come exactly as close.
//!
//! All this runs the target thousands of times, and may crash it at any of them. So it happens in a [`child`] process:
//! nothing of it remains in the search, neither counts nor the target's own state, and whatever the child dies of, each
//! input that was not finished stays as it is.
//!
//! The work is bounded by units that are the same at every run, see [`work`]; the clock is a backstop. A report of the same
//! finds takes its shrunk inputs from the last one ([`Shrinker`]).

pub mod cover;
mod work;

use std::{
    collections::{BTreeMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    time::{Duration, Instant},
};

use penfuzz_engine::executor::Evaluator;
use serde::{Deserialize, Serialize};

use self::cover::Kept;
use crate::process::child::{self, Ending, Limit};

pub use self::work::simpler;

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
    /// Place, see [`penfuzz_engine::executor::Fault::key`].
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

/// One thing that is shrunk; what the child says of it comes under this name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Item {
    Tracking,
    Test(String),
    Fault(String),
    Closest(u32),
}

/// One line from the child.
#[derive(Debug, Serialize, Deserialize)]
enum ChildMessage {
    /// Work on an item begins.
    Begin(Item),
    /// A test has become simpler.
    Test { file: String, bytes: Vec<u8>, covers: Vec<u32> },
    /// The others cover what this one does.
    Drop { file: String },
    /// An input came closer than was known, or is simpler.
    Closest { branch: u32, closest: Closest },
    /// A fault has become simpler.
    Fault(Failing),
}

impl Shrunk {
    fn note(&mut self, word: ChildMessage) {
        match word {
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

/// Children that may die on the way before the rest stays as it is.
const DEATHS: usize = 3;

/// Shrinks, and remembers the last result.
#[derive(Debug, Default)]
pub struct Shrinker {
    last: Option<(u64, Shrunk)>,
}

impl Shrinker {
    /// Shrinks for at most about `time`; what is not done by then stays as it is. The evaluator is left as it was, but for
    /// the actions, which every use sets anew.
    pub fn shrink(&mut self, evaluator: &mut Evaluator, finds: &Finds, time: Duration) -> Shrunk {
        let key = finds.key();
        if let Some((_, shrunk)) = self.last.as_ref().filter(|(k, _)| *k == key) {
            return shrunk.clone();
        }
        let mut shrunk = Shrunk {
            tests: cover::choose(finds.kept.clone()),
            closest: finds.closest.clone(),
            faults: finds.faults.iter().map(|f| (f.file.clone(), f.clone())).collect(),
        };
        let until = Instant::now() + time;
        let (mut done, mut begun) = (false, Vec::new());
        for _ in 0..=DEATHS {
            let skip: HashSet<Item> = begun.iter().cloned().collect();
            let now = shrunk.clone();
            let ending = child::run(
                |say| work::work(evaluator, finds, now, &skip, say),
                |word| match word {
                    ChildMessage::Begin(item) => begun.push(item),
                    word => shrunk.note(word),
                },
                Limit::At(until),
            );
            done = ending == Ending::Done;
            if done || Instant::now() >= until {
                break;
            }
        }
        cover::drop_superfluous(&mut shrunk.tests);
        if done {
            self.last = Some((key, shrunk.clone()));
        }
        shrunk
    }
}

impl Finds {
    /// Equal for equal finds.
    fn key(&self) -> u64 {
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
