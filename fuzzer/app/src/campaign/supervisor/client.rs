//! A client as the supervisor sees it: a worker process, started again whenever it dies.

use core::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use libafl_bolts::core_affinity::CoreId;
use penfuzz_engine::{error::Error, executor::fault::signal_name};

use super::stalled::{self, Standstill, Stopped};
use crate::{
    campaign::{
        Options,
        messages::Messages,
        worker::{self, ClientConfig},
        worker_shm::{StopReason, WorkerEnd, WorkerShm},
    },
    process::service,
    replay::fatal_input::Death as Killed,
};

/// Deaths in a row without a new evaluation before a client that is alone is hopeless.
const HOPELESS: u32 = 3;

/// The same for one of several: somebody may be killing them, and the others go on. Each waits longer before it is replaced.
const HOPELESS_IN_FARM: u32 = 30;

/// What each such death adds to the pause before the next worker, and the longest pause.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Deaths in a row without a new find before the campaign ends with what it has.
const FRUITLESS: u32 = 200;

/// What became of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkerEnding {
    Finished,
    WornOut,
    Failed,
    Killed(Killed),
}

/// What the supervisor must act on.
#[derive(Debug)]
pub enum Event {
    /// It works, or has been started again.
    Nothing,
    /// It was killed and has been started again.
    Replaced(Killed),
    /// It was stopped by a signal, did not go on, and another has taken its place.
    Thawed,
    /// It has come to its end.
    Finished,
    /// Whoever takes its place is killed as well, and nothing new comes of it.
    Fruitless,
    /// It cannot work.
    Failed(Error),
}

/// See the module.
pub struct Client {
    /// Which one it is.
    pub place: ClientConfig,
    /// The core it is bound to.
    pub core: Option<usize>,
    /// Times it was started again after it had been killed.
    pub restarts: u32,
    /// Shared with the worker. The supervisor only reads it or uses its atomics while a worker runs.
    shm: *mut WorkerShm,
    pid: i32,
    /// Dead, to be replaced then.
    rests_until: Option<Instant>,
    has_ended: bool,
    evaluations_before: u64,
    last_count: u64,
    last_change: Instant,
    is_stuck: bool,
    /// Killed because somebody had stopped it.
    is_frozen: bool,
    stopped: Stopped,
    deaths: u32,
    fruitless: u32,
    best: u64,
    messages: Messages,
}

impl Client {
    /// A client that is not started yet.
    ///
    /// # Errors
    /// When the system has no memory to share.
    pub fn new(place: ClientConfig, core: Option<usize>) -> Result<Self, Error> {
        Ok(Self {
            place,
            core,
            restarts: 0,
            shm: WorkerShm::map()?,
            pid: 0,
            rests_until: None,
            has_ended: false,
            evaluations_before: 0,
            last_count: u64::MAX,
            last_change: Instant::now(),
            is_stuck: false,
            is_frozen: false,
            stopped: Stopped::default(),
            deaths: 0,
            fruitless: 0,
            best: 0,
            messages: Messages::default(),
        })
    }

