//! The fingerprint by which a campaign is recognised when it is resumed.

use penfuzz_abi::names::GOAL_END;
use penfuzz_engine::saturation::{Goals, ScopeKind};
use penfuzz_target::{hash::StableHash, program::Target};

/// The end of a fingerprint if the rounding mode is part of the inputs.
const ROUNDING: &str = ", any rounding mode";

/// The separator before the declarations of the arguments in a fingerprint.
const ARGUMENTS: &str = ", with ";

/// Identifies a campaign: the fingerprint changes with the function, the scope, the set of sites, and the input format.
///
/// Its form is `SYMBOL SCOPE BRANCHES GOALS HASH`. It is followed by `, with` and the declarations of the arguments and
/// the calls, if there are any, and by `, any rounding mode` if the rounding mode is part of the inputs. The hash
/// covers line, column, number of branches, kind and predicate of every site, and the text of a goal of the user's own.
#[must_use]
pub fn fingerprint(target: &Target, function: usize, scope: ScopeKind, goals: Goals) -> String {
    let mut hash = StableHash::new();
    for s in &target.sites {
        hash.u32(s.line).u32(s.column).count(s.n_branches).u8(s.kind).u8(s.predicate);
    }
    if goals == Goals::Custom {
        for end in target.functions.iter().filter(|f| f.name.starts_with(GOAL_END)) {
            hash.text(&end.name);
        }
    }
    let f = &target.functions[function];
    let rounding = if f.has_rounding { ROUNDING } else { "" };
    let n = target.n_branches;
    let mut constraints = f.constraints.texts().to_vec();
    constraints.extend((f.calls > 1).then(|| format!("--calls {}", f.calls)));
    constraints.extend(f.init.map(|init| format!("--init {}", target.functions[init].symbol)));
    constraints.extend(f.globals.iter().map(|g| format!("--global {}", g.name)));
    let mut constraints = constraints.join("; ");
    if !constraints.is_empty() {
        constraints.insert_str(0, ARGUMENTS);
    }
    format!("{} {scope:?} {n} {} {:016x}{constraints}{rounding}", f.symbol, goals.name(), hash.finish())
}

/// The name of the goals, the fourth field of a [`fingerprint`].
fn goals_of(fingerprint: &str) -> Option<&str> {
    fingerprint.split(' ').nth(3)
}

/// The declarations of the arguments in a [`fingerprint`].
fn arguments_of(fingerprint: &str) -> &str {
    let constraints = fingerprint.split_once(ARGUMENTS).map_or("", |(_, constraints)| constraints);
    constraints.strip_suffix(ROUNDING).unwrap_or(constraints)
}

/// Why the campaign `wanted` cannot resume the one that was `found`, as a text that follows the name of the directory;
/// `None` if it can.
#[must_use]
pub fn conflict(found: &str, wanted: &str) -> Option<&'static str> {
    let symbol = |fingerprint: &str| fingerprint.split(' ').next().map(str::to_owned);
    let is_rounded = |fingerprint: &str| fingerprint.ends_with(ROUNDING);
    if found == wanted {
        None
    } else if symbol(found) == symbol(wanted) && is_rounded(found) && !is_rounded(wanted) {
        Some(
            "holds a campaign with --rounding all; give that option again, or use --fresh to start over (the old one \
             is kept) or another -o",
        )
    } else if symbol(found) == symbol(wanted) && is_rounded(wanted) && !is_rounded(found) {
        Some(
            "holds a campaign without --rounding all; remove that option, or use --fresh to start over (the old one \
             is kept) or another -o",
        )
    } else if symbol(found) == symbol(wanted) && goals_of(found) != goals_of(wanted) {
        Some(
            "holds a campaign with another goal (branches, boundary values, exceptions, a goal of your own); use \
             --fresh to start over (the old one is kept) or another -o",
        )
    } else if symbol(found) == symbol(wanted) && arguments_of(found) != arguments_of(wanted) {
        Some(
            "holds a campaign with other --arg, --calls, --init or --global; give those again or none, or use --fresh \
             to start over (the old one is kept) or another -o",
        )
    } else {
        Some(
            "holds a campaign on another function or another version of the target; use --fresh to start over (the old \
             one is kept) or another -o",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_goal_is_named_only_for_the_same_function() {
        let (branches, boundaries) = ("f Function 2 branches 1", "f Function 5 boundaries 1");
        assert!(conflict(branches, boundaries).is_some_and(|t| t.starts_with("holds a campaign with another goal")));
        assert!(conflict("g Function 2 branches 1", boundaries).is_some_and(|t| t.contains("another function")));
    }

    #[test]
    fn other_statements_about_arguments_are_named_only_for_the_same_function() {
        let (plain, constraints) = ("f Function 2 branches 1", "f Function 2 branches 1, with n: 1..8");
        assert!(conflict(plain, constraints).is_some_and(|t| t.starts_with("holds a campaign with other --arg")));
        assert!(conflict("g Function 2 branches 1", constraints).is_some_and(|t| t.contains("another function")));
    }

    #[test]
    fn another_rounding_is_named_only_for_the_same_function() {
        let (plain, rounded) = ("f Function 2 branches 1".to_owned(), format!("f Function 2 branches 2{ROUNDING}"));
        assert_eq!(conflict(&rounded, &rounded), None);
        assert!(conflict(&rounded, &plain).is_some_and(|t| t.starts_with("holds a campaign with --rounding all")));
        assert!(conflict(&plain, &rounded).is_some_and(|t| t.starts_with("holds a campaign without --rounding all")));
        assert!(conflict("g Function 2 branches 1", &rounded).is_some_and(|t| t.contains("another function")));
    }
}
