//! The worker: loads the target, runs the stages until the end, writes the report.

use core::sync::atomic::Ordering;
use std::{path::Path, rc::Rc, sync::Arc, time::Instant};

use libafl::{
    HasMetadata,
    corpus::{Corpus, InMemoryCorpus},
    events::SimpleEventManager,
    inputs::BytesInput,
    monitors::NopMonitor,
    mutators::{HavocScheduledMutator, havoc_mutations},
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
    outcome, resume,
    store::{self, Store},
};
use crate::{
    error::Error,
    executor::{Evaluator, Fault, HasEvaluator, PenExecutor, evaluator::Limits, guard},
    report,
    saturation::{BranchGraph, NewPlaceFeedback, PenObserver, Saturation, SaturationFeedback, Scope, ScopeKind},
    stage::{BasinhoppingStage, Clock, NumericHavocStage, PaperStage, Sampling, SamplingStage, budget::Spent, paper, probe},
    target::{Target, select},
};

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

/// Mutants of one havoc turn beside minimization: light, since it has no aim.
const HAVOC_BESIDE: u64 = 64;
/// Mutants of one turn when there is nothing else.
const HAVOC_ALONE: u64 = 4096;
/// Seconds between two writings of statistics and state.
const STATS_EVERY: f64 = 5.0;

/// Evaluations that numbers in file names and reports speak of, and the time.
struct Timing {
    begun: Instant,
    before: f64,
}

impl Timing {
    fn seconds(&self) -> f64 {
        self.before + self.begun.elapsed().as_secs_f64()
    }

    fn milliseconds(&self) -> u64 {
        (self.seconds() * 1000.0) as u64
    }
}

/// Runs the campaign in this process. `dir` is locked by `lock`.
///
/// # Errors
/// What the user must know: the function cannot be found or called, files cannot be written.
pub fn run(options: &Options, dir: Option<&Path>, board: &'static mut Board) -> Result<End, Error> {
    let target = Rc::new(Target::load(&options.linked)?);
    let function = select::select(&target, options.function.as_deref())?;
    let dir = dir.map_or_else(|| default_directory(options, &target.functions[function].name), Path::to_path_buf);
    if options.fresh && board.evaluations.load(Ordering::Relaxed) == 0 {
        if let Some(old) = store::set_aside(&dir)? {
            eprintln!("penfuzz: starting over; the old campaign is kept in {}", old.display());
        }
    }
    let lock = store::lock(&dir)?;
    board.directory.set(&dir.to_string_lossy());
    let kind = options.scope.unwrap_or(if target.functions[function].is_harness() { ScopeKind::All } else { ScopeKind::Function });
    let scope = Scope::new(&target, function, kind);
    let store = Store::open(&dir, lock, &fingerprint(&target, function, kind))?;
    Campaign::new(options, target, function, scope, store, board)?.run()
}

/// `penfuzz-out/FILE.FUNCTION` below the current directory.
#[must_use]
pub fn default_directory(options: &Options, function: &str) -> std::path::PathBuf {
    let stem = options.target.file_stem().map_or_else(|| "target".into(), |s| s.to_string_lossy().into_owned());
    let name: String = function.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    Path::new("penfuzz-out").join(if stem == name { stem } else { format!("{stem}.{name}") })
}

/// Tells targets apart: another function, scope or set of sites is another campaign.
fn fingerprint(target: &Target, function: usize, scope: ScopeKind) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    for s in &target.sites {
        (s.line, s.column, s.n_branches, s.kind, s.predicate).hash(&mut hasher);
    }
    let f = &target.functions[function];
    format!("{} {scope:?} {} branches {:016x}", f.symbol, target.n_branches, hasher.finish())
}

struct Campaign<'a> {
    options: &'a Options,
    scope: Scope,
    store: Store,
    board: &'static mut Board,
    timing: Timing,
    clock: Clock,
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
    evaluator: Option<Evaluator>,
    synced_kept: usize,
    synced_solutions: usize,
    stats_written: f64,
}

