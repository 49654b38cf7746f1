//! Coverage criteria: selects the branches and vectors that the emitted tests must keep, and computes the figures of
//! each criterion.

use std::collections::BTreeSet;

use penfuzz_abi::site_kind;
use penfuzz_directory::shrink::cover::Kept;
use penfuzz_engine::saturation::{Saturation, Scope, VectorGoals};
use penfuzz_report::{
    self as report, BranchIndex, Report,
    criterion::Criterion,
    criterion_goals::{self, CriterionGoal},
    decisions,
};
use penfuzz_target::program::{Site, Target};

use super::{
    requirements,
    statements::{self, Statements},
};
use crate::assembly::{Order, ReportInputs, code_of, outcome_text, predicate_text};

/// Returns for each branch of the target whether the tests must keep it. Removes all other branches from the kept
/// inputs.
pub fn keep_wanted(target: &Target, from: &ReportInputs, kept: &mut [Kept]) -> Vec<bool> {
    let criteria = &from.options.settings.criteria;
    let mut wanted = if criteria.as_slice() == [Criterion::Line] {
        statements::enough(target, from.scope, kept)
    } else {
        let counts = |b: usize| {
            let kind = target.sites[target.site_of(b)].kind;
            let is_condition = kind == site_kind::BRANCH || kind == site_kind::SELECT;
            // The other criteria include branches. MC/DC of a decision with one condition requires both of its
            // outcomes.
            let are_conditions = criteria.iter().all(|c| matches!(c, Criterion::Line | Criterion::Condition));
            !are_conditions || is_condition
        };
        let is_beside = |b: usize| from.scope.recorded[b] && criterion_of(&target.sites[target.site_of(b)]).is_some();
        (0..target.n_branches).map(|b| from.scope.requested[b] && counts(b) || is_beside(b)).collect()
    };
    let there: BTreeSet<u32> = kept.iter().flat_map(|k| k.covers.iter().copied()).collect();
    for decision in from.saturation.decisions() {
        for vector in cheapest_pairs(decision, |v| there.contains(&(decision.first + v as u32))) {
            wanted[decision.first as usize + vector] = true;
        }
    }
    for input in kept {
        input.covers.retain(|b| wanted[*b as usize]);
    }
    wanted
}

/// A small set of vectors that shows every condition that the available vectors can show. Greedy: for each condition,
/// takes the pair that adds the fewest vectors.
fn cheapest_pairs(decision: &VectorGoals, is_there: impl Fn(usize) -> bool) -> BTreeSet<usize> {
    let there: Vec<usize> = (0..decision.vectors.len()).filter(|v| is_there(*v)).collect();
    let mut pairs: Vec<Vec<(usize, usize)>> = vec![Vec::new(); decision.n_conditions];
    for (i, v) in there.iter().enumerate() {
        for w in &there[i + 1..] {
            if let Some(condition) = decision.vectors[*v].shows(&decision.vectors[*w]) {
                pairs[condition as usize].push((*v, *w));
            }
        }
    }
    // Conditions with the fewest pairs come first, because they leave the least choice.
    pairs.sort_by_key(Vec::len);
    let mut chosen = BTreeSet::new();
    for of_condition in pairs {
        let cost = |(v, w): &(usize, usize)| usize::from(!chosen.contains(v)) + usize::from(!chosen.contains(w));
        if let Some((v, w)) = of_condition.iter().copied().min_by_key(cost) {
            chosen.extend([v, w]);
        }
    }
    chosen
}

