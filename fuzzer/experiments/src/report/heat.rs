//! A heat map of functions and tools: the distance of the median trial from the best known coverage.

use std::fmt::Write;

use askama::Template;
use penfuzz_report::format::{number, p_value};

use super::{
    grid::Grid,
    summary::{Cell, FunctionSummary, Summary},
    tables::{mark, spread},
};
use crate::model::ToolInfo;

/// The heat map; rendered by `templates/heat.html`.
#[derive(Template)]
#[template(path = "heat.html")]
pub struct Heat<'a> {
    tools: Vec<Tool<'a>>,
    rows: Vec<Row>,
}

struct Tool<'a> {
    name: &'a str,
    is_reference: bool,
}

struct Row {
    function: String,
    total: usize,
    best_known: usize,
    /// One per tool; `None` without a trial.
    cells: Vec<Option<Shade>>,
}

/// The colour and the text of a cell.
struct Shade {
    /// Intensity of the colour, in percent.
    missing: f64,
    /// Whether the colour is so dark that the text needs another one.
    is_deep: bool,
    /// The median trial's share of the best known, in percent.
    share: String,
    mark: &'static str,
    /// The tooltip.
    details: String,
}

/// Returns the order of rows: first the functions on which the reference tool loses, then the others.
pub fn order(summary: &Summary) -> Vec<usize> {
    let lost: Vec<&str> = summary.losses().iter().map(|loss| loss.function.function.as_str()).collect();
    let rank = |f: &FunctionSummary| lost.iter().position(|l| *l == f.function).unwrap_or(usize::MAX);
    let mut order: Vec<_> = (0..summary.functions.len()).collect();
    order.sort_by_key(|&i| rank(&summary.functions[i]));
    order
}

impl<'a> Heat<'a> {
    /// Builds one row per function in this [`order`], and one column per tool.
    pub fn new(grid: &Grid<'a>, summary: &Summary) -> Self {
        let tool = |(i, t): (usize, &&'a ToolInfo)| Tool { name: &t.name, is_reference: i == grid.reference };
        let mut tools: Vec<_> = grid.tools.iter().enumerate().map(tool).collect();
        let mut rows: Vec<_> = order(summary).into_iter().map(|i| row(&summary.functions[i])).collect();
        // A tool without a trial has no column.
        for i in (0..tools.len()).rev() {
            if !rows.is_empty() && rows.iter().all(|row| row.cells[i].is_none()) {
                tools.remove(i);
                for row in &mut rows {
                    row.cells.remove(i);
                }
            }
        }
        Self { tools, rows }
    }
}

fn row(function: &FunctionSummary) -> Row {
    Row {
        function: function.function.clone(),
        total: function.total,
        best_known: function.best_known,
        cells: function.tools.iter().map(|cell| shade(function, cell)).collect(),
    }
}

fn shade(function: &FunctionSummary, cell: &Cell) -> Option<Shade> {
    let covered = cell.covered.filter(|_| function.best_known > 0)?;
    let share = 100.0 * covered.median / function.best_known as f64;
    // The square root emphasizes the first few missing branches, which are of most interest.
    let missing = 10.0 * (100.0 - share).clamp(0.0, 100.0).sqrt();
    Some(Shade {
        missing,
        is_deep: missing > 62.0,
        share: format!("{share:.1}").trim_end_matches(".0").to_owned(),
        mark: mark(cell.against.as_ref()).trim(),
        details: details(function, cell),
    })
}

/// Returns the figures of a cell as text.
fn details(function: &FunctionSummary, cell: &Cell) -> String {
    let n = cell.covered.map_or(0, |c| c.n);
    let mut out = format!(
        "{} on {}: median {} of {} branches, best known {}, n = {n}",
        cell.tool,
        function.function,
        spread(cell.covered.as_ref(), None),
        function.total,
        function.best_known
    );
    if let Some(c) = &cell.against {
        let _ = write!(
            out,
            "; A12 {} ({}), p {}, by Holm {}",
            number(Some(c.a12), 2),
            c.magnitude.word(),
            p_value(Some(c.p)),
            p_value(Some(c.p_holm))
        );
    }
    out
}
