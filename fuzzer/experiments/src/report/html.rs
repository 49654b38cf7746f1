//! `index.html`: one page that needs nothing else, no script and no file, in light and dark. It is well-formed XML.

use std::fmt::Write;

use super::curves;
use super::grid::{Grid, Row};
use super::summary::Summary;
use super::text::{escape, plural};
use super::{heat, markdown, notes, paper, plots, rerun, tables};
use crate::model::ToolInfo;

/// The file's name in the directory of an experiment.
pub const FILE: &str = "index.html";

/// A suite of hundreds of functions would make a page that no browser likes; the table of colours has all of them.
const SMALL_PLOTS: usize = 60;

/// The whole page.
pub fn page(grid: &Grid, summary: &Summary) -> String {
    let title = escape(&markdown::title(grid));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<h1>{title}</h1>\n",
        include_str!("page.css")
    );
    out.push_str(&head(grid, summary));
    out.push_str(&tables::headline(summary).html());
    paragraph(&mut out, &markdown::verdict_legend(summary));
    losses(&mut out, summary);
    let times = curves::times(grid);
    plot(&mut out, "Coverage over time", plots::over_time(grid, &times), &over_time_legend(grid));
    let dots = "A circle is a trial, the bar and the figure are the median.";
    plot(&mut out, "Every trial at the end", plots::trials(grid), dots);
    heading(&mut out, "Every function");
    paragraph(&mut out, &heat_legend(summary));
    out.push_str(&heat::table(grid, summary));
    small_plots(&mut out, grid, summary, &times);
    if let Some(table) = paper::table(grid) {
        heading(&mut out, "Beside the published figures");
        out.push_str(&table.html());
        out.push_str(&list("dim", &paper::notes(grid)));
    }
    tools(&mut out, grid);
    errors(&mut out, summary);
    heading(&mut out, "How it was done");
    out.push_str(&list("dim", &notes::method(grid, summary)));
    out + "</body>\n</html>\n"
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "<h2>{}</h2>", escape(text));
}

fn paragraph(out: &mut String, text: &str) {
    let _ = writeln!(out, "<p class=\"dim\">{}</p>", escape(text));
}

fn list(class: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out = format!("<ul class=\"{class}\">\n");
    for line in lines {
        let _ = writeln!(out, "<li>{}</li>", escape(line));
    }
    out + "</ul>\n"
}

/// What was compared, on what, and what limits it.
fn head(grid: &Grid, summary: &Summary) -> String {
    let e = grid.experiment;
    let mut out = format!(
        "<p>{} of each tool on each function, each {}, seeds from {} on. {}, {} in use with one \
         trial on each, {:.1} GiB of memory, {}; referee: gcov of {}.</p>\n",
        plural(e.trials as usize, "trial"),
        notes::budget(&e.budget),
        e.seed,
        escape(&e.machine.cpu),
        plural(e.machine.cores.len(), "core"),
        e.machine.memory as f64 / f64::from(1 << 30),
        escape(&e.machine.system),
        escape(&e.machine.gcc)
    );
    let link = |file: &str| format!("<a href=\"{file}\">{file}</a>");
    let files = [super::csv::FILE, super::summary::FILE, markdown::FILE, rerun::FILE].map(link).join(", ");
    let _ = writeln!(out, "<p class=\"dim\">Beside this page: {files}.</p>");
    out + &list("limits", &notes::limits(grid, summary))
}

fn losses(out: &mut String, summary: &Summary) {
    heading(out, &format!("Functions on which {} loses", summary.reference));
    let lost = tables::losses(summary);
    out.push_str(&if lost.rows.is_empty() { "<p>none</p>\n".to_owned() } else { lost.html() });
}

fn plot(out: &mut String, title: &str, plot: Option<String>, legend: &str) {
    heading(out, title);
    match plot {
        Some(plot) => {
            let _ = writeln!(out, "<div class=\"wide\">{plot}</div>");
            paragraph(out, legend);
        }
        None => paragraph(out, "No tool has a trial of every function yet."),
    }
}

fn over_time_legend(grid: &Grid) -> String {
    format!(
        "Median over trials with the quartiles as a band; {} is the thick line. By the tools' own time stamps. The time axis is \
         logarithmic, the axis of coverage need not begin at 0. Dotted: the best known.",
        grid.reference_name()
    )
}

fn heat_legend(summary: &Summary) -> String {
    format!(
        "The median trial's share of the best known, in percent; the deeper the colour, the more is missing. \u{25bc}: \
         significantly less than {r}, \u{25b2}: significantly more than {r}. The functions on which {r} loses come first. \
         Quartiles and p-values appear over a cell.",
        r = summary.reference
    )
}

/// The functions on which not all trials of all tools end alike.
fn small_plots(out: &mut String, grid: &Grid, summary: &Summary, times: &[f64]) {
    let differs = |row: &&Row| {
        let mut ends = row.trials.iter().flatten().map(|t| t.covered());
        ends.next().is_some_and(|first| ends.any(|e| e != first))
    };
    let rows: Vec<_> = heat::order(summary).into_iter().map(|i| &grid.functions[i]).filter(differs).collect();
    heading(out, "Functions on which trials differ");
    if rows.is_empty() {
        return paragraph(out, "None: every trial of every tool covers the same number of branches.");
    }
    let left_out = match rows.len().saturating_sub(SMALL_PLOTS) {
        0 => String::new(),
        n => format!(" {n} more are not drawn."),
    };
    paragraph(
        out,
        &format!(
            "Branches covered in percent of all, median over trials, over seconds.{left_out} The top of each is the best known."
        ),
    );
    out.push_str(&plots::legend(grid));
    out.push_str("<div class=\"grid\">\n");
    for row in rows.into_iter().take(SMALL_PLOTS) {
        let _ = writeln!(
            out,
            "<figure><h3>{}</h3><figcaption>best known: {} of {} branches</figcaption>{}</figure>",
            escape(&row.info.name),
            row.best,
            row.total,
            plots::small(grid, row, times)
        );
    }
    out.push_str("</div>\n");
}

fn tools(out: &mut String, grid: &Grid) {
    heading(out, "Tools");
    out.push_str("<dl>\n");
    for tool in &grid.experiment.tools {
        out.push_str(&of_tool(tool));
    }
    out.push_str("</dl>\n");
}

fn of_tool(tool: &ToolInfo) -> String {
    let mut out = format!("<dt>{}</dt>\n<dd>{}</dd>\n", escape(&tool.name), escape(&tool.what));
    if let Some(why) = &tool.skipped {
        let _ = writeln!(out, "<dd>Skipped: {}</dd>", escape(why));
        return out;
    }
    for (what, text) in [("Version", &tool.version), ("Build", &tool.build), ("Trial", &tool.run)] {
        if !text.is_empty() {
            let _ = writeln!(out, "<dd>{what}: <code>{}</code></dd>", escape(text));
        }
    }
    out
}

fn errors(out: &mut String, summary: &Summary) {
    if summary.errors.is_empty() {
        return;
    }
    heading(out, "Trials in which something went wrong");
    let lines = summary.errors.iter().map(|e| format!("{}, {}, trial {}: {}", e.function, e.tool, e.trial, e.error));
    out.push_str(&list("dim", &lines.collect::<Vec<_>>()));
}
