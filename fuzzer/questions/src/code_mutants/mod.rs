//! Mutation analysis of a finished campaign: which mutants its tests kill, and inputs that kill more.
//!
//! The target is compiled once more, with all mutants in one binary (`compiler-wrapper/pass/code_mutants/`). [`score`]
//! runs them with the tests of the campaign. A second campaign, whose goals are infected mutants, and [`search`] find
//! inputs that kill the remaining ones. A few of these inputs, selected greedily, join the tests.

pub mod oracle;
mod proofs;
mod propagation;
pub mod score;
pub mod search;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::{Duration, Instant},
};

use penfuzz_abi::site_kind;
use penfuzz_campaign::{self as campaign, Options, RunOptions};
use penfuzz_directory::{output::trust::Trusted, replay::session::ReplaySession};
use penfuzz_engine::saturation::{Goals, ScopeKind};
use penfuzz_error::{Error, at, failed};
use penfuzz_prove::Limits;
use penfuzz_report::{
    Report, Test, literal,
    mutation::{Counts, FILE, Mutant, Mutation, Status, elements},
};
use penfuzz_system::{
    errln,
    files::{atomic, foreign},
};
use penfuzz_target::program::{Site, Target};

use self::score::{Tests, Verdict, Watch};
use crate::exceptions::{bytes_of, input_of, kept};

/// The directory of the campaign on mutants, inside that of the campaign.
const CAMPAIGN: &str = "mutants";
/// The directory of inputs that were added to the tests.
const INPUTS: &str = "killing";

/// The distances that guide the search for inputs that kill mutants. Each variant includes those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Distances {
    /// Distance to the location of the mutant.
    Reach,
    /// Distance to operands for which the mutant computes another value there.
    #[default]
    Infection,
    /// Distance to another result.
    Propagation,
}

/// Options of the analysis.
#[derive(Debug, Clone)]
pub struct How {
    /// Inputs that replace the tests of the campaign.
    pub inputs: Option<Vec<Vec<u8>>>,
    /// Tolerance of floating-point results, in floats.
    pub ulp: u64,
    /// Time limit of the search; `None` for no search.
    pub search: Option<Duration>,
    /// Approximate limit of runs of the search; each of its two parts gets half of it.
    pub search_evals: Option<u64>,
    /// The distances that guide the search.
    pub distances: Distances,
    /// Seed of the search.
    pub seed: u64,
    /// Limits of solvers; `None` for no proofs.
    pub proofs: Option<Limits>,
    /// Scope of the mutants; by default that of the campaign.
    pub scope: Option<ScopeKind>,
}

/// A mutant and its state.
#[derive(Debug)]
struct Known {
    /// The number of its branch.
    branch: usize,
    /// The linker symbol of its function.
    symbol: String,
    /// The number of its mutation point in the function, and its number at that point.
    number: (usize, usize),
    mutant: Mutant,
}

