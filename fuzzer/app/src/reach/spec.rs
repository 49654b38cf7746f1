//! Paths as text: steps separated by commas or line ends.
//!
//! | step | means |
//! | --- | --- |
//! | `FILE:LINE:OUTCOME` | the conditional on that line goes this way |
//! | `FILE:LINE:COLUMN:OUTCOME` | the one in that column; `COLUMN#K` is the K-th in one place (macros) |
//! | `STEP^N` | the step N times |
//! | `*` | any branches, none included |
//! | `$` | no conditional is passed any more; last only |
//!
//! OUTCOME is `T` or `F`, of a switch `case N`, `N` or `default`. FILE may be left out where only one file is in scope, and be
//! the end of a path.

use std::collections::BTreeSet;

use penfuzz_cc::abi::site_kind;
use penfuzz_engine::{
    error::Error,
    goals::path::Step,
    program::{Site, Target},
    saturation::Scope,
};

use crate::campaign::outcome::outcome_text;

/// Repetitions of one step, at most: a path has room for its steps in memory.
const MOST: usize = 1 << 22;

/// The conditionals in scope by the places that the reader of the source knows.
#[derive(Debug)]
pub struct Names<'a> {
    target: &'a Target,
    /// Indices of the conditionals in scope, by place.
    sites: Vec<usize>,
    has_one_file: bool,
}

impl<'a> Names<'a> {
    /// Of the conditionals in `scope`.
    #[must_use]
    pub fn new(target: &'a Target, scope: &Scope) -> Self {
        let mut sites: Vec<usize> = scope.sites.iter().copied().filter(|s| target.sites[*s].is_conditional()).collect();
        sites.sort_by_key(|s| place(&target.sites[*s], *s));
        let files: BTreeSet<&str> = sites.iter().map(|s| target.sites[*s].file.as_str()).collect();
        let has_one_file = files.len() == 1;
        Self { target, sites, has_one_file }
    }

    /// For every branch of the target: is it one of a conditional in scope?
    #[must_use]
    pub fn branches(&self) -> Vec<bool> {
        let mut flags = vec![false; self.target.n_branches];
        for s in &self.sites {
            flags[self.target.sites[*s].branches()].fill(true);
        }
        flags
    }

