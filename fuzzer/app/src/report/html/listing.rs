//! The source, with each condition's branches marked as covered (met, raised) or not.

use std::{collections::BTreeMap, fmt::Write};

use super::{base, heading};
use crate::report::{
    markup::escape,
    model::{Branch, Report, Site, Status},
    summary::{Sources, explain, is_open},
    words::Words,
};

/// Lines shown before and after a condition.
const AROUND: usize = 6;

/// Lines shown in all.
const MOST: usize = 3000;

type SitesOfLine<'a> = BTreeMap<usize, Vec<&'a Site>>;

/// The section, as far as the sources can be read.
pub fn section<'a>(out: &mut String, report: &'a Report, sources: &mut Sources<'a>) {
    let mut files: BTreeMap<&str, SitesOfLine> = BTreeMap::new();
    for site in report.sites.iter().filter(|s| s.line > 0) {
        files.entry(&site.file).or_default().entry(site.line as usize).or_default().push(site);
    }
    let mut room = MOST;
    let mut body = String::new();
    for (file, sites) in &files {
        if let Some(text) = sources.text(file) {
            let lines: Vec<&str> = text.lines().collect();
            listing(&mut body, report, file, &lines, sites, &mut room);
        }
    }
    if body.is_empty() {
        return;
    }
    heading(out, "Source");
    let words = Words::of(report.goals);
    let _ = writeln!(out, "<p class=\"dim\">{}</p>", words.marks);
    out.push_str(&body);
    if room == 0 {
        let _ = writeln!(out, "<p class=\"dim\">The rest is too long for this page; {}.</p>", words.rest);
    }
}

fn listing(out: &mut String, report: &Report, file: &str, lines: &[&str], sites: &SitesOfLine, room: &mut usize) {
    let _ = writeln!(
        out,
        "<h3 title=\"{}\"><code>{}</code></h3>\n<div class=\"wide\"><table class=\"source\"><tbody>",
        escape(file),
        escape(base(file))
    );
    let first = if report.signature.file == file { report.signature.line as usize } else { 0 };
    let mut before = 0;
    for number in 1..=lines.len() {
        let near = number.saturating_sub(AROUND)..=number + AROUND;
        if sites.range(near.clone()).next().is_none() && !(first > 0 && near.contains(&first)) {
            continue;
        }
        if *room == 0 {
            break;
        }
        *room -= 1;
        if before > 0 && number > before + 1 {
            out.push_str("<tr class=\"gap\"><td colspan=\"3\">\u{22ef}</td></tr>\n");
        }
        before = number;
        line(out, report, number, lines[number - 1], sites.get(&number).map_or(&[], Vec::as_slice));
    }
    out.push_str("</tbody></table></div>\n");
}

fn line(out: &mut String, report: &Report, number: usize, text: &str, sites: &[&Site]) {
    let mut branches = sites.iter().flat_map(|s| &s.branches);
    let open = branches.clone().filter(|b| is_open(b)).count();
    let class = match (branches.next().is_some(), open) {
        (false, _) => "",
        (true, 0) => "all",
        (true, n) if n == sites.iter().map(|s| s.branches.len()).sum::<usize>() => "none",
        _ => "some",
    };
    let _ = write!(out, "<tr class=\"{class}\"><td>{number}</td><td>");
    for (i, site) in sites.iter().enumerate() {
        out.push_str(if i > 0 { " " } else { "" });
        for branch in &site.branches {
            mark(out, report, site, branch);
        }
    }
    let _ = writeln!(out, "</td><td>{}</td></tr>", escape(text));
}

fn mark(out: &mut String, report: &Report, site: &Site, branch: &Branch) {
    let name = match branch.outcome.as_str() {
        "true" => "T",
        "false" => "F",
        other => other.strip_prefix("case ").unwrap_or(other),
    };
    let (class, told) = if is_open(branch) {
        ("no", explain(report, site, branch))
    } else {
        let by = if branch.status == Status::CoveredByCrash { " by a crash" } else { "" };
        ("yes", format!("{}{by}", Words::of(report.goals).done))
    };
    let told = format!("column {}, {}: {told}", site.column, branch.outcome);
    let _ = write!(out, "<b class=\"{class}\" title=\"{}\">{}</b>", escape(&told), escape(name));
}
