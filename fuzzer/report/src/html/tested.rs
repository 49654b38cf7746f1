//! What tests have to do with lines: the lines that a test covers, and the pairs of tests that show conditions.

use std::collections::HashSet;

use super::{LISTED, listing::Listing, result_of};
use crate::{
    decisions::{Decision, Vector},
    model::{Report, Test},
    sources::Sources,
};

/// Maximum number of lines that a row of the table lists.
const LINES: usize = 6;

/// A row of the table of tests.
pub struct TestRow<'a> {
    pub test: &'a Test,
    pub result: String,
    /// The lines of the branches that it covers and no test above it does, each with its anchor in the page.
    pub lines: Vec<(u32, Option<String>)>,
    /// More of them than the row lists.
    pub left_out: usize,
    /// The kept input, without its directory and what the name says about it: `id:000003`.
    pub input: &'a str,
}

/// The table of tests.
pub fn rows<'a>(report: &'a Report, listing: &Listing) -> Vec<TestRow<'a>> {
    let mut seen = HashSet::new();
    let row = |test: &'a Test| {
        let new = test.covers.iter().filter(|branch| seen.insert(**branch));
        let mut sites: Vec<_> = new.filter_map(|branch| report.sites.get(branch.site)).collect();
        sites.sort_by_key(|site| (&site.file, site.line));
        sites.dedup_by_key(|site| (&site.file, site.line));
        let left_out = sites.len().saturating_sub(LINES);
        let lines = sites.iter().take(LINES).map(|site| (site.line, listing.anchor(&site.file, site.line)));
        let name = test.file.rsplit('/').next().unwrap_or_default();
        let input = name.split(',').next().unwrap_or(name);
        TestRow { test, result: result_of(test), lines: lines.collect(), left_out, input }
    };
    report.tests.iter().map(row).collect()
}

/// A decision with the text of its conditions.
pub struct ShownDecision<'a> {
    pub decision: &'a Decision,
    /// Its source lines; `None` if the file has changed.
    pub code: Option<String>,
    pub conditions: Vec<ShownCondition<'a>>,
}

/// A condition of a decision.
pub struct ShownCondition<'a> {
    /// Its text, or what it compares.
    pub text: String,
    pub place: String,
    /// The anchor of its line in the page.
    pub anchor: Option<String>,
    pub pair: Option<[&'a Vector; 2]>,
    pub is_infeasible: bool,
}

/// The first decisions, at most [`LISTED`].
pub fn decisions<'a>(report: &'a Report, listing: &Listing, sources: &mut Sources<'a>) -> Vec<ShownDecision<'a>> {
    let mut shown = Vec::new();
    for decision in report.decisions.iter().take(LISTED) {
        let last = decision.conditions.iter().map(|c| c.line).max().unwrap_or(decision.line);
        let code = sources.lines(&decision.file, decision.line, last);
        let mut conditions = Vec::new();
        for condition in &decision.conditions {
            let site = condition.site.and_then(|site| report.sites.get(site));
            conditions.push(ShownCondition {
                text: site.map_or_else(String::new, |site| sources.operand(site)),
                place: format!("{}:{}", condition.line, condition.column),
                anchor: listing.anchor(&decision.file, condition.line),
                pair: decision.pair(condition),
                is_infeasible: condition.is_infeasible(report),
            });
        }
        shown.push(ShownDecision { decision, code, conditions });
    }
    shown
}
