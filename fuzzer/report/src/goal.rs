//! The result of a search for a goal of the user's own (`penfuzz TARGET --goal FILE`; *Mathematical Execution*,
//! Sect. 4).

use std::{fmt::Write, path::Path};

use penfuzz_engine::saturation::Goals;
use penfuzz_system::console;
use serde::{Deserialize, Serialize};

use super::{
    arg::Arg,
    model::{Branch, Report, Status},
    summary, terminal,
    uncovered::decimal_call,
};

/// The input with the smallest `r`. It is derived from the only site of the report, whose condition is `r == 0`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GoalResult {
    /// The file of the goal.
    pub file: String,
    /// Whether an input with `r = 0` was found, and confirmed in a fresh process.
    pub found: bool,
    /// The smallest absolute value of `r` at the end of a run; `None` if it is not finite, or no run came to its end.
    pub r: Option<f64>,
    /// The arguments of that input, if it returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<Arg>>,
}

impl GoalResult {
    /// The result in a report; `None` in a report of other goals.
    #[must_use]
    pub fn of(report: &Report) -> Option<Self> {
        let site = report.sites.first().filter(|_| report.goals == Goals::Custom)?;
        let branch = site.branches.first()?;
        let found = matches!(branch.status, Status::Saturated | Status::Covered);
        let input = if found { branch.input.clone() } else { branch.best_input.clone() };
        Some(Self { file: site.file.clone(), found, r: smallest(branch, found), input })
    }
}

/// The distance of `r == 0` is the number of doubles between 0 and `r`: the bits of the absolute value.
fn smallest(branch: &Branch, found: bool) -> Option<f64> {
    let bits = if found { Some(0) } else { branch.best_distance };
    bits.map(f64::from_bits).filter(|r| r.is_finite())
}

/// The text for the search with output directory `dir`.
#[must_use]
pub fn text(report: &Report, dir: &Path) -> String {
    let report = &console::escape_strings(report);
    let head = format!("{} ({}): ", report.function, report.target);
    let call = |goal: &GoalResult| goal.input.as_ref().map(|args| decimal_call(report, args));
    let mut out = match GoalResult::of(report) {
        None => format!("{head}the goal was not compiled into it\n"),
        Some(goal) if goal.found => {
            let call = call(&goal).unwrap_or_else(|| "by an input that does not return".to_owned());
            format!("{head}r = 0 for the goal {}\n  {call}\n", goal.file)
        }
        Some(goal) => {
            let mut text = format!("{head}no input with r = 0 was found for the goal {}\n", goal.file);
            match (goal.r, call(&goal)) {
                (Some(r), Some(call)) => drop(writeln!(text, "  smallest r = {r:?} at {call}")),
                (Some(r), None) => drop(writeln!(text, "  smallest r = {r:?}")),
                (None, _) => text.push_str("  r was a number at the end of no run\n"),
            }
            text
        }
    };
    out += &terminal::effort(report, true);
    terminal::list_faults(report, &mut out);
    summary::list_files(report, dir, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn report_with(status: Status, best_distance: Option<u64>) -> Report {
        let mut report = example::report();
        report.goals = Goals::Custom;
        report.sites.truncate(1);
        report.sites[0].branches.truncate(1);
        report.sites[0].file = "goal.c".to_owned();
        let branch = &mut report.sites[0].branches[0];
        (branch.status, branch.best_distance) = (status, best_distance);
        report
    }

    #[test]
    fn the_smallest_r_is_shown_as_a_number() {
        let report = report_with(Status::GivenUp, Some(0.25f64.to_bits()));
        assert_eq!(GoalResult::of(&report).and_then(|g| g.r), Some(0.25));
        let text = text(&report, Path::new("out"));
        assert!(text.contains("no input with r = 0 was found for the goal goal.c"), "{text}");
        assert!(text.contains("smallest r = 0.25"), "{text}");
    }

    #[test]
    fn an_r_that_is_nan_is_no_number() {
        let report = report_with(Status::Uncovered, Some(f64::NAN.to_bits()));
        assert_eq!(GoalResult::of(&report).map(|g| (g.found, g.r)), Some((false, None)));
    }

    #[test]
    fn a_find_has_r_0() {
        let report = report_with(Status::Saturated, None);
        let goal = GoalResult::of(&report).expect("the report is one of a goal");
        assert_eq!((goal.found, goal.r), (true, Some(0.0)));
        assert_eq!(GoalResult::of(&example::report()), None, "a report on branches");
    }
}
