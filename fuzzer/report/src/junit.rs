//! `--junit FILE`: the results of campaigns as test results, which continuous integration shows next to those of a
//! project's own tests.
//!
//! The document has one `testsuite` per function. A `testcase` that passed stands for each emitted test and each proof
//! that a branch is unreachable; one that failed stands for each crash and each hang. A campaign that ended without a
//! report has one with an error. The format has no standard; the document uses the subset that Jenkins, GitLab and the
//! actions for GitHub have in common. Single tests have no time, so the time is that of the whole campaign.

use askama::Template;
use penfuzz_system::console::shown;

use super::{
    c_text::{call, decimals},
    model::{Finding, ProvedBranch, Report, Test},
    source_root::SourceRoot,
    uncovered::{decimal_call, place},
};

/// Maximum number of characters of a test name. The arguments of a harness may have a million.
const NAME_WIDTH: usize = 160;

/// The outcome of one campaign.
#[derive(Debug, Clone, Copy)]
pub struct Campaign<'a> {
    /// Name of the target in a suite, otherwise of the function.
    pub name: &'a str,
    /// Its report, or why there is none.
    pub outcome: Result<&'a Report, &'a str>,
}

/// Renders the document for these campaigns. `name` is the name of the suite, or of the target.
///
/// # Panics
/// Never: writing to a string does not fail.
#[must_use]
pub fn document(name: &str, campaigns: &[Campaign], root: &SourceRoot) -> String {
    let suites = campaigns.iter().map(|campaign| suite(campaign, root)).collect();
    let results = Results { name: shown(name).into_owned(), suites };
    results.render().expect("memory takes every document")
}

/// The fields of the template.
#[derive(Template)]
#[template(path = "junit.xml")]
struct Results {
    name: String,
    suites: Vec<Suite>,
}

impl Results {
    fn sum(&self, of: fn(&Suite) -> usize) -> usize {
        self.suites.iter().map(of).sum()
    }

    fn seconds(&self) -> f64 {
        self.suites.iter().map(|s| s.seconds).sum()
    }
}

struct Suite {
    name: String,
    seconds: f64,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

impl Suite {
    fn tests(&self) -> usize {
        self.cases.len()
    }

    fn count(&self, element: &str) -> usize {
        self.cases.iter().filter(|c| c.problem.as_ref().is_some_and(|p| p.element == element)).count()
    }

    fn failures(&self) -> usize {
        self.count(FAILURE)
    }

    fn errors(&self) -> usize {
        self.count(ERROR)
    }
}

const FAILURE: &str = "failure";
const ERROR: &str = "error";

struct Case {
    name: String,
    class: String,
    /// Path relative to the root of the sources; empty if it is not known.
    file: String,
    problem: Option<Problem>,
}

struct Problem {
    /// [`FAILURE`] or [`ERROR`].
    element: &'static str,
    kind: &'static str,
    message: String,
    text: String,
}

fn suite(campaign: &Campaign, root: &SourceRoot) -> Suite {
    let name = shown(campaign.name).into_owned();
    match campaign.outcome {
        Ok(report) => Suite {
            seconds: if report.seconds.is_finite() { report.seconds } else { 0.0 },
            properties: properties(report),
            cases: cases(report, &name, root),
            name,
        },
        Err(reason) => {
            let message = shown(reason).into_owned();
            let problem = Problem { element: ERROR, kind: "campaign", text: message.clone(), message };
            let case =
                Case { name: "campaign".to_owned(), class: name.clone(), file: String::new(), problem: Some(problem) };
            Suite { name, seconds: 0.0, properties: Vec::new(), cases: vec![case] }
        }
    }
}

fn properties(report: &Report) -> Vec<(&'static str, String)> {
    vec![
        ("goals", report.goals.name().to_owned()),
        ("total", report.branches.total.to_string()),
        ("covered", report.branches.covered.to_string()),
        ("proved_unreachable", report.branches.proved_unreachable.to_string()),
        ("evaluations", report.evaluations.to_string()),
        ("seed", report.seed.to_string()),
        ("search", shown(&report.search).into_owned()),
        ("stop_reason", shown(&report.stop_reason).into_owned()),
    ]
}

fn cases(report: &Report, class: &str, root: &SourceRoot) -> Vec<Case> {
    let file = match report.signature.file.as_str() {
        "" => String::new(),
        file => shown(&root.name(file)).into_owned(),
    };
    let case =
        |name: &str, problem| Case { name: cut(&shown(name)), class: class.to_owned(), file: file.clone(), problem };
    let test = |(i, test): (usize, &Test)| case(&format!("test {}: {}", i + 1, decimal_call(report, &test.args)), None);
    // One entry per place, so that the name stays the same if the input or the order changes.
    let finding = |kind: &'static str, finding: &Finding| {
        let what = format!("{} in {}", finding.reason, finding.place);
        case(&format!("{kind}: {what}"), Some(problem(report, kind, &what, finding)))
    };
    let tests = report.tests.iter().enumerate().map(test);
    let proofs = report.proved().map(|ProvedBranch { site, branch, proof }| {
        case(&format!("proof: {} {} is unreachable ({})", place(site), branch.outcome, proof.file), None)
    });
    let crashes = report.crashes.iter().filter(|f| f.counts()).map(|f| finding("crash", f));
    let hangs = report.hangs.iter().filter(|f| f.counts()).map(|f| finding("hang", f));
    tests.chain(proofs).chain(crashes).chain(hangs).collect()
}

