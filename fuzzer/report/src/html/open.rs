//! Groups the uncovered branches: first those whose condition some input executes, then those that wait for other
//! branches, then comparisons with the null pointer, which no input can change, and those that depend on earlier calls.

use std::collections::BTreeMap;

use super::{Listed, listing::Listing};
use crate::{
    model::{Branch, BranchIndex, ProvedBranch, Report, Site, Status},
    sources::Sources,
    test_check::UninitializedVariable,
    uncovered::{awaited_branch, closest_first, explain, place},
};

/// Distances of a valid pointer from null: from the lowest address that Linux gives to a process to the end of its
/// address space.
const ADDRESSES: std::ops::Range<u64> = 1 << 16..1 << 56;

/// Uncovered branches of one kind, closest first.
pub struct Group<'a> {
    /// `None` for the first group, which is not folded.
    pub title: Option<Title>,
    pub list: Listed<Open<'a>>,
}

/// What the branches of a folded group have in common.
pub struct Title {
    /// The text before the place.
    pub text: String,
    /// The branch that they all wait for: its place, the anchor of its line in the page, and its outcome.
    pub awaited_branch: Option<(String, Option<String>, String)>,
}

/// An uncovered branch.
pub struct Open<'a> {
    pub file: &'a str,
    pub place: String,
    /// The anchor of its line in the page.
    pub anchor: Option<String>,
    pub condition: String,
    pub wanted: &'a str,
    pub so_far: String,
}

/// A branch that is proved unreachable.
pub struct Proved<'a> {
    pub file: &'a str,
    pub place: String,
    /// The anchor of its line in the page.
    pub anchor: Option<String>,
    pub condition: String,
    pub outcome: &'a str,
    /// The solvers: `Bitwuzla 0.9.1 (0.01 s), z3 5.4.0 (0.3 s)`.
    pub by: String,
    pub assumptions: String,
    /// The query file, relative to the page.
    pub query: &'a str,
}

/// Lists the branches that are proved unreachable.
pub fn proved<'a>(report: &'a Report, listing: &Listing, sources: &mut Sources<'a>) -> Listed<Proved<'a>> {
    let all: Vec<_> = report.proved().collect();
    Listed::of(all.into_iter().map(|ProvedBranch { site, branch, proof }| Proved {
        file: &site.file,
        place: place(site),
        anchor: listing.anchor(&site.file, site.line),
        condition: sources.condition(site),
        outcome: &branch.outcome,
        by: proof.agreeing(),
        assumptions: proof.assumptions.join("; "),
        query: &proof.file,
    }))
}

/// What an uncovered branch lacks. The variants are in the order of the page.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// An input whose operands are closer.
    Input,
    /// This branch, `[site, branch]` in the report, must be taken before; `None` if it is not known.
    AwaitedBranch(Option<BranchIndex>),
    NullPointer,
    EarlierCalls,
    Uninitialized,
    WithoutTest,
}

/// The groups that are not empty. Among the groups that wait for other branches, the largest comes first.
pub fn groups<'a>(report: &'a Report, listing: &Listing, sources: &mut Sources<'a>) -> Vec<Group<'a>> {
    let pointers: Vec<&str> =
        report.signature.parameters.iter().filter(|p| p.pointer).map(|p| p.name.as_str()).collect();
    let mut kinds: BTreeMap<Kind, Vec<(&Site, &Branch)>> = BTreeMap::new();
    for (site, branch) in closest_first(report) {
        let kind = match () {
            () if branch.status == Status::DependsOnEarlierCalls => Kind::EarlierCalls,
            () if branch.status == Status::DependsOnUninitialized => Kind::Uninitialized,
            () if branch.status == Status::WithoutTest => Kind::WithoutTest,
            // For other goals, an unmet goal does not show that its site was not executed.
            () if !report.goals.include_branches() => Kind::Input,
            () if !site.is_executed() => Kind::AwaitedBranch(site.waits_for),
            () if is_null_check(site, branch, sources, &pointers) => Kind::NullPointer,
            () => Kind::Input,
        };
        kinds.entry(kind).or_default().push((site, branch));
    }
    let open = |(site, branch): (&'a Site, &'a Branch), sources: &mut Sources<'a>| Open {
        file: &site.file,
        place: place(site),
        anchor: listing.anchor(&site.file, site.line),
        condition: sources.condition(site),
        wanted: &branch.outcome,
        so_far: explain(report, site, branch),
    };
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(kind, branches)| match kind {
        Kind::AwaitedBranch(awaited_branch) => (1, awaited_branch.is_none(), usize::MAX - branches.len()),
        kind => (if *kind == Kind::Input { 0 } else { 2 }, false, 0),
    });
    kinds
        .into_iter()
        .map(|(kind, branches)| Group {
            title: title(report, listing, &kind, branches[0].0),
            list: Listed::of(branches.into_iter().map(|b| open(b, sources))),
        })
        .collect()
}

