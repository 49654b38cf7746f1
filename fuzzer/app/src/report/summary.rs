//! The text at the end of a campaign on a terminal, about 100 columns wide: the headline figure, then what went
//! wrong (crashes, hangs), the emitted tests, what stayed uncovered with its source lines, and where the files are.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::c_text::{call, decimals};
use super::model::{Arg, Branch, Finding, Report, Site, Status, Test};
use super::{boundary, html, json, lcov, unit_test};

/// More tests than this are not listed; the test program has them all.
const LISTED_TESTS: usize = 20;
/// More uncovered branches than this are not listed; `report.json` has them all.
const LISTED_BRANCHES: usize = 10;
/// Frames of a stack that are shown; `report.json` and `penfuzz triage` have more.
const LISTED_FRAMES: usize = 4;
/// Characters of a source line that are shown.
const LINE_WIDTH: usize = 60;

/// The text for the campaign in output directory `dir`. Source files are read for the lines to show, when they are
/// there.
#[must_use]
pub fn text(report: &Report, dir: &Path) -> String {
    let mut out = headline(report);
    list_faults(report, &mut out);
    list_tests(report, &mut out);
    list_uncovered(report, &mut out);
    list_files(report, dir, &mut out);
    out
}

fn headline(report: &Report) -> String {
    let b = &report.branches;
    let out = format!(
        "{} ({}): {} of {} branches covered ({}), {} saturated, {} given up\n",
        report.function,
        report.target,
        b.covered,
        b.total,
        percent(b.covered, b.total),
        b.saturated,
        b.given_up
    );
    out + &effort(report)
}

/// What the search took, in a line.
pub(super) fn effort(report: &Report) -> String {
    format!(
        "{} evaluations in {} ({}/s), seed {}, stopped: {}\n",
        count(report.evaluations),
        seconds(report.seconds),
        count(report.evaluations_per_second as u64),
        report.seed,
        report.stop_reason
    )
}

/// Crashes and hangs.
pub(super) fn list_faults(report: &Report, out: &mut String) {
    list_findings("CRASH", report, &report.crashes, out);
    list_findings("HANG", report, &report.hangs, out);
}

/// A share in percent; of nothing, everything.
#[must_use]
pub fn share(part: usize, total: usize) -> f64 {
    if total == 0 { 100.0 } else { 100.0 * part as f64 / total as f64 }
}

/// `87.5 %`; of nothing, everything is covered.
fn percent(part: usize, total: usize) -> String {
    format!("{:.1} %", share(part, total))
}

/// Three significant digits: `950`, `12.3k`, `4.56M`.
pub fn count(n: u64) -> String {
    let (unit, size) = match n {
        0..10_000 => return n.to_string(),
        10_000..1_000_000 => ("k", 1e3),
        1_000_000..1_000_000_000 => ("M", 1e6),
        _ => ("G", 1e9),
    };
    let value = n as f64 / size;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$}{unit}")
}

