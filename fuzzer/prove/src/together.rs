//! Proofs that no execution takes several branches together: vectors of decisions, and prefixes of paths.
//!
//! The query for a vector is the conjunction of the conditions that control takes each of its branches. The conditions
//! of a decision are evaluated one after another, in one iteration of the same loops. A path is translated on its own,
//! with each iteration of a loop anew (`pass/smt/paths.cc`).

use std::{
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
};

use penfuzz_directory::output::manifest::Manifest;
use penfuzz_engine::saturation::VectorGoals;
use penfuzz_error::Error;
use penfuzz_report::{
    BranchIndex, Report,
    decisions::{self, Decision, Infeasible},
    proof::Proof,
};
use penfuzz_target::program::Target;

use super::{
    Limits, Prover, file_name_part,
    slice::{CodeBranch, Slice, Translation},
    solver,
};

/// Maximum number of vectors of one decision that are examined.
const VECTORS: usize = 64;

/// The place in the report of each branch, by the branch's index in the target.
pub type Places = HashMap<u32, BranchIndex>;

/// Branches, in the order in which an execution has to take them.
#[derive(Debug)]
pub struct Question {
    /// Indices of branches in the target, as in [`Places`].
    pub branches: Vec<u32>,
    /// A part of the name of the query's file: letters, digits and `-`.
    pub name: String,
}

/// The relation between the branches of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// They are taken in one iteration of the same loops.
    OneRound,
    /// They are all branches that the function under test takes from its entry to the last of them.
    Path,
}

/// Finds out for each question whether an execution can take its branches together. The result is `None` for questions
/// that were not examined.
///
/// # Errors
/// When files cannot be written.
pub fn examine(
    dir: &std::path::Path,
    manifest: &Manifest,
    report: &Report,
    places: &Places,
    kind: Kind,
    questions: &[Question],
    limits: Limits,
) -> Result<Vec<Option<Proof>>, Error> {
    let known: Vec<_> = questions.iter().map(|question| places_of(places, &question.branches)).collect();
    let sites: BTreeSet<_> = known.iter().flatten().flatten().copied().collect();
    let solvers = solver::find();
    if sites.is_empty() || solvers.is_empty() {
        return Ok(vec![None; questions.len()]);
    }
    let sites: Vec<_> = sites.into_iter().collect();
    let paths = (kind == Kind::Path).then(|| lines_of_paths(report, &known));
    let mut prover = Prover::new(dir, manifest, report, &sites, paths, solvers, limits)?;
    if kind == Kind::Path {
        // Needed because functions of other sources may call the function again.
        prover.link()?;
    }
    let mut all = Vec::new();
    for (number, (question, places)) in questions.iter().zip(known).enumerate() {
        if prover.is_out_of_time() {
            break;
        }
        let number = (kind == Kind::Path).then_some(number);
        all.push(places.map(|p| prover.examine_together(report, &p, number, &question.name)).transpose()?);
    }
    all.resize(questions.len(), None);
    Ok(all)
}

/// The places of `branches`; `None` if one has no place, or if there are no branches.
pub(super) fn places_of(places: &Places, branches: &[u32]) -> Option<Vec<BranchIndex>> {
    let all: Option<Vec<_>> = branches.iter().map(|b| places.get(b).copied()).collect();
    all.filter(|all| !all.is_empty())
}

