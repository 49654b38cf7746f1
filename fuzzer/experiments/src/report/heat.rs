//! Functions and tools as a table of colours: how far the median trial is from the best known.

use std::fmt::Write;

use super::grid::Grid;
use super::summary::{Cell, FunctionSummary, Summary};
use super::tables::{mark, spread};
use super::text::{escape, number, p_value};

/// The functions on which the reference tool loses, and after them the others.
pub fn order(summary: &Summary) -> Vec<usize> {
    let lost: Vec<&str> = summary.losses().iter().map(|(f, _, _)| f.function.as_str()).collect();
    let rank = |f: &FunctionSummary| lost.iter().position(|l| *l == f.function).unwrap_or(usize::MAX);
    let mut order: Vec<_> = (0..summary.functions.len()).collect();
    order.sort_by_key(|&i| rank(&summary.functions[i]));
    order
}

/// The table as HTML.
pub fn table(grid: &Grid, summary: &Summary) -> String {
    let mut out = String::from(
        "<div class=\"wide\"><table class=\"heat\">\n<thead><tr><th scope=\"col\">function</th><th scope=\"col\">branches</th>\
         <th scope=\"col\">best known</th>",
    );
    for (i, tool) in grid.tools.iter().enumerate() {
        let class = if i == grid.reference { " class=\"own\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}><span>{}</span></th>", escape(&tool.name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for i in order(summary) {
        out.push_str(&row(&summary.functions[i]));
    }
    out + "</tbody>\n</table></div>\n"
}

fn row(function: &FunctionSummary) -> String {
    let mut out = format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
        escape(&function.function),
        function.total,
        function.best_known
    );
    for tool in &function.tools {
        out.push_str(&cell(function, tool));
    }
    out + "</tr>\n"
}

fn cell(function: &FunctionSummary, cell: &Cell) -> String {
    let Some(covered) = cell.covered.filter(|_| function.best_known > 0) else {
        return "<td class=\"h none\">-</td>".to_owned();
    };
    let share = 100.0 * covered.median / function.best_known as f64;
    let shown = format!("{share:.1}");
    // Square root: the first few missing branches are what one looks for.
    let missing = 10.0 * (100.0 - share).clamp(0.0, 100.0).sqrt();
    let dark = if missing > 62.0 { " deep" } else { "" };
    format!(
        "<td class=\"h{dark}\" style=\"--m:{missing:.0}%\" title=\"{}\">{}<span>{}</span></td>",
        escape(&details(function, cell)),
        shown.trim_end_matches(".0"),
        mark(cell.against.as_ref()).trim()
    )
}

/// What the pointer over a cell tells.
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
