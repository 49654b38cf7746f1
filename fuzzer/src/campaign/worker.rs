//! The worker: loads the target, runs the stages until the end, writes the report.

use core::sync::atomic::Ordering;
use std::{
    fs::File,
    io,
    os::{fd::AsRawFd, unix::process::parent_id},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use libafl::{
    HasMetadata,
    corpus::{Corpus, InMemoryCorpus},
    events::SimpleEventManager,
    inputs::BytesInput,
    monitors::NopMonitor,
    mutators::HavocScheduledMutator,
    schedulers::QueueScheduler,
    stages::StagesTuple,
    state::{HasCorpus, HasSolutions, StdState},
};
use libafl_bolts::{
    rands::StdRand,
    tuples::{Handled, Merge, tuple_list},
};
use penfuzz_mutators::{dictionary::Dictionary, havoc::numeric_mutations, view::Layout};

use super::{
    Options, SearchKind, afl,
    board::{Board, INPUT_ROOM, StopReason},
    directory,
    disk::{self, Disk},
    farm::{self, Role, Switchboard, exchange::Exchange, parcel::hash},
    killer::{self, Death},
    outcome,
    prepare::Prepared,
    resume,
    store::Store,
};
use crate::{
    error::Error,
    executor::{Evaluator, Fault, HasEvaluator, PenExecutor, evaluator::Limits, guard, hold::Hold},
    report,
    saturation::{BranchGraph, NewPlaceFeedback, PenObserver, Saturation, SaturationFeedback, Scope},
    shrink::Shrinker,
    stage::{
        BasinhoppingStage, Clock, NumericHavocStage, PaperStage, Sampling, SamplingStage, budget::Spent,
        havoc::stock_mutations, paper, probe,
    },
    target::harvest,
};

mod import;
mod talk;

/// How a worker ends that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The report is written.
    Finished,
    /// The target left too much memory behind: another worker should go on.
    WornOut,
}

type State = StdState<InMemoryCorpus<BytesInput>, BytesInput, StdRand, InMemoryCorpus<BytesInput>>;
type Manager = SimpleEventManager<BytesInput, NopMonitor, State>;
type Executor = PenExecutor<(PenObserver, ())>;

/// Mutants of one turn when there is nothing else.
const HAVOC_ALONE: u64 = 4096;
/// Seconds between two writings of state, statistics and reports.
const STATE_EVERY: f64 = 5.0;

/// The same for the state when an earlier worker was killed: what is not saved by then is lost to the next death.
const STATE_AFTER_DEATH: f64 = 0.2;

/// Which client a worker is.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its number, from 0.
    pub number: usize,
    /// Clients on this machine.
    pub clients: usize,
    /// Its output directory, if it is known.
    pub dir: Option<PathBuf>,
    /// Where it is one of several; `None` for a client that is alone.
    pub farm: Option<InFarm>,
}

impl Place {
    /// Its name, and that of its directory if there are several.
    #[must_use]
    pub fn name(&self) -> String {
        farm::client_name(self.number)
    }
}

/// The place of a client among others.
#[derive(Debug, Clone)]
pub struct InFarm {
    /// The directory that holds those of all clients.
    pub root: PathBuf,
    /// What it does, if the search has roles.
    pub role: Role,
    /// Where the broker is.
    pub switchboard: &'static Switchboard,
}

/// Runs one client of the campaign of a program that began at `begun` in this process.
///
/// # Errors
/// What the user must know: the function cannot be found or called, files cannot be written.
pub fn run(options: &Options, place: &Place, begun: Instant, board: &'static mut Board) -> Result<End, Error> {
    // Standard output is the report's; what the target reads and prints is of no use, and shown by `penfuzz replay`.
    silence(&[libc::STDIN_FILENO, libc::STDOUT_FILENO])?;
    let prepared = Prepared::load(options)?;
    let dir = match (&place.farm, &place.dir) {
        (Some(_), Some(dir)) => dir.clone(),
        _ => prepared.settle(options, place.dir.as_deref(), false, board)?,
    };
    let lock = directory::lock(&dir, parent_id())?;
    board.directory.set(&dir.to_string_lossy());
    let f = &prepared.target.functions[prepared.function];
    let size = (!f.is_harness()).then(|| f.layout().size());
    let store = Store::open(&dir, lock, &prepared.fingerprint, size)?;
    for message in &store.messages {
        eprintln!("penfuzz: {message}");
    }
    if place.farm.is_none() {
        prepared.sign(options, &dir)?;
    }
    let campaign = Campaign::new(options, place, prepared, store, begun, board)?;
    campaign.hold_target();
    campaign.run()
}

