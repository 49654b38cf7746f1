//! Asks solvers about the branches that no input takes: proved unreachable, or not, and why not.
//!
//! 1. The sources are compiled once more, and the pass writes what each function means ([`translation`], `pass/smt/`). What has no exact
//!    meaning there is a free value: not stated means not proved.
//! 2. For each open branch the definitions that it needs are a query ([`slice`], [`evidence`]): unsatisfiable if no execution takes it.
//! 3. Solvers are separate programs ([`solver`]), each with a time limit. A branch is proved unreachable if two of them find that there
//!    is no model and none finds one.

pub mod check;
pub mod evidence;
pub mod exhaustion;
pub mod invariants;
pub mod models;
mod recorded;
mod run;
pub mod slice;
pub mod solver;
pub mod translation;
pub mod world;

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use penfuzz_engine::error::{Error, at, failed};

use self::{
    evidence::{About, Query},
    invariants::{Examiner, Found},
    slice::{Slice, Translation},
    solver::{Answer, Solver},
    translation::{Unit, Wanted},
    world::World,
};
use crate::{
    campaign::Place,
    files::own,
    output::{atomic, manifest::Manifest},
    process::interrupts,
    report::{
        Report, Site, Status, decisions,
        proof::{Proof, Verdict},
        write_all,
    },
};

/// The directory of the queries, in that of a campaign.
pub const PROOFS: &str = "proofs";

/// Optimization when the flags name none, as targets are built.
const DEFAULT_LEVEL: &str = "-O2";

/// Time for solvers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For one solver and one branch.
    pub each: Duration,
    /// For all branches.
    pub all: Duration,
    /// It is taken for granted that no code outside of the target's sources writes their global variables.
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
        remove_queries(&proofs)?;
    }
    let goals = open_branches(report);
    ask_about(dir, manifest, report, &goals, limits)
}

/// Does the same about each open branch of which nothing is stated yet.
///
/// # Errors
/// When files cannot be written.
pub fn complete_rest(dir: &Path, manifest: &Manifest, report: &mut Report, limits: Limits) -> Result<Summary, Error> {
    let goals: Vec<_> = unstated(report).collect();
    ask_about(dir, manifest, report, &goals, limits)
}

/// The branches that no input takes and of which nothing is stated, as indices into the sites and their branches.
pub fn unstated(report: &Report) -> impl Iterator<Item = (usize, usize)> + '_ {
    open_branches(report).into_iter().filter(|(i, j)| {
        let proof = report.sites[*i].branches[*j].proof.as_ref();
        proof.is_none_or(|proof| proof.verdict == Verdict::Undecided)
    })
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
    let mut prover = Prover::new(dir, manifest, report, goals, solvers, limits)?;
    let proofs: Vec<Proof> = goals.iter().map(|goal| prover.examine(report, *goal)).collect::<Result<_, _>>()?;
    let summary = note(report, goals, proofs);
    write_all(dir, report).map_err(Error::from_source)?;
    Ok(summary)
}

/// Copies what `from` states about branches that no input takes, into a report that was made after it of the same target. Returns the
/// branches that are proved unreachable and were taken: each is a fault of penfuzz.
pub fn carry_over(from: &Report, to: &mut Report) -> Vec<String> {
    let places = open_branches(from);
    let mut faults = Vec::new();
    let (mut goals, mut proofs) = (Vec::new(), Vec::new());
    for (i, j) in places {
        let (old, Some(new)) = (&from.sites[i], to.sites.get(i)) else { continue };
        let (Some(proof), Some(branch)) = (old.branches[j].proof.clone(), new.branches.get(j)) else { continue };
        if old.code != new.code {
            continue;
        }
        if branch.status.is_untaken() {
            goals.push((i, j));
            proofs.push(proof);
        } else if proof.is_proved() {
            faults.push(format!("{}:{}:{} {}", new.file, new.line, new.column, branch.outcome));
        }
    }
    note(to, &goals, proofs);
    faults
}

