//! Paths as text: steps separated by commas or line ends.
//!
//! | step | meaning |
//! | --- | --- |
//! | `FILE:LINE:OUTCOME` | the conditional on that line has this outcome |
//! | `FILE:LINE:COLUMN:OUTCOME` | the conditional in that column; `COLUMN#K` is the K-th in the same place (macros) |
//! | `STEP^N` | the step N times |
//! | `*` | any branches, or none |
//! | `$` | no further conditional is passed; only as the last step |
//!
//! OUTCOME is `T` or `F`; for a switch it is `case N`, `N` or `default`. FILE may be the end of a path. It may be
//! omitted if only one file is in scope.

use std::collections::BTreeSet;

use penfuzz_abi::site_kind;
use penfuzz_campaign::assembly::outcome_text;
use penfuzz_engine::{goals::path::Step, saturation::Scope};
use penfuzz_error::Error;
use penfuzz_target::program::{Site, Target};

use super::syntax::{self, Item, Location, MOST};

/// The conditionals in scope, with their places in the source.
#[derive(Debug)]
pub struct Conditionals<'a> {
    target: &'a Target,
    /// Indices of the conditionals in scope, ordered by place.
    sites: Vec<usize>,
    has_one_file: bool,
}

impl<'a> Conditionals<'a> {
    /// Collects the conditionals in `scope`.
    #[must_use]
    pub fn new(target: &'a Target, scope: &Scope) -> Self {
        let mut sites: Vec<usize> = scope.sites.iter().copied().filter(|s| target.sites[*s].is_conditional()).collect();
        sites.sort_by_key(|s| place(&target.sites[*s], *s));
        let files: BTreeSet<&str> = sites.iter().map(|s| target.sites[*s].file.as_str()).collect();
        let has_one_file = files.len() == 1;
        Self { target, sites, has_one_file }
    }

    /// For each branch of the target, whether it belongs to a conditional in scope.
    #[must_use]
    pub fn branches(&self) -> Vec<bool> {
        let mut flags = vec![false; self.target.n_branches];
        for s in &self.sites {
            flags[self.target.sites[*s].branches()].fill(true);
        }
        flags
    }

    /// Parses a path.
    ///
    /// # Errors
    /// When a step cannot be parsed, or when there is no conditional or more than one at its place.
    pub fn parse(&self, text: &str) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        for text in syntax::items(text) {
            if steps.last() == Some(&Step::End) {
                return Err(Error::new(format!("`{text}` follows `$`, which says that the path has ended")));
            }
            let (step, times) = match syntax::item(text)? {
                (Item::Any, _) => (Step::Any, 1),
                (Item::End, _) => (Step::End, 1),
                (Item::Branch(branch), times) => (Step::Branch(self.branch(branch)?), times),
            };
            if steps.len() + times > MOST {
                return Err(Error::new(format!("the path has more than {MOST} steps")));
            }
            steps.extend(std::iter::repeat_n(step, times));
        }
        Ok(steps)
    }

    fn branch(&self, text: &str) -> Result<usize, Error> {
        let (place, outcome) = syntax::branch(text)?;
        let site = self.site(text, &place)?;
        let site = &self.target.sites[site];
        let k = outcome_of(site, outcome).ok_or_else(|| self.no_outcome(text, site))?;
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

    /// The only site at a place.
    fn site(&self, text: &str, place: &Location) -> Result<usize, Error> {
        let sites = &self.target.sites;
        let in_file: Vec<usize> = self.sites.iter().copied().filter(|s| place.is_in(&sites[*s].file)).collect();
        if in_file.is_empty() {
            let files: BTreeSet<&str> = self.sites.iter().map(|s| sites[*s].file.as_str()).collect();
            let files: Vec<&str> = files.into_iter().collect();
            return Err(Error::new(format!("`{text}`: no file in scope has this name; files are {}", list(&files))));
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
            [] => Err(Error::new(self.no_conditional_message(text, place, &in_file, &on_line))),
            _ => Err(Error::new(format!(
                "`{text}`: there are {} conditionals; choose one of {}",
                found.len(),
                list(&found.iter().map(|s| self.place(sites[*s].first_branch)).collect::<Vec<_>>())
            ))),
        }
    }

    fn no_conditional_message(&self, text: &str, place: &Location, in_file: &[usize], on_line: &[usize]) -> String {
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

    /// The text of a branch that [`Conditionals::parse`] accepts.
    #[must_use]
    pub fn text(&self, branch: usize) -> String {
        let site = &self.target.sites[self.target.site_of(branch)];
        format!("{}:{}", self.place(branch), short_outcome(site, branch - site.first_branch))
    }

    /// The shortest unambiguous place of a branch's conditional.
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

    /// The text of a step that [`Conditionals::parse`] accepts.
    #[must_use]
    pub fn step(&self, step: Step) -> String {
        match step {
            Step::Branch(b) => self.text(b),
            Step::Any => "*".to_owned(),
            Step::End => "$".to_owned(),
        }
    }

    /// The text of a sequence of branches that [`Conditionals::parse`] accepts. Repeated branches are written once,
    /// with their number. After `room` items follows `…`.
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

/// A short text of an outcome: `T`, `F`, `case 3` (the first label of the destination), or `default`.
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

fn list(all: &[impl AsRef<str>]) -> String {
    all.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod spec_props;
