//! The uncovered branches, in groups: first those whose condition some input executes, then those that wait for others, then
//! comparisons with the null pointer, on which there is nothing to do, and those that depend on earlier calls.

use super::{Listed, base, listing::Listing};
use crate::report::{
    model::{Branch, Report, Site, Status},
    sources::Sources,
    uncovered::{closest_first, explain},
};

/// Distances of a pointer from null: from the lowest address that Linux gives to a process to the end of its address space.
const ADDRESSES: std::ops::Range<u64> = 1 << 16..1 << 56;

/// Uncovered branches of one kind, closest first.
pub struct Group<'a> {
    /// `None` for the first kind, which is not folded.
    pub title: Option<&'static str>,
    pub list: Listed<Open<'a>>,
}

/// An uncovered branch.
pub struct Open<'a> {
    pub file: &'a str,
    pub place: String,
    /// The name of its line in the page.
    pub anchor: Option<String>,
    pub condition: String,
    pub wanted: &'a str,
    pub so_far: String,
}

/// The groups that are not empty.
pub fn groups<'a>(report: &'a Report, listing: &Listing, sources: &mut Sources<'a>) -> Vec<Group<'a>> {
    let pointers: Vec<&str> =
        report.signature.parameters.iter().filter(|p| p.pointer).map(|p| p.name.as_str()).collect();
    let mut kinds: [Vec<(&Site, &Branch)>; 4] = Default::default();
    for (site, branch) in closest_first(report) {
        let kind = match () {
            () if branch.status == Status::DependsOnEarlierCalls => 3,
            // Of other goals, one that is not met does not show that nothing was executed.
            () if !report.goals.are_branches() => 0,
            () if !is_reached(site) => 1,
            () if is_null_check(site, branch, sources, &pointers) => 2,
            () => 0,
        };
        kinds[kind].push((site, branch));
    }
    let titles = [
        None,
        Some("No input executes the condition: each waits for other branches"),
        Some("Comparisons of a pointer argument with null: arguments are valid pointers"),
        Some("Depends on earlier calls: no input takes it in a fresh process"),
    ];
    let open = |(site, branch): (&'a Site, &'a Branch), sources: &mut Sources<'a>| Open {
        file: &site.file,
        place: format!("{}:{}:{}", base(&site.file), site.line, site.column),
        anchor: listing.anchor(&site.file, site.line),
        condition: sources.condition(site),
        wanted: &branch.outcome,
        so_far: explain(report, site, branch),
    };
    let groups = titles.into_iter().zip(kinds).filter(|(_, branches)| !branches.is_empty());
    groups
        .map(|(title, branches)| Group { title, list: Listed::of(branches.into_iter().map(|b| open(b, sources))) })
        .collect()
}

/// Has some input executed the condition? A comparison that ran has a distance, also when only a crashing input ran it.
fn is_reached(site: &Site) -> bool {
    site.branches.iter().any(|b| !b.is_open() || b.best_distance.is_some())
}

/// Does the branch need a null pointer? The distance must be an address, and the line compare a pointer argument with null: the
/// report itself does not tell pointers from integers.
fn is_null_check<'a>(site: &'a Site, branch: &Branch, sources: &mut Sources<'a>, pointers: &[&str]) -> bool {
    ["==", "!="].contains(&site.predicate.as_str())
        && branch.best_distance.is_some_and(|d| ADDRESSES.contains(&d))
        && sources.line(&site.file, site.line).is_some_and(|line| pointers.iter().any(|p| compares(line, p)))
}

/// Does the line compare this pointer, not what it points to, with null: `!p`, `p == NULL`, `0 != p`, `if (p)`, `p && …`?
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
            // What it points to, or a member of the same name.
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
                // A call has its function before the parenthesis.
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
