//! The worker process: loads the target, runs the stages until the end, and writes the report.

use core::sync::atomic::Ordering;
use std::{
    os::unix::{net::UnixDatagram, process::parent_id},
    sync::Arc,
    time::{Duration, Instant},
};

use libafl::{
    HasMetadata, corpus::InMemoryCorpus, events::SimpleEventManager, inputs::BytesInput, monitors::NopMonitor,
    mutators::HavocScheduledMutator, schedulers::QueueScheduler, stages::StagesTuple, state::StdState,
};
use libafl_bolts::{
    rands::StdRand,
    tuples::{Handled, Merge, tuple_list},
};
use penfuzz_directory::{
    output::{afl_files, directory, preconditions, store::Store},
    replay::fresh::{Flags, Pipes, Zygote},
    shrink::Shrinker,
};
use penfuzz_engine::{
    saturation::{BranchGraph, NewPlaceFeedback, PenObserver, Saturation, SaturationFeedback, Scope},
    stages::{
        BasinhoppingStage, Clock, NumericHavocStage, PaperStage, Sampling, SamplingStage, SearchKind,
        havoc::stock_mutations, paper,
    },
};
use penfuzz_error::{Error, failed};
use penfuzz_executor::{Evaluator, HasEvaluator, PenExecutor, fresh::FreshProcessRunner, sandbox::Sandbox};
use penfuzz_mutators::{dictionary::Dictionary, havoc::numeric_mutations, view::Layout};
use penfuzz_system::{
    files::{own, reserve::Reserve},
    process::streams,
};
use penfuzz_target::{
    hash::{StableHash, of_text},
    program::{program_constants, state, symbols::demangled},
};

use super::{
    cluster::{Role, broker_client::BrokerClient},
    options::Options,
    prepare::Prepared,
    worker::{disk::Disk, progress::Progress},
    worker_shm::{INPUT_ROOM, StopReason, WorkerShm},
};
use crate::assembly::limits;

mod client;
mod disk;
mod hangs;
mod import;
mod keep;
mod progress;
mod restore;
mod share_finds;

pub use client::{ClientConfig, FarmMember};

/// How a worker that did not fail ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The report is written.
    Finished,
    /// The process needs a restart, for example because the target leaked too much memory: another worker should
    /// continue.
    NeedsRestart,
    /// The report is written. Nothing new was found for [`RunOptions::patience`](crate::RunOptions::patience).
    Stuck,
}

type State = StdState<InMemoryCorpus<BytesInput>, BytesInput, StdRand, InMemoryCorpus<BytesInput>>;
type Manager = SimpleEventManager<BytesInput, NopMonitor, State>;
type Executor = PenExecutor<(PenObserver, ())>;

/// Mutants per round of havoc when it is the only stage.
const HAVOC_ALONE: u64 = 4096;

/// Runs a worker of one client in this process, until the end of the campaign or until the worker needs a restart.
/// `begun` is the start of the program.
///
/// # Errors
/// When the function cannot be found or called, or files cannot be written.
pub fn run(options: &Options, place: &ClientConfig, begun: Instant, shm: &'static WorkerShm) -> Result<End, Error> {
    disconnect_output()?;
    // Taken before the target is loaded: the target has access to the socket of this client only.
    let socket = place.farm.as_ref().and_then(|farm| farm.sockets.take_client_end(place.number));
    let prepared = Prepared::load(options)?;
    let dir = match (&place.farm, &place.dir) {
        (Some(_), Some(dir)) => dir.clone(),
        _ => prepared.choose_directory(options, place.dir.as_deref(), false, shm)?,
    };
    if place.farm.is_some() {
        own::check_directory(&dir).map_err(|e| failed(&dir, "cannot be used as directory", e))?;
    }
    let lock = directory::lock(&dir, parent_id())?;
    if place.farm.is_none() {
        // The manifest is the first file: it identifies the directory if the campaign is killed.
        prepared.write_manifest(options, &dir)?;
    }
    prepared.copy_preconditions(options, &dir)?;
    shm.directory.set(&dir.to_string_lossy());
    let f = &prepared.target.functions[prepared.function];
    let size = (!f.is_harness()).then(|| f.layout().size());
    let store = Store::open(&dir, lock, &prepared.fingerprint, size)?;
    for message in &store.messages {
        penfuzz_system::errln!("penfuzz: {message}");
    }
    if place.farm.is_none() && shm.searching.load(Ordering::Relaxed) == 0 {
        warn(&prepared);
    }
    let campaign = Campaign::new(options, place, prepared, store, socket, begun, shm)?;
    campaign.hold_target();
    wait_until_directory_is_read(shm);
    campaign.run()
}

