//! Describes the uncovered branches and how close the search came. The terminal text and the page use the same wording.

use penfuzz_abi::side;

use super::{
    arg::Arg,
    format::count,
    model::{Branch, BranchIndex, Branches, Report, Site, Status},
    proof::Verdict,
    words::Words,
};

/// Outcome of a boundary value whose operands are equal.
pub(super) const EQUAL: &str = "equal";

/// The uncovered branches, closest first. Equally close branches stay in source order; branches without a distance come
/// last.
pub(super) fn closest_first(report: &Report) -> Vec<(&Site, &Branch)> {
    let all = report.sites.iter().flat_map(|s| s.branches.iter().map(move |b| (s, b)));
    let mut open: Vec<_> = all.filter(|(_, b)| b.is_open()).collect();
    open.sort_by_key(|(_, b)| b.best_distance.unwrap_or(u64::MAX));
    open
}

/// Describes the goals that are not covered, for the end of a headline: `1 covered only by inputs that crash; 2 depend
/// on earlier calls; 4 not covered: given up by the search`. `None` if all are covered.
pub(super) fn left(branches: &Branches, words: &Words) -> Option<String> {
    let crash = (branches.covered_by_crash_only > 0)
        .then(|| format!("{} {} only by inputs that crash", branches.covered_by_crash_only, words.done));
    let depend = (branches.depends_on_earlier_calls > 0).then(|| {
        let n = branches.depends_on_earlier_calls;
        format!("{n} {} on earlier calls", if n == 1 { "depends" } else { "depend" })
    });
    let uninitialized = (branches.depends_on_uninitialized > 0).then(|| {
        let n = branches.depends_on_uninitialized;
        format!("{n} {} on uninitialized memory", if n == 1 { "depends" } else { "depend" })
    });
    let without_test =
        (branches.without_test > 0).then(|| format!("{} without a test that passes", branches.without_test));
    let apart = crash.into_iter().chain(depend).chain(uninitialized).chain(without_test);
    let parts: Vec<_> = apart.chain(not_taken(branches, words)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn not_taken(branches: &Branches, words: &Words) -> Option<String> {
    let apart = branches.covered_by_crash_only
        + branches.depends_on_earlier_calls
        + branches.depends_on_uninitialized
        + branches.without_test;
    let left = branches.reachable().saturating_sub(branches.covered + apart);
    let given_up = branches.given_up.min(left);
    let what = match (left, given_up) {
        (0, _) => return None,
        (_, 0) => "still open".to_owned(),
        (1, 1) => "given up by the search".to_owned(),
        (n, m) if n == m => "given up by the search".to_owned(),
        (n, m) => format!("the search gave up {m}, {} still open", n - m),
    };
    Some(format!("{left} not {}: {what}", words.done))
}

/// The sentences that explain the status words of listed branches. Only words that occur are explained.
pub(super) fn legend(report: &Report) -> Vec<String> {
    let words = Words::of(report.goals);
    let has = |status| report.sites.iter().flat_map(|s| &s.branches).any(|b| b.status == status);
    let mut out = Vec::new();
    if has(Status::GivenUp) {
        out.push(format!(
            "Given up: the search spent its budget for this {} and found no input. That is no proof that none exists.",
            words.goal
        ));
    }
    if has(Status::Uncovered) {
        out.push("Open: the campaign ended before that budget was spent. Run it again to continue.".to_owned());
    }
    if has(Status::DependsOnEarlierCalls) {
        out.push(format!(
            "Depends on earlier calls: the {} was {} in the campaign, \
             but not by the same input in a fresh process.",
            words.goal, words.done
        ));
    }
    if has(Status::DependsOnUninitialized) {
        out.push(format!(
            "Depends on uninitialized memory: the {} is {} or not, \
             depending on what memory contains that the function has not written.",
            words.goal, words.done
        ));
    }
    out
}

/// How close the search came to a branch: `closest 12 floats away at f(0.5), 600k evaluations, given up`; for a
/// boundary value, the text of [`nearest`].
pub(super) fn explain(report: &Report, site: &Site, branch: &Branch) -> String {
    if branch.status == Status::DependsOnEarlierCalls {
        return format!("depends on earlier calls, {} evaluations", count(branch.evaluations));
    }
    if branch.status == Status::DependsOnUninitialized {
        return format!("depends on uninitialized memory, {} evaluations", count(branch.evaluations));
    }
    if branch.status == Status::WithoutTest {
        return "covered in the campaign, but its test does not build or fails".to_owned();
    }
    if site.kind == "comparison" && branch.best_distance.is_some() {
        return nearest(report, site, branch);
    }
    let closest = match branch.best_distance {
        Some(distance) => {
            let unit = unit(site, distance);
            let away = if unit.is_empty() { format!("distance {distance}") } else { format!("{distance} {unit} away") };
            let input = branch.best_input.as_ref().or(branch.input.as_ref());
            format!(
                "closest {away}{}{}",
                input.map_or_else(String::new, |args| format!(" at {}", decimal_call(report, args))),
                unchanged(branch)
            )
        }
        None if site.is_executed() => "reached, no distance".to_owned(),
        None => match awaited_branch(report, site) {
            Some((from, outcome)) => format!("never reached, waits for {} {outcome}", place(from)),
            None => "never reached".to_owned(),
        },
    };
    format!("{closest}, {}{}", spent(branch), solver_result(report, site, branch))
}

/// Maximum number of reasons that are shown why a branch is not proved unreachable.
const SHOWN_REASONS: usize = 2;

/// The solvers' result for an open branch: `, not proved: loop at line 12`.
fn solver_result(report: &Report, site: &Site, branch: &Branch) -> String {
    let Some(proof) = &branch.proof else { return String::new() };
    match proof.verdict {
        Verdict::Proved | Verdict::ProvedByExhaustion | Verdict::NotTranslated => String::new(),
        Verdict::ProvedByOne => ", proved unreachable by one solver only".to_owned(),
        Verdict::Satisfiable if site.function != report.function => {
            format!(", possible for some arguments of {}, which the calls from here need not pass", site.function)
        }
        Verdict::Satisfiable if proof.model.is_empty() => {
            ", a solver says that an input exists, but not which".to_owned()
        }
        Verdict::Satisfiable => ", a solver has an input for it, which does not take it when it is run".to_owned(),
        Verdict::SatisfiableIfFree => {
            let shown: Vec<_> = proof.free.iter().take(SHOWN_REASONS).map(String::as_str).collect();
            let more = if proof.free.len() > SHOWN_REASONS { ", …" } else { "" };
            format!(", not proved: {}{more}", shown.join(", "))
        }
        Verdict::Undecided => ", no solver had an answer".to_owned(),
        Verdict::Contradiction => ", solvers contradict each other".to_owned(),
    }
}

/// A remark if all inputs are equally close, because the operands may not depend on the arguments: `, the same for all
/// 20 kept inputs that execute it`.
fn unchanged(branch: &Branch) -> String {
    branch.unchanged_over.map_or_else(String::new, |n| format!(", the same for all {n} kept inputs that execute it"))
}

/// The condition, and its outcome, for which the branches of `site` wait.
pub(super) fn awaited_branch<'a>(report: &'a Report, site: &Site) -> Option<(&'a Site, &'a str)> {
    let BranchIndex { site, branch } = site.waits_for?;
    let from = report.sites.get(site)?;
    Some((from, &from.branches.get(branch)?.outcome))
}

/// The place of a site: `file.c:12:3`.
pub(super) fn place(site: &Site) -> String {
    format!("{}:{}:{}", site.file.rsplit('/').next().unwrap_or(&site.file), site.line, site.column)
}

/// How close the search came to a boundary value: `closest 3 floats away, f(0.5)   200k evaluations, given up`. The gap
/// counts the numbers between the operands.
pub(super) fn nearest(report: &Report, site: &Site, branch: &Branch) -> String {
    let nowhere =
        if branch.outcome == EQUAL { "no input where both operands are numbers" } else { "no input on that side" };
    // The distance of the number next to `b` is 0, but it is 1 away.
    let beyond = u64::from(branch.outcome != EQUAL);
    match (branch.best_distance, &branch.best_input) {
        (Some(d), Some(args)) if branch.outcome == EQUAL || d < side::OTHER => {
            let gap = d + beyond;
            format!("closest {gap} {} away, {}   {}", unit(site, gap), decimal_call(report, args), spent(branch))
        }
        _ => format!("{nowhere}   {}", spent(branch)),
    }
}

/// The unit of a distance, in the singular for 1; empty when the site has none.
fn unit(site: &Site, distance: u64) -> &str {
    if distance == 1 { site.distance_unit.trim_end_matches('s') } else { &site.distance_unit }
}

/// The search effort: `200k evaluations, given up`.
fn spent(branch: &Branch) -> String {
    let end = if branch.status == Status::GivenUp { "given up" } else { "open" };
    format!("{} evaluations, {end}", count(branch.evaluations))
}

/// A call with decimal arguments: `f(0.5, 3)`.
pub(super) fn decimal_call(report: &Report, args: &[Arg]) -> String {
    let values: Vec<_> = args.iter().map(|a| a.decimal.as_str()).collect();
    format!("{}({})", report.function, values.join(", "))
}

#[cfg(test)]
mod tests {
    use penfuzz_engine::saturation::Goals;

    use super::*;
    use crate::example;

    #[test]
    fn a_branch_without_a_distance_has_a_reason() {
        let report = example::report();
        let mut site = report.sites[3].clone();
        site.branches[0].best_distance = None;
        let explained = explain(&report, &site, &site.branches[0]);
        assert_eq!(explained, "reached, no distance, 40 evaluations, given up");
        site.branches[1].status = Status::Uncovered;
        site.branches[1].best_distance = None;
        assert_eq!(explain(&report, &site, &site.branches[0]), "never reached, 40 evaluations, given up");
    }

    #[test]
    fn uncovered_branches_are_described() {
        let of = |covered, given_up, goals| {
            left(&Branches { total: 8, covered, given_up, ..Branches::default() }, &Words::of(goals))
        };
        assert_eq!(of(8, 0, Goals::Branches), None);
        assert_eq!(of(7, 1, Goals::Branches).unwrap(), "1 not covered: given up by the search");
        assert_eq!(of(4, 4, Goals::Branches).unwrap(), "4 not covered: given up by the search");
        assert_eq!(of(5, 2, Goals::Exceptions).unwrap(), "3 not raised: the search gave up 2, 1 still open");
        assert_eq!(of(7, 0, Goals::Boundaries).unwrap(), "1 not met: still open");
        let crashed = Branches { total: 8, covered: 5, covered_by_crash_only: 2, ..Branches::default() };
        let words = Words::of(Goals::Branches);
        assert_eq!(left(&crashed, &words).unwrap(), "2 covered only by inputs that crash; 1 not covered: still open");
        let apart = Branches {
            depends_on_earlier_calls: 1,
            covered: 5,
            total: 8,
            covered_by_crash_only: 1,
            ..Branches::default()
        };
        let text = "1 covered only by inputs that crash; 1 depends on earlier calls; 1 not covered: still open";
        assert_eq!(left(&apart, &words).unwrap(), text);
        let all = Branches { covered: 6, ..crashed };
        assert_eq!(left(&all, &words).unwrap(), "2 covered only by inputs that crash");
    }
}
