//! Makes what a report shows readable: few emitted tests with simple arguments, without losing a branch.
//!
//! 1. [`cover`] chooses few of the kept inputs.
//! 2. [`Simplifier`](penfuzz_mutators::simplify::Simplifier) makes each of them simpler, as long as it returns, covers every
//!    branch that no other of them covers, and covers nothing that no kept input covers (shrinking is no search: a branch that it
//!    covers would be found without being counted).
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
mod finds;
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
    work::simpler,
};

/// Children that may die on the way before the rest stays as it is.
const DEATHS: usize = 3;

/// Shrinks, and keeps the last result for a report of the same finds.
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