/// `0.25 s`, `12.3 s`, `4 min 05 s`, `2 h 03 min`.
pub fn seconds(s: f64) -> String {
    let whole = s.round() as u64;
    match whole {
        0..10 => format!("{s:.2} s"),
        10..100 => format!("{s:.1} s"),
        100..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

fn list_findings(title: &str, report: &Report, list: &[Finding], out: &mut String) {
    for finding in list {
        let _ = writeln!(out, "\n{title}  {} in {}", finding.reason, finding.place);
        let _ = writeln!(out, "       {};", call(report, &finding.args));
        let _ = writeln!(out, "       {}  ({})", decimals(&finding.args), finding.file);
        list_stack(&finding.stack, out);
    }
}

/// A single frame says no more than the place.
fn list_stack(stack: &[String], out: &mut String) {
    let shown = if stack.len() > 1 { &stack[..stack.len().min(LISTED_FRAMES)] } else { &[] };
    for frame in shown {
        let _ = writeln!(out, "         {frame}");
    }
    if shown.len() < stack.len() && !shown.is_empty() {
        let _ = writeln!(out, "         and {} more", stack.len() - shown.len());
    }
}

fn list_tests(report: &Report, out: &mut String) {
    if report.tests.is_empty() {
        return;
    }
    let listed = &report.tests[..report.tests.len().min(LISTED_TESTS)];
    let names: Vec<_> = listed[0].args.iter().map(|a| a.name.as_str()).collect();
    let widths: Vec<_> = (0..names.len()).map(|i| column_width(names[i], i, listed)).collect();
    let _ = writeln!(out, "\nTests ({})", report.tests.len());
    row("", &names, &widths, "branches", out);
    for (number, test) in listed.iter().enumerate() {
        let cells: Vec<_> = test.args.iter().map(|a| a.decimal.as_str()).collect();
        row(&(number + 1).to_string(), &cells, &widths, &test.covers.len().to_string(), out);
    }
    if report.tests.len() > listed.len() {
        let file = unit_test::file_name(report);
        let _ = writeln!(out, "  and {} more in {}/{file}", report.tests.len() - listed.len(), unit_test::DIRECTORY);
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

pub(super) fn is_open(branch: &Branch) -> bool {
    matches!(branch.status, Status::GivenUp | Status::Uncovered)
}

fn list_uncovered(report: &Report, out: &mut String) {
    let mut open: Vec<(&Site, &Branch)> =
        report.sites.iter().flat_map(|s| s.branches.iter().map(move |b| (s, b))).filter(|(_, b)| is_open(b)).collect();
    if open.is_empty() {
        return;
    }
    // Stable: what is equally close stays in source order.
    open.sort_by_key(|(_, b)| b.best_distance.unwrap_or(u64::MAX));
    let _ = writeln!(out, "\nNot covered ({}), closest first", open.len());
    let mut sources = Sources::default();
    for (site, branch) in open.iter().take(LISTED_BRANCHES) {
        let place = format!("{}:{}:{}", site.file, site.line, site.column);
        let _ = writeln!(out, "  {place}  {}  {}", branch.outcome, sources.condition(site));
        let _ = writeln!(out, "      {}", explain(report, site, branch));
    }
    if open.len() > LISTED_BRANCHES {
        let _ = writeln!(out, "  and {} more in {}", open.len() - LISTED_BRANCHES, json::FILE);
    }
}

/// `closest 12 floats away at f(0.5), 600k evaluations, given up`; of a boundary value, as its own text says it.
pub(super) fn explain(report: &Report, site: &Site, branch: &Branch) -> String {
    if site.kind == "comparison" && branch.best_distance.is_some() {
        return boundary::nearest(report, site, branch);
    }
    let reached = site.branches.iter().any(|b| !is_open(b));
    let closest = match branch.best_distance {
        Some(distance) => {
            let unit = if distance == 1 { site.distance_unit.trim_end_matches('s') } else { &site.distance_unit };
            let away = if unit.is_empty() { format!("distance {distance}") } else { format!("{distance} {unit} away") };
            let input = branch.best_input.as_ref().or(branch.input.as_ref());
            format!(
                "closest {away}{}",
                input.map_or_else(String::new, |args| format!(" at {}", decimal_call(report, args)))
            )
        }
        None if reached => "reached, no distance".to_owned(),
        None => "never reached".to_owned(),
    };
    let end = if branch.status == Status::GivenUp { "given up" } else { "open" };
    format!("{closest}, {} evaluations, {end}", count(branch.evaluations))
}

pub(super) fn decimal_call(report: &Report, args: &[Arg]) -> String {
    let values: Vec<_> = args.iter().map(|a| a.decimal.as_str()).collect();
    format!("{}({})", report.function, values.join(", "))
}

/// Source files, each read once.
#[derive(Default)]
pub(super) struct Sources<'a> {
    texts: HashMap<&'a str, Option<String>>,
}

impl<'a> Sources<'a> {
    /// The text of a file, if it can be read.
    pub fn text(&mut self, file: &'a str) -> Option<&str> {
        let read = || fs::read(file).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.texts.entry(file).or_insert_with(read).as_deref()
    }

    /// The source line of a site; without its source, what kind of condition it is.
    pub fn condition(&mut self, site: &'a Site) -> String {
        let line = self.text(&site.file).and_then(|t| t.lines().nth((site.line as usize).checked_sub(1)?));
        match line.map(str::trim).filter(|l| !l.is_empty()) {
            Some(line) if line.chars().count() > LINE_WIDTH => line.chars().take(LINE_WIDTH - 1).chain(['…']).collect(),
            Some(line) => line.to_owned(),
            None => format!("{} {}", site.kind, site.predicate).trim_end().to_owned(),
        }
    }
}

pub(super) fn list_files(report: &Report, dir: &Path, out: &mut String) {
    let tests = format!("{}/{}", unit_test::DIRECTORY, unit_test::file_name(report));
    let _ = writeln!(out, "\nFiles in {}", dir.display());
    for (file, what) in [
        (html::FILE, "a page for a browser"),
        (json::FILE, "everything, for programs"),
        (&tests, "the tests as a program; its first lines say how to build it"),
        (lcov::FILE, "for genhtml --branch-coverage"),
    ] {
        if file == lcov::FILE && !report.goals.are_branches() {
            continue; // not written
        }
        let _ = writeln!(out, "  {file:<24}  {what}");
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