impl<'a> Campaign<'a> {
    fn new(
        options: &'a Options,
        target: Rc<Target>,
        function: usize,
        scope: Scope,
        mut store: Store,
        board: &'static mut Board,
    ) -> Result<Self, Error> {
        let limits = Limits { timeout: options.timeout, fuel: options.fuel, memory: options.memory_limit };
        let layout = Arc::new(target.functions[function].layout());
        let dictionary = Arc::new(harvest(&target, function));
        let mut evaluator = Evaluator::new(target, function, limits)?;
        if evaluator.input_size() > INPUT_ROOM {
            return Err(Error::new(format!("`{}` takes more than {INPUT_ROOM} bytes of arguments", evaluator.function().name)));
        }
        // SAFETY: the board is mapped for ever and has room, as just checked.
        unsafe { evaluator.show_to_supervisor(board.input.as_mut_ptr(), board.evaluations.as_ptr()) };
        board.input_size.store(evaluator.input_size() as u64, Ordering::Relaxed);
        // A worker that follows another counts on; the board may know more than the file.
        let evaluations = store.remembered.evaluations.max(board.evaluations.load(Ordering::Relaxed));
        evaluator.set_evaluations(evaluations);
        store.remembered.workers += 1;
        let timing = Timing { begun: Instant::now(), before: store.remembered.seconds };
        // SAFETY: the board is mapped for ever; the flag is atomic.
        let stop: &'static core::sync::atomic::AtomicU32 = unsafe { &*(&raw const board.stop) };
        let clock = Clock::new(options.max_evals.unwrap_or(u64::MAX), stop);
        Ok(Self {
            options,
            scope,
            store,
            board,
            timing,
            clock,
            layout,
            dictionary,
            evaluator: Some(evaluator),
            synced_kept: 0,
            synced_solutions: 0,
            stats_written: 0.0,
        })
    }

    fn run(mut self) -> Result<End, Error> {
        let evaluator = self.evaluator.take().ok_or_else(|| Error::new("the evaluator is gone"))?;
        let graph = BranchGraph::new(evaluator.target(), &self.scope);
        let observer = PenObserver::new();
        let handle = observer.handle();
        let mut feedback = SaturationFeedback::new(&observer, graph);
        let mut objective = NewPlaceFeedback::new(&observer);
        // Another worker must not walk the same way into the same death.
        let seed = self.options.seed.wrapping_add(u64::from(self.store.remembered.workers - 1).wrapping_mul(0x9e37_79b9));
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
        self.board.searching.store(1, Ordering::Release);
        let clock = self.clock.clone();
        let layout = Arc::clone(&self.layout);
        let minimizer = |default: &str| self.options.minimizer.clone().unwrap_or_else(|| default.to_owned());
        let end = match self.options.search {
            SearchKind::Targeted => {
                let mutators = havoc_mutations().merge(numeric_mutations(&self.layout, &self.dictionary));
                let lm = minimizer("avm");
                let mut stages = tuple_list!(
                    BasinhoppingStage::new(layout, Arc::clone(&self.dictionary), &lm, clock.clone())?,
                    NumericHavocStage::new(HavocScheduledMutator::new(mutators), HAVOC_BESIDE, clock)
                );
                self.drive(&mut stages, &mut fuzzer, &mut executor, &mut state, &mut manager)?
            }
            SearchKind::Paper => {
                let lm = minimizer(paper::MINIMIZER);
                let (n_start, n_iter) = (self.options.n_start, self.options.n_iter);
                let mut stages = tuple_list!(PaperStage::new(layout, &lm, n_start, n_iter, clock)?);
                self.drive(&mut stages, &mut fuzzer, &mut executor, &mut state, &mut manager)?
            }
            SearchKind::Random | SearchKind::Structured => {
                let sampling =
                    if self.options.search == SearchKind::Random { Sampling::Random } else { Sampling::Structured };
                let mut stages = tuple_list!(SamplingStage::new(sampling, layout, clock));
                self.drive(&mut stages, &mut fuzzer, &mut executor, &mut state, &mut manager)?
            }
            SearchKind::Havoc => {
                let mutator = HavocScheduledMutator::new(havoc_mutations());
                let mut stages = tuple_list!(NumericHavocStage::new(mutator, HAVOC_ALONE, clock));
                self.drive(&mut stages, &mut fuzzer, &mut executor, &mut state, &mut manager)?
            }
        };
        let Some(stop) = end else { return Ok(End::WornOut) };
        self.finish(stop, &mut executor, &state)
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
        let seeds = if resumed { Vec::new() } else { self.seeds()? };
        probe::submit(kept, fuzzer, executor, state, manager)?;
        for bytes in resume::restore(state, &self.store.remembered)? {
            fuzzer.add_input(state, executor, manager, BytesInput::new(bytes))?;
        }
        if resumed {
            // Looking again at what was known is no new evaluation.
            executor.evaluator_mut().set_evaluations(count);
            if self.board.searching.load(Ordering::Relaxed) == 0 {
                eprintln!(
                    "penfuzz: resuming {} with {} inputs after {count} evaluations",
                    self.store.dir().display(),
                    self.store.queue().len() + self.store.pending().len(),
                );
            }
        } else {
            probe::submit(seeds, fuzzer, executor, state, manager)?;
        }
        self.sync(executor, state)
    }

