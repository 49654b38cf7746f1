//! Simplifies the input of each find, and observes a run of it, in a child process.

use std::collections::HashSet;

use penfuzz_abi::{action, metric};
use penfuzz_directory::{
    rendering::memory,
    replay::session::{ReplaySession, silence},
    shrink::simpler,
};
use penfuzz_engine::stages::budgeted;
use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use penfuzz_mutators::simplify::{Simplifier, Verdict};
use penfuzz_report::exceptions::Precise;
use penfuzz_system::process::child::{self, Limit};
use serde::{Deserialize, Serialize};

use super::job::{Job, Observed};

/// Units for one find, as in [`penfuzz_directory::shrink`]: one per evaluation, and one per 64 loop iterations and
/// calls.
const EACH: u64 = 1_000;
/// Units for an exception of a kind that is frequent and matters little.
const EACH_OF_NOISE: u64 = 200;
/// Units for all finds of a campaign: a few seconds at most.
const ALL: u64 = 100_000;
/// Units for an evaluation that ends in a fault.
const FAULT: u64 = 32;
/// A message of the child.
#[derive(Debug, Serialize, Deserialize)]
enum ChildMessage {
    Begin(usize),
    Done(usize, Observed),
    Judged(usize, Option<bool>, Precise),
}

/// Simplifies and observes all jobs.
#[must_use]
pub fn observe(session: &mut ReplaySession, jobs: &[Job]) -> Vec<Observed> {
    let mut all: Vec<Option<Observed>> = vec![None; jobs.len()];
    // If the simplification of a job has ended a child, the job is observed without simplification. If it ends a child
    // again, it is not observed at all.
    let (mut plain, mut lost) = (HashSet::new(), HashSet::new());
    let patience = session.patience();
    let timeout = session.timeout();
    loop {
        let open: Vec<usize> = (0..jobs.len()).filter(|i| all[*i].is_none() && !lost.contains(i)).collect();
        if open.is_empty() {
            break;
        }
        let mut current = None;
        let before = open.len();
        let work = |send: &mut dyn FnMut(&ChildMessage)| {
            silence();
            if session.evaluator.detach_from_supervisor(timeout).is_ok() {
                work(&mut session.evaluator, jobs, &open, &plain, send);
            }
        };
        let receive = |message| match message {
            ChildMessage::Begin(i) => current = Some(i),
            ChildMessage::Done(i, observed) => {
                all[i] = Some(observed);
                current = None;
            }
            ChildMessage::Judged(i, avoidable, precise) => {
                if let Some(observed) = &mut all[i] {
                    observed.judged = Some((avoidable, precise));
                }
            }
        };
        let _ = child::run(work, receive, Limit::Silence(patience * 4));
        let left = all.iter().filter(|o| o.is_none()).count() - lost.len();
        if let Some(i) = current {
            if !plain.insert(i) {
                lost.insert(i);
            }
        } else if left == before {
            // A child that cannot even begin will fail the next time, too.
            break;
        }
    }
    let unseen = |job: &Job| Observed { bytes: job.bytes.clone(), ..Observed::default() };
    all.into_iter().zip(jobs).map(|(o, job)| o.unwrap_or_else(|| unseen(job))).collect()
}

/// The work of the child.
fn work(
    evaluator: &mut Evaluator,
    jobs: &[Job],
    open: &[usize],
    plain: &HashSet<usize>,
    send: &mut dyn FnMut(&ChildMessage),
) {
    let mut simplifier = Simplifier::new();
    let share = ALL / jobs.len().max(1) as u64;
    for i in open {
        let job = &jobs[*i];
        send(&ChildMessage::Begin(*i));
        let mut bytes = job.bytes.clone();
        if !evaluator.function().is_harness() {
            bytes.resize(evaluator.input_size(), 0);
        }
        if job.fault.is_none() && !plain.contains(i) {
            let units = (if job.exception.is_frequent() { EACH_OF_NOISE } else { EACH }).min(share.max(EACH_OF_NOISE));
            simplify(evaluator, &mut simplifier, job.branch, &mut bytes, units);
        }
        let observed = observe_run(evaluator, job.branch, bytes);
        send(&ChildMessage::Done(*i, observed.clone()));
        // After the observation is sent, because the precise computation may take long or end this process.
        if let Some((avoidable, precise)) = super::avoidable::examine(evaluator, job, &observed, jobs.len()) {
            send(&ChildMessage::Judged(*i, avoidable, precise));
        }
        if evaluator.needs_restart() {
            return;
        }
    }
}

fn arm(evaluator: &mut Evaluator, branch: usize) {
    evaluator.set_metric(metric::ULP, u64::MAX);
    evaluator.arm(|b| if b == branch { action::RECORD } else { 0 });
}

fn simplify(
    evaluator: &mut Evaluator,
    simplifier: &mut Simplifier,
    branch: usize,
    bytes: &mut Vec<u8>,
    mut units: u64,
) {
    arm(evaluator, branch);
    let (layout, is_harness) = (evaluator.function().layout(), evaluator.function().is_harness());
    let mut hits = Vec::new();
    simpler(simplifier, bytes, &layout, is_harness, |x| {
        if units == 0 {
            return Verdict::Stop;
        }
        let ran = evaluator.run(x);
        evaluator.take_hits(&mut hits);
        let cost = if ran == RunStatus::Faulted { FAULT } else { evaluator.fuel_used() / budgeted::FUEL_PER_UNIT };
        units = units.saturating_sub(1 + cost);
        if ran == RunStatus::Returned && hits.contains(&(branch as u32)) { Verdict::Holds } else { Verdict::Fails }
    });
}

fn observe_run(evaluator: &mut Evaluator, branch: usize, bytes: Vec<u8>) -> Observed {
    arm(evaluator, branch);
    evaluator.watch(Some(branch));
    let ran = evaluator.run(&bytes);
    let mut hits = Vec::new();
    evaluator.take_hits(&mut hits);
    let seen = evaluator.seen().map(|s| (s.values, s.times));
    evaluator.watch(None);
    let words = |cells: &[u128]| cells.iter().flat_map(|c| [*c as u64, (*c >> 64) as u64]).collect();
    let has_output = ran == RunStatus::Returned && evaluator.exit_status().is_none() && evaluator.thrown().is_none();
    let output = has_output.then(|| words(&evaluator.output()));
    let blocks = evaluator.blocks().filter(|_| has_output);
    let left = blocks.map_or_else(Vec::new, |blocks| memory::left(evaluator.function(), blocks, &bytes));
    Observed { bytes, seen, output, left, judged: None }
}
