//! The text at the end of a search for boundary values: how many comparisons were met exactly, and for each the inputs at
//! which its operands are equal or next to each other, or how near they came.

use std::{fmt::Write, path::Path};

use penfuzz_cc::abi::side;

use super::{
    model::{Branch, Report, Site, Status},
    summary::{self, Sources},
};

/// Outcome of a branch whose operands are equal.
const EQUAL: &str = "equal";

/// Counts of what was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Comparisons.
    pub comparisons: usize,
    /// Those that were met exactly: an input makes the operands equal.
    pub exact: usize,
    /// Those that were not, though nothing known at compile time speaks against it.
    pub not_exact: usize,
    /// Boundary values next to equality: one below, one above.
    pub neighbours: usize,
    /// Those of them that were met.
    pub neighbours_met: usize,
}

impl Tally {
    /// Counts the boundary values of a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let mut tally = Self { comparisons: report.sites.len(), ..Self::default() };
        for branch in report.sites.iter().flat_map(|s| &s.branches) {
            let met = usize::from(!summary::is_open(branch));
            if branch.outcome == EQUAL {
                tally.exact += met;
                tally.not_exact += 1 - met;
            } else {
                tally.neighbours += 1;
                tally.neighbours_met += met;
            }
        }
        tally
    }
}

/// The text for the search in output directory `dir`. Source files are read for the lines to show, when they are there.
#[must_use]
pub fn text(report: &Report, dir: &Path) -> String {
    let mut out = headline(report);
    summary::list_faults(report, &mut out);
    let mut sources = Sources::default();
    for site in &report.sites {
        let _ = writeln!(out, "\n{}:{}:{}  {}", site.file, site.line, site.column, sources.condition(site));
        for branch in &site.branches {
            let _ = writeln!(out, "  {:<5}  {}", branch.outcome, describe(report, site, branch));
        }
    }
    summary::list_files(report, dir, &mut out);
    out
}

fn headline(report: &Report) -> String {
    let t = Tally::of(report);
    let plural = if t.comparisons == 1 { "" } else { "s" };
    let mut out = format!(
        "{} ({}): {} comparison{plural}: {} met exactly, {} not; {} of {} neighbours\n",
        report.function, report.target, t.comparisons, t.exact, t.not_exact, t.neighbours_met, t.neighbours
    );
    out += &summary::effort(report);
    out
}

/// `3 floats away at nearest, f(0.5)`, in numbers between the operands.
pub(super) fn nearest(report: &Report, site: &Site, branch: &Branch) -> String {
    let end = if branch.status == Status::GivenUp { "given up" } else { "open" };
    let spent = format!("{} evaluations, {end}", summary::count(branch.evaluations));
    let nowhere = if branch.outcome == EQUAL { "no input with two numbers" } else { "no input on that side" };
    // The number next to `b` is at distance 0, and 1 away.
    let beyond = u64::from(branch.outcome != EQUAL);
    match (branch.best_distance, &branch.best_input) {
        (Some(d), Some(args)) if branch.outcome == EQUAL || d < side::OTHER => {
            let gap = d + beyond;
            let unit = if gap == 1 { site.distance_unit.trim_end_matches('s') } else { &site.distance_unit };
            format!("nearest {gap} {unit} away, {}   {spent}", summary::decimal_call(report, args))
        }
        _ => format!("{nowhere}   {spent}"),
    }
}

/// `f(1)  1.0 <= 1.0: true`, or how near it came.
fn describe(report: &Report, site: &Site, branch: &Branch) -> String {
    if summary::is_open(branch) {
        let is_reached = branch.best_distance.is_some() || site.branches.iter().any(|b| !summary::is_open(b));
        return if is_reached { nearest(report, site, branch) } else { "not reached".to_owned() };
    }
    let input = branch
        .input
        .as_ref()
        .map_or_else(|| "by an input that does not return".to_owned(), |args| summary::decimal_call(report, args));
    match &branch.met {
        Some(met) => {
            format!("{input}   {} {} {}: {}", met.left.decimal, site.predicate, met.right.decimal, met.outcome)
        }
        None => input,
    }
}

#[cfg(test)]
#[path = "boundary_tests.rs"]
mod tests;