/// The symbol of the function that contains all these branches, and the branches in its code.
fn coded<'a>(report: &'a Report, places: &[BranchIndex]) -> Result<(&'a str, Vec<CodeBranch>), &'static str> {
    let of = |at: &BranchIndex| CodeBranch::of(&report.sites[at.site], at.branch);
    let branches: Vec<_> = places.iter().map(of).collect::<Option<_>>().ok_or("the report is older than proofs")?;
    let symbol = branches.first().ok_or("no branches")?.0;
    if branches.iter().any(|(other, _)| *other != symbol) {
        return Err("branches of several functions");
    }
    Ok((symbol, branches.into_iter().map(|(_, branch)| branch).collect()))
}

/// The lines of [`super::translation::TranslationRequest::paths`] for the paths of these questions; the number of a
/// path is its index.
pub(super) fn lines_of_paths(report: &Report, questions: &[Option<Vec<BranchIndex>>]) -> String {
    let mut lines = String::new();
    for (number, places) in questions.iter().enumerate() {
        let Some((symbol, branches)) = places.as_ref().and_then(|places| coded(report, places).ok()) else { continue };
        if symbol != report.signature.symbol {
            continue;
        }
        let _ = write!(lines, "{symbol} {number}");
        for CodeBranch { site, branch, .. } in branches {
            let _ = write!(lines, " {site}:{branch}");
        }
        lines.push('\n');
    }
    lines
}

impl Translation {
    /// The slice for branches that are taken in one iteration of the same loops, or for the path with number `path` and
    /// these branches.
    fn together(&self, path: Option<usize>, branches: &[CodeBranch]) -> Option<Slice> {
        if self.is_recursive || !branches.iter().all(|branch| self.has(*branch)) {
            return None;
        }
        let names: Vec<_> =
            branches.iter().map(|CodeBranch { site, branch, .. }| format!("site_{site}_{branch}")).collect();
        let goal = path.map_or_else(|| format!("(and true {})", names.join(" ")), |number| format!("path_{number}"));
        self.lines_for(goal, &[])
    }
}

impl Prover {
    /// Examines branches that are taken together, or the path with number `path` and these branches. If a call prevents
    /// the proof, retries with the definitions of other sources linked in.
    fn examine_together(
        &mut self,
        report: &Report,
        places: &[BranchIndex],
        path: Option<usize>,
        name: &str,
    ) -> Result<Proof, Error> {
        let mut proof = self.examine_together_once(report, places, path, name)?;
        let is_in_the_way = |free: &String| free.starts_with("call of ");
        if !self.is_linked() && !proof.is_proved() && proof.free.iter().any(is_in_the_way) {
            self.link()?;
            proof = self.examine_together_once(report, places, path, name)?;
        }
        Ok(proof)
    }

    fn examine_together_once(
        &self,
        report: &Report,
        places: &[BranchIndex],
        path: Option<usize>,
        name: &str,
    ) -> Result<Proof, Error> {
        let (symbol, branches) = match coded(report, places) {
            Ok(found) => found,
            Err(why) => return Ok(Proof::missing(why)),
        };
        let (translation, slice) = match self.slice_of_all(symbol, path, &branches) {
            Ok(found) => found,
            Err(why) => return Ok(Proof::missing(why)),
        };
        let outcome = |at: &BranchIndex| {
            let site = &report.sites[at.site];
            format!("{} at {}:{}", report.branch(*at).outcome, site.line, site.column)
        };
        let outcomes: Vec<_> = places.iter().map(outcome).collect();
        let site = &report.sites[places[0].site];
        let name = format!(
            "{}.{}-{}.{}-{name}.smt2",
            file_name_part(&site.function),
            site.line,
            site.column,
            branches[0].site
        );
        self.ask_as(report, site, &outcomes.join(", "), translation, &slice, &name)
    }

    fn slice_of_all(
        &self,
        symbol: &str,
        path: Option<usize>,
        branches: &[CodeBranch],
    ) -> Result<(&Translation, Slice), &'static str> {
        let of_symbol = self.translations().iter().filter(|t| t.symbol == symbol);
        let mut slices: Vec<_> = of_symbol.filter_map(|t| Some((t, t.together(path, branches)?))).collect();
        let first = slices.pop().ok_or("no translation of its function")?;
        if slices.iter().any(|(_, other)| *other != first.1) {
            return Err("several functions of this name");
        }
        Ok(first)
    }

    /// The slice for the path with this number and these branches; `None` if it has no translation.
    pub(super) fn path(&self, report: &Report, number: usize, places: &[BranchIndex]) -> Option<Slice> {
        let (symbol, branches) = coded(report, places).ok()?;
        Some(self.slice_of_all(symbol, Some(number), &branches).ok()?.1)
    }
}

/// Examines the vectors of decisions that conditions still need because no pair of tests shows the condition's effect.
/// Marks the infeasible ones in the report.
///
/// # Errors
/// When files cannot be written.
pub fn vectors(
    dir: &std::path::Path,
    manifest: &Manifest,
    report: &mut Report,
    target: &Target,
    places: &Places,
    limits: Limits,
) -> Result<(), Error> {
    let mut open: Vec<(usize, VectorGoals, Vec<usize>)> = Vec::new();
    let first = |site: usize| target.sites[site].first_branch;
    for site in &target.sites {
        let Some(goals) = site.decision.as_ref().map(|d| VectorGoals::new(d, site.first_branch, first)) else {
            continue;
        };
        let conditions = site.decision.iter().flat_map(|d| &d.conditions);
        let sites: Vec<_> = conditions.map(|c| places.get(&(first(c.site) as u32)).map(|p| p.site)).collect();
        let is_same = |d: &Decision| d.conditions.iter().map(|c| c.site).eq(sites.iter().copied());
        let Some(number) = report.decisions.iter().position(is_same) else { continue };
        let decision = &report.decisions[number];
        let is_open: Vec<bool> = decision.conditions.iter().map(|c| c.pair.is_none()).collect();
        let needed = goals.is_needed(&is_open);
        let is_shown =
            |v: &usize| decision.vectors.iter().any(|s| s.values == goals.vectors[*v].text(goals.n_conditions));
        let asked: Vec<usize> = (0..needed.len()).filter(|v| needed[*v] && !is_shown(v)).take(VECTORS).collect();
        open.push((number, goals, asked));
    }
    let question = |goals: &VectorGoals, v: usize| Question {
        branches: goals.steps[v].clone(),
        name: format!("vector-{}", goals.vectors[v].text(goals.n_conditions)),
    };
    let questions: Vec<_> =
        open.iter().flat_map(|(_, goals, asked)| asked.iter().map(|v| question(goals, *v))).collect();
    let proofs = examine(dir, manifest, report, places, Kind::OneRound, &questions, limits)?;
    let mut proofs = proofs.into_iter().map(|proof| Some(proof.filter(Proof::is_proved)?.file));
    for (number, goals, asked) in open {
        let proved: HashMap<usize, String> = asked.into_iter().filter_map(|v| Some((v, proofs.next()??))).collect();
        let pairs = goals.pairs(|v| !proved.contains_key(&v));
        let decision = &mut report.decisions[number];
        for (condition, pair) in decision.conditions.iter_mut().zip(pairs) {
            condition.proved_infeasible = condition.pair.is_none() && pair.is_none();
        }
        let vector =
            |(v, proof): (usize, String)| Infeasible { values: goals.vectors[v].text(goals.n_conditions), proof };
        decision.infeasible = proved.into_iter().map(vector).collect();
        decision.infeasible.sort_by(|a, b| a.values.cmp(&b.values));
    }
    decisions::add_proofs(report);
    Ok(())
}