fn problem(report: &Report, kind: &'static str, what: &str, finding: &Finding) -> Problem {
    let mut lines = vec![format!("{};", call(report, &finding.args)), decimals(&finding.args)];
    lines.extend(finding.dependence().map(str::to_owned));
    lines.extend(finding.stack.iter().map(|frame| format!("  {frame}")));
    lines.push(format!("input: {}", finding.file));
    let lines: Vec<_> = lines.iter().filter(|l| !l.is_empty()).map(|l| shown(l)).collect();
    Problem { element: FAILURE, kind, message: shown(what).into_owned(), text: lines.join("\n") }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(NAME_WIDTH - 1) {
        Some((at, _)) if text.chars().count() > NAME_WIDTH => format!("{}…", &text[..at]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::example;

    fn root() -> SourceRoot {
        SourceRoot::of(Path::new("/src"))
    }

    fn of(report: &Report) -> String {
        document("clamp.c", &[Campaign { name: "clamp", outcome: Ok(report) }], &root())
    }

    fn parsed(text: &str, look: impl FnOnce(&roxmltree::Document)) {
        look(&roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{e}: {text}")));
    }

    #[test]
    fn the_example() {
        insta::assert_snapshot!(of(&example::report()));
    }

    #[test]
    fn each_function_has_a_testsuite_and_the_counts_are_those_of_its_cases() {
        let mut hanging = example::report();
        hanging.hangs = std::mem::take(&mut hanging.crashes);
        let fine = example::report();
        let campaigns = [
            Campaign { name: "fine", outcome: Ok(&fine) },
            Campaign { name: "hanging", outcome: Ok(&hanging) },
            Campaign { name: "broken", outcome: Err("x.c:1: no such type\nsee x.log") },
        ];
        parsed(&document("s", &campaigns, &root()), |document| {
            let count = |node: roxmltree::Node, tag: &str| {
                node.descendants().filter(|n| n.has_tag_name(tag)).count().to_string()
            };
            let suites: Vec<_> = document.descendants().filter(|n| n.has_tag_name("testsuite")).collect();
            assert_eq!(suites.len(), 3);
            for node in suites.into_iter().chain([document.root_element()]) {
                for (attribute, tag) in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")] {
                    assert_eq!(node.attribute(attribute), Some(count(node, tag).as_str()), "{attribute}");
                }
            }
            let error = document.descendants().find(|n| n.has_tag_name("error")).unwrap();
            assert_eq!(error.attribute("message"), Some("x.c:1: no such type\\nsee x.log"));
        });
    }

    #[test]
    fn names_cannot_break_the_document() {
        let mut report = example::report();
        let bad = "]]></failure>\"&\u{0}\u{1b}\u{202e}\u{fffe}\n";
        (report.function, report.stop_reason) = (bad.to_owned(), bad.to_owned());
        let crash = &mut report.crashes[0];
        (crash.reason, crash.place, crash.file) = (bad.to_owned(), bad.to_owned(), bad.to_owned());
        crash.stack = vec![bad.to_owned()];
        crash.args[0].decimal = bad.to_owned();
        let text = of(&report);
        parsed(&text, |document| {
            assert_eq!(document.descendants().filter(|n| n.has_tag_name("failure")).count(), 1);
        });
        assert!(!text.contains(['\u{0}', '\u{1b}', '\u{202e}', '\u{fffe}']), "{text}");
    }

    #[test]
    fn a_name_has_a_limited_length() {
        let mut report = example::report();
        report.tests[0].args[0].decimal = "é".repeat(1000);
        parsed(&of(&report), |document| {
            let case = document.descendants().find(|n| n.has_tag_name("testcase")).unwrap();
            assert_eq!(case.attribute("name").map(|n| n.chars().count()), Some(NAME_WIDTH));
        });
        assert_eq!((cut("short"), cut(&"x".repeat(NAME_WIDTH))), ("short".to_owned(), "x".repeat(NAME_WIDTH)));
    }
}
