//! One input, as simple as possible, that still does what it did: takes the same branches, or fails at the same place.
//!
//! Candidates run in a child process. When one kills it, the next child goes on without that candidate. For an input that
//! kills its process itself, each candidate has a process of its own, and must end it likewise on the same branches.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use penfuzz_error::Error;
use penfuzz_executor::evaluator::RunStatus;
use penfuzz_mutators::simplify::{Simplifier, Verdict};
use serde::{Deserialize, Serialize};

use penfuzz_directory::{
    replay::{
        fatal_input,
        session::{ReplaySession, Run, silence},
    },
    shrink::simpler,
};
use penfuzz_system::process::child::{self, Ending, Limit};

/// Candidates for an input that returns or fails.
const CANDIDATES: usize = 200_000;
/// Candidates for an input that kills its process: a process each.
const DEADLY_CANDIDATES: usize = 4_000;
/// Candidates that may kill their process on the way, before the rest is left as it is.
const DEATHS: usize = 200;

/// Time for one input, after which the simplest one so far is taken: candidates for a hang take as long as it does.
const TIME: Duration = Duration::from_secs(30);

/// What became of an input.
#[derive(Debug)]
pub struct Trimmed {
    /// The simplest input found.
    pub bytes: Vec<u8>,
    /// What both do.
    pub run: Run,
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
enum ChildMessage {
    /// This will be run next.
    Try(Vec<u8>),
    /// It was, and does what it should.
    Holds,
}

/// Simplifies `bytes`.
///
/// # Errors
/// When the system has no process to spare.
pub fn run(session: &mut ReplaySession, bytes: &[u8]) -> Result<Trimmed, Error> {
    let run = session.evaluate(&[bytes])?.swap_remove(0);
    let mut x = bytes.to_vec();
    let function = session.evaluator.function();
    if function.is_harness() {
        x.truncate(session.evaluator.input_size());
    } else {
        x.resize(session.evaluator.input_size(), 0);
    }
    let is_deadly = run.fault.as_ref().is_some_and(|f| !f.is_cheap && kills_its_process(session, &x));
    let until = Instant::now() + TIME;
    let bytes = if is_deadly { trim_deadly(session, x, until)? } else { trim(session, x, &run, until) };
    // The reason of a fault (its address) may be another now.
    let run = session.evaluate(&[&bytes])?.swap_remove(0);
    Ok(Trimmed { bytes, run })
}

/// Does the input end its process?
fn kills_its_process(session: &mut ReplaySession, bytes: &[u8]) -> bool {
    let (timeout, patience) = (session.timeout(), session.patience());
    let work = |send: &mut dyn FnMut(&ChildMessage)| {
        silence();
        if session.evaluator.on_its_own(timeout).is_ok() {
            let _ = session.look(bytes);
            send(&ChildMessage::Holds);
        }
    };
    child::run(work, |_: ChildMessage| {}, Limit::Silence(patience)) != Ending::Done
}

/// Does a run do what it should?
fn is_like(session: &mut ReplaySession, y: &[u8], wanted: &Run) -> bool {
    let mut hits = Vec::new();
    let ran = session.evaluator.run(y);
    session.evaluator.take_hits(&mut hits);
    if let Some(fault) = &wanted.fault {
        return ran == RunStatus::Faulted && session.evaluator.fault_key() == Some(fault.key);
    }
    hits.sort_unstable();
    ran == RunStatus::Returned && hits == wanted.covers
}

fn trim(session: &mut ReplaySession, mut x: Vec<u8>, wanted: &Run, until: Instant) -> Vec<u8> {
    let mut fatal_inputs: HashSet<Vec<u8>> = HashSet::new();
    for _ in 0..DEATHS {
        let mut last = None;
        let (mut best, start) = (x.clone(), x.clone());
        let patience = session.patience();
        let work = |send: &mut dyn FnMut(&ChildMessage)| work(session, start, wanted, &fatal_inputs, until, send);
        let receive = |message| match message {
            ChildMessage::Try(y) => last = Some(y),
            ChildMessage::Holds => {
                if let Some(y) = &last {
                    best.clone_from(y);
                }
            }
        };
        let ending = child::run(work, receive, Limit::Silence(patience));
        let is_simpler = x != best;
        x = best;
        match (ending, last) {
            (Ending::Done, _) => break,
            (_, Some(y)) if y != x => {
                fatal_inputs.insert(y);
            }
            // It held, and the process died afterwards: go on from there, unless nothing has changed.
            (_, _) if is_simpler => {}
            _ => break,
        }
    }
    x
}

/// In the child.
fn work(
    session: &mut ReplaySession,
    mut x: Vec<u8>,
    wanted: &Run,
    fatal_inputs: &HashSet<Vec<u8>>,
    until: Instant,
    send: &mut dyn FnMut(&ChildMessage),
) {
    silence();
    if session.evaluator.on_its_own(session.timeout()).is_err() {
        return;
    }
    let (layout, is_harness) = (session.evaluator.function().layout(), session.evaluator.function().is_harness());
    // Arms the branches in scope.
    let _ = session.look(&x);
    let mut left = CANDIDATES;
    simpler(&mut Simplifier::new(), &mut x, &layout, is_harness, |y| {
        if left == 0 || Instant::now() >= until || session.evaluator.is_worn_out() {
            return Verdict::Stop;
        }
        left -= 1;
        if fatal_inputs.contains(y) {
            return Verdict::Fails;
        }
        send(&ChildMessage::Try(y.to_vec()));
        if !is_like(session, y, wanted) {
            return Verdict::Fails;
        }
        send(&ChildMessage::Holds);
        Verdict::Holds
    });
}

fn trim_deadly(session: &mut ReplaySession, mut x: Vec<u8>, until: Instant) -> Result<Vec<u8>, Error> {
    let patience = session.patience();
    let (layout, is_harness) = (session.evaluator.function().layout(), session.evaluator.function().is_harness());
    let Some(death) = fatal_input::run_again(&mut session.evaluator, &session.scope, &x, patience)? else {
        return Ok(x);
    };
    let (mut left, mut failed) = (DEADLY_CANDIDATES, None);
    simpler(&mut Simplifier::new(), &mut x, &layout, is_harness, |y| {
        if left == 0 || Instant::now() >= until {
            return Verdict::Stop;
        }
        left -= 1;
        match fatal_input::run_again(&mut session.evaluator, &session.scope, y, patience) {
            Ok(found) if found.as_ref() == Some(&death) => Verdict::Holds,
            Ok(_) => Verdict::Fails,
            Err(e) => {
                failed = Some(e);
                Verdict::Stop
            }
        }
    });
    failed.map_or(Ok(x), Err)
}
