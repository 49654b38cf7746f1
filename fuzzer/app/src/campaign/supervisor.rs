//! The supervisor: starts clients, watches them, and stands for what they cannot do once they are dead.

use core::sync::atomic::{AtomicU32, Ordering};
use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use exporters::Exporters;
use penfuzz_engine::error::Error;
use services::Services;

use super::{
    Options,
    cluster::{self, Role},
    supervisor::{
        client::{Client, Event},
        display::Display,
    },
    worker::{ClientConfig, FarmMember},
    worker_shm::StopReason,
};
use crate::report::{Report, json};

pub mod client;
mod display;
mod exporters;
mod services;
pub mod snapshots;
mod stalled;

/// What a finished campaign leaves.
#[derive(Debug)]
pub struct Finished {
    /// Its report.
    pub report: Report,
    /// Its directory.
    pub dir: PathBuf,
}

/// Longest pause between two looks at the clients.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs a campaign to its end.
///
/// # Errors
/// What the user must know.
pub fn run(options: &Options) -> Result<Finished, Error> {
    catch_interrupts();
    let mut supervisor = Supervisor::new(options)?;
    let result = supervisor.run();
    supervisor.end(&result);
    result
}

struct Supervisor<'a> {
    options: &'a Options,
    begun: Instant,
    clients: Vec<Client>,
    /// Broker and reporter; `None` for a client that is alone.
    services: Option<Services>,
    exporters: Exporters,
    display: Display,
    stop: StopReason,
    /// Why the first client that could not go on could not.
    failure: Option<Error>,
}

impl<'a> Supervisor<'a> {
    fn new(options: &'a Options) -> Result<Self, Error> {
        let begun = Instant::now();
        // First what needs no file: nothing is begun when a port is taken.
        let display = Display::new(options)?;
        let exporters = Exporters::new(options)?;
        let farm = &options.farm;
        let is_farm = !farm.cores.is_empty()
            || !farm.remote_brokers.is_empty()
            || farm.broker_port.is_some()
            || !farm.broker_address.is_loopback();
        let services = if is_farm { Some(Services::new(options, begun)?) } else { None };
        let clients = match &services {
            Some(services) => farm_clients(options, services)?,
            None => {
                vec![Client::new(ClientConfig { number: 0, clients: 1, dir: options.out.clone(), farm: None }, None)?]
            }
        };
        Ok(Self { options, begun, clients, services, exporters, display, stop: StopReason::None, failure: None })
    }

    fn run(&mut self) -> Result<Finished, Error> {
        for client in &mut self.clients {
            client.start(self.options, self.begun)?;
        }
        let started = Instant::now();
        while !self.clients.iter().all(Client::has_ended) {
            self.look_at_clients()?;
            self.look_at_limits();
            if let Some(services) = &mut self.services {
                services.look(self.options, &self.clients, self.begun)?;
            }
            self.show()?;
            std::thread::sleep((started.elapsed() / 8).clamp(Duration::from_micros(500), LOOK_EVERY));
        }
        let dir = match &mut self.services {
            Some(services) => services.finish(self.options, &self.clients, self.begun, self.stop),
            None => Ok(PathBuf::from(self.clients[0].shm().directory.get().unwrap_or_default())),
        };
        let dir = self.failure.take().map_or(dir, Err)?;
        let report = json::read(&dir.join(json::FILE)).map_err(|e| Error::new(e.to_string()))?;
        Ok(Finished { report, dir })
    }

    fn look_at_clients(&mut self) -> Result<(), Error> {
        for i in 0..self.clients.len() {
            for message in self.clients[i].hear() {
                self.display.say(&message);
            }
            match self.clients[i].look(self.options, self.begun)? {
                Event::Nothing => {}
                Event::Thawed => {
                    let name = self.clients[i].place.name();
                    self.display
                        .say(&format!("{name} was stopped by a signal and did not go on; another takes its place"));
                }
                Event::Replaced(how) => self.display.restarted(&self.clients[i], how),
                // They tell each other everything: what one knows to be done is done.
                Event::Finished => self.stop_all(StopReason::Saturated),
                Event::Fruitless => self.stop_all(StopReason::WorkersDie),
                Event::Failed(e) => {
                    // The others come to their ends: what they know is written.
                    self.failure.get_or_insert(e);
                    self.stop_all(StopReason::Interrupted);
                }
            }
        }
        Ok(())
    }

    fn look_at_limits(&mut self) {
        if self.options.max_time.is_some_and(|t| self.begun.elapsed() >= t) {
            self.stop_all(StopReason::MaxTime);
        }
        if INTERRUPTED.load(Ordering::Relaxed) != 0 {
            self.stop_all(StopReason::Interrupted);
        }
        let is_counted_here = self.services.is_some();
        let made: u64 = self.clients.iter().map(|c| c.shm().evaluations.load(Ordering::Relaxed)).sum();
        if is_counted_here && self.options.max_evals.is_some_and(|most| made >= most) {
            self.stop_all(StopReason::MaxEvals);
        }
    }

    fn show(&mut self) -> Result<(), Error> {
        let root = self.services.as_ref().map(Services::dir);
        self.display.tick(&self.clients, root, self.services.as_ref().map(Services::broker), self.begun);
        self.display.dir().map_or(Ok(()), |dir| self.exporters.look(dir))
    }

    fn stop_all(&mut self, reason: StopReason) {
        if self.stop == StopReason::None {
            self.stop = reason;
        }
        for client in &self.clients {
            client.stop(self.stop);
        }
    }

    /// Ends every process that is left, and shows how it ended.
    fn end(&mut self, result: &Result<Finished, Error>) {
        let (root, broker) = (self.services.as_ref().map(Services::dir), self.services.as_ref().map(Services::broker));
        self.display.end(&self.clients, root, broker, self.begun, result.as_ref().map(|f| &f.report));
        for client in &mut self.clients {
            crate::process::service::kill(client.pid());
            client.hear();
        }
        if let Some(services) = &mut self.services {
            services.end();
        }
        self.exporters.end();
    }
}

/// The clients of a farm.
fn farm_clients(options: &Options, services: &Services) -> Result<Vec<Client>, Error> {
    let cores: Vec<Option<usize>> =
        if options.farm.cores.is_empty() { vec![None] } else { options.farm.cores.iter().copied().map(Some).collect() };
    let client = |(number, core)| {
        let dir = services.dir().join(cluster::client_name(number));
        let farm = FarmMember {
            root: services.dir().to_path_buf(),
            role: Role::of(number),
            broker_info: services.broker_info(),
        };
        Client::new(ClientConfig { number, clients: cores.len(), dir: Some(dir), farm: Some(farm) }, core)
    };
    cores.iter().copied().enumerate().map(client).collect()
}

/// Raised by Ctrl-C and SIGTERM.
static INTERRUPTED: AtomicU32 = AtomicU32::new(0);

extern "C" fn on_interrupt(_signal: i32) {
    INTERRUPTED.store(1, Ordering::Relaxed);
}

/// Ctrl-C and SIGTERM end the campaign; its report is still written.
fn catch_interrupts() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic.
        unsafe { libc::signal(signal, on_interrupt as *const () as libc::sighandler_t) };
    }
}
