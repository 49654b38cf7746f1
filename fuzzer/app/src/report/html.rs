//! `report.html`: one page for people that needs nothing else, no script and no other file, in light and dark. It is
//! well-formed XML. While the campaign runs, the browser loads it again every few seconds.

mod curve;
mod exceptions;
mod listing;

use std::fmt::Write;

use super::c_text::call;
use super::history::History;
use super::markup::escape;
use super::model::{Branch, Finding, Report, Site, Test};
use super::summary::{Sources, count, explain, is_open, seconds, share};
use super::words::Words;

/// The file's name in an output directory.
pub const FILE: &str = "report.html";

/// Seconds between two loads of the page of a running campaign, which writes it about as often.
const REFRESH: u32 = 5;

/// More of each would make a page that no browser likes; `report.json` has them all.
const LISTED: usize = 500;

/// The whole page. Source files are read for the lines to show, when they are there.
#[must_use]
pub fn page(report: &Report, history: &History) -> String {
    let title = escape(&format!("{} ({})", report.function, report.target));
    let refresh = if is_running(report) {
        format!("<meta http-equiv=\"refresh\" content=\"{REFRESH}\"/>\n")
    } else {
        String::new()
    };
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n{refresh}\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{title}</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n",
        include_str!("html/page.css")
    );
    let mut sources = Sources::default();
    headline(&mut out, report);
    findings(&mut out, "Crashes", report, &report.crashes);
    findings(&mut out, "Hangs", report, &report.hangs);
    exceptions::section(&mut out, report);
    open_branches(&mut out, report, &mut sources);
    curve::section(&mut out, report, history);
    tests(&mut out, report);
    listing::section(&mut out, report, &mut sources);
    out + "</body>\n</html>\n"
}

fn is_running(report: &Report) -> bool {
    report.stop_reason == "running"
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "<h2>{}</h2>", escape(text));
}

/// `12 of 14 branches covered`, or what else was asked for, large, and how that was reached.
fn headline(out: &mut String, report: &Report) {
    let b = &report.branches;
    let percent = share(b.covered, b.total);
    let words = Words::of(report.goals);
    let _ = writeln!(
        out,
        "<header>\n<p class=\"of\"><code>{}</code> in {}</p>\n<h1><b>{percent:.1} %</b> {} of {} {} {}</h1>\n\
         <div class=\"bar\"><i style=\"width: {:.2}%\"></i></div>",
        escape(&report.function),
        escape(&report.target),
        b.covered,
        b.total,
        words.goals,
        words.done,
        percent.clamp(0.0, 100.0),
    );
    let state = if is_running(report) { "running".to_owned() } else { format!("stopped: {}", report.stop_reason) };
    // What is not asked for, but leads there, keeps the rest from being saturated: it says nothing to people.
    let saturated = report.goals.are_branches().then(|| format!("{} saturated", b.saturated));
    let facts = [
        format!("{} given up", b.given_up),
        format!("{} evaluations", count(report.evaluations)),
        format!("{} ({}/s)", seconds(report.seconds), count(report.evaluations_per_second as u64)),
        format!("{} search, seed {}", report.search, report.seed),
        state,
    ];
    out.push_str("<ul class=\"facts\">\n");
    for fact in saturated.into_iter().chain(facts) {
        let _ = writeln!(out, "<li>{}</li>", escape(&fact));
    }
    out.push_str("</ul>\n</header>\n");
}

fn findings(out: &mut String, title: &str, report: &Report, list: &[Finding]) {
    if list.is_empty() {
        return;
    }
    heading(out, &format!("{title} ({})", list.len()));
    for finding in list.iter().take(LISTED) {
        out.push_str("<section class=\"bad\">\n");
        let _ = writeln!(out, "<h3>{} <span>in {}</span></h3>", escape(&finding.reason), escape(&finding.place));
        let _ = writeln!(out, "<pre>{};</pre>", escape(&call(report, &finding.args)));
        arguments(out, finding);
        // One frame only repeats the place.
        if finding.stack.len() > 1 {
            let _ = writeln!(out, "<pre class=\"dim\">{}</pre>", escape(&finding.stack.join("\n")));
        }
        let _ = writeln!(out, "<p class=\"dim\"><code>{}</code></p>\n</section>", escape(&finding.file));
    }
    left_out(out, list.len());
}

/// Names and decimal values.
fn arguments(out: &mut String, finding: &Finding) {
    if finding.args.is_empty() {
        return;
    }
    out.push_str("<p>");
    for (i, arg) in finding.args.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        let _ = write!(out, "{comma}<code>{} = {}</code>", escape(&arg.name), escape(&arg.decimal));
    }
    out.push_str("</p>\n");
}

fn left_out(out: &mut String, n: usize) {
    if n > LISTED {
        let _ = writeln!(out, "<p class=\"dim\">and {} more in report.json</p>", n - LISTED);
    }
}

fn open_branches<'a>(out: &mut String, report: &'a Report, sources: &mut Sources<'a>) {
    let mut open: Vec<(&Site, &Branch)> =
        report.sites.iter().flat_map(|s| s.branches.iter().map(move |b| (s, b))).filter(|(_, b)| is_open(b)).collect();
    if open.is_empty() {
        return;
    }
    // Stable: what is equally close stays in source order.
    open.sort_by_key(|(_, b)| b.best_distance.unwrap_or(u64::MAX));
    heading(out, &format!("Not {} ({}), closest first", Words::of(report.goals).done, open.len()));
    out.push_str("<div class=\"wide\"><table class=\"open\">\n<thead><tr><th>where</th><th>condition</th><th>wanted</th><th>so far</th></tr></thead>\n<tbody>\n");
    for (site, branch) in open.iter().take(LISTED) {
        let place = format!("{}:{}:{}", base(&site.file), site.line, site.column);
        let _ = writeln!(
            out,
            "<tr><td title=\"{}\"><code>{}</code></td><td><code>{}</code></td><td>{}</td><td>{}</td></tr>",
            escape(&site.file),
            escape(&place),
            escape(&sources.condition(site)),
            escape(&branch.outcome),
            escape(&explain(report, site, branch))
        );
    }
    out.push_str("</tbody>\n</table></div>\n");
    left_out(out, open.len());
}

/// The name of a file without its directories.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn tests(out: &mut String, report: &Report) {
    let Some(first) = report.tests.first() else { return };
    heading(out, &format!("Tests ({})", report.tests.len()));
    out.push_str("<div class=\"wide\"><table class=\"tests\">\n<thead><tr><th>#</th>");
    for arg in &first.args {
        let _ = write!(out, "<th>{}</th>", escape(&arg.name));
    }
    let _ = writeln!(out, "<th>{}</th><th>from</th></tr></thead>\n<tbody>", Words::of(report.goals).goals);
    for (number, test) in report.tests.iter().take(LISTED).enumerate() {
        test_row(out, number + 1, test);
    }
    out.push_str("</tbody>\n</table></div>\n");
    left_out(out, report.tests.len());
}

fn test_row(out: &mut String, number: usize, test: &Test) {
    let _ = write!(out, "<tr><td>{number}</td>");
    for arg in &test.args {
        let _ = write!(out, "<td title=\"{}\"><code>{}</code></td>", escape(&arg.hex), escape(&arg.decimal));
    }
    let _ = writeln!(out, "<td>{}</td><td><code>{}</code></td></tr>", test.covers.len(), escape(&test.file));
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod unit;
