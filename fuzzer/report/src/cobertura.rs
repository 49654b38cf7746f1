//! `coverage.xml`: the counts of [`lcov`](super::lcov) in the Cobertura format (`coverage-04.dtd`), which GitLab,
//! Jenkins and Azure read without a plugin.
//!
//! Each site is one condition of its line. A rate is a share from 0 to 1; the rate of an empty set is 1. Paths are
//! relative to the root of the sources ([`SourceRoot`]), which the document names; a file outside the root has its
//! absolute path. The time stamp, which the format requires, is 0, so that equal reports give equal files.

use std::{collections::BTreeMap, path::Path};

use askama::Template;
use penfuzz_system::console::shown;

use super::{
    format::share,
    lcov::{self, Record},
    model::Report,
    source_root::SourceRoot,
};

/// Renders the document.
///
/// # Panics
/// Never: writing to a string does not fail.
#[must_use]
pub fn document(report: &Report, root: &SourceRoot) -> String {
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    let mut all = Counts::default();
    for (file, record) in lcov::records(report) {
        let class = Class::new(&root.name(file), &record);
        all.add(&class.counts);
        let package = packages.entry(directory(&class.file)).or_default();
        package.counts.add(&class.counts);
        package.classes.push(class);
    }
    let root = root.path().to_string_lossy().into_owned();
    let coverage = Coverage { root, version: env!("CARGO_PKG_VERSION"), all, packages };
    coverage.render().expect("memory takes every document")
}

/// The fields of the template.
#[derive(Template)]
#[template(path = "coverage.xml")]
struct Coverage {
    root: String,
    version: &'static str,
    all: Counts,
    /// The key is the directory.
    packages: BTreeMap<String, Package>,
}

#[derive(Default)]
struct Package {
    counts: Counts,
    classes: Vec<Class>,
}

/// A source file.
struct Class {
    file: String,
    /// File name without directories.
    name: String,
    counts: Counts,
    /// Name, line and number of calls.
    functions: Vec<(String, u32, usize)>,
    lines: Vec<Line>,
}

struct Line {
    number: u32,
    hits: usize,
    branches: Counted,
    /// One per site on the line.
    conditions: Vec<Condition>,
}

struct Condition {
    /// `jump`, or `switch` for more than two branches.
    kind: &'static str,
    branches: Counted,
}

#[derive(Default)]
struct Counts {
    lines: Counted,
    branches: Counted,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.lines.add(&other.lines);
        self.branches.add(&other.branches);
    }
}

#[derive(Default)]
struct Counted {
    total: usize,
    covered: usize,
}

impl Counted {
    fn of<'a>(counts: impl IntoIterator<Item = &'a usize>) -> Self {
        let mut sum = Self::default();
        for count in counts {
            sum.total += 1;
            sum.covered += usize::from(*count > 0);
        }
        sum
    }

    fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.covered += other.covered;
    }

    /// The share from 0 to 1, with four digits.
    fn rate(&self) -> String {
        format!("{:.4}", share(self.covered, self.total) / 100.0)
    }

    /// The percentage, rounded down: 100 only if all are covered.
    fn percent(&self) -> usize {
        (100 * self.covered).checked_div(self.total).unwrap_or(100)
    }
}

impl Class {
    fn new(file: &str, record: &Record) -> Self {
        let lines: Vec<_> = record.lines.iter().map(|(number, hits)| line(*number, *hits, record)).collect();
        let counts = Counts {
            lines: Counted::of(record.lines.values()),
            branches: Counted::of(record.branches.values().flatten().flatten()),
        };
        let functions = record.functions.iter().map(|(name, (line, calls))| (name.clone(), *line, *calls)).collect();
        let file = shown(file).into_owned();
        let name = Path::new(&file).file_name().map_or_else(|| file.clone(), |n| n.to_string_lossy().into_owned());
        Self { file, name, counts, functions, lines }
    }
}

fn line(number: u32, hits: usize, record: &Record) -> Line {
    let sites = record.branches.get(&number).map_or(&[][..], Vec::as_slice);
    let condition = |counts: &Vec<usize>| Condition {
        kind: if counts.len() > 2 { "switch" } else { "jump" },
        branches: Counted::of(counts),
    };
    Line {
        number,
        hits,
        branches: Counted::of(sites.iter().flatten()),
        conditions: sites.iter().map(condition).collect(),
    }
}

/// The directory of a file; `.` for a file at the root.
fn directory(file: &str) -> String {
    let parent = Path::new(file).parent().filter(|p| !p.as_os_str().is_empty());
    parent.map_or_else(|| ".".to_owned(), |p| p.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Status, example};

    fn of(report: &Report) -> String {
        document(report, &SourceRoot::of(Path::new("/src")))
    }

    fn parsed(text: &str, look: impl FnOnce(&roxmltree::Document)) {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        look(&roxmltree::Document::parse_with_options(text, options).unwrap_or_else(|e| panic!("{e}: {text}")));
    }

    #[test]
    fn the_example() {
        insta::assert_snapshot!(of(&example::report()));
    }

    #[test]
    fn the_rates_are_those_of_lcov() {
        let mut report = example::report();
        report.tests.clear();
        report.sites[0].branches[0].status = Status::Uncovered;
        let lcov = lcov::tracefile(&report);
        let figure = |key: &str| lcov.lines().find_map(|l| l.strip_prefix(key)).unwrap().to_owned();
        parsed(&of(&report), |document| {
            let coverage = document.root_element();
            for (name, key) in [
                ("branches-valid", "BRF:"),
                ("branches-covered", "BRH:"),
                ("lines-valid", "LF:"),
                ("lines-covered", "LH:"),
            ] {
                assert_eq!(coverage.attribute(name), Some(figure(key).as_str()), "{name}");
            }
        });
    }

    #[test]
    fn names_cannot_break_the_document() {
        let mut report = example::report();
        let bad = "a\"<b>&\u{1}\u{202e}\u{ffff}\n.c";
        report.signature.file = bad.to_owned();
        report.function = bad.to_owned();
        report.sites.iter_mut().for_each(|site| (site.file, site.function) = (bad.to_owned(), bad.to_owned()));
        let text = of(&report);
        parsed(&text, |document| {
            let class = document.descendants().find(|n| n.has_tag_name("class")).unwrap();
            assert_eq!(class.attribute("filename"), Some("a\"<b>&\\u{1}\\u{202e} \\n.c"));
        });
        assert!(!text.contains(['\u{1}', '\u{202e}', '\u{ffff}']), "{text}");
    }

    #[test]
    fn nothing_is_wholly_covered() {
        let mut report = example::report();
        (report.sites, report.tests, report.signature.file) = (vec![], vec![], String::new());
        parsed(&of(&report), |document| {
            assert_eq!(document.root_element().attribute("branch-rate"), Some("1.0000"));
        });
    }
}
