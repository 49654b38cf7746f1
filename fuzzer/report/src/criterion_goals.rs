//! Goals of coverage criteria that have no other list in a report (boundary values, floating-point exceptions, paths
//! and loops), each with the tests that fulfil it.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{
    decisions::{Criterion, quoted},
    model::Report,
    proof::Code,
};

/// One goal of a coverage criterion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriterionGoal {
    /// The name of its criterion.
    pub criterion: String,
    /// Function that contains it.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// Description of the goal: an outcome of a comparison or an operation, the number of rounds of a loop, or a path
    /// (`penfuzz reach --path`).
    pub goal: String,
    /// The tests that fulfil it, as numbers from 1.
    pub tests: Vec<usize>,
    /// Two solvers proved it infeasible.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub proved_infeasible: bool,
    /// The query file of the proof.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// For a boundary value, an exception, or rounds of a loop: the comparison, the operation, or the first conditional
    /// of the loop in the compiled code, and the index of the outcome there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

/// Counts the goals of one criterion.
#[must_use]
pub fn figures(report: &Report, criterion: &str) -> Criterion {
    let of = || report.criterion_goals.iter().filter(|g| g.criterion == criterion);
    Criterion {
        total: of().count(),
        covered: of().filter(|g| !g.tests.is_empty()).count(),
        proved_infeasible: of().filter(|g| g.proved_infeasible).count(),
    }
}

/// All goals as CSV (RFC 4180), one line each. Test numbers are separated by blanks.
#[must_use]
pub fn csv(report: &Report) -> String {
    let mut out = "criterion,function,file,line,column,goal,tests,proved_infeasible\r\n".to_owned();
    for goal in &report.criterion_goals {
        let tests: Vec<_> = goal.tests.iter().map(usize::to_string).collect();
        let _ = write!(
            out,
            "{},{},{},{},{},{},{},{}\r\n",
            goal.criterion,
            quoted(&goal.function),
            quoted(&goal.file),
            goal.line,
            goal.column,
            quoted(&goal.goal),
            tests.join(" "),
            if goal.proved_infeasible { "yes" } else { "no" },
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{super::example, *};

    #[test]
    fn the_figures_count_goals_with_tests() {
        let mut report = example::report();
        let goal = |criterion: &str, tests: &[usize], proved_infeasible| CriterionGoal {
            criterion: criterion.to_owned(),
            goal: "a, b".to_owned(),
            tests: tests.to_vec(),
            proved_infeasible,
            ..CriterionGoal::default()
        };
        report.criterion_goals = vec![
            goal("loop", &[1, 3], false),
            goal("path", &[2], false),
            goal("loop", &[], true),
            goal("loop", &[], false),
        ];
        assert_eq!(figures(&report, "loop"), Criterion { total: 3, covered: 1, proved_infeasible: 1 });
        let text = csv(&report);
        assert_eq!(text.lines().nth(1), Some("loop,,,0,0,\"a, b\",1 3,no"));
        assert_eq!(text.lines().nth(3), Some("loop,,,0,0,\"a, b\",,yes"));
    }
}
