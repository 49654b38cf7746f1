//! `report.html` of a suite: every function with its figures and a link to its own page. The rows can be sorted by each
//! column. The page needs no other file. Its only script sorts, and the page's content security policy forbids
//! everything else.

use askama::Template;
use penfuzz_report::{
    format::{count, seconds, share, uri},
    words::Words,
};

use super::outcome::{Row, SuiteReport};

/// The file's name in the directory of the suite, and in that of each function.
pub const FILE: &str = "report.html";

/// Seconds between two reloads of the page while the suite runs.
const REFRESH: u32 = 5;

/// The fields of the template.
#[derive(Template)]
#[template(path = "suite.html")]
struct Page<'a> {
    title: String,
    /// Seconds until the next reload; `None` when the suite has ended.
    refresh: Option<u32>,
    report: &'a SuiteReport,
    words: Words,
    facts: Vec<String>,
    /// The first is the column of names.
    columns: Vec<Column>,
    lines: Vec<Line<'a>>,
    /// The sums, without the name column.
    total: Vec<Cell>,
}

struct Column {
    name: String,
    /// The column holds text, not figures.
    is_text: bool,
}

/// The row of one function.
struct Line<'a> {
    name: &'a str,
    /// The address of its own page; `None` without a report.
    page: Option<String>,
    /// It failed, crashed or hung.
    is_bad: bool,
    /// In the order of the columns, without the name column.
    cells: Vec<Cell>,
}

/// A figure with its exact value, or a text without one.
struct Cell {
    text: String,
    value: Option<f64>,
}

impl Cell {
    fn new(text: impl Into<String>, value: f64) -> Self {
        Self { text: text.into(), value: Some(value) }
    }

    fn number(n: usize) -> Self {
        Self::new(n.to_string(), n as f64)
    }

    fn text(text: &str) -> Self {
        Self { text: text.to_owned(), value: None }
    }
}

/// Renders the whole page. `planned` is the number of functions of the suite.
///
/// # Panics
/// Never: writing to a string does not fail.
#[must_use]
pub fn page(report: &SuiteReport, planned: usize) -> String {
    let is_running = report.targets.len() < planned && !report.interrupted;
    let words = Words::of(report.targets.first().map_or_else(Default::default, |row| row.goals));
    let shape = Shape {
        referee: report.targets.iter().find_map(|row| row.referee.as_ref()).map(|r| r.tool.as_str()),
        has_crash_only: report.has_covered_by_crash(),
        has_errors: report.targets.iter().any(|row| row.error.is_some()),
    };
    let page = Page {
        title: format!("suite {}", report.name),
        refresh: is_running.then_some(REFRESH),
        report,
        words,
        facts: facts(report, planned, is_running),
        columns: shape.columns(words),
        lines: report.targets.iter().map(|row| shape.line(row)).collect(),
        total: shape.total(report),
    };
    page.render().expect("memory takes every page")
}

fn facts(report: &SuiteReport, planned: usize, is_running: bool) -> Vec<String> {
    let done = report.targets.len();
    let state = match () {
        () if is_running => Some(format!("running: {done} of {planned} functions are done")),
        () if report.interrupted => Some(format!("interrupted: {done} of {planned} functions are done")),
        () => None,
    };
    let counts = [(report.totals.failed, "failed"), (report.totals.crashes, "crashes"), (report.totals.hangs, "hangs")];
    let counts = counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what}: {n}"));
    let effort = [format!("{} evaluations", count(report.totals.evaluations)), seconds(report.seconds)];
    state.into_iter().chain(counts).chain(effort).collect()
}

/// Selects the columns of the table. Columns that would be empty are left out.
struct Shape<'a> {
    referee: Option<&'a str>,
    has_crash_only: bool,
    has_errors: bool,
}

impl Shape<'_> {
    fn columns(&self, words: Words) -> Vec<Column> {
        let mut columns = vec!["function".to_owned(), words.goals.to_owned(), words.done.to_owned(), "%".to_owned()];
        if self.has_crash_only {
            columns.push("only by crashes".to_owned());
        }
        if let Some(tool) = self.referee {
            columns.extend([tool.to_owned(), format!("{tool}, %")]);
        }
        columns.extend(["crashes", "hangs", "tests", "evaluations", "time"].map(str::to_owned));
        let texts = ["file", "error"].into_iter().take(self.texts()).map(str::to_owned);
        let column = |is_text| move |name| Column { name, is_text };
        columns.into_iter().map(column(false)).chain(texts.map(column(true))).collect()
    }

    /// Number of text columns, which come last.
    fn texts(&self) -> usize {
        1 + usize::from(self.has_errors)
    }

    fn line<'a>(&self, row: &'a Row) -> Line<'a> {
        // The names of targets are directory names.
        let page = (!row.has_failed()).then(|| format!("./{}/{FILE}", uri(&row.name)));
        let mut cells = self.figures(row);
        cells.push(Cell::text(&row.file));
        if self.has_errors {
            cells.push(Cell::text(row.error.as_deref().unwrap_or_default()));
        }
        Line { name: &row.name, page, is_bad: row.error.is_some() || row.crashes + row.hangs > 0, cells }
    }

    fn figures(&self, row: &Row) -> Vec<Cell> {
        let own = row.coverage_own();
        let percent = |share: f64| Cell::new(format!("{share:.1}"), share);
        let mut cells = vec![Cell::number(row.branches.total), Cell::number(row.branches.covered), percent(own)];
        if self.has_crash_only {
            cells.push(Cell::number(row.branches.covered_by_crash_only));
        }
        if self.referee.is_some() {
            cells.extend(match &row.referee {
                Some(r) => [
                    Cell::new(format!("{}/{}", r.covered, r.total), r.covered as f64),
                    percent(share(r.covered, r.total)),
                ],
                // Sorts before all figures.
                None => [Cell::new("-", -1.0), Cell::new("-", -1.0)],
            });
        }
        cells.extend([Cell::number(row.crashes), Cell::number(row.hangs), Cell::number(row.tests)]);
        cells.extend([
            Cell::new(count(row.evaluations), row.evaluations as f64),
            Cell::new(seconds(row.seconds), row.seconds),
        ]);
        cells
    }

    fn total(&self, report: &SuiteReport) -> Vec<Cell> {
        let mut cells = self.figures(&report.total_row());
        cells.extend((0..self.texts()).map(|_| Cell::text("")));
        cells
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
