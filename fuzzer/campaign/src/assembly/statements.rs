//! Statement coverage: each line with code is a goal, and so is each further basic block that begins on a line and is
//! not always executed with it. In `if (c) return 1;` these are the condition and the `return`.
//!
//! llvm-cov counts regions of code in the same way. gcov counts lines only, and the block that was executed most often
//! decides whether a line was executed.

use std::collections::{BTreeMap, BTreeSet};

use penfuzz_directory::shrink::cover::{self, Kept};
use penfuzz_engine::saturation::Scope;
use penfuzz_report::decisions::UncoveredLine;
use penfuzz_target::program::{Edges, Function, Site, Target};

/// The line of a statement, and its column if it is not the first on its line.
type Place = (u32, Option<u32>);

/// The number of statements, and those that no test executes, in source order.
pub(super) struct Statements {
    pub(super) total: usize,
    pub(super) uncovered: Vec<UncoveredLine>,
}

/// Counts the statements of functions. `covers` has the branches that each test takes.
pub(super) fn count(target: &Target, functions: &BTreeSet<usize>, covers: &[Vec<u32>]) -> Statements {
    let taken: BTreeSet<u32> = covers.iter().flatten().copied().collect();
    let (mut all, mut executed) = (BTreeSet::new(), BTreeSet::new());
    for function in functions.iter().map(|f| &target.functions[*f]) {
        let parts = parts(target, function);
        let enters = match parts.len() {
            1 => !covers.is_empty(),
            _ => parts.iter().any(|(branch, _)| branch.is_some_and(|b| taken.contains(&b))),
        };
        for (place, of) in statements(function, &parts) {
            let is_executed = |part: &usize| parts[*part].0.map_or(enters, |branch| taken.contains(&branch));
            if of.iter().any(is_executed) {
                executed.insert((function.file.clone(), place));
            }
            all.insert((function.file.clone(), place));
        }
    }
    let line =
        |(file, (line, column)): &(String, Place)| UncoveredLine { file: file.clone(), line: *line, column: *column };
    Statements { total: all.len(), uncovered: all.difference(&executed).map(line).collect() }
}

/// Returns for each branch of the target whether it is wanted for a small set of inputs that together execute every
/// statement that the kept inputs execute.
pub(super) fn enough(target: &Target, scope: &Scope, kept: &[Kept]) -> Vec<bool> {
    let mut of_branch: Vec<Vec<u32>> = vec![Vec::new(); target.n_branches];
    let functions: BTreeSet<usize> = scope.sites.iter().map(|s| target.sites[*s].function).collect();
    let mut n = 0;
    for function in functions.iter().map(|f| &target.functions[*f]) {
        let parts = parts(target, function);
        for (number, (_, of)) in (n..).zip(statements(function, &parts)) {
            n = number + 1;
            for branch in of.iter().filter_map(|part| parts[*part].0) {
                of_branch[branch as usize].push(number);
            }
        }
    }
    let by_statements = kept.iter().map(|input| {
        let covers: BTreeSet<u32> = input.covers.iter().flat_map(|b| of_branch[*b as usize].iter().copied()).collect();
        Kept { covers: covers.into_iter().collect(), ..input.clone() }
    });
    let chosen: BTreeSet<String> = cover::choose(by_statements.collect()).into_iter().map(|k| k.file).collect();
    let (mut wanted, mut seen) = (vec![false; target.n_branches], BTreeSet::new());
    for branch in kept.iter().filter(|k| chosen.contains(&k.file)).flat_map(|k| k.covers.iter().copied()) {
        let is_new = of_branch[branch as usize].iter().filter(|number| seen.insert(**number)).count() > 0;
        wanted[branch as usize] |= is_new && scope.requested[branch as usize];
    }
    wanted
}

/// The parts of a function that are executed as a whole: from its entry (`None`), and from each branch, to the next
/// conditional.
fn parts<'a>(target: &'a Target, function: &'a Function) -> Vec<(Option<u32>, &'a Edges)> {
    let sites = target.sites[function.sites.clone()].iter().filter(|s| s.is_conditional());
    let branches = |s: &'a Site| s.branches().map(|b| Some(b as u32)).zip(&s.edges);
    core::iter::once((None, &function.entry_edges)).chain(sites.flat_map(branches)).collect()
}

/// The statements of a function, each with the numbers of the parts that execute it.
fn statements(function: &Function, parts: &[(Option<u32>, &Edges)]) -> BTreeMap<Place, Parts> {
    let mut lines: BTreeMap<u32, Line> = BTreeMap::new();
    lines.entry(function.line).or_default().parts.insert(0);
    for (number, (_, edges)) in parts.iter().enumerate() {
        for line in &edges.lines {
            lines.entry(*line).or_default().parts.insert(number);
        }
        for (line, column) in &edges.starts {
            let line = lines.entry(*line).or_default();
            line.parts.insert(number);
            line.starts.entry(*column).or_default().insert(number);
        }
    }
    let mut all = BTreeMap::new();
    for (number, line) in lines {
        all.extend(line.further_statements().into_iter().map(|(column, of)| ((number, Some(column)), of)));
        all.insert((number, None), line.parts);
    }
    all
}

/// Numbers of parts of a function, ascending.
type Parts = BTreeSet<usize>;

/// A line with code: the parts that execute some of it, and those that execute a block that begins in a column.
#[derive(Default)]
struct Line {
    parts: Parts,
    starts: BTreeMap<u32, Parts>,
}

impl Line {
    /// The blocks that are statements apart from the line. A block is none if it is executed whenever the line or
    /// another block of the line is, as is the code after a conditional expression. The line stands for its first
    /// block, unless it begins with code of a block of another line.
    fn further_statements(&self) -> BTreeMap<u32, Parts> {
        let is_implied =
            |of: &Parts| *of == self.parts || self.starts.values().any(|other| other != of && other.is_subset(of));
        let mut all: BTreeMap<u32, Parts> = BTreeMap::new();
        for (column, of) in self.starts.iter().filter(|(_, of)| !is_implied(of)) {
            if !all.values().any(|known| known == of) {
                all.insert(*column, of.clone());
            }
        }
        let of_starts: Parts = self.starts.values().flatten().copied().collect();
        let first = self.starts.iter().min_by_key(|(column, of)| (of.first().copied(), **column));
        if let Some((column, _)) = first.filter(|_| of_starts == self.parts) {
            all.remove(column);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn further(parts: &[usize], starts: &[(u32, &[usize])]) -> Vec<u32> {
        let set = |parts: &[usize]| parts.iter().copied().collect::<Parts>();
        let starts = starts.iter().map(|(column, of)| (*column, set(of))).collect();
        Line { parts: set(parts), starts }.further_statements().into_keys().collect()
    }

    #[test]
    fn the_line_stands_for_its_first_block() {
        assert_eq!(further(&[0, 1], &[(7, &[0]), (15, &[1])]), [15], "if (c) return 1; at the begin of a function");
        assert_eq!(further(&[0, 1], &[(15, &[1])]), [15], "the same after other statements");
    }

    #[test]
    fn code_that_is_always_executed_is_no_statement_of_its_own() {
        let conditional = [(16, &[0][..]), (24, &[1]), (32, &[2]), (7, &[1, 2])];
        assert_eq!(further(&[0, 1, 2], &conditional), [24, 32], "x = c ? a : b;");
        assert_eq!(further(&[0, 1], &[(23, &[0, 1]), (30, &[1]), (35, &[1])]), [30], "a loop on a line");
        assert_eq!(further(&[3], &[(3, &[3])]), [0; 0], "a line of one block");
    }
}
