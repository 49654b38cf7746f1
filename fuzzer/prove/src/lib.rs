//! Finds out with SMT solvers whether branches that no input takes are unreachable, and if not, why.
//!
//! 1. Compiles the sources again. The pass writes the meaning of each function as SMT-LIB definitions ([`translation`],
//!    `pass/smt/`). A value without an exact translation is free, so nothing about it can be proved.
//! 2. Makes a query of the definitions that an open branch needs ([`slice`], [`evidence`]). It is unsatisfiable if no
//!    execution takes the branch.
//! 3. Runs solvers, which are separate programs ([`solver`]), each with a time limit. A branch is proved unreachable if
//!    two of them find the query unsatisfiable and none finds a model.

mod ask;
mod budget;
pub mod check;
mod coarse;
pub mod criteria;
pub mod evidence;
pub mod exhaustion;
pub mod invariants;
pub mod models;
pub mod mutants;
mod prover;
mod recorded;
pub mod slice;
pub mod solver;
pub mod stated;
pub mod together;
pub mod translation;
pub mod world;

use std::{fs, path::Path, time::Duration};

use penfuzz_directory::output::manifest::Manifest;
use penfuzz_error::{Error, failed};
use penfuzz_report::{
    BranchIndex, Report, Status, decisions,
    proof::{Proof, Verdict},
};
use penfuzz_system::files::atomic;

use self::{prover::Prover, stated::StoredProofs};

/// The directory of the queries, within the output directory of a campaign.
pub const PROOFS: &str = "proofs";

/// The least time for one solver and one query: starting a solver and reading the query take some tens of milliseconds.
const LEAST_EACH: Duration = Duration::from_millis(100);

/// Time limits of solvers, and an assumption of the proofs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Time for one solver and one query.
    pub each: Duration,
    /// Time for all solvers and all queries.
    pub all: Duration,
    /// Assumes that no code outside of the target's sources writes their global variables.
    pub closed_world: bool,
}

impl Limits {
    /// The limits after a campaign of this length: for all queries a tenth of it, at least 2 s and at most a minute.
    #[must_use]
    pub fn after(campaign: Duration) -> Self {
        let all = (campaign / 10).clamp(Duration::from_secs(2), Duration::from_mins(1));
        Self { each: (all / 3).max(Duration::from_secs(2)), all, closed_world: false }
    }

    /// The time limit of one solver for one query in the first pass. `goals` is the number of goals. The first pass
    /// takes at most half of the time; the second pass has the rest, for the goals without an answer.
    fn first_pass(self, goals: usize) -> Duration {
        let share = self.all / u32::try_from(2 * goals).unwrap_or(u32::MAX).max(1);
        share.max(LEAST_EACH).min(self.each)
    }
}

/// The results for the open branches of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of open branches with a query.
    pub asked: usize,
    /// Number of branches that are proved unreachable.
    pub proved: usize,
    /// No solver is installed.
    pub without_solver: bool,
}

/// Runs the solvers on each open branch of `report`, and adds the proofs to it. The queries and the proofs are stored
/// in
/// `dir`.
///
/// # Errors
/// When files cannot be written.
pub fn complete(dir: &Path, manifest: &Manifest, report: &mut Report, limits: Limits) -> Result<Summary, Error> {
    let proofs = dir.join(PROOFS);
    if proofs.is_dir() {
        // Queries about paths are kept: they belong to goals that this call does not examine.
        let of_paths = report.criterion_goals.iter().filter(|goal| goal.code.is_none());
        let kept: Vec<_> = of_paths.filter_map(|goal| Some(dir.join(goal.proof.as_ref()?))).collect();
        remove_queries(&proofs, |path| !is_of_mutant(path) && !kept.iter().any(|kept| kept == path))?;
    }
    let goals = open_branches(report);
    ask_about(dir, manifest, report, &goals, limits)
}

/// Does the same for each open branch without a verdict, first for those that only one solver has proved unreachable.
///
/// # Errors
/// When files cannot be written.
pub fn complete_rest(dir: &Path, manifest: &Manifest, report: &mut Report, limits: Limits) -> Result<Summary, Error> {
    let mut goals: Vec<_> = without_verdict(report).collect();
    goals.sort_by_key(|at| !is_proved_by_one(report.branch(*at).proof.as_ref()));
    ask_about(dir, manifest, report, &goals, limits)
}

/// The branches that no input takes and that have no verdict yet, in the order of the sites. They include branches that
/// only one solver has proved: the other solvers may have had no time.
pub fn without_verdict(report: &Report) -> impl Iterator<Item = BranchIndex> + '_ {
    open_branches(report).into_iter().filter(|at| {
        let proof = report.branch(*at).proof.as_ref();
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
    goals: &[BranchIndex],
    limits: Limits,
) -> Result<Summary, Error> {
    if goals.is_empty() || !report.goals.have_proofs() {
        return Ok(Summary::default());
    }
    let solvers = solver::find();
    if solvers.is_empty() {
        return Ok(Summary { asked: goals.len(), without_solver: true, ..Summary::default() });
    }
    let mut prover = Prover::new(dir, manifest, report, goals, None, solvers, limits)?;
    let brief = limits.first_pass(goals.len());
    let proofs = if report.goals.are_exceptions() {
        prover.examine_operations(report, goals, brief, limits.each)?
    } else {
        prover.examine_branches(report, goals, brief, limits.each)?
    };
    let summary = note(report, goals, proofs);
    StoredProofs::keep(dir, manifest, report)?;
    Ok(summary)
}

/// The branches that no input takes, in the order of the sites.
fn open_branches(report: &Report) -> Vec<BranchIndex> {
    let sites = report.sites.iter().enumerate();
    sites
        .flat_map(|(i, site)| {
            site.branches.iter().enumerate().map(move |(j, branch)| (BranchIndex { site: i, branch: j }, branch.status))
        })
        .filter_map(|(place, status)| status.is_untaken().then_some(place))
        .collect()
}

/// Writes the proofs into the report.
fn note(report: &mut Report, goals: &[BranchIndex], proofs: Vec<Proof>) -> Summary {
    let mut summary = Summary { asked: goals.len(), ..Summary::default() };
    for (at, proof) in goals.iter().zip(proofs) {
        let branch = &mut report.sites[at.site].branches[at.branch];
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
    decisions::add_proofs(report);
    summary
}

fn is_of_mutant(query: &Path) -> bool {
    query.to_string_lossy().contains(mutants::IN_NAME)
}

/// Removes old queries from `dir`. Queries of an earlier call may be about other branches or other mutants.
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

/// Makes a name usable in a file name: replaces other characters than letters, digits and `_`, and keeps at most 80.
fn file_name_part(name: &str) -> String {
    let file_name_part: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    file_name_part.chars().take(80).collect()
}

fn write(file: &Path, text: &str) -> Result<(), Error> {
    atomic::write(file, text.as_bytes()).map_err(Error::from_source)
}
