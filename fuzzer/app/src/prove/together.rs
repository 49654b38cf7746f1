//! Proofs that no execution takes several branches together: vectors of decisions, and beginnings of paths.
//!
//! The query is the conjunction of the conditions that control takes each branch. That is the question only if an execution takes each of
//! them at most once, or all of them in one round of the same loops. The conditions of a decision are evaluated one after another, so a
//! vector is of one round. A path is asked about if no branch of it can be taken again.

use std::collections::{BTreeSet, HashMap};

use penfuzz_engine::{
    error::Error,
    program::Target,
    saturation::{BranchGraph, VectorGoals},
};

use super::{
    Limits, Prover,
    slice::{Slice, Translation},
    solver,
};
use crate::{
    output::manifest::Manifest,
    report::{
        Report,
        decisions::{self, Decision, Infeasible},
        proof::Proof,
    },
};

/// Vectors of one decision that are asked about.
const VECTORS: usize = 64;

/// The place in the report of each branch.
pub type Places = HashMap<u32, (usize, usize)>;

/// Branches in the order in which an execution is to take them, with a part of the name of the query's file.
#[derive(Debug)]
pub struct Question {
    /// As in [`Places`].
    pub branches: Vec<u32>,
    /// Letters and digits.
    pub name: String,
}

/// For each question: was it proved that no execution takes these branches together? And the file of the query.
///
/// # Errors
/// When files cannot be written.
pub fn examine(
    (dir, manifest): (&std::path::Path, &Manifest),
    report: &Report,
    places: &Places,
    questions: &[Question],
    limits: Limits,
) -> Result<Vec<Option<String>>, Error> {
    let of = |question: &Question| -> Option<Vec<(usize, usize)>> {
        question.branches.iter().map(|b| places.get(b).copied()).collect()
    };
    let known: Vec<_> = questions.iter().map(of).collect();
    let sites: BTreeSet<_> = known.iter().flatten().flatten().copied().collect();
    let solvers = solver::find();
    if sites.is_empty() || solvers.is_empty() {
        return Ok(vec![None; questions.len()]);
    }
    let sites: Vec<_> = sites.into_iter().collect();
    let mut prover = Prover::new(dir, manifest, report, &sites, solvers, limits)?;
    let mut all = Vec::new();
    for (question, places) in questions.iter().zip(known) {
        let proof = places.filter(|p| !p.is_empty()).map(|p| prover.examine_together(report, &p, &question.name));
        all.push(proof.transpose()?.filter(Proof::is_proved).map(|proof| proof.file));
    }
    Ok(all)
}

impl Translation {
    /// The lines for several branches of sites, each with its number, branch and place, that are taken in one round of the same loops.
    #[must_use]
    pub(super) fn together(&self, branches: &[(usize, usize, (u32, u32))]) -> Option<Slice> {
        if self.is_recursive || !branches.iter().all(|(site, _, place)| self.is_at(*site, *place)) {
            return None;
        }
        let names: Vec<_> = branches.iter().map(|(site, branch, _)| format!("site_{site}_{branch}")).collect();
        self.lines_for(format!("(and true {})", names.join(" ")), &[])
    }
}

/// Can an execution take a branch of this path again? Then its conjunction is no question about the path.
#[must_use]
pub fn has_loop(graph: &BranchGraph, branches: &[u32]) -> bool {
    let comes_back = |branch: &u32| {
        let (mut seen, mut work) = (BTreeSet::new(), vec![*branch]);
        while let Some(b) = work.pop() {
            for next in graph.next[b as usize].iter().copied() {
                if graph.siblings[next as usize] == graph.siblings[*branch as usize] {
                    return true;
                }
                if seen.insert(next) {
                    work.push(next);
                }
            }
        }
        false
    };
    branches.iter().any(comes_back)
}

/// Asks about the vectors that conditions need which no pair of tests shows, and notes those that are infeasible.
///
/// # Errors
/// When files cannot be written.
pub fn vectors(
    of: (&std::path::Path, &Manifest),
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
        let sites: Vec<_> = conditions.map(|c| places.get(&(first(c.site) as u32)).map(|p| p.0)).collect();
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
    let mut proofs = examine(of, report, places, &questions, limits)?.into_iter();
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
    decisions::note_proofs(report);
    Ok(())
}
