//! Proofs that comparisons never have a boundary value, and that operations never raise an exception (the criteria `boundary` and
//! `exceptions`). They are sites of the translation as branches are, and asked about in the same way (`pass/smt/sides.cc`, `exceptions.cc`).

use std::path::Path;

use penfuzz_engine::error::Error;

use super::{Limits, Prover, solver};
use crate::{
    output::manifest::Manifest,
    report::{
        Branch, Report, Site, Status,
        criterion_goals::{self, CriterionGoal},
    },
};

/// The names of the criteria.
const CRITERIA: [&str; 2] = ["boundary", "exceptions"];

/// Asks about the boundary values and exceptions that no test has, and notes those that are infeasible.
///
/// # Errors
/// When files cannot be written.
pub fn examine(dir: &Path, manifest: &Manifest, report: &mut Report, limits: Limits) -> Result<(), Error> {
    let goals = as_sites(report);
    let is_open = |number: &usize| report.criterion_goals[goals.numbers[*number]].tests.is_empty();
    let open: Vec<_> = (0..goals.numbers.len()).filter(is_open).map(|number| (number, 0)).collect();
    let solvers = solver::find();
    if open.is_empty() || solvers.is_empty() {
        return Ok(());
    }
    let mut prover = Prover::new(dir, manifest, &goals.report, &open, solvers, limits)?;
    for place in open {
        if prover.is_late() {
            break;
        }
        let proof = prover.examine(&goals.report, place)?;
        let goal = &mut report.criterion_goals[goals.numbers[place.0]];
        goal.proved_infeasible = proof.is_proved();
        goal.proof = proof.is_proved().then_some(proof.file);
    }
    for name in CRITERIA {
        let figures = criterion_goals::figures(report, name);
        report.criteria.entry(name.to_owned()).and_modify(|known| *known = figures);
    }
    Ok(())
}

/// Boundary values and exceptions as sites of a report, each with one branch.
#[derive(Debug)]
pub(super) struct Sites {
    /// With the same tests.
    pub(super) report: Report,
    /// The goal of each site.
    pub(super) numbers: Vec<usize>,
}

/// The boundary values and exceptions of a report, but for those of one that an older penfuzz has written.
pub(super) fn as_sites(report: &Report) -> Sites {
    let of = |goal: &&CriterionGoal| is_ours(goal) && goal.code.is_some();
    let goals = || report.criterion_goals.iter().enumerate().filter(|(_, goal)| of(goal));
    let mut all = report.clone();
    all.sites = goals().map(|(_, goal)| site_of(goal)).collect();
    for (number, test) in all.tests.iter_mut().enumerate() {
        let has = |goal: &CriterionGoal| goal.tests.contains(&(number + 1));
        test.covers = goals().enumerate().filter(|(_, (_, goal))| has(goal)).map(|(site, _)| (site, 0)).collect();
    }
    Sites { report: all, numbers: goals().map(|(number, _)| number).collect() }
}

fn is_ours(goal: &CriterionGoal) -> bool {
    CRITERIA.contains(&goal.criterion.as_str())
}

fn site_of(goal: &CriterionGoal) -> Site {
    let branch = Branch {
        outcome: goal.goal.clone(),
        status: if goal.tests.is_empty() { Status::Uncovered } else { Status::Covered },
        evaluations: 0,
        covered_at: None,
        best_distance: None,
        input: None,
        best_input: None,
        unchanged_over: None,
        met: None,
        proof: None,
    };
    Site {
        function: goal.function.clone(),
        file: goal.file.clone(),
        line: goal.line,
        column: goal.column,
        kind: if goal.criterion == CRITERIA[0] { "comparison" } else { "operation" }.to_owned(),
        operation: String::new(),
        predicate: String::new(),
        distance_unit: String::new(),
        waits_for: None,
        code: goal.code.clone(),
        branches: vec![branch],
    }
}