/// Runs the tests of `campaign` in `dir` against mutants, searches for inputs that kill more, and adds the results to
/// its report.
///
/// # Errors
/// When the target can no longer be compiled or loaded, or files cannot be written.
pub fn complete(dir: &Path, campaign: &Trusted, report: &mut Report, how: &How) -> Result<(), Error> {
    let scope = how.scope.unwrap_or(campaign.manifest().scope);
    let mut session = ReplaySession::for_goals(campaign, Goals::Mutants, scope)?;
    if session.scope.is_empty() && campaign.manifest().settings.sources.is_empty() {
        return Err(at(&campaign.manifest().settings.linked, "has no mutants; compile it with pen-cc -fpen-mutants"));
    }
    let (mut all, duplicates) = mutants(session.evaluator.target(), &session.scope.sites);
    let mut watch = Watch::start();
    let inputs = how.inputs.clone().unwrap_or_else(|| inputs_of(dir, &session, report));
    let tests = score::observe(&mut session, inputs)?;
    let branches = live(&all);
    let verdicts = score::score(&mut session, &branches, &tests, how.ulp);
    note(&mut all, &branches, &verdicts, &tests, 0);
    let mut mutation = Mutation { score_seconds: watch.lap(), ..Mutation::default() };
    mutation.plain_seconds = score::plain(&mut session, &tests);
    watch.lap();
    mutation.mutant_runs = verdicts.iter().map(|v| v.runs).sum();
    mutation.mutants.killed_by_tests = killed(&all);
    let n_tests = tests.inputs.len();
    let mut added = Vec::new();
    if let Some(time) = how.search {
        added = find(dir, campaign, &mut session, &mut all, tests, how, time)?;
        mutation.search_seconds = watch.lap();
    }
    if let Some(limits) = how.proofs {
        let models = proofs::query_solvers(dir, campaign, report, &mut all, scope, limits)?;
        mutation.proof_seconds = watch.lap();
        if let Some(time) = how.search.filter(|_| !models.is_empty()) {
            let first = n_tests + added.len();
            added.extend(proofs::try_models(&mut session, &mut all, models, how, time, first)?);
            mutation.search_seconds += watch.lap();
        }
    }
    if how.search.is_some() {
        join(dir, &mut session, report, &added)?;
    }
    mutation.equivalent = all.iter().filter(|m| is_proved(m)).map(|m| m.mutant.clone()).collect();
    mutation.live = all.iter().filter(|m| m.is_live()).map(|m| m.mutant.clone()).collect();
    let proved = all.iter().filter(|m| m.mutant.status == Status::Equivalent).count();
    mutation.mutants = Counts {
        total: all.len(),
        killed: killed(&all),
        proved_equivalent: proved,
        unknown: mutation.live.len(),
        duplicates,
        proved_by_one: mutation.live.iter().filter(|m| m.is_proved_by_one).count(),
        infected: mutation.live.iter().filter(|m| m.status == Status::Survived).count(),
        ..mutation.mutants
    };
    write_elements(dir, report, &all.into_iter().map(|m| m.mutant).collect::<Vec<_>>())?;
    report.mutation = Some(mutation);
    Ok(())
}

impl How {
    /// Returns the bounds of the search by variants.
    fn bounds(&self, until: Instant) -> search::Bounds {
        let evals = self.search_evals.map(|evals| evals / 2);
        search::Bounds { seed: self.seed, until, evals, distances: self.distances, ulp: self.ulp }
    }
}

impl Known {
    fn is_live(&self) -> bool {
        !self.mutant.status.is_killed() && self.mutant.status != Status::Equivalent
    }
}

fn live(all: &[Known]) -> Vec<usize> {
    all.iter().filter(|m| m.is_live()).map(|m| m.branch).collect()
}

/// Returns whether solvers proved it equivalent.
fn is_proved(known: &Known) -> bool {
    known.mutant.status == Status::Equivalent && !known.mutant.proof.is_empty()
}

fn killed(all: &[Known]) -> usize {
    all.iter().filter(|m| m.mutant.status.is_killed()).count()
}

/// Returns the mutants of the functions with these sites, in the order of the source, and the number of duplicates:
/// mutants that are left out because their optimized code equals that of another.
fn mutants(target: &Target, sites: &[usize]) -> (Vec<Known>, usize) {
    let functions: BTreeSet<usize> = sites.iter().map(|s| target.sites[*s].function).collect();
    let (mut all, mut duplicates) = (Vec::new(), 0);
    let is_point = |s: &&Site| s.kind == site_kind::MUTATION && functions.contains(&s.function);
    let mut points: BTreeMap<usize, usize> = BTreeMap::new();
    for site in target.sites.iter().filter(is_point) {
        let next = points.entry(site.function).or_default();
        let point = *next;
        *next += 1;
        for (number, (branch, text)) in site.branches().zip(site.name.lines()).enumerate() {
            let mut parts = text.split('\t');
            let (operator, change) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let equal = parts.next();
            if equal.is_some_and(|e| e != "=") {
                duplicates += 1;
                continue;
            }
            let (status, reason) = match equal {
                Some(_) => (Status::Equivalent, "its optimized code is that of the original"),
                None => (Status::NotInfected, ""),
            };
            let mutant = Mutant {
                status,
                reason: reason.to_owned(),
                function: target.functions[site.function].name.clone(),
                file: site.file.clone(),
                line: site.line,
                column: site.column,
                operator: operator.to_owned(),
                change: change.to_owned(),
                ..Mutant::default()
            };
            let symbol = target.functions[site.function].symbol.clone();
            all.push(Known { branch, symbol, number: (point, number), mutant });
        }
    }
    let place = |k: &Known| (k.mutant.line, k.mutant.column, k.branch);
    all.sort_by(|a, b| a.mutant.file.cmp(&b.mutant.file).then_with(|| place(a).cmp(&place(b))));
    (all, duplicates)
}

