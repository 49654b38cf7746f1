//! Searches for an input that takes a path through a function, confirms it and makes it simple.
//!
//! The target may do anything on the way, so searching, confirming and simplifying happen in child processes
//! ([`penfuzz_directory::shrink`] has the same reasons). What was found is sent at once; when the target ends its
//! process, the search goes on in another, from what was sent and with other random numbers. A found input is confirmed
//! by the plain record of the branches that it takes, not by `r`.

pub mod search;

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use libafl_bolts::rands::StdRand;
use penfuzz_directory::{replay::session::silence, shrink::simpler};
use penfuzz_engine::{
    goals::{
        Goal, Path,
        path::{Step, is_taken},
    },
    saturation::{BranchGraph, Saturation, Scope},
    stages::SearchKind,
};
use penfuzz_error::Error;
use penfuzz_executor::{Evaluator, Fault, evaluator::RunStatus};
use penfuzz_mutators::{
    dictionary::Dictionary,
    simplify::{Simplifier, Verdict},
    start::StartPoints,
    view::Layout,
};
use penfuzz_system::process::{
    child::{self, Ending, Limit},
    interrupts, shared_memory,
};
use penfuzz_target::program::program_constants;
use serde::{Deserialize, Serialize};

use self::search::{Bounds, FatalInputs, Progress, Search, SearchParameters};

/// Processes that the target may end before the search is given up.
const DEATHS: u64 = 100;
/// Candidates while simplifying.
const CANDIDATES: u32 = 20_000;
/// Time for simplifying.
const SIMPLIFYING: Duration = Duration::from_secs(2);
/// Passes that are recorded: as many as an evaluation has fuel for.
pub const MAX_PASSES: usize = 1 << 20;
/// Pause between two messages about closer inputs: a target that ends its process loses no more of the search.
const SEND_EVERY: Duration = Duration::from_millis(2);

/// The goal of a search: any of several paths.
#[derive(Debug, Clone)]
pub struct Query {
    /// The conditionals whose passes count.
    pub scope: Scope,
    /// Each path by its steps; every branch is one of the scope's.
    pub paths: Vec<Vec<Step>>,
    /// For every branch of the target: is it one of a conditional in scope?
    pub counts: Vec<bool>,
    /// For each step of a single path, the numbers that matter to it, if the steps before depend on these or on none of
    /// them; others then stay as they are. Without an entry all matter.
    pub parts: Vec<Layout>,
}

/// How to search.
#[derive(Debug, Clone)]
pub struct Options {
    /// Only `Targeted`, `Structured`, `Random` and `Uniform` are searches for a path.
    pub search: SearchKind,
    /// Seed of the pseudo-random generator.
    pub seed: u64,
    /// Time for the search.
    pub max_time: Duration,
    /// Evaluations for the search.
    pub max_evals: u64,
    /// Time one evaluation may take.
    pub timeout: Duration,
    /// Make the found input simple.
    pub simplify: bool,
    /// Inputs to begin with.
    pub seeds: Vec<Vec<u8>>,
    /// The local minimizer of a targeted search, one of [`MINIMIZERS`](penfuzz_mutators::minimizer::MINIMIZERS).
    pub minimizer: String,
}

/// What a run does, by its plain record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Confirmed {
    /// The branches it took, in order, at most [`MAX_PASSES`].
    pub passes: Vec<u32>,
    /// All of them.
    pub n_passes: usize,
    /// How it failed; `None` when it returned.
    pub fault: Option<Fault>,
    /// The exit status, when it ended by `exit`.
    pub exit: Option<u8>,
    /// The type that it threw ([`Evaluator::thrown`]).
    #[serde(default)]
    pub throws: Option<String>,
    /// The result as raw bits, when it returned.
    pub result: u64,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The input that was found or came closest; `None` when not even a first step was in sight.
    pub bytes: Option<Vec<u8>>,
    /// Which path it takes or came closest to.
    pub path: usize,
    /// The value of `r` of the [`Path`] objective there; 0 when it was found.
    pub r: u64,
    /// The record of the found input.
    pub confirmed: Option<Confirmed>,
    /// Evaluations of the search.
    pub evaluations: u64,
    /// Wall time of the search in seconds.
    pub seconds: f64,
    /// How often the target ended its process on the way.
    pub deaths: u64,
    /// The user ended the search.
    pub interrupted: bool,
}

