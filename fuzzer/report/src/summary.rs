//! The text at the end of a campaign for branches, for a terminal about 100 columns wide: the coverage figure, crashes
//! and hangs, the emitted tests, the uncovered branches with their source lines, and the files.

use std::{fmt::Write, path::Path};

use penfuzz_system::console;

use super::{
    arg::{Arg, Global},
    c_text::decimals,
    decisions, files,
    format::{percent, plural},
    model::{Report, Test},
    requirements,
    sources::Sources,
    terminal,
    test_check::{self, UninitializedVariable},
    uncovered::{closest_first, explain, left, legend},
    words::Words,
};

/// Maximum number of tests that are listed; the test program has all.
const LISTED_TESTS: usize = 20;
/// Maximum number of characters that are shown of a sequence of calls.
const MAX_SEQUENCE_WIDTH: usize = 200;
/// Maximum number of values that depend on uninitialized memory that are named.
const VALUES: usize = 6;
/// Maximum number of uncovered branches that are listed; `report.json` has all.
const LISTED_BRANCHES: usize = 10;

/// The text for the campaign with output directory `dir`. It shows source lines only of files that have not changed
/// since the report was made.
#[must_use]
pub fn text(report: &Report, dir: &Path) -> String {
    let report = &console::escape_strings(report);
    let mut out = headline(report);
    decisions::list(report, &mut out);
    requirements::list(&report.requirements, &mut out);
    list_inputs(report, &mut out);
    if let Some(place) = &report.unmet_assumption {
        let _ = writeln!(
            out,
            "No input met the assumptions ({place}): they contradict each other, or need more time or a seed (-i)"
        );
    }
    if report.unconfirmed_tests > 0 {
        let _ = writeln!(
            out,
            "{} not repeated in a fresh process, because the system had no process to spare: run the campaign again",
            plural(report.unconfirmed_tests, "test")
        );
    }
    let indefinite = report.tests.iter().filter(|t| t.depends_on_uninitialized).count();
    if indefinite > 0 {
        let _ = writeln!(
            out,
            "{} {} on uninitialized memory: the function reads local variables or heap memory that it has not \
             written{}",
            plural(indefinite, "test"),
            if indefinite == 1 { "depends" } else { "depend" },
            uninitialized(report)
        );
    }
    terminal::list_faults(report, &mut out);
    list_tests(report, &mut out);
    test_check::list(report, &mut out);
    list_uncovered(report, &mut out);
    list_files(report, dir, &mut out);
    out
}

/// The variables that the function reads before it writes them, or if they are not known, the values that depend on
/// them.
fn uninitialized(report: &Report) -> String {
    if !report.uninitialized.is_empty() {
        return UninitializedVariable::listed(&report.uninitialized);
    }
    let mut values: Vec<String> = Vec::new();
    for name in report.tests.iter().flat_map(|test| &test.indefinite) {
        let name = format!("`{name}`");
        if !values.contains(&name) {
            values.push(name);
        }
    }
    let more = if values.len() > VALUES { ", ..." } else { "" };
    values.truncate(VALUES);
    if values.is_empty() { String::new() } else { format!("; {}{more} differ", values.join(", ")) }
}

/// The coverage, as in `f (f.c): 7 of 8 branches covered (87.5 %); 1 not covered: given up by the search`, and the
/// effort of the search.
fn headline(report: &Report) -> String {
    let b = &report.branches;
    let left = left(b, &Words::of(report.goals)).map_or(String::new(), |left| format!("; {left}"));
    let proved = b.proved_unreachable;
    let figure = match proved {
        _ if b.total == 0 => without_branches(report),
        0 => format!("{} of {} branches covered ({})", b.covered, b.total, percent(b.covered, b.total)),
        _ => format!(
            "{} of {} reachable branches covered ({}), {proved} proved unreachable",
            b.covered,
            b.reachable(),
            percent(b.covered, b.reachable())
        ),
    };
    format!("{} ({}): {figure}{left}\n", report.function, report.target) + &terminal::effort(report, true)
}

/// The figure of a function without branches.
fn without_branches(report: &Report) -> String {
    match report.branches_of_calls {
        0 => "no branches".to_owned(),
        n => format!(
            "no branches of its own; --scope calls counts {} of the functions that it calls",
            plural(n, "branch")
        ),
    }
}