    fn seeds(&self) -> Result<Vec<Vec<u8>>, Error> {
        let Some(dir) = &self.options.seeds else { return Ok(Vec::new()) };
        let unreadable = |p: &Path, e: &std::io::Error| {
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
    {
        loop {
            if state.metadata::<Saturation>()?.is_done() {
                return Ok(Some(StopReason::Saturated));
            }
            if guard::is_worn_out() {
                self.save(executor, state)?;
                return Ok(None);
            }
            if self.clock.is_over(executor.evaluator().evaluations()) {
                let flagged = self.board.stop_reason();
                return Ok(Some(if flagged == StopReason::None { StopReason::MaxEvals } else { flagged }));
            }
            stages.perform_all(fuzzer, executor, state, manager)?;
            self.sync(executor, state)?;
        }
    }

    /// Writes what is new to disk, then shows it on the board.
    fn sync(&mut self, executor: &Executor, state: &State) -> Result<(), Error> {
        let evaluations = executor.evaluator().evaluations();
        self.store.remembered.evaluations = evaluations;
        let ms = self.timing.milliseconds();
        let op = self.options.search.name();
        let corpus = state.corpus();
        for i in self.synced_kept..corpus.count() {
            let input: Vec<u8> = corpus.cloned_input_for_id(corpus.nth(i))?.into();
            self.store.keep(&input, ms, evaluations, op)?;
        }
        self.synced_kept = corpus.count();
        let saturation = state.metadata::<Saturation>()?;
        for pending in &saturation.pending {
            self.store.keep_pending(&pending.bytes, ms, evaluations, op)?;
        }
        let solutions = state.solutions();
        for i in self.synced_solutions..solutions.count() {
            let fault = solutions.get(solutions.nth(i))?.borrow().metadata::<Fault>()?.clone();
            let bytes: Vec<u8> = solutions.cloned_input_for_id(solutions.nth(i))?.into();
            self.store.keep_fault(&bytes, &fault, ms)?;
        }
        self.synced_solutions = solutions.count();
        self.show(saturation);
        let seconds = self.timing.seconds();
        if seconds - self.stats_written >= STATS_EVERY {
            self.stats_written = seconds;
            self.write_afl(saturation, evaluations, seconds);
            self.save(executor, state)?;
        }
        Ok(())
    }

    fn show(&self, saturation: &Saturation) {
        let (total, covered, saturated, given_up) = saturation.counts();
        let (crashes, hangs) = self.store.fault_counts();
        for (cell, value) in [
            (&self.board.total, total),
            (&self.board.covered, covered),
            (&self.board.saturated, saturated),
            (&self.board.given_up, given_up),
            (&self.board.kept, self.store.queue().len()),
            (&self.board.crashes, crashes),
            (&self.board.hangs, hangs),
        ] {
            cell.store(value as u64, Ordering::Relaxed);
        }
    }

    fn write_afl(&self, saturation: &Saturation, evaluations: u64, seconds: f64) {
        let (total, covered, ..) = saturation.counts();
        let (crashes, hangs) = self.store.fault_counts();
        let moment = afl::Moment {
            seconds,
            evaluations,
            kept: self.store.queue().len(),
            pending: self.store.pending().len(),
            crashes,
            hangs,
            covered,
            total,
        };
        afl::write(self.store.dir(), &self.options.target.display().to_string(), &moment);
    }

    fn save(&mut self, executor: &Executor, state: &State) -> Result<(), Error> {
        resume::remember(state, &mut self.store.remembered)?;
        self.store.remembered.evaluations = executor.evaluator().evaluations();
        self.store.remembered.seconds = self.timing.seconds();
        self.store.save()
    }

    fn finish(mut self, stop: StopReason, executor: &mut Executor, state: &State) -> Result<End, Error> {
        self.save(executor, state)?;
        let saturation = state.metadata::<Saturation>()?;
        self.write_afl(saturation, self.store.remembered.evaluations, self.store.remembered.seconds);
        let sources = outcome::Sources {
            options: self.options,
            store: &self.store,
            saturation,
            spent: state.metadata::<Spent>().ok(),
            scope: &self.scope,
            stop,
        };
        let report = outcome::report(executor.evaluator_mut(), &sources);
        report::write_all(self.store.dir(), &report).map_err(|e| Error::new(e.to_string()))?;
        Ok(End::Finished)
    }
}

/// Constants of the function under test and of every function it can call.
fn harvest(target: &Target, function: usize) -> Dictionary {
    let mut seen = vec![false; target.functions.len()];
    let mut work = vec![function];
    let (mut floats, mut integers) = (Vec::new(), Vec::new());
    while let Some(f) = work.pop() {
        if core::mem::replace(&mut seen[f], true) {
            continue;
        }
        let body = &target.functions[f];
        floats.extend_from_slice(&body.floats);
        integers.extend_from_slice(&body.integers);
        work.extend(&body.entry_edges.calls);
        work.extend(target.sites[body.sites.clone()].iter().flat_map(|s| &s.edges).flat_map(|e| &e.calls));
    }
    Dictionary::new(&floats, &integers)
}