/// A message of the searching child.
#[derive(Debug, Serialize, Deserialize)]
enum ChildMessage {
    Progress { goal: usize, r: u64, bytes: Vec<u8>, evaluations: u64 },
    End { evaluations: u64 },
}

/// Searches, simplifies and confirms.
///
/// # Errors
/// When the search is none for paths, or the system has no process to spare.
pub fn run(evaluator: &mut Evaluator, query: &Query, options: &Options) -> Result<Answer, Error> {
    let goals: Vec<Path> = query.paths.iter().filter_map(|p| Path::new(p, query.counts.clone())).collect();
    if goals.len() < query.paths.len() {
        return Err(Error::new("the path has no step that a run could miss: every input takes it"));
    }
    evaluator.set_scope(&query.scope.sites);
    let shown =
        shared_memory::bytes(evaluator.input_size().max(1)).ok_or_else(|| Error::new("no memory for an input"))?;
    let mut answer = search(evaluator, query, &goals, options, FatalInputs { known: HashSet::new(), shown });
    if answer.r == 0
        && let Some(found) = answer.bytes.take()
    {
        let steps = &query.paths[answer.path];
        let confirmed = confirm(evaluator, query, &found, options.timeout);
        let simple = if options.simplify {
            simplify(evaluator, query, &goals[answer.path], &found, options.timeout)
        } else {
            found.clone()
        };
        // What is simpler must do the same by the record, too.
        let same = (simple != found).then(|| confirm(evaluator, query, &simple, options.timeout)).flatten();
        let same = same.filter(|c| is_taken(steps, &c.passes) && c.fault.is_none());
        (answer.bytes, answer.confirmed) = if same.is_some() { (Some(simple), same) } else { (Some(found), confirmed) };
        if !answer.confirmed.as_ref().is_some_and(|c| is_taken(steps, &c.passes)) {
            return Err(Error::new(
                "an input that took the path does not take it again: the function depends on more than its arguments",
            ));
        }
    }
    Ok(answer)
}