/// Finds out what there is to do before several clients begin: is there such a function, where does the campaign lie? The
/// directory is left on the board.
///
/// # Errors
/// What the user must know.
pub fn look_ahead(options: &Options, board: &'static mut Board) -> Result<End, Error> {
    silence(&[libc::STDIN_FILENO, libc::STDOUT_FILENO])?;
    let prepared = Prepared::load(options)?;
    let dir = prepared.settle(options, options.out.as_deref(), true, board)?;
    drop(directory::lock(&dir, parent_id())?);
    prepared.sign(options, &dir)?;
    board.directory.set(&dir.to_string_lossy());
    Ok(End::Finished)
}

/// Connects descriptors of this process to nothing: what the target prints millions of times. Errors of ours go to the board.
fn silence(descriptors: &[i32]) -> Result<(), Error> {
    let nothing = File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .map_err(|e| Error::new(format!("cannot open /dev/null: {}", crate::target::kind::plain(&e))))?;
    for d in descriptors {
        // SAFETY: both are open descriptors; a refusal leaves the target its voice.
        unsafe { libc::dup2(nothing.as_raw_fd(), *d) };
    }
    Ok(())
}

struct Campaign<'a> {
    options: &'a Options,
    place: &'a Place,
    exchange: Option<Exchange>,
    told_generation: u64,
    scope: Scope,
    store: Store,
    hold: Hold,
    board: &'static mut Board,
    begun: Instant,
    clock: Clock,
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
    evaluator: Option<Evaluator>,
    synced_kept: usize,
    synced_solutions: usize,
    synced_generation: u64,
    state_written: f64,
    report_written: f64,
    shrinker: Shrinker,
    disk: Disk,
    imports: Option<import::Imports>,
    statistics: afl::Statistics,
}

impl<'a> Campaign<'a> {
    fn new(
        options: &'a Options,
        place: &'a Place,
        prepared: Prepared,
        mut store: Store,
        begun: Instant,
        board: &'static mut Board,
    ) -> Result<Self, Error> {
        let Prepared { target, function, scope, fingerprint, hold, .. } = prepared;
        let limits = Limits { timeout: options.timeout, fuel: options.fuel, memory: options.memory_limit };
        let layout = Arc::new(target.functions[function].layout());
        let dictionary = Arc::new(harvest::dictionary(&target, function));
        let mut evaluator = Evaluator::new(target, function, limits)?;
        evaluator.set_scope(&scope.sites);
        if evaluator.input_size() > INPUT_ROOM {
            return Err(Error::new(format!(
                "`{}` takes more than {INPUT_ROOM} bytes of arguments",
                evaluator.function().name
            )));
        }
        // SAFETY: the board is mapped for ever and has room, as just checked.
        unsafe { evaluator.show_to_supervisor(board.input.as_mut_ptr(), board.evaluations.as_ptr(), board.journal()) };
        board.input_size.store(evaluator.input_size() as u64, Ordering::Relaxed);
        // A worker that follows another counts on; the board may know more than the file.
        let evaluations = store.remembered.evaluations.max(board.evaluations.load(Ordering::Relaxed));
        evaluator.set_evaluations(evaluations);
        // One of several clients imports; the others hear of it.
        let sync = if place.number == 0 { &options.sync[..] } else { &[] };
        let imports = import::Imports::begin(sync, store.dir(), store.remembered.workers == 0)?;
        let statistics = afl::Statistics::begin(store.dir());
        store.remembered.workers = store.remembered.workers.wrapping_add(1).max(1);
        board.start_clock(begun, store.remembered.seconds);
        // SAFETY: the board is mapped for ever; the flag is atomic.
        let stop: &'static core::sync::atomic::AtomicU32 = unsafe { &*core::ptr::from_ref(&board.stop) };
        // The evaluations of several clients are counted by the supervisor.
        let most = options.max_evals.filter(|_| place.farm.is_none()).unwrap_or(u64::MAX);
        let clock = Clock::new(most, stop);
        let exchange = place.farm.as_ref().map(|farm| {
            let f = evaluator.function();
            let inputs = hash(&(&f.symbol, f.has_rounding, evaluator.input_size()));
            Exchange::new(farm.switchboard, inputs, hash(&fingerprint), &place.name())
        });
        Ok(Self {
            options,
            place,
            exchange,
            told_generation: 0,
            scope,
            store,
            hold,
            board,
            begun,
            clock,
            layout,
            dictionary,
            evaluator: Some(evaluator),
            synced_kept: 0,
            synced_solutions: 0,
            synced_generation: 0,
            state_written: 0.0,
            report_written: 0.0,
            shrinker: Shrinker::default(),
            disk: Disk::default(),
            imports,
            statistics,
        })
    }

