//! The translation of a function as the pass writes it (`pass/smt/`), and slices of it. It has one definition per line,
//! and for each branch of each site the condition that an execution takes it. A query consists of the lines that its
//! branch depends on.

use std::collections::{BTreeSet, HashMap};

use penfuzz_report::Site;

use super::models;

/// The first line of each file.
const FIRST: &str = "; penfuzz-proofs 1";
/// The last line: without it, a file is incomplete.
const LAST: &str = "; end";

/// The translation of one function.
#[derive(Debug, Default)]
pub struct Translation {
    /// The linker symbol of the function.
    pub symbol: String,
    /// The hash of its code, in hexadecimal digits.
    pub hash: String,
    /// The assumptions of the translation, in words.
    pub assumptions: Vec<String>,
    /// True if the function calls itself: then a branch may be taken with other arguments than those of the first call.
    pub is_recursive: bool,
    /// Line and column of each site, by its number in the function.
    sites: HashMap<usize, (u32, u32)>,
    /// Line and column of each operation of a called function that has goals in the context of the calls, by the symbol
    /// of the function and its number there.
    inside: HashMap<(String, usize), (u32, u32)>,
    /// The change of each mutant, by the number of its mutation point and its own number there.
    pub mutants: HashMap<(usize, usize), String>,
    lines: Vec<Line>,
    /// The index of the line that defines a name.
    defined: HashMap<String, usize>,
    /// The indices of the lines that assert facts about a free value.
    facts: HashMap<String, Vec<usize>>,
    /// Candidates for loop invariants.
    pub invariants: Vec<Invariant>,
}

/// A branch in the compiled code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeBranch {
    /// The number of its site in the function.
    pub site: usize,
    /// Its number at the site.
    pub branch: usize,
    /// The line of the site in the source.
    pub line: u32,
    /// The column of the site in the source.
    pub column: u32,
}

impl CodeBranch {
    /// The symbol of the function, and the branch with this index among those of the site in a report; `None` if the
    /// report is older than proofs.
    #[must_use]
    pub fn of(site: &Site, index: usize) -> Option<(&str, Self)> {
        let code = site.code.as_ref()?;
        let branch = *code.branches.get(index)?;
        Some((&code.symbol, Self { site: code.number, branch, line: site.line, column: site.column }))
    }
}

/// A candidate for a loop invariant: a condition that is true if control does not reach the loop. `NAME_base` is the
/// condition that it does not hold when control enters the loop, and `NAME_step` that an iteration loses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invariant {
    /// The name of its definition.
    pub name: String,
    /// The name of the free value that it is about.
    pub of: String,
    /// The number of the loop.
    pub r#loop: usize,
    /// The condition in words.
    pub text: String,
}

impl Invariant {
    /// The name of the condition that it does not hold when control enters the loop.
    #[must_use]
    pub fn base(&self) -> String {
        format!("{}_base", self.name)
    }

    /// The name of the condition that an iteration loses it.
    #[must_use]
    pub fn step(&self) -> String {
        format!("{}_step", self.name)
    }
}

#[derive(Debug)]
struct Line {
    text: String,
    /// If the line declares a free value, the reason why it is free.
    free: Option<String>,
}

/// The lines that a goal depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slice {
    /// Definitions and assertions, in order.
    pub lines: Vec<String>,
    /// The condition that is asserted: a name, or an SMT-LIB term.
    pub goal: String,
    /// The reasons why values are free, without duplicates.
    pub free: Vec<String>,
    /// The names of the input values in it: arguments, and memory that pointers lead to.
    pub arguments: Vec<String>,
    /// The loop invariants in it, in words.
    pub invariants: Vec<String>,
}

