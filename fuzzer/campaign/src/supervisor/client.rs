//! The supervisor's view of a client: a worker process that is replaced when it dies.

use core::sync::atomic::Ordering;
use std::{
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::{Duration, Instant},
};

use libafl_bolts::core_affinity::CoreId;
use penfuzz_directory::replay::fatal_input::Death;
use penfuzz_error::Error;
use penfuzz_executor::fault::signal_name;
use penfuzz_system::{
    files::{destination::Unusable, reserve},
    process::{service, wait},
};

use super::stalled::{self, Standstill, Stopped};
use crate::{
    messages::Messages,
    options::Options,
    worker::{self, ClientConfig},
    worker_shm::{StopReason, WorkerEnd, WorkerShm},
};

/// Number of consecutive deaths without a new evaluation after which a single client fails.
const MAX_DEATHS: u32 = 3;

/// The same limit for one of several clients: a user may be killing them, and the others continue. The pause before
/// each replacement grows.
const MAX_DEATHS_IN_FARM: u32 = 30;

/// The time that each such death adds to the pause before the next worker, and the longest pause.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Additional time without an evaluation that is allowed while a worker writes files.
const REPORT_TIME: Duration = Duration::from_mins(2);

/// Number of consecutive deaths without a new find after which the campaign ends with its results so far.
const MAX_DEATHS_WITHOUT_FIND: u32 = 200;

/// Number of consecutive workers that need a restart without a new evaluation after which the campaign fails.
const IDLE: u32 = 50;

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkerEnding {
    Finished,
    Stuck,
    NeedsRestart,
    Failed,
    /// Memory that the worker needs was damaged, probably by the target.
    Panicked,
    Killed(Death),
}

/// An event that the supervisor must react to.
#[derive(Debug)]
pub enum Event {
    /// The worker runs, or one that needed a restart has been replaced.
    Nothing,
    /// The worker was killed, and has been or will be replaced.
    Replaced(Death),
    /// The worker was stopped by a signal, did not continue, and has been replaced.
    StoppedReplaced,
    /// The worker has finished.
    Finished,
    /// The worker has ended because it finds nothing new.
    Stuck,
    /// Every replacement worker is killed as well, and nothing new is found.
    NoProgress,
    /// No worker can continue.
    Failed(Error),
    /// Each worker that is to write the last report is killed.
    NoReport(Error),
}

/// One client of a campaign: its shared memory, its worker process if one runs, and the history of its deaths.
pub struct Client {
    /// The configuration that identifies the client.
    pub place: ClientConfig,
    /// The core that the client is bound to.
    pub core: Option<usize>,
    /// Number of workers that were replaced because they were killed or stopped.
    pub restarts: u32,
    shm: &'static WorkerShm,
    pid: i32,
    /// When a replacement for the dead worker is started.
    paused_until: Option<Instant>,
    has_ended: bool,
    evaluations_before: u64,
    last_count: u64,
    last_change: Instant,
    /// The total time that the worker had waited for a processor at `last_change`.
    last_queued: Duration,
    /// The worker was killed because its target hung.
    is_stuck: bool,
    /// The worker was killed because it was stopped by a signal and did not continue.
    was_stopped: bool,
    stopped: Stopped,
    deaths: u32,
    /// Number of consecutive workers that needed a restart without a new evaluation.
    idle: u32,
    deaths_without_find: u32,
    best: u64,
    messages: Messages,
    /// The output directory.
    dir: Option<PathBuf>,
    /// Number of workers that died after the campaign was to end.
    deaths_at_end: u32,
    /// The number of panics of workers.
    panics: u32,
}

impl Client {
    /// Creates a client whose worker is not started yet.
    ///
    /// # Errors
    /// When the system cannot provide shared memory.
    pub fn new(place: ClientConfig, core: Option<usize>) -> Result<Self, Error> {
        Ok(Self {
            place,
            core,
            restarts: 0,
            shm: WorkerShm::map()?,
            pid: 0,
            paused_until: None,
            has_ended: false,
            evaluations_before: 0,
            last_count: u64::MAX,
            last_change: Instant::now(),
            last_queued: Duration::ZERO,
            is_stuck: false,
            was_stopped: false,
            stopped: Stopped::default(),
            deaths: 0,
            idle: 0,
            deaths_without_find: 0,
            best: 0,
            messages: Messages::default(),
            dir: None,
            deaths_at_end: 0,
            panics: 0,
        })
    }

