//! Manages the processes of a farm other than its clients: the broker, and a reporter that runs from time to time.

use core::sync::atomic::{AtomicU64, Ordering};
use std::{
    fs::File,
    net::TcpListener,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    rc::Rc,
    time::{Duration, Instant},
};

use libafl_bolts::core_affinity;
use penfuzz_directory::output::{directory, recovery};
use penfuzz_error::Error;
use penfuzz_executor::fault::signal_name;
use penfuzz_system::process::{interrupts::SecondCtrlC, service, wait};

use crate::{
    cluster::{
        BrokerInfo,
        broker::{self, BrokerConfig},
        reporter::{self, Totals},
        secret::Secret,
        sockets::Sockets,
    },
    messages::Messages,
    options::{Farm, Options},
    supervisor::{
        client::{self, Client},
        snapshots,
    },
    watch, worker,
    worker_shm::{StopReason, WorkerEnd, WorkerShm},
};

/// Pause before a broker is restarted.
const BROKER_PAUSE: Duration = Duration::from_millis(500);

/// Time without a heartbeat after which a broker is considered dead.
const BROKER_SILENCE: Duration = Duration::from_secs(10);

/// Shortest and longest time in seconds between two reports; in between, a 60th of the age of the campaign.
const REPORTS: (f64, f64) = (5.0, 120.0);

/// Time limit of a reporter, which runs every input once more.
const REPORT_TIME: Duration = Duration::from_mins(2);

/// Number of attempts at the last report if the reporter is killed.
const REPORT_ATTEMPTS: u32 = 3;

/// Number of attempts to start the last reporter if the system has no process to spare, and the pause after each: three
/// seconds in all.
const START_ATTEMPTS: u32 = 30;
const START_PAUSE: Duration = Duration::from_millis(100);

/// Pause between two polls of the last reporter.
const POLL_EVERY: Duration = Duration::from_millis(1);

/// Time limit for loading a target.
const LOADING_TIME: Duration = Duration::from_mins(10);

/// The broker and the reporter of a farm, and their resources: the directory with its lock, the port for other
/// machines, shared memory.
pub struct FarmProcesses {
    dir: PathBuf,
    /// Held as long as the campaign runs.
    _lock: File,
    broker_info: &'static BrokerInfo,
    /// The sockets between broker and clients; a new broker uses the same ones.
    sockets: Rc<Sockets>,
    public: Option<TcpListener>,
    secret: Secret,
    broker: Broker,
    broker_messages: Messages,
    reporter: Option<i32>,
    reporter_shm: &'static WorkerShm,
    next_report: f64,
}

struct Broker {
    pid: i32,
    restarts: u32,
    not_before: Instant,
    last_beat: (u64, Instant),
    shm: &'static WorkerShm,
}

impl FarmProcesses {
    /// Determines the directory and locks it, and opens the port for other machines.
    ///
    /// # Errors
    /// When the function or a core does not exist, or the directory or the port is in use.
    pub fn new(options: &Options, begun: Instant) -> Result<Self, Error> {
        check_cores(&options.run.farm.cores)?;
        let secret = read_secret(options)?;
        let public = open_port(options)?;
        let dir = probe(options)?;
        let lock = directory::lock(&dir, std::process::id())?;
        recovery::remove_temporary(&dir, &["", "tests"]);
        let broker_info = BrokerInfo::map()?;
        if let Some(address) = public.as_ref().and_then(|p| p.local_addr().ok()) {
            broker_info.public_port.store(u32::from(address.port()), Ordering::Relaxed);
        }
        let broker = Broker { pid: 0, restarts: 0, not_before: begun, last_beat: (0, begun), shm: WorkerShm::map()? };
        Ok(Self {
            dir,
            _lock: lock,
            broker_info,
            sockets: Rc::new(Sockets::new(options.run.farm.cores.len().max(1))?),
            public,
            secret,
            broker,
            broker_messages: Messages::default(),
            reporter: None,
            reporter_shm: WorkerShm::map()?,
            next_report: REPORTS.0,
        })
    }

