//! The supervisor: starts clients, polls them, replaces those that die, and ends the campaign when a limit is reached.

use core::sync::atomic::Ordering;
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use exporters::Exporters;
use farm_processes::FarmProcesses;
use penfuzz_directory::{
    output::{manifest, reports},
    rendering::header,
    test_check,
};
use penfuzz_error::Error;
use penfuzz_executor::sandbox::Allow;
use penfuzz_prove as prove;
use penfuzz_report::{Report, finding::Finding, json};
use penfuzz_system::process::{
    interrupts::{self, SecondCtrlC},
    wait,
};

use super::{
    callers,
    cluster::{self, Role},
    options::{CallerSearch, Options},
    supervisor::{
        client::{Client, Event},
        display::Display,
    },
    watch::Phase,
    worker::{ClientConfig, FarmMember},
    worker_shm::StopReason,
};

pub mod client;
mod display;
mod exporters;
mod farm_processes;
mod proofs;
pub mod snapshots;
mod stalled;

/// The result of a finished campaign.
#[derive(Debug)]
pub struct Finished {
    /// Its report.
    pub report: Report,
    /// Its directory.
    pub dir: PathBuf,
    /// The number of solver queries and their results.
    pub proofs: prove::Summary,
}

/// Time for a client to end after it is asked to: for its last evaluations, its files, and its report if it is the only
/// client. If a client takes longer, another worker gets the same time to write the report without evaluating inputs in
/// its own process.
const ENDING_TIME: Duration = Duration::from_secs(30);

/// Longest pause between two polls of the clients.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// Maximum startup time of the clients that a time limit does not count.
const LONGEST_START: Duration = Duration::from_millis(500);

/// Runs a campaign to its end. SIGINT (Ctrl-C), SIGTERM and SIGHUP end it early; the report is still written. A second
/// SIGINT ends it at once, without the report.
///
/// # Errors
/// When the target cannot be used, the output directory cannot be written, or the workers cannot continue; after a
/// second SIGINT.
pub fn run(options: &Options) -> Result<Finished, Error> {
    let _watch = interrupts::SignalGuard::begin();
    let mut supervisor = Supervisor::new(options)?;
    let result = supervisor.run();
    supervisor.end(&result);
    result
}

struct Supervisor<'a> {
    options: Cow<'a, Options>,
    begun: Instant,
    /// When a client first reported that it searches.
    search_begun: Option<Instant>,
    clients: Vec<Client>,
    /// Broker and reporter; `None` for a single client.
    farm: Option<FarmProcesses>,
    exporters: Exporters,
    display: Display,
    stop: StopReason,
    /// When the clients must have ended. At the first deadline their workers are replaced, at the second one they are
    /// abandoned.
    deadline: Option<Instant>,
    is_last_attempt: bool,
    second_ctrl_c: SecondCtrlC,
    /// The error of the first client that failed.
    failure: Option<Error>,
    /// Why no process can write the last report.
    no_report: Option<Error>,
    /// Whether the search makes no progress, so that solvers run next.
    is_stuck: bool,
}

impl<'a> Supervisor<'a> {
    fn new(options: &'a Options) -> Result<Self, Error> {
        let begun = Instant::now();
        let options = proofs::with_solver_pauses(options);
        // Opens ports before any file is created, so that nothing is written if a port is in use.
        let display = Display::new(&options)?;
        let exporters = Exporters::new(&options)?;
        let farm = if options.run.farm.is_needed() { Some(FarmProcesses::new(&options, begun)?) } else { None };
        let clients = match &farm {
            Some(farm) => farm_clients(&options, farm)?,
            None => {
                vec![Client::new(
                    ClientConfig { number: 0, clients: 1, dir: options.run.out.clone(), farm: None },
                    None,
                )?]
            }
        };
        Ok(Self {
            options,
            begun,
            search_begun: None,
            clients,
            farm,
            exporters,
            display,
            stop: StopReason::None,
            deadline: None,
            is_last_attempt: false,
            second_ctrl_c: SecondCtrlC::default(),
            failure: None,
            no_report: None,
            is_stuck: false,
        })
    }

    fn run(&mut self) -> Result<Finished, Error> {
        for client in &mut self.clients {
            client.start(&self.options, self.begun)?;
        }
        let dir = self.run_clients()?;
        let mut report = self.read_report(&dir)?;
        while core::mem::take(&mut self.is_stuck) {
            if self.stop != StopReason::None {
                // The worker has written the report before it was to end.
                self.stop.name().clone_into(&mut report.stop_reason);
                reports::write_all(&dir, &report).map_err(Error::from_source)?;
                break;
            }
            self.run_solvers_and_resume(&dir, report)?;
            self.run_clients()?;
            report = self.read_report(&dir)?;
        }
        let proofs = self.prove(&dir, &mut report);
        self.ask_callers(&dir, &mut report);
        self.check_tests(&dir, &mut report)?;
        Ok(Finished { report, dir, proofs })
    }

