//! Prepares functions for all tools: determines the signature, writes the seeds, builds the referee.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_mutators::view::{Kind, Layout};
use penfuzz_suite::{
    Suite,
    child::{ForwardedOptions, run_child},
    config::TargetSpec,
};
use penfuzz_system::process::interrupts;
use penfuzz_target::inputs::Decoding;

use super::{assumptions, harness, model::seconds, referee::Referee, subject::Subject};

/// The reason for excluding a function when only those with structures, arrays and strings take part.
pub const NO_COMPOSITE: &str = "no pointer leads to a structure, an array or a string";

/// One function, ready for trials.
pub struct Ready {
    /// The function.
    pub subject: Subject,
    /// Replays corpora and counts branches.
    pub referee: Referee,
    /// Directory of the seed inputs.
    pub seeds: PathBuf,
}

/// A function of a suite to prepare.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Unique in the experiment.
    pub name: String,
    /// Its suite.
    pub suite: Arc<Suite>,
    /// Its entry there.
    pub spec: TargetSpec,
    /// If set, the function takes part only if a pointer leads to a structure, an array or a string.
    pub must_be_composite: bool,
}

/// Returns all functions of the suites. With several suites, each name begins with that of its suite.
#[must_use]
pub fn candidates(suites: &[Arc<Suite>], must_be_composite: bool) -> Vec<Candidate> {
    let several = suites.len() > 1;
    let of = |suite: &Arc<Suite>| {
        let suite = Arc::clone(suite);
        suite.targets.clone().into_iter().map(move |spec| Candidate {
            name: if several { format!("{}:{}", suite.name, spec.name) } else { spec.name.clone() },
            suite: Arc::clone(&suite),
            spec,
            must_be_composite,
        })
    };
    suites.iter().flat_map(of).collect()
}

/// Shuffles (Fisher and Yates); the order depends only on the seed and the list.
pub fn shuffle<T>(all: &mut [T], seed: u64) {
    let mut rng = StdRand::with_seed(seed);
    for i in (1..all.len()).rev() {
        all.swap(i, rng.below_or_zero(i + 1));
    }
}

/// The outcome of the preparation: the functions that are ready, and those left out with the reason, both in the order
/// of the candidates.
#[derive(Default)]
pub struct Prepared {
    /// Those that can be compared.
    pub ready: Vec<Ready>,
    /// Functions that cannot be compared, or have no branch.
    pub left_out: Vec<(String, String)>,
}

/// Prepares candidates in their order, several at a time, until `wanted` of them are ready.
#[must_use]
pub fn prepare(candidates: &[Candidate], wanted: usize, jobs: usize, dir: &Path, cache: &Path) -> Prepared {
    let mut all = Prepared::default();
    let mut rest = candidates;
    while all.ready.len() < wanted && !rest.is_empty() && !interrupts::requested() {
        let (now, later) = rest.split_at(rest.len().min(wanted - all.ready.len()));
        rest = later;
        for (candidate, outcome) in now.iter().zip(side_by_side(now, jobs, |c| make_ready(c, dir, cache))) {
            match outcome {
                Some(Ok(ready)) => all.ready.push(ready),
                Some(Err(error)) => all.left_out.push((candidate.name.clone(), reason(&error.to_string()))),
                None => {}
            }
        }
    }
    all
}

/// Returns an error without its reference to a log, which is removed with the directory of the preparation.
fn reason(error: &str) -> String {
    error.split_once(" (exit status").map_or(error, |(reason, _)| reason).to_owned()
}

/// Processes items in parallel. Returns the outcomes in the order of the items; `None` for those that were not started
/// because of Ctrl-C.
fn side_by_side<T: Sync, R: Send>(items: &[T], jobs: usize, work: impl Fn(&T) -> R + Sync) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        while !interrupts::requested() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            done.push((index, work(item)));
        }
        done
    };
    let mut all: Vec<Option<R>> = items.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(run)).collect();
        for (index, outcome) in threads.into_iter().flat_map(|t| t.join().unwrap_or_default()) {
            all[index] = Some(outcome);
        }
    });
    all
}

fn make_ready(candidate: &Candidate, dir: &Path, cache: &Path) -> Result<Ready> {
    let (suite, spec) = (&candidate.suite, &candidate.spec);
    let dir = dir.join(&candidate.name);
    // A campaign of one evaluation reports the signature, and compiles the target for the later ones.
    let passed = ForwardedOptions { max_evals: Some(1), ..ForwardedOptions::default() };
    let began = Instant::now();
    let mut report = run_child(suite, &dir.join("signature"), &passed, spec)?;
    let assumed = assumptions::of(suite, spec, &report, cache)?;
    if assumed.is_some() {
        report.flags.push(assumptions::DEFINE.to_owned());
    }
    let search = Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
    let subject = Subject {
        name: candidate.name.clone(),
        suite: Arc::clone(suite),
        spec: spec.clone(),
        compile_seconds: seconds(began.elapsed().saturating_sub(search)),
        assumed,
        report,
    };
    let is_composite = subject.report.signature.decoding.as_ref().is_some_and(Decoding::is_composite);
    if candidate.must_be_composite && !is_composite {
        bail!("{NO_COMPOSITE}");
    }
    if let Err(why) = harness::check(&subject.report) {
        bail!("{why}");
    }
    let referee = Referee::build(&subject, cache, &dir)?;
    if referee.total() == 0 {
        bail!("has no branch by gcov's count");
    }
    let seeds = dir.join("seeds");
    write_seeds(&subject, &seeds).context(|| format!("cannot write {}", seeds.display()))?;
    Ok(Ready { subject, referee, seeds })
}

/// Writes the seeds of every tool: all arguments 0, and all arguments 1. A function of bytes gets eight doubles of each
/// value.
fn write_seeds(subject: &Subject, dir: &Path) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let kinds = match subject.input_size() {
        Some(_) => harness::kinds(&subject.report),
        None => vec![Kind::F64; 8],
    };
    let layout = Layout::packed(&kinds);
    let size = subject.input_size().unwrap_or(layout.size()).max(1);
    for (name, value) in [("zeros", 0.0), ("ones", 1.0)] {
        let mut x = vec![0; size];
        layout.set_reals(&mut x, &vec![value; layout.len()]);
        fs::write(dir.join(name), x)?;
    }
    Ok(())
}