    /// The directory of the campaign.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The memory that the broker shares with the clients.
    pub fn broker_info(&self) -> &'static BrokerInfo {
        self.broker_info
    }

    /// The sockets between broker and clients.
    pub fn sockets(&self) -> Rc<Sockets> {
        Rc::clone(&self.sockets)
    }

    /// Prints the new messages of the broker, and returns them.
    pub fn print_messages(&mut self) -> Vec<String> {
        self.broker_messages.print(self.broker.shm)
    }

    /// The displayed state of the broker.
    pub fn broker(&self) -> watch::Broker {
        snapshots::broker(self.broker_info, self.broker.restarts)
    }

    /// Polls broker and reporter, and starts them when they are due; later, if the system has no process to spare.
    pub fn poll(&mut self, options: &Options, clients: &[Client], begun: Instant) {
        self.poll_broker(options);
        let seconds = seconds(clients, begun);
        if let Some(pid) = self.reporter {
            if wait::poll(pid).is_some() {
                self.reporter = None;
            } else if seconds > self.next_report + REPORT_TIME.as_secs_f64() {
                wait::kill(pid);
            }
        }
        if self.reporter.is_none() && seconds >= self.next_report {
            self.next_report = seconds + (seconds / 60.0).clamp(REPORTS.0, REPORTS.1);
            self.reporter = self.report(options, totals(clients, begun, StopReason::None)).ok();
        }
    }

    fn poll_broker(&mut self, options: &Options) {
        let broker = &mut self.broker;
        let now = Instant::now();
        if broker.pid > 0 {
            let beat = self.broker_info.beat.load(Ordering::Relaxed);
            if beat != broker.last_beat.0 {
                broker.last_beat = (beat, now);
            } else if broker.last_beat.1.elapsed() > BROKER_SILENCE {
                wait::kill(broker.pid);
            }
            if wait::poll(broker.pid).is_none() {
                return;
            }
            (broker.pid, broker.not_before) = (0, now + BROKER_PAUSE);
            broker.restarts += 1;
        }
        if now < broker.not_before {
            return;
        }
        (broker.last_beat.1, broker.not_before) = (now, now + BROKER_PAUSE);
        let (broker_info, sockets, shm) = (self.broker_info, &self.sockets, broker.shm);
        let public = self.public.as_ref().and_then(|p| p.try_clone().ok());
        let outside =
            BrokerConfig { public, remote: &options.run.farm.remote_brokers, secret: self.secret.clone(), shm };
        let started = service::start("broker", move || {
            // SAFETY: ends the process. A thread that panics would leave the broker without the link that the thread
            // served: a new broker has all links.
            std::panic::set_hook(Box::new(|_| unsafe { libc::_exit(1) }));
            broker::run(broker_info, sockets.take_broker_ends(), outside).map(|_| ())
        });
        broker.pid = started.unwrap_or(0);
    }

    /// Starts a reporter.
    fn report(&self, options: &Options, totals: Totals) -> Result<i32, Error> {
        let (dir, shm, sockets) = (self.dir.clone(), self.reporter_shm, &self.sockets);
        service::start("report", move || {
            sockets.close();
            client::work_and_exit(shm, || {
                let written = reporter::write(options, &dir, totals);
                client::again_without_descriptors(
                    written.map(
                        |is_complete| {
                            if is_complete { worker::End::Finished } else { worker::End::NeedsRestart }
                        },
                    ),
                )
            })
        })
    }

    /// Writes the last report, and returns its directory.
    ///
    /// # Errors
    /// When the report cannot be written within [`REPORT_TIME`], or a second Ctrl-C arrives before.
    pub fn finish(
        &mut self,
        options: &Options,
        clients: &[Client],
        begun: Instant,
        stop: StopReason,
        second_ctrl_c: &mut SecondCtrlC,
    ) -> Result<PathBuf, Error> {
        if let Some(pid) = self.reporter.take() {
            let _ = wait::wait_until(pid, Instant::now());
        }
        let deadline = Instant::now() + REPORT_TIME;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let is_over = |second: &mut SecondCtrlC| second.poll() || Instant::now() >= deadline;
            let status = match self.last_report(options, totals(clients, begun, stop), || is_over(second_ctrl_c)) {
                Ok(status) => status,
                // The system has no process to spare now.
                Err(_) if attempts < START_ATTEMPTS && !is_over(second_ctrl_c) => {
                    std::thread::sleep(START_PAUSE);
                    continue;
                }
                Err(e) => return Err(e),
            };
            let is_incomplete = self.reporter_shm.end.load(Ordering::Acquire) == WorkerEnd::NeedsRestart as u32;
            match status.signal().or_else(|| is_incomplete.then_some(libc::SIGKILL)) {
                // Not killed by this process, but by a user, or by the system when memory is short. Or that happened to
                // its replays.
                Some(_) if attempts < REPORT_ATTEMPTS && !is_over(second_ctrl_c) => {}
                Some(signal) => return Err(self.no_report(signal)),
                None if !status.success() || self.reporter_shm.error.get().is_some() => {
                    return Err(client::failure(self.reporter_shm));
                }
                None => return Ok(self.dir.clone()),
            }
        }
    }

    /// Runs a reporter to its end, or until `is_over` returns true.
    fn last_report(
        &self,
        options: &Options,
        totals: Totals,
        mut is_over: impl FnMut() -> bool,
    ) -> Result<ExitStatus, Error> {
        self.reporter_shm.error.set("");
        self.reporter_shm.end.store(WorkerEnd::None as u32, Ordering::Release);
        let pid = self.report(options, totals)?;
        let ended = wait::wait_with(pid, || {
            if is_over() {
                wait::kill(pid);
            }
            POLL_EVERY
        });
        Ok(ended.status)
    }

    fn no_report(&self, signal: i32) -> Error {
        Error::new(format!(
            "the process that writes the report was killed ({}); the finds are in {}, and the same command resumes \
             the campaign",
            signal_name(signal),
            self.dir.display()
        ))
    }

    /// Ends the remaining processes.
    pub fn end(&mut self) {
        wait::kill(self.broker.pid);
        wait::kill(self.reporter.unwrap_or(0));
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

/// Reads the secret that the machines share. Without a secret, connections require the explicit option `--insecure`.
fn read_secret(options: &Options) -> Result<Secret, Error> {
    match &options.run.farm {
        Farm { secret: Some(path), .. } => Secret::read(path),
        farm if farm.is_connected() && !farm.insecure => Err(Error::new(
            "machines connect only with a common secret: create one with `openssl rand -hex 32 > FILE; chmod 600 \
             FILE`, copy it to all of them, and give --broker-secret FILE on each; --insecure connects without one, \
             for private networks only",
        )),
        _ => Ok(Secret::none()),
    }
}

/// Opens the port for brokers of other machines, if the options request one. The supervisor owns it, so that it stays
/// open when a broker dies.
fn open_port(options: &Options) -> Result<Option<TcpListener>, Error> {
    let farm = &options.run.farm;
    if !farm.has_port() {
        return Ok(None);
    }
    let address = (farm.broker_address, farm.broker_port.unwrap_or(0));
    TcpListener::bind(address).map(Some).map_err(|e| {
        Error::new(format!(
            "cannot listen on {} port {}: {}; give another --broker-port or --broker-address",
            address.0,
            address.1,
            penfuzz_error::plain(&e)
        ))
        .with_source(e)
    })
}

/// Determines the directory in a separate process that loads the target, so that this process never loads it.
fn probe(options: &Options) -> Result<PathBuf, Error> {
    let shm = WorkerShm::map()?;
    let pid = service::start("probe", move || client::work_and_exit(shm, || worker::probe(options, shm)))?;
    let ended = wait::wait_until(pid, Instant::now() + LOADING_TIME);
    if shm.error.get().is_some() {
        return Err(client::failure(shm));
    }
    match shm.directory.get() {
        Some(dir) => Ok(PathBuf::from(dir)),
        None => Err(client::died_loading(options, ended.status.signal().unwrap_or(0))),
    }
}