/// Returns the inputs of the tests. A report of an older penfuzz lacks those with structures and arrays; then they are
/// the kept inputs that the tests were made from.
fn inputs_of(dir: &Path, session: &ReplaySession, report: &Report) -> Vec<Vec<u8>> {
    let function = session.evaluator.function();
    let size = function.layout().size();
    let of = |test: &Test| match (&function.model, &test.input) {
        (Some(_), Some(digits)) => {
            let mut bytes = literal::bytes_of_hex(digits)?;
            bytes.resize(size.max(bytes.len()), 0);
            Some(bytes)
        }
        (Some(_), None) => input_of(dir, &test.file),
        (None, _) => Some(bytes_of(function, &test.args)),
    };
    report.tests.iter().filter_map(of).collect()
}

/// Stores verdicts on `branches`; `first` is the number of the first of these tests among all.
fn note(all: &mut [Known], branches: &[usize], verdicts: &[Verdict], tests: &Tests, first: usize) {
    let verdict_of: BTreeMap<usize, &Verdict> = branches.iter().copied().zip(verdicts).collect();
    for known in all {
        let Some(verdict) = verdict_of.get(&known.branch) else { continue };
        let infects = tests.infected.iter().any(|i| i.binary_search(&(known.branch as u32)).is_ok());
        let mutant = &mut known.mutant;
        match &verdict.killed {
            Some((test, kill)) => {
                mutant.status = if kill.hangs { Status::Hangs } else { Status::Killed };
                mutant.reason.clone_from(&kill.how);
                mutant.killed_by = Some(first + test);
            }
            // Statements of solvers are kept.
            None if !mutant.proof.is_empty() => {}
            None if infects || mutant.status == Status::Survived => {
                mutant.status = Status::Survived;
                "infected, but no test observes a difference".clone_into(&mut mutant.reason);
            }
            None => "not infected by any known input".clone_into(&mut mutant.reason),
        }
    }
}

/// Searches for inputs that kill live mutants; returns a few of them that together kill as many.
fn find(
    dir: &Path,
    campaign: &Trusted,
    session: &mut ReplaySession,
    all: &mut [Known],
    tests: Tests,
    how: &How,
    time: Duration,
) -> Result<Vec<Vec<u8>>, Error> {
    let n_tests = tests.inputs.len();
    if live(all).is_empty() {
        return Ok(Vec::new());
    }
    let until = Instant::now() + time;
    let mut inputs = tests.inputs;
    inputs.extend(kept(dir));
    // If this fails, the verdicts on the tests are still valid.
    match infect(dir, campaign, session, how, time / 2, &inputs) {
        Ok(found) => inputs.extend(found),
        Err(e) => errln!("penfuzz: the campaign on mutants has failed: {e}"),
    }
    inputs.sort_unstable();
    inputs.dedup();
    let begin = score::observe(session, inputs)?;
    // Inputs that infect a mutant may already kill it.
    let branches = live(all);
    let verdicts = score::score(session, &branches, &begin, how.ulp);
    note(all, &branches, &verdicts, &begin, n_tests);
    let killing = |verdicts: &[Verdict], tests: &Tests| -> Vec<Vec<u8>> {
        let by = verdicts.iter().filter_map(|v| v.killed.as_ref()).map(|(t, _)| tests.inputs[*t].clone());
        by.collect()
    };
    let mut candidates = killing(&verdicts, &begin);
    let bounds = how.bounds(until);
    candidates.extend(search::search(session, &live(all), &begin, bounds));
    let mut open = branches;
    choose(session, all, &mut open, candidates, n_tests, how.ulp)
}