/// The title of a group. `first` is a site of the group.
fn title(report: &Report, listing: &Listing, kind: &Kind, first: &Site) -> Option<Title> {
    let plain = |text: &str| Title { text: text.to_owned(), awaited_branch: None };
    Some(match kind {
        Kind::Input => return None,
        Kind::AwaitedBranch(_) => match awaited_branch(report, first) {
            Some((from, outcome)) => Title {
                text: "No input executes the condition. These branches wait for".to_owned(),
                awaited_branch: Some((place(from), listing.anchor(&from.file, from.line), outcome.to_owned())),
            },
            None => plain("No input executes the condition"),
        },
        Kind::NullPointer => plain("Comparisons of a pointer argument with null: arguments are valid pointers"),
        Kind::EarlierCalls => plain("Depends on earlier calls: no input takes it in a fresh process"),
        Kind::Uninitialized => {
            let variables = UninitializedVariable::listed(&report.uninitialized);
            plain(&format!("Depends on uninitialized memory: the function reads what it has not written{variables}"))
        }
        Kind::WithoutTest => plain("Covered in the campaign, but the emitted test does not build or fails"),
    })
}

/// Returns whether the branch needs a null pointer. The distance must look like an address, and the line must compare a
/// pointer argument with null: the report itself does not distinguish pointers from integers.
fn is_null_check<'a>(site: &'a Site, branch: &Branch, sources: &mut Sources<'a>, pointers: &[&str]) -> bool {
    ["==", "!="].contains(&site.predicate.as_str())
        && branch.best_distance.is_some_and(|d| ADDRESSES.contains(&d))
        && sources.line(&site.file, site.line).is_some_and(|line| pointers.iter().any(|p| compares(line, p)))
}

/// Returns whether the line compares this pointer, not its target, with null: `!p`, `p == NULL`, `0 != p`, `if (p)`, `p
/// && …`.
fn compares(line: &str, pointer: &str) -> bool {
    if pointer.is_empty() {
        return false;
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(pointer).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + pointer.len()..]);
        if before.ends_with(is_word) || after.starts_with(is_word) {
            return false;
        }
        let (before, after) = (before.trim_end(), after.trim_start());
        if before.ends_with(['*', '.', '>']) {
            // The target of the pointer, or a member of the same name.
            return false;
        }
        let with_null = |text: &str, op: &str| {
            let rest = text.strip_prefix(op).map(str::trim_start);
            rest.is_some_and(|rest| ["NULL", "nullptr", "0)", "0 "].iter().any(|null| rest.starts_with(null)))
        };
        let null_first = |op: &str| {
            let rest = before.strip_suffix(op).map(str::trim_end);
            rest.is_some_and(|rest| ["NULL", "nullptr", "(0", " 0"].iter().any(|null| rest.ends_with(null)))
        };
        let stands_alone = || {
            let begins = match before.strip_suffix('(').map(str::trim_end) {
                // In a call, the function name comes before the parenthesis.
                Some(rest) => !rest.ends_with(is_word) || ["if", "while"].iter().any(|word| rest.ends_with(word)),
                None => ["!", "&&", "||"].iter().any(|left| before.ends_with(left)),
            };
            begins && [")", "&&", "||", "?"].iter().any(|right| after.starts_with(right))
        };
        ["==", "!="].iter().any(|op| with_null(after, op) || null_first(op)) || stands_alone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_of_the_pointer_itself() {
        for line in
            ["if (!p)", "if (p == NULL || q)", "if (NULL != p) {", "while (p && *q)", "if (p != 0)", "if (x && 0 == p)"]
        {
            assert!(compares(line, "p"), "{line}");
        }
        for line in [
            "if (*p == 0)",
            "if (p[2] == 42)",
            "if (p->x)",
            "if (pp == NULL)",
            "if (n > p)",
            "if (q == NULL)",
            "if (p == q)",
        ] {
            assert!(!compares(line, "p"), "{line}");
        }
        assert!(!compares("if (x)", ""));
    }
}
