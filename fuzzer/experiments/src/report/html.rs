//! `index.html`: one self-contained page without scripts, in light and dark. It is well-formed XML.
//!
//! The content of the page is `templates/experiment.html`, in the same frame as the page of a campaign.

use askama::Template;
use penfuzz_report::format::plural;

use super::{
    criteria, curves,
    grid::{Grid, Row},
    heat, markdown, notes, paper, plots, rerun,
    summary::{Summary, TrialError},
    table::Table,
    tables,
};
use crate::model::ToolInfo;

/// The file's name in the directory of an experiment.
pub const FILE: &str = "index.html";

/// Maximum number of small plots. More of them, for a suite with hundreds of functions, would make a page too large for
/// a browser; the heat map has all functions.
const SMALL_PLOTS: usize = 60;

/// The data of the template.
#[derive(Template)]
#[template(path = "experiment.html")]
struct Page<'a> {
    title: String,
    /// The setup of the experiment.
    setup: String,
    files: [&'static str; 4],
    /// The limits of the figures.
    limits: Vec<String>,
    headline: Table,
    verdict_legend: String,
    reference: &'a str,
    losses: Table,
    plots: [Plot; 2],
    heat_legend: String,
    heat: heat::Heat<'a>,
    /// The functions on which the trials do not all have the same coverage.
    small: Vec<SmallPlot<'a>>,
    small_left_out: usize,
    keys: Vec<plots::Key<'a>>,
    criteria: Option<Published>,
    paper: Option<Published>,
    tools: &'a [ToolInfo],
    errors: &'a [TrialError],
    method: Vec<String>,
}

/// A large plot; empty as long as no tool has a trial of every function.
struct Plot {
    title: &'static str,
    picture: Option<String>,
    legend: String,
}

/// Coverage over time on one function.
struct SmallPlot<'a> {
    name: &'a str,
    best: usize,
    total: usize,
    picture: String,
}

/// Figures next to published ones, with notes.
struct Published {
    table: Table,
    notes: Vec<String>,
}

impl Page<'_> {
    /// Returns how a tool was built and run, as far as that is known.
    fn known_of(tool: &ToolInfo) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [("Version", &*tool.version), ("Build", &*tool.build), ("Trial", &*tool.run)];
        all.into_iter().filter(|(_, text)| !text.is_empty())
    }
}

/// Returns the whole page.
///
/// # Panics
/// Never: rendering to a string does not fail.
pub fn page(grid: &Grid, summary: &Summary) -> String {
    let times = curves::times(grid);
    let (small, small_left_out) = small_plots(grid, summary, &times);
    let page = Page {
        title: markdown::title(grid),
        setup: setup(grid),
        files: [super::csv::FILE, super::summary::FILE, markdown::FILE, rerun::FILE],
        limits: notes::limits(grid, summary),
        headline: tables::headline(summary),
        verdict_legend: markdown::verdict_legend(summary),
        reference: &summary.reference,
        losses: tables::losses(summary),
        plots: large_plots(grid, &times),
        heat_legend: heat_legend(summary),
        heat: heat::Heat::new(grid, summary),
        small,
        small_left_out,
        keys: plots::keys(grid),
        criteria: criteria::table(grid, summary).map(|table| Published { table, notes: criteria::notes(grid) }),
        paper: paper::table(grid).map(|table| Published { table, notes: paper::notes(grid) }),
        tools: &grid.experiment.tools,
        errors: &summary.errors,
        method: notes::method(grid, summary),
    };
    page.render().expect("memory takes every page")
}

fn setup(grid: &Grid) -> String {
    let e = grid.experiment;
    format!(
        "{} of each tool on each function, each {}, seeds from {} on. {}, {} in use with one trial on each, {:.1} GiB \
         of memory, {}; referee: gcov of {}.",
        plural(e.trials as usize, "trial"),
        notes::budget(&e.budget),
        e.seed,
        e.machine.cpu,
        plural(e.machine.cores.len(), "core"),
        e.machine.memory as f64 / f64::from(1 << 30),
        e.machine.system,
        e.machine.gcc
    )
}

fn large_plots(grid: &Grid, times: &[f64]) -> [Plot; 2] {
    let over_time = format!(
        "Mean over trials, as in the table above, with the quartiles as a band; {} is the thick line. The time axis is \
         logarithmic, the axis of coverage need not begin at 0. Dotted: the best known.",
        grid.reference_name()
    );
    let dots = "A circle is a trial, the bar and the figure are the mean, as in the table above.".to_owned();
    [
        Plot { title: "Coverage over time", picture: plots::over_time(grid, times), legend: over_time },
        Plot { title: "Every trial at the end", picture: plots::trials(grid), legend: dots },
    ]
}

fn heat_legend(summary: &Summary) -> String {
    format!(
        "The median trial's share of the best known, in percent; the deeper the colour, the more is missing. \u{25bc}: \
         significantly less than {r}, \u{25b2}: significantly more than {r}. The functions on which {r} loses come \
         first. Quartiles and p-values appear over a cell.",
        r = summary.reference
    )
}

/// Returns the first [`SMALL_PLOTS`], and the number of the others.
fn small_plots<'a>(grid: &Grid<'a>, summary: &Summary, times: &[f64]) -> (Vec<SmallPlot<'a>>, usize) {
    let differs = |row: &&Row| {
        let mut ends = row.trials.iter().flatten().map(|t| t.covered());
        ends.next().is_some_and(|first| ends.any(|e| e != first))
    };
    let rows: Vec<_> = heat::order(summary).into_iter().map(|i| &grid.functions[i]).filter(differs).collect();
    let plot = |row: &&Row<'a>| SmallPlot {
        name: &row.info.name,
        best: row.best,
        total: row.total,
        picture: plots::small(grid, row, times),
    };
    (rows.iter().take(SMALL_PLOTS).map(plot).collect(), rows.len().saturating_sub(SMALL_PLOTS))
}