    /// The memory that the client shares with its worker.
    #[must_use]
    pub fn shm(&self) -> &'static WorkerShm {
        self.shm
    }

    /// The process ID of the worker; 0 if none runs.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether the client has finished or failed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Prints the new messages of the worker, and returns them.
    pub fn print_messages(&mut self) -> Vec<String> {
        self.messages.print(self.shm())
    }

    /// Whether the worker is stopped by a signal.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        stalled::is_stopped(self.pid)
    }

    /// The output directory, once a worker has chosen it. Read before the target runs, which can overwrite the memory
    /// that it shares with this process.
    #[must_use]
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    fn read_directory(&mut self) {
        if self.dir.is_none() && self.shm().directory_is_read.load(Ordering::Relaxed) == 0 {
            self.dir = self.shm().directory.get().map(PathBuf::from);
            self.shm().directory_is_read.store(self.dir.is_some().into(), Ordering::Release);
        }
    }

    /// Kills a worker that does not end in time. The next one does only what the report needs.
    pub fn kill(&self) {
        wait::kill(self.pid);
    }

    /// Asks the worker to end. The first `reason` given is kept.
    pub fn stop(&self, reason: StopReason) {
        let _ = self.shm().stop.compare_exchange(0, reason as u32, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Starts a worker.
    ///
    /// # Errors
    /// When the system cannot create a process.
    pub fn start(&mut self, options: &Options, begun: Instant) -> Result<(), Error> {
        self.evaluations_before = self.shm().evaluations.load(Ordering::Relaxed);
        self.shm().reporting.store(0, Ordering::Relaxed);
        self.shm().restoring.store(0, Ordering::Relaxed);
        (self.last_count, self.last_change) = (u64::MAX, Instant::now());
        (self.is_stuck, self.was_stopped, self.stopped) = (false, false, Stopped::default());
        let (place, core, shm) = (self.place.clone(), self.core, self.shm);
        self.pid = service::start(&self.place.name(), move || {
            if let Some(core) = core {
                // An unbound worker works as well, but more slowly.
                let _ = CoreId(core).set_affinity();
            }
            work_and_exit(shm, || {
                let ended = worker::run(options, &place, begun, shm);
                // A campaign that never had enough descriptors fails at once.
                if shm.searching.load(Ordering::Acquire) == 0 { ended } else { again_without_descriptors(ended) }
            })
        })?;
        Ok(())
    }

    /// Starts a new worker after one that ended as stuck.
    ///
    /// # Errors
    /// When the system cannot create a process.
    pub fn resume(&mut self, options: &Options, begun: Instant) -> Result<(), Error> {
        self.has_ended = false;
        self.shm().seeds_tried.store(0, Ordering::Relaxed);
        self.start(options, begun)
    }

    /// Kills a worker that does not end, and marks the client as ended.
    pub fn abandon(&mut self) {
        wait::kill(self.pid);
        let _ = wait::wait_until(self.pid, Instant::now());
        (self.pid, self.has_ended) = (0, true);
    }

    /// Polls the worker, and replaces it if it has died or needs a restart.
    ///
    /// # Errors
    /// When the system cannot create a process.
    pub fn poll(&mut self, options: &Options, begun: Instant) -> Result<Event, Error> {
        if self.has_ended {
            return Ok(Event::Nothing);
        }
        self.read_directory();
        if let Some(until) = self.paused_until {
            if Instant::now() >= until || self.shm().stop_reason() != StopReason::None {
                self.paused_until = None;
                self.start_when_possible(options, begun)?;
            }
            return Ok(Event::Nothing);
        }
        let Some(ended) = wait::poll(self.pid) else {
            self.check_progress(options);
            return Ok(Event::Nothing);
        };
        self.pid = 0;
        if self.shm().restoring.load(Ordering::Relaxed) != 0 {
            self.shm().failed_restores.fetch_add(1, Ordering::Relaxed);
        }
        if self.was_stopped {
            // The input did not cause this, so it is not recorded as a fatal one.
            self.restarts += 1;
            return self.start_when_possible(options, begun).map(|()| Event::StoppedReplaced);
        }
        match ending(self.shm(), ended.status, self.is_stuck) {
            WorkerEnding::Finished => {
                self.has_ended = true;
                Ok(Event::Finished)
            }
            WorkerEnding::Stuck => {
                self.has_ended = true;
                Ok(Event::Stuck)
            }
            WorkerEnding::NeedsRestart => self.restart(options, begun),
            WorkerEnding::Failed => {
                self.has_ended = true;
                Ok(Event::Failed(failure(self.shm())))
            }
            WorkerEnding::Panicked if self.shm().searching.load(Ordering::Acquire) == 0 => {
                self.has_ended = true;
                Ok(Event::Failed(failure(self.shm())))
            }
            WorkerEnding::Panicked => {
                self.panics += 1;
                self.replace(options, begun, Death::DAMAGED)
            }
            WorkerEnding::Killed(killed) => self.replace(options, begun, killed),
        }
    }

    /// Starts a worker, or tries it again later if the system has no process to spare.
    fn start_when_possible(&mut self, options: &Options, begun: Instant) -> Result<(), Error> {
        match self.start(options, begun) {
            Err(e) if self.shm().stop_reason() != StopReason::None && self.paused_until.is_none() => Err(e),
            Err(_) => {
                self.paused_until = Some(Instant::now() + PAUSE.0);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Kills a worker that makes no progress because not even the alarm ends its evaluation.
    fn check_progress(&mut self, options: &Options) {
        let count = self.shm().evaluations.load(Ordering::Relaxed);
        let is_reporting = self.shm().reporting.load(Ordering::Relaxed) != 0;
        let patience =
            options.settings.limits().timeout * 4 + if is_reporting { REPORT_TIME } else { Duration::from_secs(5) };
        if count != self.last_count {
            (self.last_count, self.last_change) = (count, Instant::now());
            self.last_queued = wait::time_in_queue(self.pid);
            self.stopped.has_progressed();
            return;
        }
        // On an overloaded machine, the worker may be waiting for a processor.
        let queued = || wait::time_in_queue(self.pid).saturating_sub(self.last_queued);
        let elapsed = self.last_change.elapsed();
        let is_late = elapsed > patience && elapsed > patience + queued();
        if is_late && self.shm().searching.load(Ordering::Acquire) != 0 {
            let standstill = self.stopped.check(self.pid);
            (self.is_stuck, self.was_stopped) = (standstill == Standstill::Hangs, standstill == Standstill::Stopped);
            if standstill != Standstill::Continued {
                wait::kill(self.pid);
            }
        }
    }

    /// Replaces a worker that needs a restart.
    fn restart(&mut self, options: &Options, begun: Instant) -> Result<Event, Error> {
        self.idle = if self.has_progressed() { 0 } else { self.idle + 1 };
        if self.idle >= IDLE && self.shm().stop_reason() == StopReason::None {
            self.shm().warn(
                "workers end one after another without a new evaluation, because inputs of the campaign leak much \
                 memory or take as long as `--timeout`; raise --memory-limit and --timeout",
            );
            return self.end_without_search(options, begun);
        }
        self.start_when_possible(options, begun).map(|()| Event::Nothing)
    }

    /// Starts a worker that only writes the report, because no worker can search.
    fn end_without_search(&mut self, options: &Options, begun: Instant) -> Result<Event, Error> {
        self.stop(StopReason::WorkersDie);
        self.start_when_possible(options, begun).map(|()| Event::NoProgress)
    }

    /// Whether the worker that ended made at least one evaluation.
    fn has_progressed(&self) -> bool {
        self.shm().evaluations.load(Ordering::Relaxed) > self.evaluations_before
    }

    fn replace(&mut self, options: &Options, begun: Instant, killed: Death) -> Result<Event, Error> {
        let shm = self.shm();
        // In a farm, the target was loaded once before the clients started.
        if shm.searching.load(Ordering::Acquire) == 0 && self.place.farm.is_none() {
            self.has_ended = true;
            return Ok(Event::Failed(died_loading(options, killed.signal)));
        }
        if shm.stop_reason() != StopReason::None {
            return self.replace_at_end(options, begun, killed);
        }
        self.deaths = if self.has_progressed() { 0 } else { self.deaths + 1 };
        let hopeless = if self.place.farm.is_some() { MAX_DEATHS_IN_FARM } else { MAX_DEATHS };
        if self.deaths >= hopeless {
            let how = killed.cause();
            shm.warn(&format!("workers are killed one after another ({how}) without a new evaluation"));
            return self.end_without_search(options, begun);
        }
        let found = [&shm.covered, &shm.crashes, &shm.hangs].map(|c| c.load(Ordering::Relaxed));
        let found = found.into_iter().fold(0, u64::saturating_add);
        self.deaths_without_find = if found > self.best { 0 } else { self.deaths_without_find + 1 };
        self.best = self.best.max(found);
        self.restarts += 1;
        // The next worker determines what the input did. If the table of fatal inputs is full, this one is dropped.
        // While a report is written, the input that is noted there was not the cause.
        if shm.reporting.load(Ordering::Relaxed) == 0 {
            let _ = shm.note_fatal_input(killed.to_number());
        }
        if self.deaths > 1 && self.place.farm.is_some() {
            self.paused_until = Some(Instant::now() + (PAUSE.0 * self.deaths).min(PAUSE.1));
        } else {
            self.start_when_possible(options, begun)?;
        }
        Ok(if self.deaths_without_find >= MAX_DEATHS_WITHOUT_FIND {
            Event::NoProgress
        } else {
            Event::Replaced(killed)
        })
    }

    /// Replaces a worker that died after the campaign was to end: it was about to write the report.
    fn replace_at_end(&mut self, options: &Options, begun: Instant, killed: Death) -> Result<Event, Error> {
        self.deaths_at_end += 1;
        if self.deaths_at_end >= MAX_DEATHS {
            self.has_ended = true;
            return Ok(Event::NoReport(Error::new(format!(
                "the process that writes the report is killed again and again ({})",
                killed.cause()
            ))));
        }
        self.start_when_possible(options, begun).map(|()| Event::Nothing)
    }
}

/// Maximum time that a process waits for descriptors before it ends.
const DESCRIPTOR_PAUSE: Duration = Duration::from_secs(5);

/// Lets another process try again what failed because this one may open no more files: limits can be lowered for a
/// while. Waits until a descriptor is free, so that the next process does not fail at once.
pub(super) fn again_without_descriptors(ended: Result<worker::End, Error>) -> Result<worker::End, Error> {
    if ended.is_ok() || reserve::is_left() {
        return ended;
    }
    let until = Instant::now() + DESCRIPTOR_PAUSE;
    while Instant::now() < until && !reserve::is_left() {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(worker::End::NeedsRestart)
}

/// Runs `work` in a process that shares `shm` with the supervisor, records there how it ended, and exits.
pub(super) fn work_and_exit(
    shm: &'static WorkerShm,
    work: impl FnOnce() -> Result<worker::End, Error>,
) -> Result<(), Error> {
    service::close_listeners();
    let worker = std::process::id();
    std::panic::set_hook(Box::new(move |info| {
        if std::process::id() != worker {
            // A child of the worker.
            std::process::abort();
        }
        shm.error.set(&format!("penfuzz failed in a way it should not ({info}); please report it"));
        exit(shm, WorkerEnd::Panicked)
    }));
    let end = match work() {
        Ok(worker::End::Finished) => WorkerEnd::Finished,
        Ok(worker::End::Stuck) => WorkerEnd::Stuck,
        Ok(worker::End::NeedsRestart) => WorkerEnd::NeedsRestart,
        Err(e) => {
            shm.error.set(&e.to_string());
            shm.is_unusable.store(u32::from(Unusable::is_cause_of(&e)), Ordering::Release);
            WorkerEnd::Failed
        }
    };
    exit(shm, end)
}

/// Ends the worker without running the destructors of the target, whose state may be inconsistent.
fn exit(shm: &WorkerShm, end: WorkerEnd) -> ! {
    shm.end.store(end as u32, Ordering::Release);
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// The error that a process recorded in `shm`.
pub(super) fn failure(shm: &WorkerShm) -> Error {
    let message = shm.error.get().unwrap_or_else(|| "the worker failed without a message".to_owned());
    if shm.is_unusable.load(Ordering::Acquire) == 0 {
        Error::new(message)
    } else {
        Error::from_source(Unusable(message))
    }
}

fn ending(shm: &WorkerShm, status: ExitStatus, stuck: bool) -> WorkerEnding {
    let end = shm.end.swap(WorkerEnd::None as u32, Ordering::Acquire);
    match end {
        e if e == WorkerEnd::Finished as u32 => WorkerEnding::Finished,
        e if e == WorkerEnd::Stuck as u32 => WorkerEnding::Stuck,
        e if e == WorkerEnd::NeedsRestart as u32 => WorkerEnding::NeedsRestart,
        e if e == WorkerEnd::Failed as u32 => WorkerEnding::Failed,
        e if e == WorkerEnd::Panicked as u32 => WorkerEnding::Panicked,
        _ => match status.signal() {
            // The target exited in a way that is not intercepted.
            None => WorkerEnding::Killed(Death { signal: 0, stuck: false }),
            Some(signal) => WorkerEnding::Killed(Death { signal, stuck }),
        },
    }
}

/// The error for a target that ends the process in its constructors, by `signal`, or by an exit if it is 0.
pub(super) fn died_loading(options: &Options, signal: i32) -> Error {
    Error::new(format!(
        "{} ends the process while it is being loaded ({}), before any function is called; check its constructors",
        options.settings.target.display(),
        if signal == 0 { "exit".to_owned() } else { signal_name(signal) }
    ))
}