    /// Reads a path.
    ///
    /// # Errors
    /// When a step cannot be read, or its place is no conditional, or more than one.
    pub fn parse(&self, text: &str) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        for item in text.split([',', '\n']).map(str::trim).filter(|i| !i.is_empty()) {
            if steps.last() == Some(&Step::End) {
                return Err(Error::new(format!("`{item}` follows `$`, which says that the path has ended")));
            }
            let (step, times) = repeated(item)?;
            let step = match step {
                "*" => Step::Any,
                "$" => Step::End,
                step => Step::Branch(self.branch(step)?),
            };
            let times = if matches!(step, Step::Branch(_)) { times } else { 1 };
            if steps.len() + times > MOST {
                return Err(Error::new(format!("the path has more than {MOST} steps")));
            }
            steps.extend(std::iter::repeat_n(step, times));
        }
        Ok(steps)
    }

    fn branch(&self, text: &str) -> Result<usize, Error> {
        let wrong = || {
            Error::new(format!(
                "`{text}` is no step of a path; write FILE:LINE:OUTCOME or FILE:LINE:COLUMN:OUTCOME (OUTCOME T, F, case N or default), * or $"
            ))
        };
        let (place, outcome) = text.rsplit_once(':').ok_or_else(wrong)?;
        let place = Location::read(place.trim()).ok_or_else(wrong)?;
        let site = self.site(text, &place)?;
        let site = &self.target.sites[site];
        let k = outcome_of(site, outcome.trim()).ok_or_else(|| self.no_outcome(text, site))?;
        Ok(site.first_branch + k)
    }

    fn no_outcome(&self, text: &str, site: &Site) -> Error {
        let all: Vec<String> = (0..site.n_branches).map(|k| short_outcome(site, k)).collect();
        let what = if site.kind == site_kind::SWITCH { "a switch" } else { "a conditional" };
        Error::new(format!(
            "`{text}`: {} is {what} with the outcomes {}",
            self.place(site.first_branch),
            all.join(", ")
        ))
    }

    /// The one site at a place.
    fn site(&self, text: &str, place: &Location) -> Result<usize, Error> {
        let sites = &self.target.sites;
        let in_file: Vec<usize> = self.sites.iter().copied().filter(|s| place.is_in(&sites[*s].file)).collect();
        if in_file.is_empty() {
            let files: BTreeSet<&str> = self.sites.iter().map(|s| sites[*s].file.as_str()).collect();
            let files: Vec<&str> = files.into_iter().collect();
            return Err(Error::new(format!("`{text}`: no file in scope is called so; there are {}", list(&files))));
        }
        let on_line: Vec<usize> = in_file.iter().copied().filter(|s| sites[*s].line == place.line).collect();
        let found: Vec<usize> =
            on_line.iter().copied().filter(|s| place.column.is_none_or(|c| c == sites[*s].column)).collect();
        if let Some(k) = place.ordinal {
            return found
                .get(k - 1)
                .copied()
                .ok_or_else(|| Error::new(format!("`{text}`: there are {} conditionals in that place", found.len())));
        }
        match found[..] {
            [one] => Ok(one),
            [] => Err(Error::new(self.none_there(text, place, &in_file, &on_line))),
            _ => Err(Error::new(format!(
                "`{text}`: there are {} conditionals; choose one of {}",
                found.len(),
                list(&found.iter().map(|s| self.place(sites[*s].first_branch)).collect::<Vec<_>>())
            ))),
        }
    }

    fn none_there(&self, text: &str, place: &Location, in_file: &[usize], on_line: &[usize]) -> String {
        if !on_line.is_empty() {
            let places: Vec<String> = on_line.iter().map(|s| self.place(self.target.sites[*s].first_branch)).collect();
            return format!("`{text}`: no conditional in that column; there are {}", list(&places));
        }
        let mut lines: Vec<u32> = in_file.iter().map(|s| self.target.sites[*s].line).collect();
        lines.dedup();
        lines.sort_by_key(|l| l.abs_diff(place.line));
        lines.dedup();
        lines.truncate(4);
        lines.sort_unstable();
        let near: Vec<String> = lines.iter().map(u32::to_string).collect();
        format!("`{text}`: no conditional in scope is on line {}; the nearest are on {}", place.line, list(&near))
    }

    /// A branch as [`Names::parse`] reads it.
    #[must_use]
    pub fn text(&self, branch: usize) -> String {
        let site = &self.target.sites[self.target.site_of(branch)];
        format!("{}:{}", self.place(branch), short_outcome(site, branch - site.first_branch))
    }

    /// The place of a branch's conditional, as short as it can be told from the others.
    #[must_use]
    pub fn place(&self, branch: usize) -> String {
        let index = self.target.site_of(branch);
        let site = &self.target.sites[index];
        let file = if self.has_one_file { String::new() } else { format!("{}:", site.file) };
        let key = |s: &usize| (self.target.sites[*s].file.as_str(), self.target.sites[*s].line);
        let here = (site.file.as_str(), site.line);
        let (from, to) =
            (self.sites.partition_point(|s| key(s) < here), self.sites.partition_point(|s| key(s) <= here));
        let same_line = &self.sites[from..to];
        if same_line.len() <= 1 {
            return format!("{file}{}", site.line);
        }
        let same_place: Vec<usize> =
            same_line.iter().copied().filter(|s| self.target.sites[*s].column == site.column).collect();
        let ordinal = match same_place.iter().position(|s| *s == index) {
            Some(k) if same_place.len() > 1 => format!("#{}", k + 1),
            _ => String::new(),
        };
        format!("{file}{}:{}{ordinal}", site.line, site.column)
    }

    /// A step as [`Names::parse`] reads it.
    #[must_use]
    pub fn step(&self, step: Step) -> String {
        match step {
            Step::Branch(b) => self.text(b),
            Step::Any => "*".to_owned(),
            Step::End => "$".to_owned(),
        }
    }

    /// A sequence of branches as [`Names::parse`] reads it; what repeats is written once. At most `room` such items, then `…`.
    #[must_use]
    pub fn path(&self, branches: &[u32], room: usize) -> String {
        let mut items = Vec::new();
        for run in branches.chunk_by(|a, b| a == b) {
            if items.len() == room {
                items.push("…".to_owned());
                break;
            }
            let text = self.text(run[0] as usize);
            items.push(if run.len() == 1 { text } else { format!("{text}^{}", run.len()) });
        }
        items.join(",")
    }
}

