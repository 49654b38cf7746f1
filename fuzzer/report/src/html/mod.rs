//! `report.html`: one page for people, in light and dark. It needs no script and no other file, and is well-formed XML.
//! While the campaign runs, the browser reloads it every few seconds.
//!
//! The text of the page is `templates/campaign.html` in the frame of `templates/layout.html`, which the page of an
//! experiment shares. The templates are compiled into the program: a field that a template uses and [`Page`] lacks is a
//! compile error, and everything that is not marked as safe is escaped.

mod curve;
mod listing;
mod open;
mod tested;

use std::collections::BTreeMap;

use askama::Template;

use super::{
    arg::Arg,
    c_text::call,
    criterion_goals::CriterionGoal,
    decisions,
    exceptions::{Exceptions, Find},
    exceptions_text,
    finding::relied_on,
    format::{count, seconds, share},
    history::History,
    model::{End, Finding, LongInput, Report, Test},
    mutation::Mutant,
    sources::{Sources, cut, place},
    terminal::stop_reason,
    uncovered::{closest_first, left, legend},
    words::Words,
};

/// Seconds between two reloads of the page of a running campaign, which rewrites it about as often.
const REFRESH: u32 = 5;

/// Maximum number of entries of each list. More would make the page too large for a browser; `report.json` has all.
const LISTED: usize = 500;

/// The fields of the template.
#[derive(Template)]
#[template(path = "campaign.html")]
struct Page<'a> {
    title: String,
    /// Seconds until the next reload; `None` when the campaign has ended.
    refresh: Option<u32>,
    report: &'a Report,
    words: Words,
    /// Share of covered goals, in percent.
    share: f64,
    /// Remaining goals, effort of the search, and its state.
    facts: Vec<String>,
    findings: Vec<Findings<'a>>,
    /// Likely preconditions, with the numbers of crashes whose inputs violate them.
    relied_on: BTreeMap<&'a str, usize>,
    long: Listed<&'a LongInput>,
    exceptions: Option<Raised<'a>>,
    /// Mutants that no test kills.
    live: Option<Listed<&'a Mutant>>,
    equivalent: Option<Listed<&'a Mutant>>,
    /// Uncovered branches, actionable ones first.
    open: Vec<open::Group<'a>>,
    /// Total number of uncovered branches.
    open_branches: usize,
    /// Sentences that explain the words in `open`.
    legend: Vec<String>,
    proved: Listed<open::Proved<'a>>,
    decisions: Listed<tested::ShownDecision<'a>>,
    criterion_goals: Listed<&'a CriterionGoal>,
    plots: Vec<curve::Picture>,
    tests: Listed<tested::TestRow<'a>>,
    listing: listing::Listing<'a>,
}

/// The first entries of a list, at most [`LISTED`].
struct Listed<T> {
    shown: Vec<T>,
    left_out: usize,
}

impl<T> Listed<T> {
    fn of(all: impl ExactSizeIterator<Item = T>) -> Self {
        let left_out = all.len().saturating_sub(LISTED);
        Self { shown: all.take(LISTED).collect(), left_out }
    }
}

/// Crashes or hangs.
struct Findings<'a> {
    title: &'static str,
    list: Listed<Fault<'a>>,
}

/// A crash or a hang.
struct Fault<'a> {
    finding: &'a Finding,
    /// The source line; for an assertion, its text.
    line: Option<String>,
}

/// Floating-point exceptions, worst first.
struct Raised<'a> {
    pairs: usize,
    list: Listed<&'a Find>,
}

impl Page<'_> {
    fn call_of(&self, args: &[Arg]) -> String {
        call(self.report, args)
    }

    fn text_of(&self, find: &Find) -> String {
        exceptions_text::of(self.report, find).trim().to_owned()
    }
}