/// Adds the figures of the criteria, and the decisions, to a report whose sites are complete. `covers` has the branches
/// and vectors of each emitted test.
pub(super) fn complete(report: &mut Report, target: &Target, from: &ReportInputs, order: &Order, covers: &[Vec<u32>]) {
    if !from.options.settings.goals.include_branches() {
        return;
    }
    if from.options.settings.goals.are_decisions() {
        report.decisions = decisions_of(target, from.saturation, order, covers);
    }
    report.criterion_goals = boundary_and_exception_goals(target, from.scope, covers);
    let functions: BTreeSet<usize> = from.scope.sites.iter().map(|s| target.sites[*s].function).collect();
    let (all, by_test) = lines(target, &functions, covers);
    report.requirements = requirements::trace(target, &functions, &from.options.run.requirements, &by_test);
    let executed: Lines = by_test.into_iter().flatten().collect();
    if from.options.settings.criteria.contains(&Criterion::Line) {
        let line =
            |(file, line): &(String, u32)| decisions::UncoveredLine { file: file.clone(), line: *line, column: None };
        report.uncovered_lines = all.difference(&executed).map(line).collect();
    }
    let statements = statements::count(target, &functions, covers);
    let figures = |criterion: &Criterion| {
        let (total, covered) = match criterion {
            Criterion::Line => (all.len(), executed.len()),
            Criterion::Branch => (report.branches.total, report.branches.covered),
            Criterion::Condition => conditions(report, target, order),
            Criterion::Mcdc => {
                let all = &report.decisions;
                (all.iter().map(|d| d.conditions.len()).sum(), all.iter().map(decisions::Decision::shown).sum())
            }
            other => {
                let figures = criterion_goals::figures(report, other.name());
                (figures.total, figures.covered)
            }
        };
        (criterion.name().to_owned(), decisions::Criterion { total, covered, proved_infeasible: 0 })
    };
    // Paths and loops are examined after the search.
    report.criteria =
        from.options.settings.criteria.iter().filter(|c| !c.concerns_branch_order()).map(figures).collect();
    if from.options.settings.criteria.contains(&Criterion::Line) {
        let Statements { total, uncovered } = statements;
        let figures = decisions::Criterion { total, covered: total - uncovered.len(), proved_infeasible: 0 };
        report.criteria.insert(decisions::STATEMENT.to_owned(), figures);
        // A line that is not executed is listed as a whole.
        let is_executed = |s: &&decisions::UncoveredLine| executed.contains(&(s.file.clone(), s.line));
        report.uncovered_lines.extend(uncovered.iter().filter(is_executed).cloned());
        report.uncovered_lines.sort();
    }
}

/// The criterion that a boundary or exception site belongs to; `None` for sites that branch or decision coverage
/// counts.
fn criterion_of(site: &Site) -> Option<Criterion> {
    match site.kind {
        site_kind::COMPARISON => Some(Criterion::Boundary),
        site_kind::OPERATION => Some(Criterion::Exceptions),
        _ => None,
    }
}

/// The boundary values and exceptions in source order, each with the tests that reach it.
fn boundary_and_exception_goals(target: &Target, scope: &Scope, covers: &[Vec<u32>]) -> Vec<CriterionGoal> {
    let mut all = Vec::new();
    for (number, site) in scope.sites.iter().map(|s| (*s, &target.sites[*s])) {
        let Some(criterion) = criterion_of(site) else { continue };
        for (k, branch) in site.branches().enumerate().filter(|(_, b)| scope.recorded[*b]) {
            let tests = covers.iter().enumerate().filter(|(_, c)| c.contains(&(branch as u32))).map(|(i, _)| i + 1);
            let what = if site.name.is_empty() { predicate_text(site.predicate) } else { &site.name };
            all.push(CriterionGoal {
                criterion: criterion.name().to_owned(),
                function: target.functions[site.function].name.clone(),
                file: site.file.clone(),
                line: site.line,
                column: site.column,
                goal: format!("{what} {}", outcome_text(site, k)).trim_start().to_owned(),
                tests: tests.collect(),
                code: Some(code_of(target, number, &[k])),
                ..CriterionGoal::default()
            });
        }
    }
    all.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    all
}