/// Selects inputs greedily: each is the one that kills the most of the `open` mutants that the inputs before it leave
/// alive.
fn choose(
    session: &mut ReplaySession,
    all: &mut [Known],
    open: &mut Vec<usize>,
    mut candidates: Vec<Vec<u8>>,
    first: usize,
    ulp: u64,
) -> Result<Vec<Vec<u8>>, Error> {
    candidates.sort_unstable();
    candidates.dedup();
    let tests = score::observe(session, candidates)?;
    let kills = score::kills(session, open, &tests, ulp);
    let mut chosen: Vec<usize> = Vec::new();
    while let Some(best) = (0..kills.len()).max_by_key(|t| (open_kills(&kills[*t], open).len(), usize::MAX - t)) {
        let killed: Vec<usize> = open_kills(&kills[best], open);
        if killed.is_empty() {
            break;
        }
        let verdict =
            |m: usize| kills[best].iter().find(|(k, _)| *k == m).map(|(_, kill)| (chosen.len(), kill.clone()));
        let verdicts: Vec<_> = killed.iter().map(|m| Verdict { killed: verdict(*m), runs: 0 }).collect();
        note(all, &killed, &verdicts, &tests, first);
        open.retain(|m| !killed.contains(m));
        chosen.push(best);
    }
    Ok(chosen.into_iter().map(|t| tests.inputs[t].clone()).collect())
}

fn open_kills(kills: &[(usize, score::Kill)], open: &[usize]) -> Vec<usize> {
    kills.iter().map(|(m, _)| *m).filter(|m| open.contains(m)).collect()
}

/// Runs a campaign whose goals are infected mutants, or branches if only the distance to the location guides the
/// search. Returns the inputs that it has kept.
fn infect(
    dir: &Path,
    campaign: &Trusted,
    session: &ReplaySession,
    how: &How,
    time: Duration,
    hints: &[Vec<u8>],
) -> Result<Vec<Vec<u8>>, Error> {
    let out = dir.join(CAMPAIGN);
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|e| failed(&out, "cannot be replaced", e))?;
    }
    let mut options = Options::resuming(campaign.manifest());
    options.settings.linked.clone_from(&session.linked);
    options.settings.goals = if how.distances == Distances::Reach { Goals::Branches } else { Goals::Mutants };
    options.scope = Some(session.scope.kind);
    options.run = RunOptions {
        out: Some(out.clone()),
        seed: how.seed,
        max_time: Some(time),
        max_evals: how.search_evals.map(|evals| evals / 2),
        hints: hints.to_vec(),
        ..RunOptions::default()
    };
    campaign::run(&options)?;
    Ok(kept(&out))
}

/// Adds inputs to the tests of the report.
fn join(dir: &Path, session: &mut ReplaySession, report: &mut Report, added: &[Vec<u8>]) -> Result<(), Error> {
    let place = dir.join(INPUTS);
    report.tests.retain(|t| !t.file.starts_with(INPUTS));
    if added.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&place).map_err(|e| failed(&place, "cannot be created", e))?;
    let tests = score::each(session, added.len(), |evaluator, i, _| {
        evaluator.set_mutant(None);
        Some(penfuzz_directory::rendering::results::of(evaluator, &added[i], None))
    });
    for (i, (bytes, test)) in added.iter().zip(tests).enumerate() {
        let file = format!("{INPUTS}/id:{i:06}");
        atomic::write(&dir.join(&file), bytes).map_err(Error::from_source)?;
        report.tests.extend(test.map(|test| Test { file, ..test }));
    }
    penfuzz_directory::rendering::results::expect_changed(report.tests.iter_mut());
    report.test_program = Some(penfuzz_testgen::commands(report));
    Ok(())
}

fn write_elements(dir: &Path, report: &Report, mutants: &[Mutant]) -> Result<(), Error> {
    let files: BTreeSet<&String> = mutants.iter().map(|m| &m.file).collect();
    let text = |file: &&String| {
        let bytes = foreign::read(Path::new(file), foreign::LONGEST_TEXT).ok()?;
        Some(((*file).clone(), String::from_utf8_lossy(&bytes).into_owned()))
    };
    let sources = files.iter().filter_map(text).collect();
    let names: Vec<String> = report.tests.iter().map(|t| t.file.clone()).collect();
    atomic::write(&dir.join(FILE), elements(mutants, &sources, &names).as_bytes()).map_err(Error::from_source)
}