/// The branches of a report that are proved unreachable.
#[must_use]
pub fn proved_places(report: &Report) -> Vec<Place> {
    let of_site = |site: &Site| -> Vec<Place> {
        let Some(code) = &site.code else { return Vec::new() };
        let branches = site.branches.iter().zip(&code.branches);
        let proved = branches.filter(|(b, _)| b.status == Status::ProvedUnreachable);
        let place = |branch: &usize| Place { symbol: code.symbol.clone(), site: code.number, branch: *branch };
        proved.map(|(_, branch)| place(branch)).collect()
    };
    report.sites.iter().flat_map(of_site).collect()
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

/// The sources of a campaign as they were compiled.
fn units_of(manifest: &Manifest) -> Vec<Unit> {
    if manifest.sources.is_empty() {
        return recorded::units(&manifest.linked);
    }
    let mut flags = manifest.flags.clone();
    if !flags.iter().any(|f| f.starts_with("-O")) {
        flags.insert(0, DEFAULT_LEVEL.to_owned());
    }
    let unit = |source: &PathBuf| Unit { source: source.clone(), flags: flags.clone(), directory: None };
    manifest.sources.iter().filter(|s| !penfuzz_engine::program::kind::is_archive(s)).map(unit).collect()
}

struct Prover {
    solvers: Vec<Solver>,
    wanted: Wanted,
    translations: Vec<Translation>,
    /// Are the translations of linked sources?
    linked: bool,
    /// Loop invariants of functions, by the hash of their code.
    invariants: HashMap<String, Found>,
    flags: Vec<String>,
    proofs: PathBuf,
    limits: Limits,
    /// `None` without a limit.
    end: Option<Instant>,
}

impl Prover {
    fn new(
        dir: &Path,
        manifest: &Manifest,
        report: &Report,
        goals: &[(usize, usize)],
        solvers: Vec<Solver>,
        limits: Limits,
    ) -> Result<Self, Error> {
        let proofs = dir.join(PROOFS);
        own::make_directory(&proofs).map_err(|e| failed(&proofs, "cannot be made", e))?;
        let sites = || goals.iter().map(|(i, _)| &report.sites[*i]);
        let files = sites().map(|s| s.file.as_str()).chain([report.signature.file.as_str()]);
        let units = units_of(manifest);
        let has_all = |world: &World| world.has_all(units.iter().map(|unit| unit.source.as_path()));
        let world = World::read(&manifest.linked).filter(has_all);
        if limits.closed_world && world.is_none() {
            let why = "has no notes of what its sources write: an older pen-cc linked it, or the linker has left out \
                 the section pen_world (--gc-sections); link it again without that option";
            return Err(at(&manifest.linked, why));
        }
        let wanted = Wanted {
            units,
            files: files.filter_map(|file| fs::canonicalize(file).ok()).collect(),
            symbols: sites().filter_map(|s| Some(s.code.as_ref()?.symbol.clone())).collect::<BTreeSet<_>>(),
            has_global_inputs: !report.signature.globals.is_empty(),
            is_closed: limits.closed_world,
            world,
        };
        let translations = translation::translate(&wanted, false)?;
        let flags = wanted.units.first().map_or_else(Vec::new, |unit| unit.flags.clone());
        let end = Instant::now().checked_add(limits.all);
        let invariants = HashMap::new();
        Ok(Self { solvers, wanted, translations, linked: false, invariants, flags, proofs, limits, end })
    }

    /// Asks about one branch. If a call is in the way of the proof, once more with what other sources define; if a loop is, with its
    /// invariants.
    fn examine(&mut self, report: &Report, place: (usize, usize)) -> Result<Proof, Error> {
        let mut proof = self.examine_once(report, place)?;
        let is_in_the_way = |free: &String| free.starts_with("call of ");
        if !self.linked && self.wanted.units.len() > 1 && !proof.is_proved() && proof.free.iter().any(is_in_the_way) {
            self.link()?;
            proof = self.examine_once(report, place)?;
        }
        let is_loop = |free: &String| free.starts_with("loop at ") || free.starts_with("loop in ");
        if !proof.is_proved() && proof.free.iter().any(is_loop) && self.find_invariants(report, place)? {
            let again = self.examine_once(report, place)?;
            // A model without invariants is better than no answer with them.
            if again.verdict != Verdict::Undecided {
                return Ok(again);
            }
        }
        Ok(proof)
    }

    /// Looks for invariants of the loops that a branch depends on. Are there any that its last query did not have?
    fn find_invariants(&mut self, report: &Report, place: (usize, usize)) -> Result<bool, Error> {
        let Ok((translation, slice)) = self.slice(report, place) else { return Ok(false) };
        let candidates = translation.candidates(&slice.goal);
        let known = self.invariants.get(&translation.hash);
        let is_new = |name: &String| known.is_none_or(|known| !known.examined.contains(name));
        if !candidates.iter().any(|candidate| is_new(&candidate.name)) {
            return Ok(false);
        }
        let number = known.map_or(0, |known| known.examinations);
        let part = translation.hash.get(..8).unwrap_or_default();
        let name = format!("{}.{part}-{number}.invariants.smt2", plain(&translation.symbol));
        let (solvers, each, end) = (&self.solvers, self.limits.each, self.end);
        let file = self.proofs.join(&name);
        let examiner = Examiner { solvers, each, end, rounding: report.rounding, file: &file };
        let mut found = examiner.examine(translation, &slice.goal)?;
        let is_any = !found.held.is_empty();
        if !is_any {
            let _ = fs::remove_file(&file);
        }
        for invariant in &mut found.held {
            invariant.text = format!("{} ({PROOFS}/{name})", invariant.text);
        }
        let hash = translation.hash.clone();
        self.invariants.entry(hash).or_default().add(found);
        Ok(is_any)
    }

    /// Translates again with the sources linked. The time is not that of the solvers.
    fn link(&mut self) -> Result<(), Error> {
        let began = Instant::now();
        self.translations = translation::translate(&self.wanted, true)?;
        self.linked = true;
        self.invariants.clear();
        self.end = self.end.and_then(|end| end.checked_add(began.elapsed()));
        Ok(())
    }

    fn examine_once(&self, report: &Report, (i, j): (usize, usize)) -> Result<Proof, Error> {
        let site = &report.sites[i];
        let (translation, slice) = match self.slice(report, (i, j)) {
            Ok(found) => found,
            Err(why) => return Ok(Proof::missing(why)),
        };
        let query = Query { slice: &slice, rounding: report.rounding };
        let code = site.code.as_ref().map_or(0, |code| code.number);
        let name = format!("{}.{}-{}.{code}-{j}.smt2", plain(&site.function), site.line, site.column);
        let file = self.proofs.join(&name);
        let mut proof = Proof {
            verdict: Verdict::Undecided,
            answers: Vec::new(),
            free: slice.free.clone(),
            assumptions: translation.assumptions.clone(),
            invariants: slice.invariants.clone(),
            model: Vec::new(),
            file: format!("{PROOFS}/{name}"),
        };
        write(&file, &query.text())?;
        self.ask(&file, &query, &mut proof)?;
        let about = About {
            site,
            outcome: &site.branches[j].outcome,
            hash: &translation.hash,
            flags: &self.flags,
            proof: &proof,
        };
        write(&file, &evidence::text(&about, &query))?;
        Ok(proof)
    }

    /// The translation of the site's function, and the lines for the branch.
    fn slice(&self, report: &Report, (i, j): (usize, usize)) -> Result<(&Translation, Slice), &'static str> {
        let site = &report.sites[i];
        let code = site.code.as_ref().ok_or("the report is older than proofs")?;
        let branch = *code.branches.get(j).ok_or("the report is older than proofs")?;
        let of = |t: &&Translation| t.symbol == code.symbol;
        let slices = self.translations.iter().filter(of).filter_map(|translation| {
            let held = self.invariants.get(&translation.hash).map_or(&[][..], |found| &found.held);
            let held: Vec<_> = held.iter().collect();
            let slice = translation.slice(code.number, branch, (site.line, site.column), &held)?;
            Some((translation, slice))
        });
        let mut slices: Vec<_> = slices.collect();
        let first = slices.pop().ok_or("no translation of its function")?;
        // A function of a header is compiled with each source; a static one may have the name of another.
        if slices.iter().any(|(_, other)| *other != first.1) {
            return Err("several functions of this name");
        }
        Ok(first)
    }

    /// Asks one solver after the other, until two agree, one has a model, or the time is over.
    fn ask(&self, file: &Path, query: &Query, proof: &mut Proof) -> Result<(), Error> {
        let (mut sat, mut unsat) = (None, 0);
        for solver in &self.solvers {
            let left = self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            let left = left.min(self.limits.each);
            if left.is_zero() || interrupts::requested() {
                break;
            }
            let (answer, shown) = solver.ask(file, left);
            proof.answers.push(shown);
            match answer {
                Answer::Sat => sat = sat.or(Some(solver)),
                Answer::Unsat => unsat += 1,
                Answer::Unknown | Answer::Late | Answer::Failed(_) => {}
            }
            // After a model one more solver is asked only if another has contradicted it.
            if unsat == 2 || sat.is_some() {
                break;
            }
        }
        proof.verdict = verdict(sat.is_some(), unsat, proof.free.is_empty());
        if let Some(solver) = sat.filter(|_| unsat == 0 && !query.slice.arguments.is_empty()) {
            write(file, &query.with_values())?;
            proof.model = solver.values(file, self.limits.each).map(|v| evidence::values_of(&v)).unwrap_or_default();
        }
        Ok(())
    }
}