/// The dictionary, graph and all else that a search needs is made once; each child inherits it.
fn search(
    evaluator: &mut Evaluator,
    query: &Query,
    goals: &[Path],
    options: &Options,
    mut fatal_inputs: FatalInputs,
) -> Answer {
    let _watch = interrupts::SignalGuard::begin();
    let begun = Instant::now();
    let until = begun + options.max_time;
    let target = std::rc::Rc::clone(evaluator.target());
    let saturation = Saturation::new(BranchGraph::new(&target, &query.scope));
    let dictionary = program_constants::dictionary(&target, evaluator.function_index());
    let mut answer = Answer {
        bytes: None,
        path: 0,
        r: u64::MAX,
        confirmed: None,
        evaluations: 0,
        seconds: 0.0,
        deaths: 0,
        interrupted: false,
    };
    let mut missing = usize::MAX;
    let size = evaluator.input_size();
    loop {
        let before = answer.evaluations;
        let bounds = Bounds { until, evaluations: options.max_evals };
        let mut seeds = options.seeds.clone();
        seeds.extend(answer.bytes.clone());
        let work = |send: &mut dyn FnMut(&ChildMessage)| {
            silence();
            if evaluator.detach_from_supervisor(options.timeout).is_err() {
                return;
            }
            evaluator.set_evaluations(before);
            let seed = options.seed.wrapping_add(answer.deaths << 32);
            let (words, fatal_inputs) = (dictionary.clone(), fatal_inputs.clone());
            let how =
                SearchParameters { minimizer: &options.minimizer, seed, bounds, fatal_inputs, parts: &query.parts };
            let mut search = Search::new(evaluator, &saturation, goals, words, how);
            let mut sender = ProgressSender { at_once: answer.deaths > 0, ..ProgressSender::default() };
            search.run(options.search, &seeds, &mut |progress| sender.progress(&progress, send));
            sender.rest(send);
            send(&ChildMessage::End { evaluations: evaluator.evaluations() });
        };
        let mut ended = false;
        let mut found = (answer.bytes.take(), answer.path, answer.r, answer.evaluations);
        let receive = |message| match message {
            ChildMessage::Progress { goal, r, bytes, evaluations } => {
                let now = goals[goal].missing(r);
                if (now, r) < (missing, found.2) || found.0.is_none() {
                    missing = now;
                    found = (Some(bytes), goal, r, evaluations);
                }
            }
            ChildMessage::End { evaluations } => {
                found.3 = evaluations;
                ended = true;
            }
        };
        let patience = options.timeout * 2 + Duration::from_secs(1);
        let limit = Limit::Interruptible(until + patience);
        let ending = child::run(work, receive, limit);
        (answer.bytes, answer.path, answer.r, answer.evaluations) = found;
        answer.interrupted = interrupts::requested();
        let is_over =
            answer.r == 0 || answer.interrupted || Instant::now() >= until || answer.evaluations >= options.max_evals;
        if ended && ending == Ending::Done || is_over || answer.deaths == DEATHS {
            break;
        }
        // SAFETY: there are as many bytes, and the process that wrote them is gone.
        let last = unsafe { core::slice::from_raw_parts(fatal_inputs.shown.as_ptr(), size) };
        fatal_inputs.known.insert(last.to_vec());
        answer.deaths += 1;
        answer.evaluations += 1;
    }
    answer.seconds = begun.elapsed().as_secs_f64();
    answer
}

/// Sends a find at once, and closer inputs at most every [`SEND_EVERY`].
#[derive(Default)]
struct ProgressSender {
    /// The target has ended its process before: what is held back would be lost with the next one.
    at_once: bool,
    last: Option<Instant>,
    held: Option<ChildMessage>,
}

impl ProgressSender {
    fn progress(&mut self, progress: &Progress, send: &mut dyn FnMut(&ChildMessage)) {
        let message = ChildMessage::Progress {
            goal: progress.goal,
            r: progress.r,
            bytes: progress.bytes.to_vec(),
            evaluations: progress.evaluations,
        };
        let is_due = self.at_once || self.last.is_none_or(|last| last.elapsed() >= SEND_EVERY);
        if progress.r == 0 || is_due {
            self.last = Some(Instant::now());
            self.held = None;
            send(&message);
        } else {
            self.held = Some(message);
        }
    }

    fn rest(&mut self, send: &mut dyn FnMut(&ChildMessage)) {
        if let Some(message) = self.held.take() {
            send(&message);
        }
    }
}

/// Runs an input in a process of its own and records the branches in scope in order; `None` when it ends its process.
pub fn confirm(evaluator: &mut Evaluator, query: &Query, bytes: &[u8], timeout: Duration) -> Option<Confirmed> {
    let mut confirmed = None;
    let work = |send: &mut dyn FnMut(&Confirmed)| {
        silence();
        if evaluator.detach_from_supervisor(timeout).is_ok() {
            send(&record(evaluator, &query.counts, bytes, MAX_PASSES));
        }
    };
    let limit = Limit::Silence(timeout * 2 + Duration::from_secs(1));
    child::run(work, |c| confirmed = Some(c), limit);
    confirmed
}