/// The number of outcomes of conditions: all, and those that a test covers.
fn conditions(report: &Report, target: &Target, order: &Order) -> (usize, usize) {
    let (mut total, mut covered) = (0, 0);
    for (branch, BranchIndex { site, branch: place }) in &order.place {
        if target.sites[target.site_of(*branch as usize)].kind == site_kind::SWITCH {
            continue;
        }
        let status = report.sites[*site].branches[*place].status;
        total += 1;
        covered += usize::from(matches!(status, report::Status::Covered | report::Status::Saturated));
    }
    (total, covered)
}

/// Pairs of file and line.
pub(super) type Lines = BTreeSet<(String, u32)>;

/// The lines with code of the given functions: all, and those that each test executes. As in gcov, the first line of a
/// function counts.
fn lines(target: &Target, functions: &BTreeSet<usize>, covers: &[Vec<u32>]) -> (Lines, Vec<Lines>) {
    let (mut all, mut executed) = (Lines::new(), vec![Lines::new(); covers.len()]);
    for function in functions.iter().map(|f| &target.functions[*f]) {
        let sites = || target.sites[function.sites.clone()].iter().filter(|s| s.is_conditional());
        let own: BTreeSet<u32> = sites().flat_map(Site::branches).map(|b| b as u32).collect();
        let mut note = |lines: &[u32], is_executed: &dyn Fn(&Vec<u32>) -> bool| {
            let places = || lines.iter().map(|line| (function.file.clone(), *line));
            all.extend(places());
            for (test, _) in executed.iter_mut().zip(covers).filter(|(_, covers)| is_executed(covers)) {
                test.extend(places());
            }
        };
        let enters = |covers: &Vec<u32>| own.is_empty() || covers.iter().any(|b| own.contains(b));
        note(&[function.line], &enters);
        note(&function.entry_edges.lines, &enters);
        for site in sites() {
            for (branch, edges) in site.branches().zip(&site.edges) {
                note(&edges.lines, &|covers| covers.contains(&(branch as u32)));
            }
        }
    }
    (all, executed)
}

fn decisions_of(
    target: &Target,
    saturation: &Saturation,
    order: &Order,
    covers: &[Vec<u32>],
) -> Vec<decisions::Decision> {
    let mut all: Vec<_> = saturation.decisions().iter().map(|d| decision_of(target, d, order, covers)).collect();
    all.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    all
}

fn decision_of(target: &Target, goals: &VectorGoals, order: &Order, covers: &[Vec<u32>]) -> decisions::Decision {
    let site = &target.sites[target.site_of(goals.first as usize)];
    let tests_of = |vector: usize| -> Vec<usize> {
        let branch = goals.first + vector as u32;
        covers.iter().enumerate().filter(|(_, c)| c.contains(&branch)).map(|(i, _)| i + 1).collect()
    };
    let tests: Vec<Vec<usize>> = (0..goals.vectors.len()).map(tests_of).collect();
    let pairs = goals.pairs(|v| !tests[v].is_empty());
    let shown: Vec<usize> = (0..tests.len()).filter(|v| !tests[*v].is_empty()).collect();
    let place = |vector: usize| shown.iter().position(|v| *v == vector).unwrap_or(0);
    let conditions = site.decision.iter().flat_map(|d| &d.conditions).zip(&pairs).map(|(condition, pair)| {
        let at = &target.sites[condition.site];
        let site = order.place.get(&(at.first_branch as u32)).map(|at| at.site);
        decisions::Condition {
            line: at.line,
            column: at.column,
            site,
            pair: pair.map(|(v, w)| (place(v), place(w))),
            proved_infeasible: false,
        }
    });
    let vector = |v: &usize| decisions::Vector {
        values: goals.vectors[*v].text(goals.n_conditions),
        outcome: goals.vectors[*v].outcome,
        tests: tests[*v].clone(),
    };
    decisions::Decision {
        function: target.functions[site.function].name.clone(),
        file: site.file.clone(),
        line: site.line,
        column: site.column,
        conditions: conditions.collect(),
        vectors: shown.iter().map(vector).collect(),
        infeasible: Vec::new(),
    }
}
