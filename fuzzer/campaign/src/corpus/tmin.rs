//! Simplifies one input as far as possible while it behaves the same: it takes the same branches, or fails at the same
//! place.
//!
//! Candidates run in a child process. If one kills it, the next child continues without that candidate. For an input
//! that kills its process, each candidate runs in its own process, and must kill it in the same way after the same
//! branches.

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

/// Maximum number of candidates for an input that returns or fails.
const CANDIDATES: usize = 200_000;
/// Maximum number of candidates for an input that kills its process: each needs a process.
const MAX_FATAL_CANDIDATES: usize = 4_000;
/// Maximum number of candidates that may kill their process before simplification stops.
const DEATHS: usize = 200;

/// Time limit for one input, after which the simplest input so far is used: each candidate for a hang takes as long as
/// the hang itself.
const TIME: Duration = Duration::from_secs(30);

/// The result of simplifying an input.
#[derive(Debug)]
pub struct Trimmed {
    /// The simplest input found.
    pub bytes: Vec<u8>,
    /// The run of the simplest input.
    pub run: Run,
}

/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
enum ChildMessage {
    /// This input will be run next.
    Try(Vec<u8>),
    /// The input was run and behaves as required.
    Holds,
}

/// Simplifies `bytes`.
///
/// # Errors
/// When the system cannot create a process.
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
    let bytes = if is_deadly { simplify_fatal(session, x, until)? } else { trim(session, x, &run, until) };
    // The reason of a fault (its address) may have changed.
    let run = session.evaluate(&[&bytes])?.swap_remove(0);
    Ok(Trimmed { bytes, run })
}

/// Whether the input ends its process.
fn kills_its_process(session: &mut ReplaySession, bytes: &[u8]) -> bool {
    let (timeout, patience) = (session.timeout(), session.patience());
    let work = |send: &mut dyn FnMut(&ChildMessage)| {
        silence();
        if session.evaluator.detach_from_supervisor(timeout).is_ok() {
            let _ = session.evaluate_here(bytes);
            send(&ChildMessage::Holds);
        }
    };
    child::run(work, |_: ChildMessage| {}, Limit::Silence(patience)) != Ending::Done
}

/// Whether a run behaves like `wanted`.
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
            // The input behaved as required, and the process died afterwards: continue from it, unless nothing has
            // changed.
            (_, _) if is_simpler => {}
            _ => break,
        }
    }
    x
}

/// Runs in the child: simplifies the input.
fn work(
    session: &mut ReplaySession,
    mut x: Vec<u8>,
    wanted: &Run,
    fatal_inputs: &HashSet<Vec<u8>>,
    until: Instant,
    send: &mut dyn FnMut(&ChildMessage),
) {
    silence();
    if session.evaluator.detach_from_supervisor(session.timeout()).is_err() {
        return;
    }
    let (layout, is_harness) = (session.evaluator.function().layout(), session.evaluator.function().is_harness());
    // This arms the branches in scope.
    let _ = session.evaluate_here(&x);
    let mut left = CANDIDATES;
    simpler(&mut Simplifier::new(), &mut x, &layout, is_harness, |y| {
        if left == 0 || Instant::now() >= until || session.evaluator.needs_restart() {
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

fn simplify_fatal(session: &mut ReplaySession, mut x: Vec<u8>, until: Instant) -> Result<Vec<u8>, Error> {
    let patience = session.patience();
    let (layout, is_harness) = (session.evaluator.function().layout(), session.evaluator.function().is_harness());
    let Some(death) = fatal_input::run_again(&mut session.evaluator, &session.scope, &x, patience)? else {
        return Ok(x);
    };
    let (mut left, mut failed) = (MAX_FATAL_CANDIDATES, None);
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