/// Writes the arrays, strings and objects that the function gets, and how their sizes are known.
fn list_inputs(report: &Report, out: &mut String) {
    let arrays: Vec<_> =
        report.signature.inputs.iter().filter(|i| i.elements != "1" && !i.is_global).map(ToString::to_string).collect();
    if !arrays.is_empty() {
        let _ = writeln!(out, "Arrays: {}", arrays.join("; "));
    }
    let (results, inputs): (Vec<_>, Vec<_>) = report.signature.globals.iter().partition(|g| g.is_result);
    if inputs.iter().any(|g| g.is_chosen) {
        let names = |all: &[&Global]| all.iter().map(|g| g.name.as_str()).collect::<Vec<_>>().join(", ");
        let checked = if results.is_empty() { String::new() } else { format!("; checked: {}", names(&results)) };
        let _ = writeln!(out, "No arguments: the globals it reads are its inputs: {}{checked}", names(&inputs));
    }
    let made: Vec<_> =
        report.signature.inputs.iter().filter(|i| i.made_by.is_some()).map(ToString::to_string).collect();
    if !made.is_empty() {
        let _ = writeln!(out, "Objects: {}", made.join("; "));
    }
}

fn list_tests(report: &Report, out: &mut String) {
    if report.tests.is_empty() {
        return;
    }
    let listed = &report.tests[..report.tests.len().min(LISTED_TESTS)];
    if listed.iter().any(|t| t.args.iter().any(Arg::is_call)) {
        return list_sequences(report, listed, out);
    }
    let names: Vec<_> = listed[0].args.iter().map(|a| a.name.as_str()).collect();
    let widths: Vec<_> = (0..names.len()).map(|i| column_width(names[i], i, listed)).collect();
    let _ = writeln!(out, "\nTests ({})", report.tests.len());
    row("", &names, &widths, "branches", out);
    for (number, test) in listed.iter().enumerate() {
        let cells: Vec<_> = test.args.iter().map(|a| a.decimal.as_str()).collect();
        row(&(number + 1).to_string(), &cells, &widths, &test.covers.len().to_string(), out);
    }
    if report.tests.len() > listed.len() {
        let _ = writeln!(out, "  and {} more in {}", report.tests.len() - listed.len(), files::test_program(report));
    }
}

/// Writes sequences of calls, which have no common columns.
fn list_sequences(report: &Report, listed: &[Test], out: &mut String) {
    let _ = writeln!(out, "\nTests ({}), each with its branches", report.tests.len());
    for (number, test) in listed.iter().enumerate() {
        let text = decimals(&test.args);
        let end = if text.chars().count() > MAX_SEQUENCE_WIDTH { "…" } else { "" };
        let shown: String = text.chars().take(MAX_SEQUENCE_WIDTH).collect();
        let _ = writeln!(out, "{:>5}  {:>8}  {shown}{end}", number + 1, test.covers.len());
    }
    if report.tests.len() > listed.len() {
        let _ = writeln!(out, "  and {} more in {}", report.tests.len() - listed.len(), files::test_program(report));
    }
}

fn column_width(name: &str, column: usize, tests: &[Test]) -> usize {
    let cells = tests.iter().filter_map(|t| t.args.get(column)).map(|a| a.decimal.chars().count());
    cells.chain([name.chars().count()]).max().unwrap_or(0)
}

fn row(number: &str, cells: &[&str], widths: &[usize], last: &str, out: &mut String) {
    let _ = write!(out, "{number:>5}");
    for (cell, width) in cells.iter().zip(widths) {
        let _ = write!(out, "  {cell:<width$}");
    }
    let _ = writeln!(out, "  {last:>8}");
}

fn list_uncovered(report: &Report, out: &mut String) {
    let open = closest_first(report);
    if open.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nNot covered ({}), closest first", open.len());
    let mut sources = Sources::of(report);
    for (site, branch) in open.iter().take(LISTED_BRANCHES) {
        let place = format!("{}:{}:{}", site.file, site.line, site.column);
        let _ = writeln!(out, "  {place}  {}  {}", branch.outcome, excerpt(&sources.condition(site)));
        let _ = writeln!(out, "      {}", explain(report, site, branch));
    }
    if open.len() > LISTED_BRANCHES {
        let _ = writeln!(out, "  and {} more in {}", open.len() - LISTED_BRANCHES, files::JSON);
    }
    for line in legend(report) {
        let _ = writeln!(out, "  {line}");
    }
    if let Some(variable) = report.shared_state.first().filter(|_| report.signature.calls == 0) {
        let _ = writeln!(out, "  It may keep values between calls (`{}`): try --calls 8", variable.name);
    }
}

/// Makes a source line printable within a terminal line.
pub(super) fn excerpt(line: &str) -> String {
    console::shown(&line.replace('\t', " ")).into_owned()
}

/// Writes the last section. A campaign for goals other than branches has no tracefile.
pub(super) fn list_files(report: &Report, dir: &Path, out: &mut String) {
    let tests = files::test_program(report);
    let all = [
        (files::HTML, "a page for a browser"),
        (files::JSON, "the complete report, for programs"),
        (&tests, "the test program; its first lines show how to build it"),
        (files::LCOV, "for genhtml --branch-coverage"),
    ];
    let written = if report.goals.include_branches() { &all[..] } else { &all[..3] };
    files::list(dir, written, out);
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