/// The results of a call, or how it ends: `0.5, *rest = 2.0, errno = 33`.
fn result_of(test: &Test) -> String {
    let end = test.ends.map(|End::Exit(status)| format!("exit status {status}"));
    let thrown = test.throws.as_ref().map(|name| format!("throws {name}"));
    let result = test.result.as_ref().map(|r| r.decimal.clone());
    let star = |output: &Arg| if output.place.is_some() { "" } else { "*" };
    let outputs = test.outputs.iter().map(|o| format!("{}{} = {}", star(o), o.name, o.decimal));
    let errno = test.errno.map(|n| format!("errno = {n}"));
    let all: Vec<_> = end.into_iter().chain(thrown).chain(result).chain(outputs).chain(errno).collect();
    all.join(", ")
}

/// Renders the whole page. It shows source lines only of files that have not changed since the report was made.
///
/// # Panics
/// Never: writing to a string does not fail.
#[must_use]
pub fn page(report: &Report, history: &History) -> String {
    let mut sources = Sources::of(report);
    let listing = listing::of(report, &mut sources);
    let decisions = tested::decisions(report, &listing, &mut sources);
    let page = Page {
        title: format!("{} ({})", report.function, report.target),
        refresh: is_running(report).then_some(REFRESH),
        report,
        words: Words::of(report.goals),
        share: share(report.branches.covered, report.branches.total).clamp(0.0, 100.0),
        facts: facts(report),
        findings: findings(report, &mut sources),
        relied_on: relied_on(&report.crashes),
        long: Listed::of(report.long.iter()),
        exceptions: report.exceptions.as_ref().map(raised),
        equivalent: report.mutation.as_ref().map(|m| Listed::of(m.equivalent.iter())),
        live: report.mutation.as_ref().map(|m| Listed::of(m.live.iter())),
        open: open::groups(report, &listing, &mut sources),
        open_branches: closest_first(report).len(),
        legend: legend(report),
        proved: open::proved(report, &listing, &mut sources),
        decisions: Listed { left_out: report.decisions.len().saturating_sub(decisions.len()), shown: decisions },
        criterion_goals: Listed::of(report.criterion_goals.iter()),
        plots: curve::pictures(report, history),
        tests: Listed::of(tested::rows(report, &listing).into_iter()),
        listing,
    };
    page.render().expect("memory takes every page")
}

fn is_running(report: &Report) -> bool {
    report.stop_reason == "running"
}

/// The remaining goals, the effort of the search, and why it stopped.
fn facts(report: &Report) -> Vec<String> {
    let state = if is_running(report) { "running".to_owned() } else { format!("stopped: {}", stop_reason(report)) };
    let search = [
        format!("{} evaluations", count(report.evaluations)),
        format!("{} ({}/s)", seconds(report.seconds), count(report.evaluations_per_second as u64)),
        format!("{} search, seed {}", report.search, report.seed),
        state,
    ];
    let origin = report.origin.iter().map(|o| {
        let commit = o.commit.as_ref().map(|commit| format!(", commit {}", commit.get(..12).unwrap_or(commit)));
        format!("{}, {}, {}{}", o.program, o.compiler, o.date, commit.unwrap_or_default())
    });
    let left = left(&report.branches, &Words::of(report.goals)).into_iter();
    left.chain(decisions::facts(report)).chain(search).chain(origin).collect()
}

fn findings<'a>(report: &'a Report, sources: &mut Sources<'a>) -> Vec<Findings<'a>> {
    let mut fault = |finding: &'a Finding| {
        let line = place(&finding.place).and_then(|(file, line)| sources.line(file, line));
        Fault { finding, line: line.map(cut) }
    };
    let counting = |list: &'a [Finding]| list.iter().filter(|finding| finding.counts()).collect::<Vec<_>>();
    [("Crashes", counting(&report.crashes)), ("Hangs", counting(&report.hangs))]
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(title, list)| Findings { title, list: Listed::of(list.into_iter().map(&mut fault)) })
        .collect()
}

fn raised(exceptions: &Exceptions) -> Raised<'_> {
    Raised { pairs: exceptions.pairs(), list: Listed::of(exceptions.finds.iter()) }
}

/// The name of a file without its directories.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod unit;