    /// Its shm.
    #[must_use]
    pub fn shm(&self) -> &'static WorkerShm {
        // SAFETY: mapped for ever; see `shm`.
        unsafe { &*self.shm }
    }

    /// Its process; 0 when there is none.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Has it come to its end?
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Prints what it has to say; returns it.
    pub fn hear(&mut self) -> Vec<String> {
        self.messages.print(self.shm())
    }

    /// Was its process stopped by a signal?
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        stalled::is_stopped(self.pid)
    }

    /// Tells it to end, unless it was told so already.
    pub fn stop(&self, reason: StopReason) {
        let _ = self.shm().stop.compare_exchange(0, reason as u32, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Starts its worker.
    ///
    /// # Errors
    /// When the system has no room for a process.
    pub fn start(&mut self, options: &Options, begun: Instant) -> Result<(), Error> {
        self.evaluations_before = self.shm().evaluations.load(Ordering::Relaxed);
        (self.last_count, self.last_change) = (u64::MAX, Instant::now());
        (self.is_stuck, self.is_frozen, self.stopped) = (false, false, Stopped::default());
        let (place, core, shm) = (self.place.clone(), self.core, self.shm);
        self.pid = service::fork(&self.place.name(), move || {
            if let Some(core) = core {
                // Without it the client works as well, but not as fast.
                let _ = CoreId(core).set_affinity();
            }
            // SAFETY: the child is the only one to write to the shm.
            live(unsafe { &mut *shm }, |shm| worker::run(options, &place, begun, shm))
        })?;
        Ok(())
    }

    /// Looks at the worker, and starts another one when it is gone.
    ///
    /// # Errors
    /// When the system has no room for a process.
    pub fn look(&mut self, options: &Options, begun: Instant) -> Result<Event, Error> {
        if self.has_ended {
            return Ok(Event::Nothing);
        }
        if let Some(until) = self.rests_until {
            if Instant::now() >= until || self.shm().stop_reason() != StopReason::None {
                self.rests_until = None;
                self.start(options, begun)?;
            }
            return Ok(Event::Nothing);
        }
        let Some(status) = service::ended(self.pid) else {
            self.look_for_progress(options);
            return Ok(Event::Nothing);
        };
        self.pid = 0;
        if self.is_frozen {
            // The input of a worker that somebody stopped is not to blame.
            self.restarts += 1;
            return self.start(options, begun).map(|()| Event::Thawed);
        }
        match death(self.shm(), status, self.is_stuck) {
            WorkerEnding::Finished => {
                self.has_ended = true;
                Ok(Event::Finished)
            }
            WorkerEnding::WornOut => self.start(options, begun).map(|()| Event::Nothing),
            WorkerEnding::Failed => {
                self.has_ended = true;
                Ok(Event::Failed(failure(self.shm())))
            }
            WorkerEnding::Killed(killed) => self.replace(options, begun, killed),
        }
    }

    /// A worker that makes no progress, because even the alarm does not help, is killed.
    fn look_for_progress(&mut self, options: &Options) {
        let count = self.shm().evaluations.load(Ordering::Relaxed);
        let patience = options.timeout * 4 + Duration::from_secs(5);
        if count != self.last_count {
            (self.last_count, self.last_change) = (count, Instant::now());
            self.stopped.moves();
        } else if self.last_change.elapsed() > patience && self.shm().searching.load(Ordering::Acquire) != 0 {
            let standstill = self.stopped.look(self.pid);
            (self.is_stuck, self.is_frozen) = (standstill == Standstill::Hangs, standstill == Standstill::Stopped);
            if standstill != Standstill::Continued {
                service::kill(self.pid);
            }
        }
    }

    /// Leaves the input that was under evaluation to the next worker, which finds out what it did.
    fn note_fatal_input(&mut self, killed: Killed) {
        // SAFETY: no worker lives.
        let shm = unsafe { &mut *self.shm };
        let size = shm.input_size.load(Ordering::Relaxed) as usize;
        let input = shm.input[..size].to_vec();
        // With so many that there is no room, one more or less does not matter.
        let _ = shm.note_fatal_input(killed.to_number(), &input);
    }

    fn replace(&mut self, options: &Options, begun: Instant, killed: Killed) -> Result<Event, Error> {
        let shm = self.shm();
        // Of a farm it is known that the target can be loaded.
        if shm.searching.load(Ordering::Acquire) == 0 && self.place.farm.is_none() {
            self.has_ended = true;
            return Ok(Event::Failed(died_loading(options, killed.signal)));
        }
        let progress = shm.evaluations.load(Ordering::Relaxed) > self.evaluations_before;
        self.deaths = if progress { 0 } else { self.deaths + 1 };
        let hopeless = if self.place.farm.is_some() { HOPELESS_IN_FARM } else { HOPELESS };
        if self.deaths >= hopeless {
            self.has_ended = true;
            let how = signal_name(killed.signal);
            return Ok(Event::Failed(Error::new(format!("workers keep dying ({how}); giving up"))));
        }
        let found = [&shm.covered, &shm.crashes, &shm.hangs].iter().map(|c| c.load(Ordering::Relaxed)).sum();
        self.fruitless = if found > self.best { 0 } else { self.fruitless + 1 };
        self.best = self.best.max(found);
        self.restarts += 1;
        self.note_fatal_input(killed);
        if self.deaths > 1 && self.place.farm.is_some() {
            self.rests_until = Some(Instant::now() + (PAUSE.0 * self.deaths).min(PAUSE.1));
        } else {
            self.start(options, begun)?;
        }
        Ok(if self.fruitless >= FRUITLESS { Event::Fruitless } else { Event::Replaced(killed) })
    }
}

/// The whole life of a process that shares a shm with the supervisor and does `work`.
pub(super) fn live(
    shm: &'static mut WorkerShm,
    work: impl FnOnce(&'static mut WorkerShm) -> Result<worker::End, Error>,
) -> Result<(), Error> {
    let address = &raw mut *shm as usize;
    std::panic::set_hook(Box::new(move |info| {
        // SAFETY: a panicking worker does nothing else with the shm.
        let shm = unsafe { &*(address as *const WorkerShm) };
        shm.error.set(&format!("penfuzz failed in a way it should not ({info}); please report it"));
        leave(shm, WorkerEnd::Failed)
    }));
    let shm: *mut WorkerShm = shm;
    // SAFETY: the worker's own use of the shm has ended when it has failed.
    let result = work(unsafe { &mut *shm });
    // SAFETY: as above.
    let shm = unsafe { &*shm };
    let end = match result {
        Ok(worker::End::Finished) => WorkerEnd::Finished,
        Ok(worker::End::WornOut) => WorkerEnd::WornOut,
        Err(e) => {
            shm.error.set(&e.to_string());
            WorkerEnd::Failed
        }
    };
    leave(shm, end)
}

/// Ends the worker without running the destructors of a target that may be in any state.
fn leave(shm: &WorkerShm, end: WorkerEnd) -> ! {
    shm.end.store(end as u32, Ordering::Release);
    // SAFETY: ends the process.
    unsafe { libc::_exit(0) }
}

/// Why a process that shares the shm could not work.
pub(super) fn failure(shm: &WorkerShm) -> Error {
    Error::new(shm.error.get().unwrap_or_else(|| "the worker failed without a word".to_owned()))
}

fn death(shm: &WorkerShm, status: i32, stuck: bool) -> WorkerEnding {
    let end = shm.end.swap(WorkerEnd::None as u32, Ordering::Acquire);
    match end {
        e if e == WorkerEnd::Finished as u32 => WorkerEnding::Finished,
        e if e == WorkerEnd::WornOut as u32 => WorkerEnding::WornOut,
        e if e == WorkerEnd::Failed as u32 => WorkerEnding::Failed,
        // The target ended the process by a way that nothing intercepts.
        _ if libc::WIFEXITED(status) => WorkerEnding::Killed(Killed { signal: 0, stuck: false }),
        _ => WorkerEnding::Killed(Killed { signal: libc::WTERMSIG(status), stuck }),
    }
}

/// The target ends the process in its constructors.
pub(super) fn died_loading(options: &Options, signal: i32) -> Error {
    Error::new(format!(
        "{} ends the process while it is being loaded ({}), before any function is called: look at its constructors",
        options.target.display(),
        if signal == 0 { "exit".to_owned() } else { signal_name(signal) }
    ))
}
