//! Evaluations in fresh processes: implements [`FreshProcessRunner`] for a campaign and for its reports.
//!
//! A *zygote* is a process that is forked when the target is loaded and nothing has been evaluated yet. It never calls
//! the target. For each request it forks a child, which evaluates and ends. So every evaluation begins with the memory
//! of a process that has just loaded the target, including the heap, the C library and other libraries. State outside
//! of the process, above all files, is not restored.
//!
//! A zygote inherits the filter and the guard of its process, and is killed when that process ends. Requests and
//! answers go through two pipes. Each is preceded by its length in four bytes. An empty answer means that the child
//! died or was too slow, and [`NO_PROCESS`] that the system could not create one. An empty request cancels the previous
//! request and has no answer.
//!
//! A run that may have read uninitialized memory is repeated in further children, each with another content of it
//! ([`uninitialized`](super::uninitialized)).

use core::sync::atomic::{AtomicU32, Ordering};
use std::{
    cell::{Cell, RefCell},
    io::{self, PipeReader, PipeWriter, Read, Write, pipe},
    rc::Rc,
    time::{Duration, Instant},
};

use penfuzz_engine::saturation::Scope;
use penfuzz_executor::{
    Evaluator, Fault,
    evaluator::RunStatus,
    fresh::{FreshProcessRunner, FreshResult},
    uninitialized::{FILLS, Fill},
};
use penfuzz_system::process::{
    child::{self, NoProcess},
    fork, wait,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    long_input::{self, Answer},
    session::silence,
    uninitialized,
};
use crate::rendering::results::{self, RunObservation};

/// Maximum size of an answer in bytes. The limit is needed because a target may write anything into the memory of its
/// process.
const LONGEST: usize = 1 << 26;

/// Time in which a zygote must answer once its child has ended.
const MARGIN: Duration = Duration::from_secs(5);

/// Time that a replay may take after the campaign is requested to stop: its result decides whether a find counts.
const REPLAY_TIME_AFTER_STOP: Duration = Duration::from_secs(1);

/// Stands for the request after its cancellation: the wait for its answer does not depend on the stop flag.
const CANCELLED: Request = Request::Tests(Vec::new());

/// Longest wait between two checks of the stop flag.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// The answer if the system could not create a process. No other answer is one byte long, because all are JSON objects
/// or lists.
const NO_PROCESS: &[u8] = b"!";

static BUSY: AtomicU32 = AtomicU32::new(0);
static STOP: AtomicU32 = AtomicU32::new(0);

/// Flags that a zygote shares with the supervisor of its process.
#[derive(Debug, Clone, Copy)]
pub struct Flags {
    /// 1 while a child evaluates. This process may then do no evaluation for a long time.
    pub busy: &'static AtomicU32,
    /// Not 0 if the campaign is to stop.
    pub stop: &'static AtomicU32,
}

/// Flags for a process without a supervisor.
pub const NO_SUPERVISOR: Flags = Flags { busy: &BUSY, stop: &STOP };

/// The pipes of a zygote. They are made before the system call filter is installed, so that the target cannot close
/// them.
#[derive(Debug)]
pub struct Pipes {
    requests: (PipeReader, PipeWriter),
    answers: (PipeReader, PipeWriter),
}

impl Pipes {
    /// Makes the pipes; `None` if the system has no file descriptors to spare.
    #[must_use]
    pub fn new() -> Option<Self> {
        Some(Self { requests: pipe().ok()?, answers: pipe().ok()? })
    }
}

/// A request for a child.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    /// Evaluate one input and record goals.
    Run(Vec<u8>),
    /// Evaluate one input that has used up its fuel, without a fuel limit.
    Long(Vec<u8>),
    /// The same as `Long`, for a report.
    LongAgain(Vec<u8>),
    /// Evaluate inputs one after another, and record what tests need.
    Tests(Vec<Vec<u8>>),
}

/// What a child does: a request, with uninitialized memory of this value.
#[derive(Debug, Clone, Copy)]
struct Work<'a> {
    request: &'a Request,
    fill: Fill,
}

