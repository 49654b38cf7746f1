//! Asks solvers about the branches that no input takes: proved unreachable, or not, and why not.
//!
//! 1. The sources are compiled once more, and the pass writes what each function means ([`translation`], `pass/smt/`). What has no exact
//!    meaning there is a free value: not stated means not proved.
//! 2. For each open branch the definitions that it needs are a query ([`slice`], [`evidence`]): unsatisfiable if no execution takes it.
//! 3. Solvers are separate programs ([`solver`]), each with a time limit. A branch is proved unreachable if two of them find that there
//!    is no model and none finds one.

mod ask;
pub mod beside;
mod budget;
pub mod check;
pub mod evidence;
pub mod exhaustion;
pub mod invariants;
pub mod models;
pub mod mutants;
mod prover;
mod recorded;
mod run;
pub mod slice;
pub mod solver;
pub mod stated;
pub mod together;
pub mod translation;
pub mod world;

use std::{fs, path::Path, time::Duration};

use penfuzz_directory::output::{manifest::Manifest, reports::write_all};
use penfuzz_error::{Error, failed};
use penfuzz_report::{
    Report, Status, decisions,
    proof::{Proof, Verdict},
};
use penfuzz_system::files::atomic;

use self::{prover::Prover, stated::Stated};

/// The directory of the queries, in that of a campaign.
pub const PROOFS: &str = "proofs";

/// Time for solvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For one solver and one branch.
    pub each: Duration,
    /// For all branches.
    pub all: Duration,
    /// Assumes that no code outside of the target's sources writes their global variables.
    pub closed_world: bool,
}

impl Limits {
    /// In a campaign that took this time so far: a tenth of it, at least 2 s and at most a minute.
    #[must_use]
    pub fn after(campaign: Duration) -> Self {
        let all = (campaign / 10).clamp(Duration::from_secs(2), Duration::from_mins(1));
        Self { each: (all / 3).max(Duration::from_secs(2)), all, closed_world: false }
    }
}

/// What became of the open branches of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Open branches that were asked about.
    pub asked: usize,
    /// Proved unreachable by two solvers.
    pub proved: usize,
    /// No solver is installed.
    pub without_solver: bool,
}

/// Asks about each open branch of `report`, and writes the reports in `dir` again, with the answers.
///
/// # Errors
/// When files cannot be written.
pub fn complete(dir: &Path, manifest: &Manifest, report: &mut Report, limits: Limits) -> Result<Summary, Error> {
    let proofs = dir.join(PROOFS);
    if proofs.is_dir() {
        // Those of paths stay: no other call asks about them.
        let of_paths = report.criterion_goals.iter().filter(|goal| goal.code.is_none());
        let kept: Vec<_> = of_paths.filter_map(|goal| Some(dir.join(goal.proof.as_ref()?))).collect();
        remove_queries(&proofs, |path| !is_of_mutant(path) && !kept.iter().any(|kept| kept == path))?;
    }
    let goals = open_branches(report);
    ask_about(dir, manifest, report, &goals, limits)
}

/// Does the same about each open branch of which nothing is stated yet; first about those that only one solver has an answer about.
///
/// # Errors
/// When files cannot be written.
pub fn complete_rest(dir: &Path, manifest: &Manifest, report: &mut Report, limits: Limits) -> Result<Summary, Error> {
    let mut goals: Vec<_> = unstated(report).collect();
    goals.sort_by_key(|(i, j)| !is_proved_by_one(report.sites[*i].branches[*j].proof.as_ref()));
    ask_about(dir, manifest, report, &goals, limits)
}

/// The branches that no input takes and of which nothing is stated, as indices into the sites and their branches. What one solver
/// found counts as stated when another has agreed, or contradicted: it may have had no time.
pub fn unstated(report: &Report) -> impl Iterator<Item = (usize, usize)> + '_ {
    open_branches(report).into_iter().filter(|(i, j)| {
        let proof = report.sites[*i].branches[*j].proof.as_ref();
        proof.is_none_or(|proof| proof.verdict == Verdict::Undecided) || is_proved_by_one(proof)
    })
}

fn is_proved_by_one(proof: Option<&Proof>) -> bool {
    proof.is_some_and(|proof| proof.verdict == Verdict::ProvedByOne)
}

fn ask_about(
    dir: &Path,
    manifest: &Manifest,
    report: &mut Report,
    goals: &[(usize, usize)],
    limits: Limits,
) -> Result<Summary, Error> {
    if goals.is_empty() || !report.goals.include_branches() {
        return Ok(Summary::default());
    }
    let solvers = solver::find();
    if solvers.is_empty() {
        return Ok(Summary { asked: goals.len(), without_solver: true, ..Summary::default() });
    }
    let mut prover = Prover::new((dir, manifest), report, goals, None, solvers, limits)?;
    let proofs: Vec<Proof> = goals.iter().map(|goal| prover.examine(report, *goal)).collect::<Result<_, _>>()?;
    let summary = note(report, goals, proofs);
    Stated::keep(dir, manifest, report)?;
    write_all(dir, report).map_err(Error::from_source)?;
    Ok(summary)
}

/// The branches that no input takes, as indices into the sites and their branches.
fn open_branches(report: &Report) -> Vec<(usize, usize)> {
    let sites = report.sites.iter().enumerate();
    sites
        .flat_map(|(i, site)| site.branches.iter().enumerate().map(move |(j, branch)| ((i, j), branch.status)))
        .filter_map(|(place, status)| status.is_untaken().then_some(place))
        .collect()
}

/// Writes the proofs into the report.
fn note(report: &mut Report, goals: &[(usize, usize)], proofs: Vec<Proof>) -> Summary {
    let mut summary = Summary { asked: goals.len(), ..Summary::default() };
    for (&(i, j), proof) in goals.iter().zip(proofs) {
        let branch = &mut report.sites[i].branches[j];
        if proof.is_proved() {
            if branch.status == Status::GivenUp {
                report.branches.given_up = report.branches.given_up.saturating_sub(1);
            }
            branch.status = Status::ProvedUnreachable;
            summary.proved += 1;
        }
        branch.proof = Some(proof);
    }
    let all = report.sites.iter().flat_map(|s| &s.branches);
    report.branches.proved_unreachable = all.filter(|b| b.status == Status::ProvedUnreachable).count();
    decisions::note_proofs(report);
    summary
}

fn is_of_mutant(query: &Path) -> bool {
    query.to_string_lossy().contains(mutants::IN_NAME)
}

/// The queries of an earlier call may be about other branches, or other mutants.
fn remove_queries(dir: &Path, is_old: impl Fn(&Path) -> bool) -> Result<(), Error> {
    for entry in fs::read_dir(dir).map_err(|e| failed(dir, "cannot be read", e))?.flatten() {
        let path = entry.path();
        let is_ours = path.extension().is_some_and(|e| e == "smt2" || e == "txt" || e == "json");
        if is_ours && is_old(&path) {
            fs::remove_file(&path).map_err(|e| failed(&path, "cannot be removed", e))?;
        }
    }
    Ok(())
}

/// A name as a part of that of a file.
fn plain(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    plain.chars().take(80).collect()
}

fn write(file: &Path, text: &str) -> Result<(), Error> {
    atomic::write(file, text.as_bytes()).map_err(Error::from_source)
}