    /// Polls the clients until all have ended. Returns the directory of the campaign.
    fn run_clients(&mut self) -> Result<PathBuf, Error> {
        let started = Instant::now();
        while !self.clients.iter().all(Client::has_ended) {
            self.poll_clients()?;
            self.check_limits();
            if self.second_ctrl_c.poll() {
                return Err(self.interrupted_twice());
            }
            if let Some(farm) = &mut self.farm {
                farm.poll(&self.options, &self.clients, self.begun);
            }
            self.update_display()?;
            std::thread::sleep((started.elapsed() / 8).clamp(Duration::from_micros(500), POLL_EVERY));
        }
        let dir = match &mut self.farm {
            Some(farm) => {
                let last = farm.finish(&self.options, &self.clients, self.begun, self.stop, &mut self.second_ctrl_c);
                match last {
                    Err(_) if self.second_ctrl_c.poll() => Err(self.interrupted_twice()),
                    Err(e) => {
                        self.no_report.get_or_insert(e);
                        Ok(farm.dir().to_path_buf())
                    }
                    last => last,
                }
            }
            None => Ok(self.clients[0].dir().map(Path::to_path_buf).unwrap_or_default()),
        };
        if let Some(e) = self.failure.take() {
            return Err(e);
        }
        match (self.no_report.take(), dir) {
            (Some(e), Ok(dir)) => self.last_report_on_disk(dir, e),
            (_, dir) => dir,
        }
    }

    /// Falls back to the last report that was written while the campaign ran, if no process can write another one
    /// because of `error`.
    fn last_report_on_disk(&mut self, dir: PathBuf, error: Error) -> Result<PathBuf, Error> {
        let Ok(mut report) = self.read_report(&dir) else { return Err(error) };
        self.stop.name().clone_into(&mut report.stop_reason);
        if reports::write_all(&dir, &report).is_err() {
            return Err(error);
        }
        self.display.warn(&format!(
            "{error}; the report is the last one written while the campaign ran, and the same command completes it"
        ));
        Ok(dir)
    }

    fn interrupted_twice(&self) -> Error {
        let dir = self.display.dir().map_or_else(String::new, |dir| format!(" in {}", dir.display()));
        Error::new(format!(
            "interrupted twice, so the last report is not written; the files on disk{dir} are kept, and the same \
             command resumes the campaign"
        ))
    }

    fn poll_clients(&mut self) -> Result<(), Error> {
        for message in self.farm.as_mut().map(FarmProcesses::print_messages).into_iter().flatten() {
            self.display.warn(&message);
        }
        for i in 0..self.clients.len() {
            for message in self.clients[i].print_messages() {
                self.display.warn(&message);
            }
            match self.clients[i].poll(&self.options, self.begun)? {
                Event::Nothing => {}
                Event::StoppedReplaced => {
                    let name = self.clients[i].place.name();
                    self.display.warn(&format!(
                        "{name} was stopped by a signal and did not continue; another worker replaces it"
                    ));
                }
                Event::Replaced(how) => self.display.warn_of_restart(&self.clients[i], how),
                // Clients send each other all their finds: when one is done, all are.
                Event::Finished => self.stop_all(StopReason::Saturated),
                Event::Stuck => self.is_stuck = true,
                Event::NoProgress => self.stop_all(StopReason::WorkersDie),
                Event::NoReport(e) => {
                    self.no_report.get_or_insert(e);
                }
                Event::Failed(e) => {
                    // The other clients end normally, so that their finds are written.
                    self.failure.get_or_insert(e);
                    self.stop_all(StopReason::Interrupted);
                }
            }
        }
        Ok(())
    }

