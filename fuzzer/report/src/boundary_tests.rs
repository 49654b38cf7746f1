//! Tests of the text report of a search for boundary values.

use penfuzz_engine::saturation::Goals;
use penfuzz_mutators::view::Kind;

use super::*;
use crate::{
    Operand, example,
    literal::{c_literal, decimal},
    model::{Met, Status},
};

fn met(left: f64, right: f64, holds: bool) -> Met {
    let operand = |x: f64| Operand { hex: c_literal(Kind::F64, x.to_bits()), decimal: decimal(Kind::F64, x.to_bits()) };
    Met { left: operand(left), right: operand(right), outcome: holds.to_string() }
}

fn branch(outcome: &str, status: Status, met: Option<Met>) -> Branch {
    Branch {
        outcome: outcome.to_owned(),
        status,
        evaluations: 40,
        covered_at: None,
        best_distance: (status == Status::GivenUp).then_some(1),
        input: met.as_ref().map(|_| example::args(0.5, 3)),
        further: Vec::new(),
        unchanged_over: None,
        best_input: (status == Status::GivenUp).then(|| example::args(0.25, 2)),
        met,
        proof: None,
    }
}

/// One comparison that is met exactly, one of which only neighbours are met, and one that is not reached.
fn report() -> Report {
    let mut report = example::report();
    report.goals = Goals::Boundaries;
    report.crashes.clear();
    let mut site = report.sites[0].clone();
    site.kind = "comparison".to_owned();
    site.distance_unit = "floats".to_owned();
    let with = |line, branches| Site { line, branches, ..site.clone() };
    report.sites = vec![
        with(
            5,
            vec![
                branch("below", Status::Saturated, Some(met(0.25, 0.5, true))),
                branch("equal", Status::Covered, Some(met(0.5, 0.5, false))),
                branch("above", Status::CoveredByCrash, None),
            ],
        ),
        with(
            7,
            vec![
                branch("below", Status::Saturated, Some(met(0.25, 0.5, true))),
                branch("equal", Status::GivenUp, None),
            ],
        ),
        with(9, vec![branch("equal", Status::Uncovered, None)]),
    ];
    report
}

#[test]
fn equality_and_neighbours_are_counted_apart() {
    let expected = Tally { comparisons: 3, exact: 1, not_exact: 2, neighbours: 3, neighbours_met: 3 };
    assert_eq!(Tally::of(&report()), expected);
}

#[test]
fn a_comparison_without_equality_among_its_goals_is_counted_as_neither() {
    let mut report = report();
    for site in &mut report.sites {
        site.branches.retain(|b| b.outcome != EQUAL);
    }
    let tally = Tally::of(&report);
    assert_eq!((tally.comparisons, tally.exact, tally.not_exact), (3, 0, 0));
}

#[test]
fn boundary_values_show_input_or_distance() {
    insta::assert_snapshot!(text(&report(), Path::new("out")));
}

#[test]
fn one_comparison_is_no_plural() {
    let mut report = report();
    report.sites.truncate(1);
    let text = text(&report, Path::new("out"));
    assert!(text.starts_with("clamp (clamp.c): 1 comparison: 1 met exactly, 0 not; 2 of 2 neighbours\n"), "{text}");
}
