//! Makes the inputs of a report readable: few emitted tests with simple arguments, without losing a branch.
//!
//! 1. [`cover`] selects few of the kept inputs.
//! 2. [`Simplifier`](penfuzz_mutators::simplify::Simplifier) makes each of them simpler. The input must still return,
//!    cover every branch that no other selected input covers, and cover no branch that no kept input covers. (Shrinking
//!    is not part of the search: a new branch would be covered without being counted.)
//! 3. Where the numbers of an input do not matter for its branches, they become ordinary ones (`telling.rs`).
//! 4. Inputs that have become superfluous are dropped, so the set is minimal.
//!
//! Crashes and hangs are shrunk in the same way, as long as they fail at the same place and by the same covered
//! branches, and experiments show which likely preconditions a crash violates (`violated.rs`), and whether it depends
//! on what objects contain (`objects.rs`). Also shrunk are the inputs that came closest to uncovered branches, as long
//! as their distance stays the same.
//!
//! All this runs the target thousands of times, and each run may crash. So it happens in a [`child`] process. The
//! search keeps nothing of it, neither counts nor the target's own state. If the child dies, the inputs that were not
//! finished stay unchanged.
//!
//! The work is bounded by units that are the same at every run (`work.rs`); the clock is only a backstop. A report of
//! the same finds reuses the shrunk inputs of the last one ([`Shrinker`]).

pub mod cover;
mod enumerations;
mod finds;
mod objects;
mod telling;
mod violated;
mod work;

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use penfuzz_executor::Evaluator;
use penfuzz_system::process::child::{self, Ending, Limit};

use self::finds::{ChildMessage, Item};

pub use self::{
    finds::{Closest, Failing, Finds, Shrunk},
    objects::FilledObject,
    work::simpler,
};

/// Number of children that may die before the remaining inputs are left unchanged.
const DEATHS: usize = 3;

/// The finds as they are, with few of the kept inputs as tests. Evaluates nothing.
#[must_use]
pub fn unchanged(finds: &Finds) -> Shrunk {
    Shrunk {
        tests: cover::choose(finds.kept.clone()),
        closest: finds.closest.clone(),
        faults: finds.faults.iter().map(|f| (f.file.clone(), f.clone())).collect(),
    }
}

/// Shrinks finds, and keeps the last result for a report of the same finds.
#[derive(Debug, Default)]
pub struct Shrinker {
    last: Option<(u64, Shrunk)>,
}

impl Shrinker {
    /// Shrinks for at most about `time`. Inputs that are not done by then stay unchanged. The evaluator is unchanged
    /// too, except for the actions, which every user sets anew.
    pub fn shrink(&mut self, evaluator: &mut Evaluator, finds: &Finds, time: Duration) -> Shrunk {
        let key = finds.key();
        if let Some((_, shrunk)) = self.last.as_ref().filter(|(k, _)| *k == key) {
            return shrunk.clone();
        }
        let mut shrunk = unchanged(finds);
        let until = Instant::now() + time;
        let (mut done, mut begun) = (false, Vec::new());
        for _ in 0..=DEATHS {
            let skip: HashSet<Item> = begun.iter().cloned().collect();
            let now = shrunk.clone();
            let ending = child::run(
                |send| work::work(evaluator, finds, now, &skip, send),
                |message| match message {
                    ChildMessage::Begin(item) => begun.push(item),
                    message => shrunk.note(message),
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
