//! Evaluations outside of the search, in a short-lived child process.

use std::time::Instant;

use penfuzz_directory::replay::session::silence;
use penfuzz_system::process::child::{self, Limit};

use super::{Counts, Found, Options, objective::Objective, pair::Pair, worker::Message};

/// Runs `work` in a child process of its own, for at most twice the timeout of an evaluation.
pub(super) fn aside(
    pair: &mut Pair,
    options: &Options,
    work: impl FnOnce(&mut Objective),
    receive: impl FnMut(Message),
) {
    let deadline = Instant::now() + pair.timeout() * 2;
    let in_child = |send: &mut dyn FnMut(&Message)| {
        silence();
        if pair.detach_from_supervisor().is_ok() {
            work(&mut Objective::new(pair, options, deadline, Counts::default(), None, send));
        }
    };
    let _ = child::run(in_child, receive, Limit::At(deadline));
}

/// Returns whether an input still has the same result and the same error as when it was found.
pub(super) fn holds(pair: &mut Pair, options: &Options, found: &Found) -> bool {
    let mut now = None;
    let examine = |objective: &mut Objective| {
        if let Some(found) = objective.examine_bytes(&found.bytes) {
            objective.send(&Message::Region(found));
        }
    };
    aside(pair, options, examine, |message| {
        if let Message::Region(found) = message {
            now = Some(found);
        }
    });
    // `errno` is compared only by a search.
    now.is_some_and(|now| now.result == found.result && (found.size().is_none() || now.compared == found.compared))
}
