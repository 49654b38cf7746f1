//! Source lines as goals: finds the branches that execute a line.

use penfuzz_error::Error;
use penfuzz_target::program::{Edges, Target};

use super::syntax::is_file;

/// What executes a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executed {
    /// Every call of the function.
    Always,
    /// These branches, ascending.
    By(Vec<usize>),
}

/// Finds what executes line `line` of `file` (the end of a path) when `function` is called.
///
/// # Errors
/// When there is no code on that line, or none that the function reaches as far as calls can be followed.
pub fn executed(target: &Target, function: usize, file: &str, line: u32) -> Result<Executed, Error> {
    let called = target.called_by(function);
    let query = Line { target, file, number: line };
    if query.runs_at_entry(function, &mut vec![false; called.len()]) {
        return Ok(Executed::Always);
    }
    let mut branches = Vec::new();
    for f in (0..called.len()).filter(|f| called[*f]) {
        for site in &target.sites[target.functions[f].sites.clone()] {
            for (k, edges) in site.edges.iter().enumerate() {
                if query.runs_on(f, edges, &mut vec![false; called.len()]) {
                    branches.push(site.first_branch + k);
                }
            }
        }
    }
    if branches.is_empty() { Err(query.nothing(&called)) } else { Ok(Executed::By(branches)) }
}

struct Line<'a> {
    target: &'a Target,
    file: &'a str,
    number: u32,
}

impl Line<'_> {
    fn runs_at_entry(&self, function: usize, seen: &mut [bool]) -> bool {
        !core::mem::replace(&mut seen[function], true)
            && self.runs_on(function, &self.target.functions[function].entry_edges, seen)
    }

    /// Returns true if these edges of the function, or the functions that it calls on them, execute the line.
    fn runs_on(&self, function: usize, edges: &Edges, seen: &mut [bool]) -> bool {
        let is_here = edges.lines.contains(&self.number) && is_file(&self.target.functions[function].file, self.file);
        is_here || edges.calls.iter().any(|f| self.runs_at_entry(*f, seen))
    }

    fn lines_of(&self, function: usize) -> impl Iterator<Item = u32> + '_ {
        let f = &self.target.functions[function];
        let edges = self.target.sites[f.sites.clone()].iter().flat_map(|s| &s.edges);
        core::iter::once(&f.entry_edges).chain(edges).flat_map(|e| e.lines.iter().copied())
    }

    fn nothing(&self, called: &[bool]) -> Error {
        let Line { target, file, number: line } = self;
        let inside: Vec<usize> = (0..called.len()).filter(|f| is_file(&target.functions[*f].file, file)).collect();
        if inside.is_empty() {
            let mut files: Vec<&str> = target.functions.iter().map(|f| f.file.as_str()).collect();
            files.sort_unstable();
            files.dedup();
            return Error::new(format!("the target has no code of a file {file}; there are {}", files.join(", ")));
        }
        let owner = inside.iter().find(|f| !called[**f] && self.lines_of(**f).any(|l| l == *line));
        if let Some(f) = owner {
            return Error::new(format!(
                "{file}:{line} is in {}, which the function under test does not call, as far as calls can be followed",
                target.functions[*f].name
            ));
        }
        let mut lines: Vec<u32> = inside.iter().filter(|f| called[**f]).flat_map(|f| self.lines_of(*f)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.sort_by_key(|l| l.abs_diff(*line));
        lines.truncate(4);
        lines.sort_unstable();
        let near: Vec<String> = lines.iter().map(u32::to_string).collect();
        Error::new(format!(
            "{file}:{line} has no code that the function under test reaches; the nearest lines with code are {}",
            near.join(", ")
        ))
    }
}