impl Request {
    /// How long the request may continue after the campaign is requested to stop; `None` for no such limit.
    const fn time_at_end(&self) -> Option<Duration> {
        match self {
            Self::Run(_) => Some(REPLAY_TIME_AFTER_STOP),
            Self::Long(_) => Some(Duration::ZERO),
            // These are for a report, which is written after the stop.
            Self::LongAgain(_) | Self::Tests(_) => None,
        }
    }
}

/// The answer to [`Request::Run`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) hits: Vec<u32>,
    /// As [`FreshResult::Ended`].
    #[serde(default)]
    pub(super) uninitialized: Vec<u32>,
    pub(super) fault: Option<Fault>,
    /// Whether the run may have read uninitialized memory.
    #[serde(default)]
    pub(super) may_differ: bool,
}

/// What the function does for a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The requested branches that the test takes, ascending.
    pub covers: Vec<u32>,
    /// Its result and effects, without those that depend on uninitialized memory.
    pub seen: RunObservation,
    /// The requested branches that it takes with some contents of uninitialized memory, but not with all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uninitialized: Vec<u32>,
    /// Whether its branches, its result or its effects depend on uninitialized memory.
    #[serde(default)]
    pub is_indefinite: bool,
    /// The names of results and effects that do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indefinite: Vec<String>,
    /// Whether the run may have read uninitialized memory.
    #[serde(default)]
    pub(super) may_differ: bool,
}

#[derive(Debug)]
struct Link {
    requests: PipeWriter,
    answers: PipeReader,
    zygote: i32,
}

impl Drop for Link {
    /// Kills the zygote: it has no work that is worth waiting for.
    fn drop(&mut self) {
        wait::kill(self.zygote);
        let _ = wait::join(self.zygote);
    }
}

/// The zygote of this process.
#[derive(Debug, Clone)]
pub struct Zygote {
    link: Rc<RefCell<Link>>,
    timeout: Duration,
    flags: Flags,
    has_differed: Rc<Cell<bool>>,
    is_lost: Rc<Cell<bool>>,
}

impl Zygote {
    /// Starts the zygote. `evaluator` must not have evaluated anything yet; each evaluation may take `timeout`. Returns
    /// `None` if the target has started threads, which a child would lack, or if the system has no process to spare.
    #[must_use]
    pub fn start(
        pipes: Pipes,
        evaluator: &mut Evaluator,
        scope: &Scope,
        timeout: Duration,
        flags: Flags,
    ) -> Option<Self> {
        if fork::has_other_threads() {
            return None;
        }
        let Pipes { requests: (to_serve, requests), answers: (answers, to_answer) } = pipes;
        let mut ends = Some((to_serve, to_answer, requests, answers));
        let zygote = fork::fork(|| {
            let Some((to_serve, to_answer, requests, answers)) = ends.take() else { return 1 };
            drop((requests, answers));
            silence();
            serve(evaluator, scope, timeout, to_serve, to_answer)
        })
        .ok()?;
        let (_, _, requests, answers) = ends?;
        let link = Rc::new(RefCell::new(Link { requests, answers, zygote }));
        Some(Self { link, timeout, flags, has_differed: Rc::default(), is_lost: Rc::default() })
    }

