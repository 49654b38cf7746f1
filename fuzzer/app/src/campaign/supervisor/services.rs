//! The processes of a farm besides its clients: the broker, and now and then a reporter.

use core::sync::atomic::{AtomicU64, Ordering};
use std::{
    fs::File,
    net::TcpListener,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use libafl_bolts::core_affinity;
use penfuzz_engine::{error::Error, executor::fault::signal_name};

use crate::{
    campaign::{
        Options,
        cluster::{
            BrokerInfo, broker,
            reporter::{self, Totals},
        },
        supervisor::{
            client::{self, Client},
            snapshots,
        },
        worker_shm::{StopReason, WorkerShm},
    },
    output::directory,
    process::service,
    watch,
};

/// Pause before a broker is started again.
const BROKER_PAUSE: Duration = Duration::from_millis(500);

/// Time without a beat after which a broker is taken for dead.
const BROKER_SILENCE: Duration = Duration::from_secs(10);

/// Shortest and longest time between two reports; in between, a 60th of the age of the campaign.
const REPORTS: (f64, f64) = (5.0, 120.0);

/// Time for a reporter, which runs every input once more.
const REPORT_TIME: Duration = Duration::from_mins(2);

/// Time for loading a target.
const LOADING_TIME: Duration = Duration::from_mins(10);

/// See the module.
pub struct Services {
    dir: PathBuf,
    /// Held as long as the campaign runs.
    _lock: File,
    broker_info: &'static BrokerInfo,
    public: Option<TcpListener>,
    broker: Broker,
    reporter: Option<i32>,
    reporter_board: *mut WorkerShm,
    next_report: f64,
}

struct Broker {
    pid: i32,
    restarts: u32,
    not_before: Instant,
    last_beat: (u64, Instant),
}

impl Services {
    /// Settles the directory, and opens the port for other machines.
    ///
    /// # Errors
    /// What the user must know: there is no such function, the directory is in use, the port is taken.
    pub fn new(options: &Options, begun: Instant) -> Result<Self, Error> {
        check_cores(&options.farm.cores)?;
        let public = open_port(options)?;
        let dir = look_ahead(options)?;
        let lock = directory::lock(&dir, std::process::id())?;
        let broker_info = BrokerInfo::map()?;
        if let Some(address) = public.as_ref().and_then(|p| p.local_addr().ok()) {
            broker_info.public_port.store(u32::from(address.port()), Ordering::Relaxed);
        }
        let broker = Broker { pid: 0, restarts: 0, not_before: begun, last_beat: (0, begun) };
        Ok(Self {
            dir,
            _lock: lock,
            broker_info,
            public,
            broker,
            reporter: None,
            reporter_board: WorkerShm::map()?,
            next_report: REPORTS.0,
        })
    }

    /// The directory of the campaign.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where the broker is.
    pub fn broker_info(&self) -> &'static BrokerInfo {
        self.broker_info
    }

    /// The broker as it is shown.
    pub fn broker(&self) -> watch::Broker {
        snapshots::broker(self.broker_info, self.broker.restarts)
    }

    /// Looks after broker and reporter.
    ///
    /// # Errors
    /// When the system has no room for a process.
    pub fn look(&mut self, options: &Options, clients: &[Client], begun: Instant) -> Result<(), Error> {
        self.look_at_broker(options)?;
        let seconds = seconds(clients, begun);
        if let Some(pid) = self.reporter {
            if service::ended(pid).is_some() {
                self.reporter = None;
            } else if seconds > self.next_report + REPORT_TIME.as_secs_f64() {
                service::kill(pid);
            }
        }
        if self.reporter.is_none() && seconds >= self.next_report {
            self.next_report = seconds + (seconds / 60.0).clamp(REPORTS.0, REPORTS.1);
            self.reporter = Some(self.report(options, totals(clients, begun, StopReason::None))?);
        }
        Ok(())
    }

    fn look_at_broker(&mut self, options: &Options) -> Result<(), Error> {
        let broker = &mut self.broker;
        let now = Instant::now();
        if broker.pid > 0 {
            let beat = self.broker_info.beat.load(Ordering::Relaxed);
            if beat != broker.last_beat.0 {
                broker.last_beat = (beat, now);
            } else if broker.last_beat.1.elapsed() > BROKER_SILENCE {
                service::kill(broker.pid);
            }
            if service::ended(broker.pid).is_none() {
                return Ok(());
            }
            (broker.pid, broker.not_before) = (0, now + BROKER_PAUSE);
            broker.restarts += 1;
        }
        if now < broker.not_before {
            return Ok(());
        }
        broker.last_beat.1 = now;
        let (broker_info, remote) = (self.broker_info, &options.farm.remote_brokers);
        let public = self.public.as_ref().and_then(|p| p.try_clone().ok());
        broker.pid = service::fork("broker", move || {
            // A thread that fails leaves the others without what it did: better a new broker.
            // SAFETY: ends the process.
            std::panic::set_hook(Box::new(|_| unsafe { libc::_exit(1) }));
            broker::run(broker_info, public, remote).map(|_| ())
        })?;
        Ok(())
    }

    /// Starts a reporter.
    fn report(&self, options: &Options, totals: Totals) -> Result<i32, Error> {
        let (dir, shm) = (self.dir.clone(), self.reporter_board);
        service::fork("report", move || {
            // SAFETY: the child is the only one to write to the shm.
            client::live(unsafe { &mut *shm }, |_| {
                reporter::write(options, &dir, totals).map(|_| crate::campaign::worker::End::Finished)
            })
        })
    }

    /// Writes the last report; returns where it is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(
        &mut self,
        options: &Options,
        clients: &[Client],
        begun: Instant,
        stop: StopReason,
    ) -> Result<PathBuf, Error> {
        if let Some(pid) = self.reporter.take() {
            let _ = service::wait(pid, Duration::ZERO);
        }
        // SAFETY: no reporter runs.
        let shm = unsafe { &*self.reporter_board };
        shm.error.set("");
        let pid = self.report(options, totals(clients, begun, stop))?;
        let status = service::wait(pid, REPORT_TIME);
        if libc::WIFSIGNALED(status) {
            return Err(Error::new(format!(
                "the process that writes the report was killed ({}); what was found is in {}, and the same command goes on",
                signal_name(libc::WTERMSIG(status)),
                self.dir.display()
            )));
        }
        if status != 0 || shm.error.get().is_some() {
            return Err(client::failure(shm));
        }
        Ok(self.dir.clone())
    }

    /// Ends every process that is left.
    pub fn end(&mut self) {
        service::kill(self.broker.pid);
        service::kill(self.reporter.unwrap_or(0));
    }
}

