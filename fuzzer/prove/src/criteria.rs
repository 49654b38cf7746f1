//! Proofs that goals of the criteria `boundary`, `exceptions` and `loop` are infeasible: that a comparison never has a
//! boundary value, that an operation never raises an exception, that a loop never makes a given number of iterations.
//! In the translation these goals are sites, as branches are, so their queries are made in the same way
//! (`pass/smt/sides.cc`, `exceptions.cc`, `loops.cc`).

use std::{collections::BTreeMap, path::Path};

use penfuzz_directory::output::manifest::Manifest;
use penfuzz_error::Error;
use penfuzz_report::{Branch, BranchIndex, Report, Site, Status, criterion_goals::CriterionGoal, decisions};

use super::{Limits, Prover, solver};

/// Runs the solvers on the boundary values, exceptions and loop iterations that no test has, and marks the infeasible
/// ones in `report`.
///
/// # Errors
/// When files cannot be written.
pub fn examine(dir: &Path, manifest: &Manifest, report: &mut Report, limits: Limits) -> Result<(), Error> {
    let goals = as_sites(report);
    let open: Vec<_> =
        open_in_turn(&report.criterion_goals).into_iter().map(|goal| BranchIndex { site: goal, branch: 0 }).collect();
    let solvers = solver::find();
    if open.is_empty() || solvers.is_empty() {
        return Ok(());
    }
    for at in &open {
        // Earlier proofs are repeated, because their queries may have been deleted.
        let goal = &mut report.criterion_goals[at.site];
        (goal.proved_infeasible, goal.proof) = (false, None);
    }
    let mut prover = Prover::new(dir, manifest, &goals, &open, None, solvers, limits)?;
    if open.iter().any(|at| report.criterion_goals[at.site].criterion == "loop") {
        // If functions of other sources call the function again, its record mixes the iterations of several
        // activations.
        prover.link()?;
    }
    for place in open {
        if prover.is_out_of_time() {
            break;
        }
        let proof = prover.examine(&goals, place)?;
        let goal = &mut report.criterion_goals[place.site];
        goal.proved_infeasible = proof.is_proved();
        goal.proof = proof.is_proved().then_some(proof.file);
    }
    decisions::add_proofs(report);
    Ok(())
}

/// The goals without a test that have a place in the compiled code. The criteria alternate, so that none uses up the
/// time of the others.
fn open_in_turn(goals: &[CriterionGoal]) -> Vec<usize> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut open = Vec::new();
    for (i, goal) in goals.iter().enumerate().filter(|(_, goal)| goal.code.is_some() && goal.tests.is_empty()) {
        let number = numbers.entry(&goal.criterion).or_default();
        *number += 1;
        open.push((*number, i));
    }
    open.sort_unstable();
    open.into_iter().map(|(_, i)| i).collect()
}

/// Returns a copy of `report` whose sites are its criterion goals, in their order and with one branch each. A test
/// covers those of its goals that have a place in the compiled code: boundary values, exceptions, and loop iterations.
/// Goals in reports of older versions have none.
pub(super) fn as_sites(report: &Report) -> Report {
    let goals = &report.criterion_goals;
    let mut all = report.clone();
    all.sites = goals.iter().map(site_of).collect();
    for (number, test) in (1..).zip(&mut all.tests) {
        let has = |goal: &CriterionGoal| goal.code.is_some() && goal.tests.contains(&number);
        test.covers = (0..goals.len())
            .filter(|goal| has(&goals[*goal]))
            .map(|goal| BranchIndex { site: goal, branch: 0 })
            .collect();
    }
    all
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
        further: Vec::new(),
        unchanged_over: None,
        met: None,
        proof: None,
    };
    let kind = match goal.criterion.as_str() {
        "boundary" => "comparison",
        "loop" => "loop",
        _ => "operation",
    };
    Site {
        function: goal.function.clone(),
        file: goal.file.clone(),
        line: goal.line,
        column: goal.column,
        kind: kind.to_owned(),
        operation: String::new(),
        predicate: String::new(),
        distance_unit: String::new(),
        waits_for: None,
        code: goal.code.clone(),
        branches: vec![branch],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penfuzz_report::proof::Code;

    #[test]
    fn open_goals_alternate_between_criteria() {
        let goal = |criterion: &str| CriterionGoal {
            criterion: criterion.to_owned(),
            code: Some(Code { symbol: "f".to_owned(), number: 0, branches: vec![0] }),
            ..CriterionGoal::default()
        };
        let has_test = CriterionGoal { tests: vec![1], ..goal("boundary") };
        let has_no_code = CriterionGoal { code: None, ..goal("boundary") };
        let of_boundary = [goal("boundary"), has_test, goal("boundary"), has_no_code, goal("boundary")];
        let goals: Vec<_> = of_boundary.into_iter().chain([goal("loop"), goal("loop")]).collect();
        assert_eq!(open_in_turn(&goals), [0, 5, 2, 6, 4]);
    }
}
