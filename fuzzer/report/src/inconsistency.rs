//! Validates a `report.json` that was read: rejects numbers that contradict each other, or that would overflow in the
//! texts.

use super::model::{BranchIndex, Report};

/// The largest line, column, count of branches or size of a structure: that of a C `int`.
const MAX_INT: usize = i32::MAX as usize;

/// The largest count of evaluations: the sum of two does not overflow.
const MOST_EVALUATIONS: u64 = u64::MAX / 2;

/// The largest number of seconds. The name of an input has milliseconds in 64 bits, so no input reaches it.
const MOST_SECONDS: f64 = 1e17;

/// Describes the first value that no campaign could have written, as a clause; `None` if the report is valid.
pub(super) fn inconsistency(report: &Report) -> Option<String> {
    counts(report).or_else(|| sites(report)).or_else(|| tests(report))
}

fn counts(report: &Report) -> Option<String> {
    let b = &report.branches;
    for (name, n) in [
        ("covered", b.covered),
        ("covered_by_crash_only", b.covered_by_crash_only),
        ("depends_on_earlier_calls", b.depends_on_earlier_calls),
        ("depends_on_uninitialized", b.depends_on_uninitialized),
        ("without_test", b.without_test),
        ("saturated", b.saturated),
        ("given_up", b.given_up),
        ("proved_unreachable", b.proved_unreachable),
    ] {
        if n > b.total {
            return Some(format!("{n} branches are `{name}`, of {} in all", b.total));
        }
    }
    if b.total > MAX_INT {
        return Some(format!("it has {} branches", b.total));
    }
    if !(0.0..=MOST_SECONDS).contains(&report.seconds) {
        return Some(format!("the search took {} s", report.seconds));
    }
    (report.evaluations > MOST_EVALUATIONS).then(|| format!("it has {} evaluations", report.evaluations))
}

fn sites(report: &Report) -> Option<String> {
    let lines = report.sites.iter().flat_map(|s| [s.line, s.column]).chain([report.signature.line]);
    if let Some(line) = lines.into_iter().find(|n| *n as usize > MAX_INT) {
        return Some(format!("a site is on line or column {line}"));
    }
    let spent = report.sites.iter().flat_map(|s| &s.branches).map(|b| b.evaluations);
    if let Some(n) = spent.into_iter().find(|n| *n > MOST_EVALUATIONS) {
        return Some(format!("{n} evaluations were spent on a branch"));
    }
    let size = report.signature.parameters.iter().map(|p| p.size).find(|size| *size > MAX_INT);
    size.map(|size| format!("a parameter has {size} bytes"))
}

fn tests(report: &Report) -> Option<String> {
    let is_known = |at: &&BranchIndex| report.sites.get(at.site).is_some_and(|s| at.branch < s.branches.len());
    let BranchIndex { site, branch } = report.tests.iter().flat_map(|t| &t.covers).find(|place| !is_known(place))?;
    Some(format!("a test covers branch {branch} of site {site}, which is not among the sites"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{example, json, model::BranchIndex};

    #[test]
    fn invalid_values_are_reported() {
        let parse = |edit: &dyn Fn(&mut super::Report)| {
            let mut report = example::report();
            edit(&mut report);
            json::parse(&json::to_string(&report), Path::new("dir/report.json")).unwrap_err().to_string()
        };
        for (error, text) in [
            (parse(&|r| r.branches.covered = 1000), "1000 branches are `covered`"),
            (
                parse(&|r| r.tests[0].covers = vec![BranchIndex { site: 99, branch: 0 }]),
                "a test covers branch 0 of site 99",
            ),
            (parse(&|r| r.seconds = -1.0), "the search took -1 s"),
        ] {
            assert!(error.contains("dir/report.json") && error.contains(text), "{error}");
        }
    }
}
