//! The text report of a search for boundary values: how many comparisons were met exactly, and for each comparison the
//! inputs that make its operands equal or neighbours, or how close the search came.

use std::{fmt::Write, path::Path};

use penfuzz_system::console;

use super::{
    format::plural,
    model::{Branch, Report, Site},
    sources::Sources,
    summary, terminal,
    uncovered::{EQUAL, decimal_call, nearest},
};

/// Counts of comparisons and boundary values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of comparisons.
    pub comparisons: usize,
    /// Comparisons that were met exactly: some input makes the operands equal.
    pub exact: usize,
    /// Comparisons that were not met exactly. Comparisons whose operands cannot be equal by what the compiler knows do
    /// not count.
    pub not_exact: usize,
    /// Boundary values next to equality: one below and one above.
    pub neighbours: usize,
    /// Neighbours that were met.
    pub neighbours_met: usize,
}

impl Tally {
    /// Counts the boundary values of a report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let mut tally = Self { comparisons: report.sites.len(), ..Self::default() };
        for branch in report.sites.iter().flat_map(|s| &s.branches) {
            let met = usize::from(!branch.is_open());
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

/// The text for the search with output directory `dir`. It shows source lines only of files that have not changed since
/// the report was made.
#[must_use]
pub fn text(report: &Report, dir: &Path) -> String {
    let report = &console::escape_strings(report);
    let mut out = headline(report);
    terminal::list_faults(report, &mut out);
    let mut sources = Sources::of(report);
    for site in &report.sites {
        let _ = writeln!(
            out,
            "\n{}:{}:{}  {}",
            site.file,
            site.line,
            site.column,
            summary::excerpt(&sources.condition(site))
        );
        for branch in &site.branches {
            let _ = writeln!(out, "  {:<5}  {}", branch.outcome, describe(report, site, branch));
            for args in &branch.further {
                let _ = writeln!(out, "         {}", decimal_call(report, args));
            }
        }
    }
    summary::list_files(report, dir, &mut out);
    out
}

fn headline(report: &Report) -> String {
    let t = Tally::of(report);
    let comparisons = plural(t.comparisons, "comparison");
    let head = format!(
        "{} ({}): {comparisons}: {} met exactly, {} not; {} of {} neighbours\n",
        report.function, report.target, t.exact, t.not_exact, t.neighbours_met, t.neighbours
    );
    head + &terminal::effort(report, true)
}

/// The input and the comparison, as in `f(1)   1.0 <= 1.0: true`, or how close the search came.
fn describe(report: &Report, site: &Site, branch: &Branch) -> String {
    if branch.is_open() {
        let is_reached = branch.best_distance.is_some() || site.branches.iter().any(|b| !b.is_open());
        return if is_reached { nearest(report, site, branch) } else { "not reached".to_owned() };
    }
    let input = branch
        .input
        .as_ref()
        .map_or_else(|| "by an input that does not return".to_owned(), |args| decimal_call(report, args));
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