/// Seconds of search over all runs.
pub fn seconds(clients: &[Client], begun: Instant) -> f64 {
    clients.iter().map(|c| c.shm().seconds(begun)).fold(0.0, f64::max)
}

fn totals(clients: &[Client], begun: Instant, stop: StopReason) -> Totals {
    let made = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
    Totals {
        evaluations: clients.iter().map(|c| made(&c.shm().evaluations)).sum(),
        seconds: seconds(clients, begun),
        stop,
    }
}

fn check_cores(cores: &[usize]) -> Result<(), Error> {
    let known: Vec<usize> =
        core_affinity::get_core_ids().map_or_else(|_| cores.to_vec(), |ids| ids.iter().map(|c| c.0).collect());
    match cores.iter().find(|c| !known.contains(c)) {
        Some(core) => {
            let names: Vec<String> = known.iter().map(ToString::to_string).collect();
            Err(Error::new(format!("there is no core {core} here; give --cores of {}", names.join(","))))
        }
        None => Ok(()),
    }
}

/// The port for brokers of other machines, if there is to be one. It is the supervisor's, so that it stays when a broker dies.
fn open_port(options: &Options) -> Result<Option<TcpListener>, Error> {
    let farm = &options.farm;
    if farm.broker_port.is_none() && farm.broker_address.is_loopback() {
        return Ok(None);
    }
    let address = (farm.broker_address, farm.broker_port.unwrap_or(0));
    TcpListener::bind(address).map(Some).map_err(|e| {
        Error::new(format!(
            "cannot listen on {} port {}: {}; give another --broker-port or --broker-address",
            address.0,
            address.1,
            penfuzz_engine::program::kind::plain(&e)
        ))
    })
}

/// Has a process of its own load the target, so that this one never holds anything of it.
fn look_ahead(options: &Options) -> Result<PathBuf, Error> {
    let shm: *mut WorkerShm = WorkerShm::map()?;
    let pid = service::fork("look", move || {
        // SAFETY: the child is the only one to write to the shm.
        client::live(unsafe { &mut *shm }, |shm| crate::campaign::worker::look_ahead(options, shm))
    })?;
    let status = service::wait(pid, LOADING_TIME);
    // SAFETY: the child has ended.
    let shm = unsafe { &*shm };
    if shm.error.get().is_some() {
        return Err(client::failure(shm));
    }
    match shm.directory.get() {
        Some(dir) => Ok(PathBuf::from(dir)),
        None if libc::WIFSIGNALED(status) => Err(client::died_loading(options, libc::WTERMSIG(status))),
        None => Err(client::died_loading(options, 0)),
    }
}
