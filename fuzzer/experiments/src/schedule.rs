//! Runs the trials of an experiment, one per core at a time, and stores each as soon as it is done.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_system::process::interrupts;

use super::{
    archive::Archive,
    model::{Budget, Experiment, Trial},
    prepare::Ready,
    progress::Progress,
    runner::{self, Job},
    tools::{Tool, penfuzz::PAPER},
};

/// Time between two versions of the reports while trials run.
const REPORT_EVERY: Duration = Duration::from_mins(1);

/// The environment of the trials.
pub struct Setting<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The tools that are installed.
    pub tools: &'a [Box<dyn Tool>],
    /// The functions.
    pub ready: &'a [Ready],
    /// Stores the finished trials.
    pub archive: &'a Archive,
    /// Cache of the programs of the tools.
    pub cache: PathBuf,
    /// Print no progress.
    pub quiet: bool,
}

/// A planned trial, as indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Planned {
    function: usize,
    tool: usize,
    number: u32,
}

/// Runs the unfinished trials. Returns all finished ones in the order of functions, tools and numbers. A failed trial
/// is an outcome, not an error.
///
/// # Errors
/// A trial cannot be written; or, with the paper's protocol, the trial of the paper's search that defines the budget of
/// the others is missing.
pub fn run(setting: &Setting, report: impl Fn(&[Trial]) + Sync) -> Result<Vec<Trial>> {
    let order = order(setting);
    let done: Vec<Trial> = order.iter().filter_map(|p| find(setting, *p)).collect();
    let progress = Progress::new(order.len(), done.len(), setting.quiet);
    let state = State { trials: Mutex::new(done), reported: Mutex::new(Instant::now()), failure: Mutex::default() };
    // With the paper's protocol, the paper's search runs first: it defines the budget of the others.
    let (first, second): (Vec<_>, Vec<_>) = order
        .into_iter()
        .partition(|p| setting.experiment.budget.times_paper.is_none() || setting.tools[p.tool].name() == PAPER);
    for phase in [first, second] {
        run_phase(setting, &phase, &state, &progress, &report);
    }
    progress.clear();
    if let Some(failure) = lock(&state.failure).take() {
        return Err(failure);
    }
    let mut trials = std::mem::take(&mut *lock(&state.trials));
    sort(setting.experiment, &mut trials);
    Ok(trials)
}

struct State {
    trials: Mutex<Vec<Trial>>,
    reported: Mutex<Instant>,
    failure: Mutex<Option<penfuzz_error::Error>>,
}

/// Locks even after a panic of another thread: no change leaves the value incomplete.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(setting: &Setting, p: Planned) -> Option<Trial> {
    setting.archive.find(&setting.ready[p.function].subject.name, setting.tools[p.tool].name(), p.number)
}

/// Returns the order of trials: all number 0 first, then all number 1, …, so that the finished trials are comparable at
/// any time. The first tool differs from function to function, so that a slow phase of the machine affects all tools
/// alike.
fn order(setting: &Setting) -> Vec<Planned> {
    let n = setting.tools.len();
    let of = |number: u32| {
        (0..setting.ready.len())
            .flat_map(move |function| (0..n).map(move |i| Planned { function, tool: (function + i) % n, number }))
    };
    (0..setting.experiment.trials).flat_map(of).collect()
}

fn sort(experiment: &Experiment, trials: &mut [Trial]) {
    let function = |t: &Trial| experiment.functions.iter().position(|f| f.name == t.function);
    let tool = |t: &Trial| experiment.tools.iter().position(|x| x.name == t.tool);
    trials.sort_by_cached_key(|t| (function(t), tool(t), t.trial));
}

fn run_phase(
    setting: &Setting,
    planned: &[Planned],
    state: &State,
    progress: &Progress,
    report: &(impl Fn(&[Trial]) + Sync),
) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for &core in &setting.experiment.machine.cores {
            let next = &next;
            scope.spawn(move || {
                while !interrupts::requested() && lock(&state.failure).is_none() {
                    let Some(&p) = planned.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    if find(setting, p).is_some() {
                        continue;
                    }
                    progress.begin(setting.tools[p.tool].name(), &setting.ready[p.function].subject.name);
                    match one(setting, p, core) {
                        Ok(Some(trial)) => {
                            progress.done(&trial);
                            lock(&state.trials).push(trial);
                        }
                        Ok(None) => {}
                        Err(failure) => *lock(&state.failure) = Some(failure),
                    }
                    report_now_and_then(setting, state, report);
                }
            });
        }
    });
}

/// Writes a report if it is due. Only one thread does so at a time; the others continue.
fn report_now_and_then(setting: &Setting, state: &State, report: &(impl Fn(&[Trial]) + Sync)) {
    let Ok(mut last) = state.reported.try_lock() else { return };
    if last.elapsed() >= REPORT_EVERY {
        let mut trials = lock(&state.trials).clone();
        sort(setting.experiment, &mut trials);
        report(&trials);
        *last = Instant::now();
    }
}

/// Runs, judges and stores one trial; returns `None` after Ctrl-C.
fn one(setting: &Setting, p: Planned, core: usize) -> Result<Option<Trial>> {
    let (ready, tool) = (&setting.ready[p.function], &*setting.tools[p.tool]);
    let directory = setting.archive.work().join(format!("core{core}"));
    clear(&directory)?;
    let job = Job {
        tool,
        subject: &ready.subject,
        number: p.number,
        seed: setting.experiment.seed + u64::from(p.number),
        budget: budget(setting, p)?,
        core,
        directory: &directory,
        seeds: &ready.seeds,
        without_seeds: setting.experiment.without_seeds,
    };
    let outcome = tool.build(&ready.subject, &setting.cache).and_then(|built| runner::run(&job, &built));
    let (mut trial, corpus) = match outcome {
        Ok(None) => return Ok(None),
        Ok(Some(left)) => (left.trial, left.corpus),
        // A failure on one function is an outcome; the experiment continues.
        Err(error) => (job.failed(&error.to_string()), Vec::new()),
    };
    trial.total = ready.referee.total();
    match ready.referee.judge(&corpus) {
        Ok(verdict) => {
            trial.taken = verdict.taken;
            trial.criteria = verdict.criteria;
            trial.timeline = verdict.timeline;
            trial.failing_inputs = verdict.failing_inputs;
        }
        Err(error) => {
            let before = trial.error.take().map_or(String::new(), |e| e + "; ");
            trial.error = Some(format!("{before}referee: {error}"));
        }
    }
    if interrupts::requested() {
        return Ok(None);
    }
    setting.archive.keep(&trial, &corpus)?;
    // Only to save space: a directory that cannot be removed now is removed before the next trial.
    let _ = fs::remove_dir_all(&directory);
    Ok(Some(trial))
}

fn clear(directory: &std::path::Path) -> Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory).context(|| format!("cannot remove {}", directory.display()))?;
    }
    fs::create_dir_all(directory).context(|| format!("cannot create {}", directory.display()))
}

/// The budget of this trial.
fn budget(setting: &Setting, p: Planned) -> Result<Budget> {
    let budget = setting.experiment.budget;
    let Some(times) = budget.times_paper.filter(|_| setting.tools[p.tool].name() != PAPER) else {
        return Ok(budget);
    };
    let name = &setting.ready[p.function].subject.name;
    let Some(paper) = setting.archive.find(name, PAPER, p.number) else {
        bail!("{name}: {PAPER} has no trial {}, which defines the CPU time of the others", p.number);
    };
    Ok(Budget { cpu_seconds: times * paper.cpu_seconds, ..budget })
}
