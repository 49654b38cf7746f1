//! `table.md`: the tables as Markdown, to paste into a paper.

use std::fmt::Write;

use penfuzz_report::format::{markdown, plural};
use penfuzz_system::console::shown;

use super::{criteria, grid::Grid, notes, paper, summary::Summary, table::Table, tables};

/// The file's name in the directory of an experiment.
pub const FILE: &str = "table.md";

/// Returns the whole file.
pub fn document(grid: &Grid, summary: &Summary) -> String {
    let mut out = format!("# {}\n\n", title(grid));
    out.push_str(&list(&notes::limits(grid, summary)));
    out.push_str(&tables::headline(summary).markdown());
    let _ = writeln!(out, "\n{}\n", verdict_legend(summary));
    let lost = tables::losses(summary);
    let _ = writeln!(out, "## Functions on which {} loses\n", summary.reference);
    out.push_str(&if lost.rows.is_empty() { "none\n".to_owned() } else { lost.markdown() });
    out.push('\n');
    section(&mut out, "All functions", &tables::functions(grid, summary), &[functions_legend(summary)]);
    if let Some(criteria) = criteria::table(grid, summary) {
        section(&mut out, "Lines, conditions, branches and calls", &criteria, &criteria::notes(grid));
    }
    if let Some(paper) = paper::table(grid) {
        section(&mut out, "Comparison with published figures", &paper, &paper::notes(grid));
    }
    if !summary.errors.is_empty() {
        out.push_str("## Trials with errors\n\n");
        let line = |e: &super::summary::TrialError| {
            format!("{}, {}, trial {}: {}", e.function, e.tool, e.trial, shown(&e.error.replace('\n', " ")))
        };
        out.push_str(&list(&summary.errors.iter().map(line).collect::<Vec<_>>()));
    }
    out.push_str("## Method\n\n");
    out.push_str(&list(&notes::method(grid, summary)));
    out.push_str(&list(&setup(grid)));
    out
}

fn section(out: &mut String, title: &str, table: &Table, notes: &[String]) {
    let _ = writeln!(out, "## {title}\n\n{}", table.markdown());
    out.push_str(&list(notes));
}

/// Returns the experiment in one line.
pub fn title(grid: &Grid) -> String {
    let e = grid.experiment;
    let others = grid.tools.len().saturating_sub(1);
    format!(
        "{} compared with {} on {} of {}",
        grid.reference_name(),
        plural(others, "other tool"),
        plural(grid.functions.len(), "function"),
        e.suites.join(", ")
    )
}

/// Returns the meaning of the columns of verdicts.
pub fn verdict_legend(summary: &Summary) -> String {
    format!(
        "Better / equal / worse: functions on which {} covers more than the tool of the row, as much, less; in \
         parentheses how many of them differ significantly. Evaluations and CPU time are medians over trials.",
        summary.reference
    )
}

/// Returns the meaning of the signs in the table of functions.
pub fn functions_legend(summary: &Summary) -> String {
    format!(
        "Median share of all branches in percent, with the quartiles where they differ. Bold: the median trial covers \
         the best known. \u{25bc}: significantly less than {r}, \u{25b2}: significantly more than {r}.",
        r = summary.reference
    )
}

fn setup(grid: &Grid) -> Vec<String> {
    let e = grid.experiment;
    let m = &e.machine;
    let mut out = vec![format!(
        "Machine: {}, {} in use with one trial on each, {:.1} GiB of memory, {}; {}",
        m.cpu,
        plural(m.cores.len(), "core"),
        m.memory as f64 / f64::from(1 << 30),
        m.system,
        m.gcc
    )];
    for tool in &e.tools {
        out.push(match &tool.skipped {
            Some(why) => format!("{}: skipped: {why}", tool.name),
            None => format!("{}: {} ({})", tool.name, tool.what, tool.version),
        });
    }
    out
}

fn list(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(out, "- {}", markdown(line));
    }
    if !lines.is_empty() {
        out.push('\n');
    }
    out
}