fn verdict(is_sat: bool, unsat: usize, is_exact: bool) -> Verdict {
    match (is_sat, unsat) {
        (true, 0) if is_exact => Verdict::Satisfiable,
        (true, 0) => Verdict::SatisfiableIfFree,
        (true, _) => Verdict::Contradiction,
        (false, 0) => Verdict::Undecided,
        (false, 1) => Verdict::ProvedByOne,
        (false, _) => Verdict::Proved,
    }
}

/// A name as a part of that of a file.
fn plain(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    plain.chars().take(80).collect()
}

fn write(file: &Path, text: &str) -> Result<(), Error> {
    atomic::write(file, text.as_bytes()).map_err(Error::from_source)
}

/// The queries of an earlier call may be about other branches.
fn remove_queries(dir: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(dir).map_err(|e| failed(dir, "cannot be read", e))?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "smt2" || e == "txt") {
            fs::remove_file(&path).map_err(|e| failed(&path, "cannot be removed", e))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_solvers_prove_and_a_model_is_never_a_proof() {
        assert_eq!(verdict(false, 2, true), Verdict::Proved);
        assert_eq!(verdict(false, 2, false), Verdict::Proved);
        assert_eq!(verdict(false, 1, true), Verdict::ProvedByOne);
        assert_eq!(verdict(false, 0, true), Verdict::Undecided);
        assert_eq!(verdict(true, 1, true), Verdict::Contradiction);
        assert_eq!(verdict(true, 0, true), Verdict::Satisfiable);
        assert_eq!(verdict(true, 0, false), Verdict::SatisfiableIfFree);
    }
}
