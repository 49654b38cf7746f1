//! The tables that Markdown file, page and terminal share.

use penfuzz_report::{
    format::{known_count, number, p_value},
    svg,
};

use super::{
    grid::Grid,
    summary::{Against, Comparison, FunctionSummary, Loss, Summary, ToolSummary, Verdict},
    table::{Cell, Table},
};
use crate::statistics::{ALPHA, Spread};

/// One row per tool, the best first.
pub fn headline(summary: &Summary) -> Table {
    let mut table = Table::new(&[
        "tool",
        "coverage, %",
        "of best known, %",
        "functions at best known",
        "better / equal / worse",
        "A12",
        "p",
        "evaluations",
        "CPU, s",
        "build, s",
        "trials",
    ]);
    for tool in ranked(summary) {
        let name = Cell::strong_if(tool.tool.clone(), tool.tool == summary.reference);
        let [verdicts, a12, p] = against(tool.against.as_ref());
        table.row([
            name,
            number(tool.coverage, 2).into(),
            number(tool.coverage_of_best, 2).into(),
            format!("{} of {}", tool.functions_at_best, tool.functions).into(),
            verdicts,
            a12,
            p,
            known_count(tool.evaluations).into(),
            number(tool.cpu_seconds, 2).into(),
            number(Some(tool.build_seconds), 1).into(),
            tool.trials.to_string().into(),
        ]);
    }
    table.without_empty()
}

/// As [`headline`], for a terminal.
pub fn short(summary: &Summary) -> Table {
    let mut table = Table::new(&["tool", "coverage %", "of best %", "at best", "better / equal / worse", "A12", "p"]);
    for tool in ranked(summary) {
        let [verdicts, a12, p] = against(tool.against.as_ref());
        table.row([
            tool.tool.as_str().into(),
            number(tool.coverage, 2).into(),
            number(tool.coverage_of_best, 2).into(),
            format!("{}/{}", tool.functions_at_best, tool.functions).into(),
            verdicts,
            a12,
            p,
        ]);
    }
    table.without_empty()
}

/// Returns the tools by descending coverage; those without coverage are last.
pub fn ranked(summary: &Summary) -> Vec<&ToolSummary> {
    let mut tools: Vec<_> = summary.tools.iter().collect();
    tools.sort_by(|a, b| b.coverage.unwrap_or(-1.0).total_cmp(&a.coverage.unwrap_or(-1.0)));
    tools
}

fn against(against: Option<&Against>) -> [Cell; 3] {
    let Some(a) = against else {
        return Default::default();
    };
    // With few trials nothing can be significant, and a 0 would look like a result.
    let verdicts = if a.pooled.smallest_p < ALPHA {
        format!("{} ({}) / {} / {} ({})", a.better, a.better_significant, a.equal, a.worse, a.worse_significant)
    } else {
        format!("{} / {} / {}", a.better, a.equal, a.worse)
    };
    [verdicts.into(), number(a.pooled.a12, 2).into(), p_value(a.pooled.p).into()]
}

/// The functions on which the reference tool loses, one row for each tool that it loses against.
pub fn losses(summary: &Summary) -> Table {
    let mut table = Table::new(&[
        "function",
        "against",
        "branches",
        "best known",
        "its median [quartiles]",
        &format!("{} [quartiles]", summary.reference),
        "A12",
        "effect",
        "p",
        "p, Holm",
        "significant",
    ]);
    for Loss { function, cell, comparison: c } in summary.losses() {
        let own = function.tools.iter().find(|t| t.tool == summary.reference).and_then(|t| t.covered);
        table.row([
            function.function.as_str().into(),
            cell.tool.as_str().into(),
            function.total.to_string().into(),
            function.best_known.to_string().into(),
            spread(cell.covered.as_ref(), None).into(),
            spread(own.as_ref(), None).into(),
            number(Some(c.a12), 2).into(),
            c.magnitude.word().into(),
            p_value(Some(c.p)).into(),
            p_value(Some(c.p_holm)).into(),
            if c.significant { "yes" } else { "no" }.into(),
        ]);
    }
    table.without_empty()
}

/// One row per function, one column per tool: the median share of all branches in percent, with the quartiles if they
/// differ.
pub fn functions(grid: &Grid, summary: &Summary) -> Table {
    let mut head = vec!["function", "branches", "best known, %"];
    head.extend(grid.tools.iter().map(|t| t.name.as_str()));
    let mut table = Table::new(&head);
    for function in &summary.functions {
        table.rows.push(function_row(function));
    }
    table.without_empty()
}

fn function_row(function: &FunctionSummary) -> Vec<Cell> {
    let best = (function.total > 0).then(|| 100.0 * function.best_known as f64 / function.total as f64);
    let best = number(best, 1);
    let mut row = vec![function.function.as_str().into(), function.total.to_string().into(), best.into()];
    row.extend(function.tools.iter().map(|tool| {
        let text = spread(tool.covered.as_ref(), Some(function.total));
        let at_best = tool.covered.is_some_and(|c| c.median >= function.best_known as f64);
        Cell::strong_if(text + mark(tool.against.as_ref()), at_best)
    }));
    row
}

/// Returns the sign after the figures of a tool that differs significantly from the reference tool.
pub fn mark(comparison: Option<&Comparison>) -> &'static str {
    match comparison {
        Some(c) if c.significant && c.verdict == Verdict::Better => " \u{25bc}",
        Some(c) if c.significant && c.verdict == Verdict::Worse => " \u{25b2}",
        _ => "",
    }
}

/// Formats a median with its quartiles if they differ, as `20 [19.8, 20]`: in branches, or in percent of `total`, as
/// `91.7`; a dash if there is none.
pub fn spread(spread: Option<&Spread>, total: Option<usize>) -> String {
    let Some(s) = spread else {
        return "-".to_owned();
    };
    let figure = |v: f64| match total {
        Some(total) => format!("{:.1}", 100.0 * v / total.max(1) as f64),
        None => svg::label((v * 10.0).round() / 10.0),
    };
    let (q1, median, q3) = (figure(s.q1), figure(s.median), figure(s.q3));
    if q1 == q3 { median } else { format!("{median} [{q1}, {q3}]") }
}