impl Translation {
    /// Parses a file that the pass has written; `None` if it is incomplete.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut all = Self::default();
        if text.lines().next() != Some(FIRST) || text.lines().last() != Some(LAST) {
            return None;
        }
        for line in text.lines() {
            match line.strip_prefix("; ") {
                Some(comment) => all.note(comment),
                None => all.add(line)?,
            }
        }
        Some(all)
    }

    fn note(&mut self, comment: &str) {
        let (key, value) = comment.split_once(' ').unwrap_or((comment, ""));
        match key {
            "symbol" => value.clone_into(&mut self.symbol),
            "recursive" => self.is_recursive = true,
            "hash" => value.clone_into(&mut self.hash),
            "assumption" => self.assumptions.push(value.to_owned()),
            "mutant" => {
                let mut words = value.splitn(3, ' ');
                let mut number = || words.next()?.parse().ok();
                if let (Some(point), Some(mutant)) = (number(), number()) {
                    self.mutants.insert((point, mutant), words.next().unwrap_or_default().to_owned());
                }
            }
            "site" => {
                let mut numbers = value.split(' ').map_while(|n| n.parse().ok());
                if let (Some(site), Some(line), Some(column)) = (numbers.next(), numbers.next(), numbers.next()) {
                    self.sites.insert(site as usize, (line, column));
                }
            }
            "inside" => {
                let (symbol, numbers) = value.split_once(' ').unwrap_or((value, ""));
                let mut numbers = numbers.split(' ').map_while(|n| n.parse().ok());
                if let (Some(site), Some(line), Some(column)) = (numbers.next(), numbers.next(), numbers.next()) {
                    self.inside.insert((symbol.to_owned(), site as usize), (line, column));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, line: &str) -> Option<()> {
        let at = self.lines.len();
        let (text, comment) = line.split_once(" ; ").unwrap_or((line, ""));
        let free = comment.strip_prefix("fresh: ").map(str::to_owned);
        if let Some(about) = comment.strip_prefix("invariant of ") {
            let mut words = about.splitn(3, ' ');
            let (of, number, text) = (words.next()?.to_owned(), words.next()?, words.next()?.to_owned());
            let name = line.split(' ').nth(1)?.to_owned();
            self.invariants.push(Invariant { name, of, r#loop: number.parse().ok()?, text });
        }
        if let Some(of) = comment.strip_prefix("of ") {
            self.facts.entry(of.to_owned()).or_default().push(at);
        } else {
            let name = text.split(' ').nth(1)?;
            if !text.starts_with("(define-fun ") && !text.starts_with("(declare-fun ") {
                return None;
            }
            self.defined.insert(name.to_owned(), at);
        }
        self.lines.push(Line { text: text.to_owned(), free });
        Some(())
    }

    /// The slice for a branch; `held` are the loop invariants that hold. `None` unless its site is of this kind (as in
    /// [`penfuzz_report::Site`]) and at the same place of the source.
    #[must_use]
    pub fn slice(&self, kind: &str, of: CodeBranch, held: &[&Invariant]) -> Option<Slice> {
        let word = match kind {
            "comparison" => "side",
            "operation" => "raise",
            "loop" => "rounds",
            _ => "site",
        };
        self.has(of).then(|| self.lines_for(format!("{word}_{}_{}", of.site, of.branch), held))?
    }

    /// The slice for an exception of an operation of the function `symbol`, in the context of the calls that the
    /// translated function makes. `None` if the translation has no such goal, because it does not cover all calls of
    /// that function, or if its site is at another place of the source.
    #[must_use]
    pub fn slice_inside(&self, symbol: &str, of: CodeBranch, held: &[&Invariant]) -> Option<Slice> {
        let is_there = self.inside.get(&(symbol.to_owned(), of.site)) == Some(&(of.line, of.column));
        is_there.then(|| self.lines_for(format!("raise_in_{symbol}_{}_{}", of.site, of.branch), held))?
    }

    /// Returns true if the site of the branch is at the same place of the source.
    pub(super) fn has(&self, branch: CodeBranch) -> bool {
        self.sites.get(&branch.site) == Some(&(branch.line, branch.column))
    }

    /// The lines that a condition depends on; `held` are the loop invariants that hold. `None` if a name in the
    /// condition has no definition.
    #[must_use]
    pub fn lines_for(&self, goal: String, held: &[&Invariant]) -> Option<Slice> {
        let mut needed = BTreeSet::new();
        let is_operator = |name: &&str| !matches!(*name, "or" | "and" | "true");
        let mut work = names(&goal)
            .filter(is_operator)
            .map(|name| self.defined.get(name).copied())
            .collect::<Option<Vec<usize>>>()?;
        let mut free = BTreeSet::new();
        let mut arguments = BTreeSet::new();
        let mut values = BTreeSet::new();
        while let Some(at) = work.pop() {
            if !needed.insert(at) {
                continue;
            }
            let line = &self.lines[at];
            free.extend(line.free.iter().cloned());
            for name in names(&line.text) {
                if values.insert(name) {
                    let facts = held.iter().filter(|held| held.of == name);
                    work.extend(facts.filter_map(|fact| self.defined.get(&fact.name)));
                }
                work.extend(self.defined.get(name));
                work.extend(self.facts.get(name).into_iter().flatten());
                if models::is_input(name) {
                    arguments.insert(name.to_owned());
                }
            }
        }
        let text = |at: &usize| {
            let line = &self.lines[*at];
            line.free.as_ref().map_or_else(|| line.text.clone(), |why| format!("{} ; free: {why}", line.text))
        };
        let held: Vec<_> = held.iter().filter(|held| values.contains(held.of.as_str())).collect();
        let facts = held.iter().map(|held| format!("(assert {}) ; invariant: {}", held.name, held.text));
        Some(Slice {
            lines: needed.iter().map(text).chain(facts).collect(),
            goal,
            free: free.into_iter().collect(),
            arguments: arguments.into_iter().collect(),
            invariants: held.iter().map(|held| held.text.clone()).collect(),
        })
    }

    /// The candidates for loop invariants that a condition depends on, directly or through other candidates.
    #[must_use]
    pub fn candidates(&self, goal: &str) -> Vec<&Invariant> {
        let mut found: BTreeSet<usize> = BTreeSet::new();
        let mut goals = vec![goal.to_owned()];
        while let Some(slice) = goals.pop().and_then(|goal| self.lines_for(goal, &[])) {
            let declared: BTreeSet<&str> = slice.lines.iter().filter_map(|line| line.split(' ').nth(1)).collect();
            for (number, candidate) in self.invariants.iter().enumerate() {
                if declared.contains(candidate.of.as_str()) && found.insert(number) {
                    goals.push(format!("(or {} {})", candidate.base(), candidate.step()));
                }
            }
        }
        found.into_iter().map(|number| &self.invariants[number]).collect()
    }
}

/// The words of a line that can be names of definitions.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c == '(' || c == ')' || c.is_ascii_whitespace()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "; penfuzz-proofs 1
; unit /a.c
; symbol f
; hash 00ff
; assumption sqrt is exact
(declare-fun arg0 () (_ BitVec 64))
(define-fun v1 () Bool (= arg0 (_ bv1 64)))
(declare-fun u2 () Bool) ; fresh: loop at line 3
(assert (or u2 v1)) ; of u2
(define-fun v3 () Bool (not v1))
; site 0 7 9
(define-fun site_0_0 () Bool v3)
(define-fun site_0_1 () Bool u2)
; end
";

    /// A branch of a site in column 9.
    fn at(site: usize, branch: usize, line: u32) -> CodeBranch {
        CodeBranch { site, branch, line, column: 9 }
    }

    #[test]
    fn slice_has_only_the_lines_of_its_branch() {
        let all = Translation::read(FILE).unwrap();
        assert_eq!((all.symbol.as_str(), all.hash.as_str(), all.assumptions.len()), ("f", "00ff", 1));
        let slice = all.slice("branch", at(0, 0, 7), &[]).unwrap();
        assert_eq!(slice.lines.len(), 4, "{slice:?}");
        assert!(slice.free.is_empty());
        assert_eq!(slice.arguments, ["arg0"]);
        let slice = all.slice("branch", at(0, 1, 7), &[]).unwrap();
        assert_eq!(slice.free, ["loop at line 3"]);
        assert!(slice.lines.iter().any(|l| l.starts_with("(assert (or u2 v1))")), "facts of free values: {slice:?}");
        assert_eq!(slice.lines.len(), 5, "{slice:?}");
    }

    #[test]
    fn an_invariant_is_a_fact_of_its_value_where_it_holds() {
        let more = "(define-fun inv1 () Bool (or u2 v3)) ; invariant of u2 4 n is at least 0
(define-fun inv1_base () Bool v1)
(define-fun inv1_step () Bool false)
; site 0 7 9";
        let all = Translation::read(&FILE.replace("; site 0 7 9", more)).unwrap();
        let found = all.candidates("site_0_1");
        assert_eq!(
            found,
            [&Invariant { name: "inv1".into(), of: "u2".into(), r#loop: 4, text: "n is at least 0".into() }]
        );
        assert!(all.candidates("site_0_0").is_empty(), "this branch does not depend on the value");
        let without = all.slice("branch", at(0, 1, 7), &[]).unwrap();
        let with = all.slice("branch", at(0, 1, 7), &found).unwrap();
        assert_eq!(with.lines.last().unwrap(), "(assert inv1) ; invariant: n is at least 0");
        assert!(with.lines.iter().any(|l| l.starts_with("(define-fun v3 ")), "what the fact needs: {with:?}");
        assert!(!without.lines.iter().any(|l| l.contains("inv1")), "{without:?}");
        assert_eq!(all.slice("branch", at(0, 0, 7), &found), all.slice("branch", at(0, 0, 7), &[]));
    }

    #[test]
    fn an_operation_of_a_called_function_has_goals_of_its_own() {
        let more = "; inside g 2 5 9\n(define-fun raise_in_g_2_0 () Bool v3)\n; end";
        let all = Translation::read(&FILE.replace("; end", more)).unwrap();
        assert_eq!(all.slice_inside("g", at(2, 0, 5), &[]).unwrap().goal, "raise_in_g_2_0");
        assert_eq!(all.slice_inside("g", at(2, 1, 5), &[]), None, "another exception");
        assert_eq!(all.slice_inside("g", at(2, 0, 6), &[]), None, "another place");
        assert_eq!(all.slice_inside("h", at(2, 0, 5), &[]), None, "another function");
        assert_eq!(all.slice("operation", at(2, 0, 5), &[]), None, "it is no goal of the translated function itself");
    }

    #[test]
    fn another_place_or_a_cut_file_is_refused() {
        let all = Translation::read(FILE).unwrap();
        assert_eq!(all.slice("branch", at(0, 0, 8), &[]), None);
        assert_eq!(all.slice("branch", at(1, 0, 7), &[]), None);
        assert_eq!(all.slice("comparison", at(0, 0, 7), &[]), None, "a site of another kind at the same place");
        assert!(Translation::read(FILE.strip_suffix("; end\n").unwrap()).is_none());
        assert!(Translation::read("").is_none());
    }
}
