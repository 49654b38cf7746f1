//! Parts that several terminal texts share: the effort of the search, and crashes and hangs.

use std::fmt::Write;

use penfuzz_system::console::shown;

use super::{
    c_text::{call, decimals},
    decisions::Criterion,
    finding::relied_on,
    format::{count, seconds},
    model::{Finding, Report},
    words::Words,
};

/// Maximum number of stack frames that are shown; `report.json` and `penfuzz triage` have more.
const LISTED_FRAMES: usize = 4;

/// One line with the effort of the search and why it stopped. `with_rate` adds the evaluations per second.
pub(super) fn effort(report: &Report, with_rate: bool) -> String {
    let rate = format!(" ({}/s)", count(report.evaluations_per_second as u64));
    format!(
        "{} evaluations in {}{}, seed {}, stopped: {}\n",
        count(report.evaluations),
        seconds(report.seconds),
        if with_rate { &rate } else { "" },
        report.seed,
        stop_reason(report)
    )
}

/// Why the campaign ended, as text for people; `report.json` has the short names.
pub(super) fn stop_reason(report: &Report) -> String {
    let words = Words::of(report.goals);
    match report.stop_reason.as_str() {
        "saturated" if report.branches.total == 0 => without_branches(report).to_owned(),
        "saturated" if report.branches.covered >= report.branches.total => {
            format!("every {} is {}", words.goal, words.done)
        }
        "saturated" if report.branches.covered + report.branches.covered_by_crash_only >= report.branches.total => {
            format!("every {} is {}, some only by inputs that crash", words.goal, words.done)
        }
        "saturated" if report.branches.covered >= report.branches.reachable() => {
            format!("every {} is {} or proved unreachable", words.goal, words.done)
        }
        "saturated" => format!("every {} is {} or given up", words.goal, words.done),
        "max-time" => "time limit (--max-time)".to_owned(),
        "max-evals" => "limit of evaluations (--max-evals)".to_owned(),
        "workers-die" => "the target ended one worker process after another without a new find".to_owned(),
        other => other.to_owned(),
    }
}

/// The stop reason of a target without branches. Goals of other criteria may exist there.
fn without_branches(report: &Report) -> &'static str {
    let open = |c: &Criterion| c.covered + c.proved_infeasible < c.total;
    match report.criteria.values().any(|c| c.total > 0) {
        false => "nothing to search for",
        true if report.criteria.values().any(open) => "every goal is met or given up",
        true => "every goal is met",
    }
}

/// Writes crashes, hangs, and inputs that take long but return.
pub(super) fn list_faults(report: &Report, out: &mut String) {
    list_findings("CRASH", report, report.crashes.iter().filter(|crash| crash.counts()), out);
    list_findings("HANG", report, report.hangs.iter().filter(|hang| hang.counts()), out);
    list_known(report, out);
    list_relied_on(report, out);
    for long in &report.long {
        let _ = writeln!(out, "\nLONG  returns after {} ms", long.milliseconds);
        let _ = writeln!(out, "       {};", call(report, &long.args));
        let _ = writeln!(out, "       {}  ({})", decimals(&long.args), long.file);
    }
}

/// Writes the findings that existed before a change.
fn list_known(report: &Report, out: &mut String) {
    for finding in report.crashes.iter().chain(&report.hangs).filter(|f| f.violates.is_empty()) {
        if let Some(since) = &finding.existed_in {
            let _ = writeln!(out, "\nKNOWN  {} in {} existed in {since}", finding.reason, finding.place);
        }
    }
}

/// Writes the likely preconditions of the function, which the other crashes violate.
fn list_relied_on(report: &Report, out: &mut String) {
    let relied_on = relied_on(&report.crashes);
    if relied_on.is_empty() {
        return;
    }
    let n = report.crashes.iter().filter(|crash| !crash.violates.is_empty()).count();
    let crashes = if n == 1 { "1 crash is" } else { &format!("{n} crashes are") };
    let _ = writeln!(out, "\nRelies on ({crashes} of inputs that violate this; docs/claims.md)");
    for (precondition, n) in relied_on {
        let places = if n == 1 { String::new() } else { format!("  ({n} places)") };
        let _ = writeln!(out, "       {}{places}", shown(precondition));
    }
}

fn list_findings<'a>(title: &str, report: &Report, list: impl Iterator<Item = &'a Finding>, out: &mut String) {
    for finding in list {
        let _ = writeln!(out, "\n{title}  {} in {}", finding.reason, finding.place);
        for remark in finding.dependence().map(str::to_owned).into_iter().chain(finding.confirmation()) {
            let _ = writeln!(out, "       {remark}");
        }
        let _ = writeln!(out, "       {};", call(report, &finding.args));
        let _ = writeln!(out, "       {}  ({})", decimals(&finding.args), finding.file);
        list_stack(&finding.stack, out);
    }
}

/// Writes the innermost frames. A stack of one frame is left out, because it only repeats the place.
fn list_stack(stack: &[String], out: &mut String) {
    let shown = if stack.len() > 1 { &stack[..stack.len().min(LISTED_FRAMES)] } else { &[] };
    for frame in shown {
        let _ = writeln!(out, "         {frame}");
    }
    if shown.len() < stack.len() && !shown.is_empty() {
        let _ = writeln!(out, "         and {} more", stack.len() - shown.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Branches, example};

    #[test]
    fn people_read_why_it_stopped() {
        let mut report = example::report();
        assert_eq!(stop_reason(&report), "every branch is covered or given up");
        report.branches.proved_unreachable = report.branches.total - report.branches.covered;
        assert_eq!(stop_reason(&report), "every branch is covered or proved unreachable");
        report.branches.proved_unreachable = 0;
        report.branches.covered = report.branches.total;
        assert_eq!(stop_reason(&report), "every branch is covered");
        report.branches.covered -= report.branches.covered_by_crash_only;
        assert_eq!(stop_reason(&report), "every branch is covered, some only by inputs that crash");
        report.branches = Branches::default();
        assert_eq!(stop_reason(&report), "nothing to search for");
        report.criteria.insert("exceptions".to_owned(), Criterion { covered: 2, total: 2, ..Criterion::default() });
        assert_eq!(stop_reason(&report), "every goal is met");
        report.criteria.insert("loop".to_owned(), Criterion { covered: 1, total: 3, ..Criterion::default() });
        assert_eq!(stop_reason(&report), "every goal is met or given up");
        report.stop_reason = "interrupted".to_owned();
        assert_eq!(stop_reason(&report), "interrupted");
    }
}