fn place(site: &Site, index: usize) -> (&str, u32, u32, usize) {
    (&site.file, site.line, site.column, index)
}

/// `T`, `F`, `case 3` (the first label of the destination), `default`.
fn short_outcome(site: &Site, k: usize) -> String {
    if site.kind == site_kind::SWITCH {
        let text = outcome_text(site, k);
        return text.split(',').next().unwrap_or_default().to_owned();
    }
    if k == 0 { "T" } else { "F" }.to_owned()
}

fn outcome_of(site: &Site, text: &str) -> Option<usize> {
    if site.kind == site_kind::SWITCH {
        if text == "default" {
            return Some(0);
        }
        let value: i64 = text.strip_prefix("case").unwrap_or(text).trim().parse().ok()?;
        return site.cases.iter().find(|(v, _)| *v == value).map(|(_, k)| *k);
    }
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" => Some(0),
        "f" | "false" => Some(1),
        _ => None,
    }
}

fn repeated(item: &str) -> Result<(&str, usize), Error> {
    let Some((step, times)) = item.rsplit_once('^') else { return Ok((item, 1)) };
    match times.trim().parse() {
        Ok(times) if times > 0 => Ok((step.trim(), times)),
        _ => Err(Error::new(format!("`{item}`: behind ^ stands how many times the step is taken, 1 or more"))),
    }
}

fn list(all: &[impl AsRef<str>]) -> String {
    all.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// A place as it is written.
#[derive(Debug, PartialEq, Eq)]
struct Location<'a> {
    file: Option<&'a str>,
    line: u32,
    column: Option<u32>,
    ordinal: Option<usize>,
}

impl<'a> Location<'a> {
    /// `FILE:LINE`, `FILE:LINE:COLUMN`, `FILE:LINE:COLUMN#K`, or the same without a file.
    fn read(text: &'a str) -> Option<Self> {
        let (text, ordinal) = match text.rsplit_once('#') {
            Some((text, k)) => (text, Some(k.parse().ok().filter(|k| *k > 0)?)),
            None => (text, None),
        };
        let (before, last) = text.rsplit_once(':').map_or((None, text), |(before, last)| (Some(before), last));
        let last: u32 = last.parse().ok()?;
        let Some(before) = before else { return Some(Self { file: None, line: last, column: None, ordinal }) };
        let (file, line) = before.rsplit_once(':').map_or((None, before), |(file, line)| (Some(file), line));
        Some(match line.parse() {
            Ok(line) => Self { file, line, column: Some(last), ordinal },
            Err(_) => Self { file: Some(before), line: last, column: None, ordinal },
        })
    }

    fn is_in(&self, file: &str) -> bool {
        self.file.is_none_or(|name| is_file(file, name))
    }
}

/// Is `name` the path, or the end of it from some directory on?
#[must_use]
pub fn is_file(path: &str, name: &str) -> bool {
    let name = name.strip_prefix("./").unwrap_or(name);
    path == name || path.strip_suffix(name).is_some_and(|before| before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_the_end() {
        let of = |text| Location::read(text).map(|p| (p.file, p.line, p.column, p.ordinal));
        assert_eq!(of("12"), Some((None, 12, None, None)));
        assert_eq!(of("12:3"), Some((None, 12, Some(3), None)));
        assert_eq!(of("a.c:12"), Some((Some("a.c"), 12, None, None)));
        assert_eq!(of("d/a.c:12:3"), Some((Some("d/a.c"), 12, Some(3), None)));
        assert_eq!(of("a.c:12:3#2"), Some((Some("a.c"), 12, Some(3), Some(2))));
        assert_eq!(of("a.c"), None);
        assert_eq!(of("12:3#0"), None);
    }

    #[test]
    fn a_file_is_known_by_the_end_of_its_path() {
        assert!(is_file("/src/lib/a.c", "lib/a.c") && is_file("a.c", "./a.c"));
        assert!(!is_file("/src/ba.c", "a.c"));
    }

    #[test]
    fn steps_are_repeated() {
        assert_eq!(repeated("12:T^50").unwrap(), ("12:T", 50));
        assert_eq!(repeated("12:T").unwrap(), ("12:T", 1));
        assert!(repeated("12:T^0").is_err() && repeated("12:T^x").is_err());
    }
}