    /// Returns true if the zygote has ended or does not answer. Then nothing can be replayed, and the process should be
    /// replaced.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost.get()
    }

    /// Decides whether an input that has used up its fuel hangs; `None` as for [`long_input::decide`].
    #[must_use]
    pub fn decide(&self, bytes: &[u8]) -> Option<Answer> {
        self.ask(&Request::Long(bytes.to_vec()), long_input::patience(self.timeout)).ok()?
    }

    /// Evaluates these inputs one after another in one fresh process; `None` if one of them ends the process.
    ///
    /// # Errors
    /// [`NoProcess`]: nothing is known about them.
    pub fn tests(&self, inputs: &[&[u8]]) -> Result<Option<Vec<Tested>>, NoProcess> {
        let request = Request::Tests(inputs.iter().map(|x| x.to_vec()).collect());
        let number = u32::try_from(inputs.len()).unwrap_or(u32::MAX);
        let all: Option<Vec<Tested>> = self.ask(&request, patience(self.timeout, number))?;
        Ok(all.filter(|all| all.len() == inputs.len()))
    }

    /// Evaluates an input in a fresh process; `None` if it does not end normally.
    ///
    /// # Errors
    /// [`NoProcess`]: nothing is known about it.
    pub fn test(&self, bytes: &[u8]) -> Result<Option<Tested>, NoProcess> {
        Ok(self.tests(&[bytes])?.and_then(|mut all| all.pop()))
    }

    /// Returns whether an input fails in a fresh process as in `fault`, at the same place; `None` if that cannot be
    /// determined.
    #[must_use]
    pub fn repeats(&self, bytes: &[u8], fault: &Fault) -> Option<bool> {
        let run: Option<Run> = self.ask(&Request::Run(bytes.to_vec()), patience(self.timeout, 1)).ok()?;
        let Some(run) = run else {
            // The child was too slow, or has died of something that cannot be intercepted.
            return (!self.is_lost()).then_some(true);
        };
        let again = match run.fault {
            Some(again) if again.is_out_of_fuel => {
                let request = Request::LongAgain(bytes.to_vec());
                match self.ask(&request, long_input::patience(self.timeout)).ok()?? {
                    Answer::Fails(again) => Some(again),
                    _ => None,
                }
            }
            again => again,
        };
        // If the input kills its process, the place is only a guess from the branches, so it need not be the same.
        Some(again.is_some_and(|again| again.kind == fault.kind && (again.place == fault.place || !fault.is_cheap)))
    }

    /// The answer of a fresh process; `None` if it died or was too slow.
    ///
    /// # Errors
    /// [`NoProcess`]: the system has no process to spare, or the zygote is lost.
    fn ask<A: DeserializeOwned>(&self, request: &Request, patience: Duration) -> Result<Option<A>, NoProcess> {
        if self.is_lost.get() {
            return Err(NoProcess);
        }
        let was_busy = self.flags.busy.swap(1, Ordering::Relaxed);
        let answer = self.exchange(request, Instant::now() + patience + MARGIN);
        self.flags.busy.store(was_busy, Ordering::Relaxed);
        self.is_lost.set(answer.is_err());
        let answer = answer.map_err(|_| NoProcess)?;
        if answer == NO_PROCESS { Err(NoProcess) } else { Ok(serde_json::from_slice(&answer).ok()) }
    }

    fn exchange(&self, request: &Request, deadline: Instant) -> io::Result<Vec<u8>> {
        let Link { requests, answers, .. } = &mut *self.link.borrow_mut();
        write_frame(requests, &serde_json::to_vec(request)?)?;
        if !self.is_answered(answers, request, deadline) {
            write_frame(requests, &[])?;
            if !self.is_answered(answers, &CANCELLED, Instant::now() + MARGIN) {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        read_frame(answers)
    }

    /// Waits for the answer until `deadline`, or after a stop request for as long as the request may continue. Returns
    /// whether there is an answer.
    fn is_answered(&self, answers: &PipeReader, request: &Request, deadline: Instant) -> bool {
        let mut ends_at = None;
        // A tick of the timer can end a wait early.
        while !child::is_readable(answers, POLL_EVERY) {
            if ends_at.is_none() && self.flags.stop.load(Ordering::Relaxed) != 0 {
                ends_at = request.time_at_end().map(|time| Instant::now() + time);
            }
            let now = Instant::now();
            if now >= deadline || ends_at.is_some_and(|at| now >= at) {
                return false;
            }
        }
        true
    }
}

impl FreshProcessRunner for Zygote {
    fn run_fresh(&mut self, bytes: &[u8]) -> FreshResult {
        let run: Result<Option<Run>, _> = self.ask(&Request::Run(bytes.to_vec()), patience(self.timeout, 1));
        match run {
            Ok(Some(Run { hits, uninitialized, fault, .. })) => FreshResult::Ended { hits, uninitialized, fault },
            Ok(None) => FreshResult::Died,
            Err(NoProcess) => FreshResult::NoProcess,
        }
    }

    fn has_differed(&self) -> bool {
        self.has_differed.get()
    }

    fn note_difference(&mut self) {
        self.has_differed.set(true);
    }
}

/// Time for a number of evaluations with all contents of uninitialized memory.
fn patience(timeout: Duration, evaluations: u32) -> Duration {
    child_patience(timeout, evaluations).saturating_mul(FILLS.len() as u32)
}

/// Time for a number of evaluations in one child. A process that takes longer counts as hanging: the alarm has not
/// ended an evaluation.
fn child_patience(timeout: Duration, evaluations: u32) -> Duration {
    (timeout * 2).saturating_mul(evaluations) + Duration::from_secs(1)
}

/// The loop of the zygote: answers requests until the other end is closed. Returns the exit status.
fn serve(
    evaluator: &mut Evaluator,
    scope: &Scope,
    timeout: Duration,
    mut requests: PipeReader,
    mut answers: PipeWriter,
) -> i32 {
    loop {
        let Ok(request) = read_frame(&mut requests) else { return 0 };
        if request.is_empty() {
            continue;
        }
        let Ok(request) = serde_json::from_slice::<Request>(&request) else { return 1 };
        let mut with =
            |fill: Fill| answer_of_child(evaluator, scope, timeout, Work { request: &request, fill }, &requests);
        let answer = match &request {
            Request::Run(_) => uninitialized::run(&mut with),
            Request::Tests(_) => uninitialized::tests(&mut with),
            Request::Long(_) | Request::LongAgain(_) => with(FILLS[0]),
        };
        let answer = answer.unwrap_or_else(|NoProcess| NO_PROCESS.to_vec());
        if write_frame(&mut answers, &answer).is_err() {
            return 1;
        }
    }
}

/// Handles a request in a child of the zygote. Returns its answer.
fn answer_of_child(
    evaluator: &mut Evaluator,
    scope: &Scope,
    timeout: Duration,
    task: Work,
    requests: &PipeReader,
) -> Result<Vec<u8>, NoProcess> {
    let time = match task.request {
        Request::Run(_) => child_patience(timeout, 1),
        Request::Long(_) | Request::LongAgain(_) => long_input::patience(timeout),
        Request::Tests(inputs) => child_patience(timeout, u32::try_from(inputs.len()).unwrap_or(u32::MAX)),
    };
    let mut work = || {
        if evaluator.detach_from_supervisor(timeout).is_ok() {
            work(evaluator, scope, timeout, task)
        } else {
            Vec::new()
        }
    };
    let begun = Instant::now();
    let mut answer = child::answer(&mut work, begun + time, requests);
    // The process may have been killed from outside, for example because memory is short.
    if answer.as_ref().is_ok_and(Vec::is_empty) && begun.elapsed() < time / 4 {
        answer = child::answer(&mut work, begun + time, requests);
    }
    answer.map_err(|_| NoProcess)
}

/// Handles a request in this process, a child of the zygote. Returns the answer.
fn work(evaluator: &mut Evaluator, scope: &Scope, timeout: Duration, Work { request, fill }: Work) -> Vec<u8> {
    evaluator.use_system_heap();
    evaluator.fill_memory(fill);
    let answer = match request {
        Request::Run(bytes) => serde_json::to_vec(&run(evaluator, scope, bytes)),
        Request::Long(bytes) | Request::LongAgain(bytes) => {
            serde_json::to_vec(&long_input::run_here(evaluator, &scope.recorded, bytes, timeout))
        }
        Request::Tests(inputs) => {
            evaluator.arm_records(&scope.recorded);
            let all: Vec<_> = inputs.iter().map_while(|bytes| tested(evaluator, bytes)).collect();
            serde_json::to_vec(&all)
        }
    };
    answer.unwrap_or_default()
}

fn run(evaluator: &mut Evaluator, scope: &Scope, bytes: &[u8]) -> Run {
    evaluator.arm_records(&scope.branches);
    let (ran, hits) = evaluator.run_once(bytes);
    let fault = if ran == RunStatus::Faulted { evaluator.fault() } else { None };
    Run { hits, uninitialized: Vec::new(), fault, may_differ: evaluator.may_have_read_uninitialized() }
}

fn tested(evaluator: &mut Evaluator, bytes: &[u8]) -> Option<Tested> {
    let (covers, seen) = results::call(evaluator, bytes);
    let may_differ = evaluator.may_have_read_uninitialized();
    seen.is_normal().then_some(Tested {
        covers,
        seen,
        uninitialized: Vec::new(),
        is_indefinite: false,
        indefinite: Vec::new(),
        may_differ,
    })
}

fn write_frame(to: &mut PipeWriter, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    to.write_all(&[&length.to_ne_bytes()[..], bytes].concat())
}

fn read_frame(from: &mut PipeReader) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_ne_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}