/// The same in this process, for at most `room` passes.
fn record(evaluator: &mut Evaluator, counts: &[bool], bytes: &[u8], room: usize) -> Confirmed {
    evaluator.set_fuel_cap(evaluator.fuel());
    let (ran, passes) = evaluator.passes(counts, bytes, room);
    let fault = if ran == RunStatus::Faulted { evaluator.fault() } else { None };
    let result = evaluator.output()[0] as u64;
    let (exit, throws) = (evaluator.exit_status(), evaluator.thrown());
    Confirmed { passes: passes.branches, n_passes: passes.n, fault, exit, throws, result }
}

/// A simpler input that takes the path and returns.
fn simplify(evaluator: &mut Evaluator, query: &Query, path: &Path, found: &[u8], timeout: Duration) -> Vec<u8> {
    let mut best = found.to_vec();
    let saturation = Saturation::new(BranchGraph::new(evaluator.target(), &query.scope));
    let until = Instant::now() + SIMPLIFYING;
    let work = |send: &mut dyn FnMut(&Vec<u8>)| {
        silence();
        if evaluator.detach_from_supervisor(timeout).is_err() {
            return;
        }
        evaluator.set_fuel_cap(evaluator.fuel());
        let (layout, is_harness) = (evaluator.function().layout(), evaluator.function().is_harness());
        path.arm(evaluator, &saturation);
        let (mut left, mut x) = (CANDIDATES, found.to_vec());
        simpler(&mut Simplifier::new(), &mut x, &layout, is_harness, |y| {
            if left == 0 || Instant::now() >= until || evaluator.needs_restart() {
                return Verdict::Stop;
            }
            left -= 1;
            if evaluator.run(y) == RunStatus::Returned && evaluator.r() == 0 {
                send(&y.to_vec());
                return Verdict::Holds;
            }
            Verdict::Fails
        });
    };
    child::run(work, |y| best = y, Limit::At(until + timeout * 2));
    best
}

/// The answer where every input will do: the first start point, or the first seed.
///
/// # Errors
/// When the function ends its process.
pub fn any_input(evaluator: &mut Evaluator, query: &Query, options: &Options) -> Result<Answer, Error> {
    evaluator.set_scope(&query.scope.sites);
    let begun = Instant::now();
    let layout = evaluator.function().layout();
    let mut x = vec![0; layout.size()];
    let (mut starts, mut rng) = (StartPoints::new(), StdRand::with_seed(options.seed));
    starts.next(&mut rng, &layout, &Dictionary::general(), &mut x);
    let bytes = options.seeds.first().cloned().unwrap_or(x);
    let confirmed = confirm(evaluator, query, &bytes, options.timeout);
    let confirmed = confirmed.ok_or_else(|| Error::new("the function ends its process for every input"))?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Answer {
        bytes: Some(bytes),
        path: 0,
        r: 0,
        confirmed: Some(confirmed),
        evaluations: 1,
        seconds,
        deaths: 0,
        interrupted: false,
    })
}

/// Records the passes of each input that returns after at most `room` of them, in processes of their own.
#[must_use]
pub fn record_all(
    evaluator: &mut Evaluator,
    counts: &[bool],
    inputs: &[Vec<u8>],
    room: usize,
    timeout: Duration,
) -> Vec<(Vec<u8>, Vec<u32>)> {
    let mut done = Vec::new();
    let mut next = 0;
    while next < inputs.len() {
        let mut received = 0;
        let work = |send: &mut dyn FnMut(&Option<Vec<u32>>)| {
            silence();
            if evaluator.detach_from_supervisor(timeout).is_ok() {
                for x in &inputs[next..] {
                    let run = record(evaluator, counts, x, room);
                    send(&(run.fault.is_none() && run.n_passes <= room).then_some(run.passes));
                }
            }
        };
        let receive = |passes: Option<Vec<u32>>| {
            done.extend(passes.map(|p| (inputs[next + received].clone(), p)));
            received += 1;
        };
        child::run(work, receive, Limit::Silence(timeout * 2 + Duration::from_secs(1)));
        // One that ended its process is left out.
        next += received + 1;
    }
    done
}