/// Waits until the supervisor has read the output directory from `shm`, which the target can overwrite: normally less
/// than a millisecond. A supervisor that is stopped for longer reads it later.
fn wait_until_directory_is_read(shm: &WorkerShm) {
    let latest = Instant::now() + Duration::from_secs(1);
    while shm.directory_is_read.load(Ordering::Acquire) == 0 && Instant::now() < latest {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Checks before several clients start that the target and its function can be used. Writes the manifest, and stores
/// the output directory in `shm`.
///
/// # Errors
/// When the function cannot be found or called, or the directory cannot be used.
pub fn probe(options: &Options, shm: &WorkerShm) -> Result<End, Error> {
    disconnect_output()?;
    let prepared = Prepared::load(options)?;
    let dir = prepared.choose_directory(options, options.run.out.as_deref(), true, shm)?;
    drop(directory::lock(&dir, parent_id())?);
    warn(&prepared);
    prepared.write_manifest(options, &dir)?;
    prepared.copy_preconditions(options, &dir)?;
    shm.directory.set(&dir.to_string_lossy());
    Ok(End::Finished)
}

/// Prints warnings about the target, one line each: undefined symbols, and shared libraries that are not searched
/// although calls are followed.
fn warn(prepared: &Prepared) {
    let undefined = state::undefined(&prepared.target, &prepared.target.functions[prepared.function]);
    if !undefined.is_empty() {
        let names: Vec<_> = undefined.iter().map(|name| demangled(name.into())).collect();
        penfuzz_system::errln!(
            "penfuzz: not defined: {}; an evaluation that uses {} ends there. Give the source (--with) or library \
             (--lib)",
            names.join(", "),
            if names.len() == 1 { "it" } else { "one of them" }
        );
    }
    let names = limits::not_followed(&prepared.target, prepared.kind);
    if !names.is_empty() {
        penfuzz_system::errln!(
            "penfuzz: calls into {} are not followed: link the static {} to search them too",
            names.join(", "),
            if names.len() == 1 { "library" } else { "libraries" }
        );
    }
}

/// Disconnects standard input and output. Standard output is reserved for the report of the supervisor. The input and
/// output of the target are of no use in a campaign; `penfuzz replay` shows them.
fn disconnect_output() -> Result<(), Error> {
    streams::disconnect(&[libc::STDIN_FILENO, libc::STDOUT_FILENO])
}

struct Campaign<'a> {
    options: &'a Options,
    place: &'a ClientConfig,
    exchange: Option<share_finds::Exchange>,
    /// The generation of the saturated set and the number of faults when finds were last sent.
    sent: (u64, usize),
    scope: Scope,
    store: Store,
    hold: Sandbox,
    shm: &'static WorkerShm,
    begun: Instant,
    clock: Clock,
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
    evaluator: Option<Evaluator>,
    pipes: Option<Pipes>,
    /// Evaluates kept inputs once more in fresh processes.
    fresh: Option<Zygote>,
    /// Whether inputs are evaluated in fresh processes only. True if an earlier worker died while it evaluated them, or
    /// if the stop flag was set before this worker started: then it only writes the report.
    only_fresh: bool,
    /// Descriptors that the target cannot use up.
    reserve: Reserve,
    synced_kept: usize,
    synced_solutions: usize,
    /// The number of solutions that were already checked for hanging.
    classified_solutions: usize,
    synced_generation: u64,
    state_written: f64,
    report_written: f64,
    /// When the next report of the running campaign may be written, in seconds.
    report_due: f64,
    /// How long the last report took.
    report_time: Duration,
    shrinker: Shrinker,
    disk: Disk,
    imports: Option<import::Imports>,
    statistics: afl_files::Statistics,
    progress: Progress,
}

impl<'a> Campaign<'a> {
    fn new(
        options: &'a Options,
        place: &'a ClientConfig,
        prepared: Prepared,
        mut store: Store,
        socket: Option<UnixDatagram>,
        begun: Instant,
        shm: &'static WorkerShm,
    ) -> Result<Self, Error> {
        let Prepared { target, function, scope, fingerprint, hold, .. } = prepared;
        let layout = Arc::new(target.functions[function].layout());
        let dictionary = Arc::new(program_constants::dictionary(&target, function));
        let mut evaluator = Evaluator::new(target, function, options.settings.limits())?;
        evaluator.set_scope(&scope.sites);
        evaluator.allow(&options.settings.allow);
        evaluator.set_preconditions(preconditions::read(store.dir(), &evaluator.function().symbol));
        if evaluator.input_size() > INPUT_ROOM {
            return Err(Error::new(format!(
                "`{}` takes more than {INPUT_ROOM} bytes of arguments",
                evaluator.function().name
            )));
        }
        // SAFETY: the shared memory is never unmapped and has enough room, as just checked. Until this process ends,
        // only the evaluator writes there.
        unsafe { evaluator.attach_to_supervisor(shm.input.as_mut_ptr(), shm.evaluations.as_ptr(), shm.journal()) };
        shm.input_size.store(evaluator.input_size() as u64, Ordering::Relaxed);
        // A replacement worker continues the count of its predecessor, which may be newer in the shared memory than in
        // the file.
        let evaluations = store.saved.evaluations.max(shm.evaluations.load(Ordering::Relaxed));
        evaluator.set_evaluations(evaluations);
        // Only the first client imports; it sends the inputs that it keeps to the others.
        let sync = if place.number == 0 { &options.run.sync[..] } else { &[] };
        let imports = import::Imports::begin(sync, store.dir(), store.saved.workers == 0)?;
        let statistics = afl_files::Statistics::begin(store.dir());
        store.saved.workers = store.saved.workers.wrapping_add(1).max(1);
        shm.start_clock(begun, store.saved.seconds);
        // With several clients, the supervisor counts the evaluations.
        let most = options.run.max_evals.filter(|_| place.farm.is_none()).unwrap_or(u64::MAX);
        let clock = Clock::new(most, &shm.stop);
        let exchange = place.farm.as_ref().zip(socket).map(|(farm, socket)| {
            let f = evaluator.function();
            let inputs = StableHash::new().text(&f.symbol).flag(f.has_rounding).count(evaluator.input_size()).finish();
            let client = BrokerClient::new(farm.broker_info, socket, inputs, of_text(&fingerprint), &place.name());
            share_finds::Exchange::new(client)
        });
        Ok(Self {
            options,
            place,
            exchange,
            sent: (0, 0),
            scope,
            store,
            hold,
            shm,
            begun,
            clock,
            layout,
            dictionary,
            evaluator: Some(evaluator),
            pipes: Pipes::new(),
            fresh: None,
            only_fresh: shm.failed_restores.load(Ordering::Relaxed) > 0 || shm.stop_reason() != StopReason::None,
            reserve: Reserve::new(),
            synced_kept: 0,
            synced_solutions: 0,
            classified_solutions: 0,
            synced_generation: 0,
            state_written: 0.0,
            report_written: 0.0,
            report_due: 0.0,
            report_time: Duration::ZERO,
            shrinker: Shrinker::default(),
            disk: Disk::default(),
            imports,
            statistics,
            progress: Progress::begin(),
        })
    }

    /// Installs the system call filter: before the first evaluation, and after the last file that stays open has been
    /// opened.
    fn hold_target(&self) {
        let is_first = self.shm.searching.load(Ordering::Relaxed) == 0;
        if let Err(e) = self.hold.install()
            && is_first
        {
            penfuzz_system::errln!(
                "penfuzz: this system refuses a filter on system calls ({}); a target that starts processes or \
                 threads, closes files or sets signal handlers can disturb the campaign",
                penfuzz_error::plain(&e)
            );
        }
    }

    fn run(mut self) -> Result<End, Error> {
        let mut evaluator = self.evaluator.take().ok_or_else(|| Error::new("the evaluator is gone"))?;
        self.start_zygote(&mut evaluator);
        let graph = BranchGraph::new(evaluator.target(), &self.scope);
        let observer = PenObserver::new();
        let handle = observer.handle();
        let mut feedback = SaturationFeedback::new(&observer, graph);
        let mut objective = NewPlaceFeedback::new(&observer);
        // A replacement worker must not repeat the evaluations that led to the death of its predecessor.
        let nth = u64::from(self.store.saved.workers - 1);
        let seed = self
            .options
            .run
            .seed
            .wrapping_add(nth.wrapping_mul(0x9e37_79b9))
            .wrapping_add((self.place.number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut state = StdState::new(
            StdRand::with_seed(seed),
            InMemoryCorpus::<BytesInput>::new(),
            InMemoryCorpus::new(),
            &mut feedback,
            &mut objective,
        )?;
        let mut fuzzer = libafl::StdFuzzer::new(QueueScheduler::new(), feedback, objective);
        let mut manager = Manager::new(NopMonitor::new());
        let fresh = self.fresh.clone().map(|zygote| Box::new(zygote) as Box<dyn FreshProcessRunner>);
        let mut executor = Executor::new(evaluator, tuple_list!(observer), handle).replaying(fresh);
        if !self.restore(&mut fuzzer, &mut executor, &mut state, &mut manager)? {
            return Ok(End::NeedsRestart);
        }
        let clock = self.clock.clone();
        let layout = Arc::clone(&self.layout);
        let minimizer = |default: &str| self.options.run.minimizer.clone().unwrap_or_else(|| default.to_owned());
        let end = match self.options.run.search {
            SearchKind::Targeted => self.targeted(&mut fuzzer, &mut executor, &mut state, &mut manager)?,
            SearchKind::Paper | SearchKind::PaperAsRun => {
                let lm = minimizer(paper::MINIMIZER);
                let mut stages = tuple_list!(PaperStage::new(layout, &lm, self.options.run.paper, clock)?);
                self.drive(&mut stages, &mut fuzzer, &mut executor, &mut state, &mut manager)?
            }
            SearchKind::Random | SearchKind::Uniform | SearchKind::Structured => {
                let sampling = match self.options.run.search {
                    SearchKind::Random => Sampling::Random,
                    SearchKind::Uniform => Sampling::Uniform,
                    _ => Sampling::Structured,
                };
                let mut stages = tuple_list!(SamplingStage::new(sampling, layout, clock));
                self.drive(&mut stages, &mut fuzzer, &mut executor, &mut state, &mut manager)?
            }
            SearchKind::Havoc => {
                let mutator = HavocScheduledMutator::new(stock_mutations());
                let mut stages = tuple_list!(NumericHavocStage::new(mutator, HAVOC_ALONE, clock));
                self.drive(&mut stages, &mut fuzzer, &mut executor, &mut state, &mut manager)?
            }
        };
        let Some(stop) = end else { return Ok(End::NeedsRestart) };
        self.finish(stop, &mut executor, &state)
    }

    /// Starts the zygote, from which fresh processes are forked. Must run before the first evaluation.
    fn start_zygote(&mut self, evaluator: &mut Evaluator) {
        let flags = Flags { busy: &self.shm.reporting, stop: &self.shm.stop };
        let start = |pipes| Zygote::start(pipes, evaluator, &self.scope, self.options.settings.limits().timeout, flags);
        self.fresh = self.pipes.take().and_then(start);
        if self.fresh.is_none() && self.shm.searching.load(Ordering::Relaxed) == 0 {
            penfuzz_system::errln!(
                "penfuzz: inputs are not replayed in fresh processes, because the target has started threads or the \
                 system has no process to spare; a branch that depends on earlier calls can count as covered"
            );
        }
    }

    /// Whether this process needs a restart.
    fn needs_restart(&self, executor: &Executor) -> bool {
        executor.evaluator().needs_restart() || self.fresh.as_ref().is_some_and(Zygote::is_lost)
    }

    /// The targeted search, in the role of this client.
    fn targeted<Z>(
        &mut self,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<Option<StopReason>, Error>
    where
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        let mutators =
            HavocScheduledMutator::new(stock_mutations().merge(numeric_mutations(&self.layout, &self.dictionary)));
        let clock = self.clock.clone();
        let lm = self.options.run.minimizer.as_deref().unwrap_or("avm");
        let (layout, dictionary) = (Arc::clone(&self.layout), Arc::clone(&self.dictionary));
        let sampling = SamplingStage::beside(Arc::clone(&layout), Arc::clone(&dictionary), clock.clone());
        let minimization = BasinhoppingStage::new(layout, dictionary, lm, clock.clone())?
            .again(self.retries_given_up())
            .beginning_at(self.place.number, self.place.clients);
        match self.place.farm.as_ref().map_or(Role::Mixed, |f| f.role) {
            Role::Mixed => {
                let mut stages = tuple_list!(minimization, sampling, NumericHavocStage::beside(mutators, clock));
                self.drive(&mut stages, fuzzer, executor, state, manager)
            }
            Role::Minimization => {
                self.drive(&mut tuple_list!(minimization, sampling), fuzzer, executor, state, manager)
            }
            Role::Havoc => {
                let mut stages = tuple_list!(NumericHavocStage::new(mutators, HAVOC_ALONE, clock));
                self.drive(&mut stages, fuzzer, executor, state, manager)
            }
        }
    }

    /// Whether the search continues after all branches are covered or given up: with a time limit, the targeted search
    /// spends the remaining time on branches that it has given up.
    fn retries_given_up(&self) -> bool {
        self.options.run.search == SearchKind::Targeted && self.options.run.max_time.is_some()
    }

    /// Whether the search continues for branches that only crashing inputs have taken. Every client that minimizes does
    /// so.
    fn retries(&self) -> bool {
        let is_havoc = self.place.farm.as_ref().is_some_and(|f| f.role == Role::Havoc);
        self.options.run.search == SearchKind::Targeted && !is_havoc
    }

    /// Runs rounds of the stages until the end. Returns `None` if the process needs a restart.
    fn drive<ST, Z>(
        &mut self,
        stages: &mut ST,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<Option<StopReason>, Error>
    where
        ST: StagesTuple<Executor, Manager, State, Z>,
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        loop {
            let imports_wait = self.import(fuzzer, executor, state, manager)?;
            self.classify_hangs(executor, state)?;
            if self.needs_restart(executor) {
                self.flush(executor, state)?;
                return Ok(None);
            }
            let saturation = state.metadata::<Saturation>()?;
            if !imports_wait
                && if self.retries() { saturation.is_finished() } else { saturation.is_done() }
                && !(self.retries_given_up() && saturation.has_goals() && progress::has_open(saturation))
            {
                return Ok(Some(StopReason::Saturated));
            }
            if self.clock.is_over(executor.evaluator()) {
                let flagged = self.shm.stop_reason();
                return Ok(Some(if flagged == StopReason::None { StopReason::MaxEvals } else { flagged }));
            }
            if self.options.run.patience.is_some_and(|patience| self.progress.is_stuck(saturation, patience)) {
                return Ok(Some(StopReason::Stuck));
            }
            stages.perform_all(fuzzer, executor, state, manager)?;
            self.sync(executor, state)?;
            self.share_finds(fuzzer, executor, state, manager)?;
        }
    }
}