    fn check_limits(&mut self) {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            if !core::mem::replace(&mut self.is_last_attempt, true) {
                self.deadline = Some(Instant::now() + ENDING_TIME);
                self.clients.iter().filter(|c| !c.has_ended()).for_each(Client::kill);
                return;
            }
            for client in self.clients.iter_mut().filter(|c| !c.has_ended()) {
                client.abandon();
                self.no_report.get_or_insert_with(|| {
                    Error::new(format!(
                        "{} did not end in time and was killed; \
                         the files that it has written are kept, and the same command resumes the campaign",
                        client.place.name()
                    ))
                });
            }
        }
        let searched = self.search_time();
        if self.search_limit().is_some_and(|t| searched >= t) {
            self.stop_all(StopReason::MaxTime);
        }
        if interrupts::requested() {
            self.stop_all(StopReason::Interrupted);
        }
        // A single client checks this limit itself.
        let made: u64 = self.clients.iter().map(|c| c.shm().evaluations.load(Ordering::Relaxed)).sum();
        if self.farm.is_some() && self.options.run.max_evals.is_some_and(|most| made >= most) {
            self.stop_all(StopReason::MaxEvals);
        }
    }

    /// How long the clients search at most.
    fn search_limit(&self) -> Option<Duration> {
        let limit = self.options.search_limit()?;
        let has_crashed = self.clients.iter().any(|c| c.shm().crashes.load(Ordering::Relaxed) > 0);
        let asks = self.options.run.caller_search == CallerSearch::AtEnd && has_crashed;
        Some(if asks { limit.saturating_sub(callers::reserved(limit)) } else { limit })
    }

    /// Time since the first client began to search, with the pauses for solvers. Loading a target and evaluating the
    /// inputs of its directory takes longest where other programs use the processors, and a short campaign would
    /// otherwise end before it begins. At most [`LONGEST_START`] of the startup is left uncounted.
    fn search_time(&mut self) -> Duration {
        if self.search_begun.is_none() && self.clients.iter().any(|c| c.shm().searching.load(Ordering::Acquire) != 0) {
            self.search_begun = Some(Instant::now());
        }
        let latest = self.begun + LONGEST_START;
        let begun = self.search_begun.map_or(latest, |begun| begun.min(latest));
        Instant::now().saturating_duration_since(begun)
    }

    fn update_display(&mut self) -> Result<(), Error> {
        let root = self.farm.as_ref().map(FarmProcesses::dir);
        self.display.tick(&self.clients, root, self.farm.as_ref().map(FarmProcesses::broker), self.begun);
        self.display.dir().map_or(Ok(()), |dir| self.exporters.poll(dir))
    }

    fn stop_all(&mut self, reason: StopReason) {
        if self.stop == StopReason::None {
            self.stop = reason;
            self.display.enter(Phase::Report);
            self.deadline = Some(Instant::now() + self.options.settings.limits().timeout * 4 + ENDING_TIME);
        }
        for client in &self.clients {
            client.stop(self.stop);
        }
    }

    /// The report that a worker has written, with the header of the function.
    fn read_report(&self, dir: &Path) -> Result<Report, Error> {
        let mut report = json::read(&dir.join(json::FILE)).map_err(Error::from_source)?;
        if self.options.run.caller_search == CallerSearch::ThisOne {
            return Ok(report);
        }
        reports::update(dir, &mut report, |report| {
            header::complete(report);
            Ok(())
        })?;
        Ok(report)
    }

    /// Searches for crashes through callers, unless the user has interrupted the campaign.
    fn ask_callers(&mut self, dir: &Path, report: &mut Report) {
        if self.options.run.caller_search != CallerSearch::AtEnd
            || interrupts::requested()
            || !report.crashes.iter().any(Finding::needs_caller)
        {
            return;
        }
        self.display.enter(Phase::Report);
        let options = &*self.options;
        let asked = manifest::read(dir).and_then(|manifest| {
            reports::update(dir, report, |report| callers::search(options, &manifest.symbol, report))
        });
        if let Err(e) = asked {
            self.display.warn(&format!("crashes are not confirmed through callers: {e}"));
        }
    }

    /// Compiles and runs the emitted tests, unless the user has interrupted the campaign.
    fn check_tests(&mut self, dir: &Path, report: &mut Report) -> Result<(), Error> {
        if !self.options.run.check_tests || interrupts::requested() {
            return Ok(());
        }
        self.display.enter(Phase::Tests);
        let allow_network = self.options.settings.allow.contains(&Allow::Network);
        reports::update(dir, report, |report| {
            test_check::check(report, allow_network);
            Ok(())
        })
    }

    /// Ends all remaining processes, and displays how the campaign ended.
    fn end(&mut self, result: &Result<Finished, Error>) {
        let (root, broker) =
            (self.farm.as_ref().map(FarmProcesses::dir), self.farm.as_ref().map(FarmProcesses::broker));
        self.display.end(&self.clients, root, broker, self.begun, result.as_ref().map(|f| &f.report));
        for client in &mut self.clients {
            wait::kill(client.pid());
            client.print_messages();
        }
        if let Some(farm) = &mut self.farm {
            farm.end();
        }
        self.exporters.end();
    }
}

/// Creates the clients of a farm.
fn farm_clients(options: &Options, farm: &FarmProcesses) -> Result<Vec<Client>, Error> {
    let cores: Vec<Option<usize>> = if options.run.farm.cores.is_empty() {
        vec![None]
    } else {
        options.run.farm.cores.iter().copied().map(Some).collect()
    };
    let client = |(number, core)| {
        let dir = farm.dir().join(cluster::client_name(number));
        let member = FarmMember {
            root: farm.dir().to_path_buf(),
            role: Role::of(number),
            broker_info: farm.broker_info(),
            sockets: farm.sockets(),
        };
        Client::new(ClientConfig { number, clients: cores.len(), dir: Some(dir), farm: Some(member) }, core)
    };
    cores.iter().copied().enumerate().map(client).collect()
}