    /// Before the first evaluation, and after the last file that stays open.
    fn hold_target(&self) {
        let is_first = self.board.searching.load(Ordering::Relaxed) == 0;
        if let Err(e) = self.hold.install()
            && is_first
        {
            eprintln!(
                "penfuzz: this system grants no filter on system calls ({}); a target that starts processes or threads, \
                 closes files or sets signal handlers is not held",
                crate::target::kind::plain(&e)
            );
        }
    }

    fn run(mut self) -> Result<End, Error> {
        let evaluator = self.evaluator.take().ok_or_else(|| Error::new("the evaluator is gone"))?;
        let graph = BranchGraph::new(evaluator.target(), &self.scope);
        let observer = PenObserver::new();
        let handle = observer.handle();
        let mut feedback = SaturationFeedback::new(&observer, graph);
        let mut objective = NewPlaceFeedback::new(&observer);
        // Another worker must not walk the same way into the same death.
        let nth = u64::from(self.store.remembered.workers - 1);
        let seed = self
            .options
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
        let mut executor = Executor::new(evaluator, tuple_list!(observer), handle);
        self.take_up(&mut fuzzer, &mut executor, &mut state, &mut manager)?;
        let clock = self.clock.clone();
        let layout = Arc::clone(&self.layout);
        let minimizer = |default: &str| self.options.minimizer.clone().unwrap_or_else(|| default.to_owned());
        let end = match self.options.search {
            SearchKind::Targeted => self.targeted(&mut fuzzer, &mut executor, &mut state, &mut manager)?,
            SearchKind::Paper => {
                let lm = minimizer(paper::MINIMIZER);
                let (n_start, n_iter) = (self.options.n_start, self.options.n_iter);
                let mut stages = tuple_list!(PaperStage::new(layout, &lm, n_start, n_iter, clock)?);
                self.drive(&mut stages, &mut fuzzer, &mut executor, &mut state, &mut manager)?
            }
            SearchKind::Random | SearchKind::Uniform | SearchKind::Structured => {
                let sampling = match self.options.search {
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
        let Some(stop) = end else { return Ok(End::WornOut) };
        self.finish(stop, &mut executor, &state)
    }

    /// The targeted search, in the role that this client has.
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
        let lm = self.options.minimizer.as_deref().unwrap_or("avm");
        let (layout, dictionary) = (Arc::clone(&self.layout), Arc::clone(&self.dictionary));
        let minimization = BasinhoppingStage::new(layout, dictionary, lm, clock.clone())?
            .again(self.goes_on())
            .beginning_at(self.place.number, self.place.clients);
        match self.place.farm.as_ref().map_or(Role::Mixed, |f| f.role) {
            Role::Mixed => {
                let mut stages = tuple_list!(minimization, NumericHavocStage::beside(mutators, clock));
                self.drive(&mut stages, fuzzer, executor, state, manager)
            }
            Role::Minimization => self.drive(&mut tuple_list!(minimization), fuzzer, executor, state, manager),
            Role::Havoc => {
                let mut stages = tuple_list!(NumericHavocStage::new(mutators, HAVOC_ALONE, clock));
                self.drive(&mut stages, fuzzer, executor, state, manager)
            }
        }
    }

    /// Seeds, or what an earlier run left.
    fn take_up<Z>(
        &mut self,
        fuzzer: &mut Z,
        executor: &mut Executor,
        state: &mut State,
        manager: &mut Manager,
    ) -> Result<(), Error>
    where
        Z: libafl::Evaluator<Executor, Manager, BytesInput, State>,
    {
        let count = executor.evaluator().evaluations();
        let resumed = self.store.is_resumed();
        let kept: Vec<Vec<u8>> =
            self.store.queue().iter().chain(self.store.pending()).map(|(_, bytes)| bytes.clone()).collect();
        let is_first = self.board.searching.load(Ordering::Relaxed) == 0;
        let seeds = if resumed && is_first { Vec::new() } else { self.seeds()? };
        if resumed && is_first {
            // A later worker goes on with the seeds of a new campaign, but not with those of an old one.
            self.board.seeds_tried.store(u64::MAX, Ordering::Relaxed);
            eprintln!(
                "penfuzz: resuming {} with {} inputs after {count} evaluations",
                self.store.dir().display(),
                self.store.queue().len() + self.store.pending().len(),
            );
        }
        silence(&[libc::STDERR_FILENO])?;
        self.board.searching.store(1, Ordering::Release);
        let lost = self.board.finds();
        probe::submit(kept, fuzzer, executor, state, manager)?;
        probe::submit(lost, fuzzer, executor, state, manager)?;
        probe::submit(self.of_the_others(), fuzzer, executor, state, manager)?;
        for bytes in resume::restore(state, &self.store.remembered)? {
            fuzzer.add_input(state, executor, manager, BytesInput::new(bytes))?;
        }
        resume::restore_progress(executor.evaluator_mut(), &self.store.remembered);
        let killers = self.board.killers();
        for (death, bytes) in killers.iter().filter_map(|(n, bytes)| Some((Death::of_number(*n)?, bytes))) {
            self.suspect(bytes);
            self.explain(death, bytes, executor.evaluator_mut(), state)?;
        }
        if !killers.is_empty() {
            // At once: the next death may come before the next time to save.
            executor.evaluator_mut().set_evaluations(count);
            self.settle(executor, state)?;
        }
        probe::submit(self.store.to_run_again(), fuzzer, executor, state, manager)?;
        if resumed {
            // Looking again at what was known is no new evaluation.
            executor.evaluator_mut().set_evaluations(count);
        }
        let tried = self.board.seeds_tried.load(Ordering::Relaxed).min(seeds.len() as u64);
        for seed in seeds.into_iter().skip(tried as usize) {
            // One may kill this worker: the next goes on behind it, and knows what was found before.
            self.board.seeds_tried.fetch_add(1, Ordering::Relaxed);
            let known = (state.metadata::<Saturation>()?.generation, state.solutions().count());
            probe::submit(vec![seed.clone()], fuzzer, executor, state, manager)?;
            if known != (state.metadata::<Saturation>()?.generation, state.solutions().count()) {
                // It is not tried again, so the next worker must hear of it even if it is not on the disk by then.
                executor.evaluator_mut().note_find(&seed);
            }
            self.sync(executor, state)?;
        }
        self.sync(executor, state)
    }

    /// Finds out what the input did that killed the last worker.
    fn explain(
        &mut self,
        death: Death,
        bytes: &[u8],
        evaluator: &mut Evaluator,
        state: &mut State,
    ) -> Result<(), Error> {
        let patience = self.options.timeout * 2 + Duration::from_secs(1);
        let taken = killer::branches_taken(evaluator, &self.scope, bytes, patience)?;
        if taken.is_none() && death.is_from_outside() {
            return Ok(());
        }
        let saturation = state.metadata_mut::<Saturation>()?;
        let taken = taken.unwrap_or_default();
        let new: Vec<u32> = taken.iter().copied().filter(|b| !saturation.is_covered(*b as usize)).collect();
        saturation.cover(&taken, true);
        let place = new.last().or(taken.last()).map_or_else(
            || "a run that could not be repeated".to_owned(),
            |last| {
                let target = evaluator.target();
                let site = &target.sites[target.site_of(*last as usize)];
                format!("{} (after {}:{})", target.functions[site.function].name, site.file, site.line)
            },
        );
        let ms = (self.board.seconds(self.begun) * 1e3) as u64;
        // The first death of a kind stands for all in which nothing new is seen.
        if !self.store.keep_fault(bytes, &death.fault(&[], place.clone()), ms) && !new.is_empty() {
            self.store.keep_fault(bytes, &death.fault(&new, place), ms);
        }
        Ok(())
    }

    fn seeds(&self) -> Result<Vec<Vec<u8>>, Error> {
        let Some(dir) = &self.options.seeds else { return Ok(Vec::new()) };
        let unreadable = |p: &Path, e: &io::Error| {
            crate::error::at(p, format!("cannot be read as seeds: {}", crate::target::kind::plain(e)))
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(|e| unreadable(dir, &e))? {
            let path = entry.map_err(|e| unreadable(dir, &e))?.path();
            if path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        files.iter().map(|p| std::fs::read(p).map_err(|e| unreadable(p, &e))).collect()
    }

    /// With a time limit the targeted search spends what is left of it on the branches that it has given up.
    fn goes_on(&self) -> bool {
        self.options.search == SearchKind::Targeted && self.options.max_time.is_some()
    }

    /// Runs turns of the stages until the end; `None` when the process is worn out.
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
            let saturation = state.metadata::<Saturation>()?;
            if !imports_wait && saturation.is_done() && (!self.goes_on() || saturation.uncovered().next().is_none()) {
                return Ok(Some(StopReason::Saturated));
            }
            if guard::is_worn_out() {
                self.settle(executor, state)?;
                return Ok(None);
            }
            if self.clock.is_over(executor.evaluator().evaluations()) {
                let flagged = self.board.stop_reason();
                return Ok(Some(if flagged == StopReason::None { StopReason::MaxEvals } else { flagged }));
            }
            stages.perform_all(fuzzer, executor, state, manager)?;
            self.sync(executor, state)?;
            self.talk(fuzzer, executor, state, manager)?;
        }
    }

    /// Notes what is new; now and then writes it to the disk and then shows it on the board.
    fn sync(&mut self, executor: &mut Executor, state: &State) -> Result<(), Error> {
        self.hold.come_back();
        self.note_finds(state, executor.evaluator().evaluations())?;
        if self.disk.is_due() || (self.board.is_nearly_full() && !self.disk.is_failing()) {
            self.settle(executor, state)?;
        }
        Ok(())
    }

    fn note_finds(&mut self, state: &State, evaluations: u64) -> Result<(), Error> {
        self.store.remembered.evaluations = evaluations;
        let saturation = state.metadata::<Saturation>()?;
        if core::mem::replace(&mut self.synced_generation, saturation.generation) != saturation.generation {
            self.sync_inputs(state, saturation, evaluations)?;
        }
        self.sync_faults(state)
    }

    /// Writes what is due, then shows it. When the disk fails, all of it is kept and tried again.
    fn settle(&mut self, executor: &mut Executor, state: &State) -> Result<(), Error> {
        // What is on the board only would be forgotten there otherwise.
        self.note_finds(state, executor.evaluator().evaluations())?;
        let done = self.write_due(executor, state)?;
        self.disk.note(&done, self.store.unwritten(), self.board);
        self.show(state.metadata::<Saturation>()?);
        Ok(())
    }

    fn write_due(&mut self, executor: &mut Executor, state: &State) -> Result<io::Result<()>, Error> {
        // What failed may have been any of it.
        let all = self.disk.is_failing() || guard::is_worn_out();
        let seconds = self.board.seconds(self.begun);
        if let Err(e) = self.flush() {
            return Ok(Err(e));
        }
        let every = if self.store.remembered.workers > 1 { STATE_AFTER_DEATH } else { STATE_EVERY };
        if all || self.store.has_new_faults() || seconds - self.state_written >= every {
            self.remember(executor, state)?;
            if let Err(e) = self.store.save() {
                return Ok(Err(e));
            }
            self.state_written = seconds;
        }
        if self.disk.is_failing() || seconds - self.report_written >= STATE_EVERY {
            self.report_written = seconds;
            return self.write_reports(StopReason::None, executor, state);
        }
        Ok(Ok(()))
    }

    /// Writes the finds; the supervisor need not remember them any more then.
    fn flush(&mut self) -> io::Result<()> {
        self.store.flush()?;
        self.board.forget_finds();
        self.board.forget_killers();
        Ok(())
    }

    fn sync_inputs(&mut self, state: &State, saturation: &Saturation, evaluations: u64) -> Result<(), Error> {
        let ms = (self.board.seconds(self.begun) * 1e3) as u64;
        let op = self.imports.as_ref().and_then(import::Imports::op).unwrap_or(self.options.search.name()).to_owned();
        let corpus = state.corpus();
        for i in self.synced_kept..corpus.count() {
            let input: Vec<u8> = corpus.cloned_input_for_id(corpus.nth(i))?.into();
            self.store.keep(&input, ms, evaluations, &op);
        }
        self.synced_kept = corpus.count();
        for pending in &saturation.pending {
            self.store.keep_pending(&pending.bytes, ms, evaluations, &op);
        }
        Ok(())
    }

    fn sync_faults(&mut self, state: &State) -> Result<(), Error> {
        let solutions = state.solutions();
        if solutions.count() == self.synced_solutions {
            return Ok(());
        }
        let ms = (self.board.seconds(self.begun) * 1e3) as u64;
        for i in self.synced_solutions..solutions.count() {
            let fault = solutions.get(solutions.nth(i))?.borrow().metadata::<Fault>()?.clone();
            let bytes: Vec<u8> = solutions.cloned_input_for_id(solutions.nth(i))?.into();
            self.store.keep_fault(&bytes, &fault, ms);
        }
        self.synced_solutions = solutions.count();
        Ok(())
    }

    fn show(&self, saturation: &Saturation) {
        let (total, covered, saturated, given_up) = saturation.counts();
        let files = self.store.counts();
        let set = |cell: &core::sync::atomic::AtomicU64, value: usize| cell.store(value as u64, Ordering::Relaxed);
        set(&self.board.total, total);
        set(&self.board.kept, files.kept);
        set(&self.board.crashes, files.crashes);
        set(&self.board.hangs, files.hangs);
        set(&self.board.unwritten, self.store.unwritten());
        if self.store.unwritten() == 0 {
            // Told only of what is on the disk.
            set(&self.board.covered, covered);
            set(&self.board.saturated, saturated);
            set(&self.board.given_up, given_up);
        }
    }

    fn write_afl(&mut self, stop: StopReason, evaluations: u64, state: &State) -> Result<(), Error> {
        let saturation = state.metadata::<Saturation>()?;
        let (total, covered, ..) = saturation.counts();
        let files = self.store.counts();
        let moment = afl::Moment {
            seconds: self.board.seconds(self.begun),
            evaluations,
            kept: files.kept,
            imported: self.store.queue().iter().filter(|(name, _)| name.contains(",sync:")).count(),
            pending: files.pending,
            crashes: files.crashes,
            hangs: files.hangs,
            covered,
            total,
            rounds: state.metadata::<Spent>().map_or(0, |spent| spent.rounds(saturation)),
            timeout: self.options.timeout.as_millis(),
        };
        self.statistics.write(self.store.dir(), &self.options.target, &moment, stop != StopReason::None);
        Ok(())
    }

    /// Takes out of the state of LibAFL what `state.json` is to know.
    fn remember(&mut self, executor: &Executor, state: &State) -> Result<(), Error> {
        resume::remember(state, &mut self.store.remembered)?;
        resume::remember_progress(executor.evaluator(), state, &mut self.store.remembered)?;
        self.store.remembered.evaluations = executor.evaluator().evaluations();
        self.store.remembered.seconds = self.board.seconds(self.begun);
        Ok(())
    }

    fn finish(mut self, stop: StopReason, executor: &mut Executor, state: &State) -> Result<End, Error> {
        self.note_finds(state, executor.evaluator().evaluations())?;
        self.remember(executor, state)?;
        let mut done = self.flush().and_then(|()| self.store.save());
        if done.is_ok() {
            done = self.write_reports(stop, executor, state)?;
        }
        self.show(state.metadata::<Saturation>()?);
        match done {
            Ok(()) => Ok(End::Finished),
            Err(e) => Err(disk::lost(self.store.dir(), &e, self.store.unwritten())),
        }
    }

    /// Statistics and reports; also of a campaign that still runs.
    fn write_reports(
        &mut self,
        stop: StopReason,
        executor: &mut Executor,
        state: &State,
    ) -> Result<io::Result<()>, Error> {
        self.write_afl(stop, executor.evaluator().evaluations(), state)?;
        let saturation = state.metadata::<Saturation>()?;
        if self.place.farm.is_some() {
            return Ok(Ok(()));
        }
        let sources = outcome::Sources {
            options: self.options,
            inputs: &self.store.inputs(),
            fault_inputs: self.store.fault_inputs(),
            remembered: &self.store.remembered,
            saturation,
            spent: state.metadata::<Spent>().ok(),
            scope: &self.scope,
            stop,
        };
        let report = outcome::report(executor.evaluator_mut(), &sources, &mut self.shrinker);
        self.hold.come_back();
        Ok(report::write_all(self.store.dir(), &report))
    }
}
