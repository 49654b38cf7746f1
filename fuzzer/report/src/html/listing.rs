//! The source listing of the page, with each condition's branches marked as covered (met, raised) or not.

use std::collections::{BTreeMap, HashMap};

use super::{LISTED, base};
use crate::{
    model::{Branch, BranchIndex, Report, Site, Status},
    sources::Sources,
    uncovered::explain,
    words::Words,
};

/// Lines shown before and after a condition.
const CONTEXT_LINES: usize = 6;

/// Maximum number of lines in all; more would make a page too large for a browser.
const MAX_LINES: usize = 3000;

/// The sites of a line, each with its index in the report.
type SitesOfLine<'a> = BTreeMap<usize, Vec<(usize, &'a Site)>>;

/// For each branch the first test that covers it, a number from 1.
type FirstTests = HashMap<BranchIndex, usize>;

/// The source files that have not changed since the report was made, limited to [`MAX_LINES`] lines.
pub struct Listing<'a> {
    pub files: Vec<File<'a>>,
    /// Lines are left out because there are more than [`MAX_LINES`].
    pub is_cut: bool,
}

impl Listing<'_> {
    /// The anchor of a line in the page, for links to it; `None` if the line is not shown.
    pub fn anchor(&self, path: &str, line: u32) -> Option<String> {
        let index = self.files.iter().position(|file| file.path == path)?;
        let lines = &self.files[index].lines;
        lines.binary_search_by_key(&(line as usize), |l| l.number).ok().map(|_| anchor(index, line as usize))
    }
}

fn anchor(file: usize, line: usize) -> String {
    format!("f{file}-{line}")
}

/// The lines around the conditions of one file.
pub struct File<'a> {
    pub path: &'a str,
    /// File name without directories.
    pub name: &'a str,
    pub lines: Vec<Line>,
}

/// One source line.
pub struct Line {
    pub number: usize,
    /// Its anchor in the page.
    pub anchor: String,
    /// Lines between the previous entry and this one are not shown.
    pub follows_gap: bool,
    /// `all`, `some` or `none` of its branches are covered; empty if it has none.
    pub class: &'static str,
    pub marks: Vec<Mark>,
    pub text: String,
}

/// The mark of one branch, before its line.
pub struct Mark {
    /// It is the first mark of its condition: conditions of one line are separated.
    pub begins_site: bool,
    /// `yes`, `no`, or `crash` if only inputs that crash take it.
    pub class: &'static str,
    pub name: String,
    /// Shown when the pointer is over the mark.
    pub explanation: String,
    /// The first test that covers the branch, a number from 1, if the page has its row.
    pub test: Option<usize>,
}

/// Reads the sources of the sites and marks their branches.
pub fn of<'a>(report: &'a Report, sources: &mut Sources<'a>) -> Listing<'a> {
    let mut sites_of: BTreeMap<&str, SitesOfLine> = BTreeMap::new();
    for (i, site) in report.sites.iter().enumerate().filter(|(_, s)| s.line > 0) {
        sites_of.entry(&site.file).or_default().entry(site.line as usize).or_default().push((i, site));
    }
    let covering = first_tests(report);
    let mut room = MAX_LINES;
    let mut files = Vec::new();
    for (path, sites) in sites_of {
        if let Some(text) = sources.text(path) {
            let texts: Vec<&str> = text.lines().collect();
            let mut lines = lines(report, path, &texts, &sites, &covering, &mut room);
            for line in &mut lines {
                line.anchor = anchor(files.len(), line.number);
            }
            files.push(File { path, name: base(path), lines });
        }
    }
    Listing { files, is_cut: room == 0 }
}

fn first_tests(report: &Report) -> FirstTests {
    let mut first = FirstTests::new();
    for (i, test) in report.tests.iter().take(LISTED).enumerate() {
        for branch in &test.covers {
            first.entry(*branch).or_insert(i + 1);
        }
    }
    first
}

fn lines(
    report: &Report,
    path: &str,
    texts: &[&str],
    sites: &SitesOfLine,
    covering: &FirstTests,
    room: &mut usize,
) -> Vec<Line> {
    let first = if report.signature.file == path { report.signature.line as usize } else { 0 };
    let is_near = |number: usize| {
        let near = number.saturating_sub(CONTEXT_LINES)..=number + CONTEXT_LINES;
        sites.range(near.clone()).next().is_some() || (first > 0 && near.contains(&first))
    };
    let mut out: Vec<Line> = Vec::new();
    for number in (1..=texts.len()).filter(|n| is_near(*n)) {
        if *room == 0 {
            break;
        }
        *room -= 1;
        let follows_gap = out.last().is_some_and(|before| number > before.number + 1);
        let of_line = sites.get(&number).map_or(&[][..], Vec::as_slice);
        out.push(Line { follows_gap, ..line(report, number, texts[number - 1], of_line, covering) });
    }
    out
}

fn line(report: &Report, number: usize, text: &str, sites: &[(usize, &Site)], covering: &FirstTests) -> Line {
    let (mut all, mut open) = (0, 0);
    for branch in sites.iter().flat_map(|(_, s)| &s.branches) {
        all += 1;
        open += usize::from(branch.is_open() || branch.status == Status::CoveredByCrash);
    }
    let class = match open {
        _ if all == 0 => "",
        0 => "all",
        n if n == all => "none",
        _ => "some",
    };
    let marks = sites.iter().flat_map(|(site, s)| {
        let covered_by = |branch: usize| covering.get(&BranchIndex { site: *site, branch }).copied();
        s.branches.iter().enumerate().map(move |(i, b)| Mark { test: covered_by(i), ..mark(report, s, b, i == 0) })
    });
    Line { number, anchor: String::new(), follows_gap: false, class, marks: marks.collect(), text: text.to_owned() }
}

fn mark(report: &Report, site: &Site, branch: &Branch, begins_site: bool) -> Mark {
    let name = match branch.outcome.as_str() {
        "true" => "T",
        "false" => "F",
        other => other.strip_prefix("case ").unwrap_or(other),
    };
    let (class, state) = if branch.is_open() {
        ("no", explain(report, site, branch))
    } else if branch.status == Status::CoveredByCrash {
        ("crash", format!("{} only by inputs that crash", Words::of(report.goals).done))
    } else {
        ("yes", Words::of(report.goals).done.to_owned())
    };
    let explanation = format!("column {}, {}: {state}", site.column, branch.outcome);
    Mark { begins_site, class, name: name.to_owned(), explanation, test: None }
}
