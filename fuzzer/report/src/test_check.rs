//! What compilers made of the emitted tests: each program is compiled and run before its tests are reported.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::{
    arg::Arg,
    c_text::call,
    format::plural,
    model::{BranchIndex, Report, Status},
};

/// Maximum number of failed tests that are listed.
const LISTED: usize = 5;

/// The result of the test program with one compiler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCheck {
    /// The compiler with its version: `gcc 14.2.0`.
    pub compiler: String,
    /// How it went.
    pub result: Checked,
    /// The first error, or why the program was not checked; empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// How a test program did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// It was built, and all of its checks hold.
    Passed,
    /// It was built, and a check fails, or it does not end normally.
    Failed,
    /// It does not compile or link.
    NotBuilt,
    /// There was no time, no compiler, or no process to spare.
    NotChecked,
}

/// A test that does not build, or fails outside of the campaign. It is not emitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedTest {
    /// The kept input: a file in `queue/` (or `pending/`), relative to the output directory.
    pub file: String,
    /// The arguments.
    pub args: Vec<Arg>,
    /// The branches that its input covers in the campaign, as indices into `sites`.
    pub covers: Vec<BranchIndex>,
    /// The compiler with its version.
    pub compiler: String,
    /// The first error, the failed check, or the signal that ended it.
    pub reason: String,
}

/// A variable that is read before it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UninitializedVariable {
    /// The variable, as the compiler names it.
    pub name: String,
    /// The file of the read, as the compiler names it.
    pub file: String,
    /// The line of the read.
    pub line: u32,
}

impl UninitializedVariable {
    /// The variables as text, `out` (a.c:7), after a colon; empty without variables.
    #[must_use]
    pub fn listed(all: &[Self]) -> String {
        let each = |v: &Self| {
            let file = v.file.rsplit('/').next().unwrap_or_default();
            format!("`{}` ({file}:{})", v.name, v.line)
        };
        if all.is_empty() {
            String::new()
        } else {
            format!(": {}", all.iter().map(each).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns whether other parts of the report refer to tests by their number.
#[must_use]
pub fn refers_to_tests(report: &Report) -> bool {
    !report.decisions.is_empty()
        || !report.criterion_goals.is_empty()
        || !report.requirements.is_empty()
        || report.mutation.is_some()
}

/// Takes the failed tests out of the report: branches that only they cover are not covered any more.
pub fn set_aside(report: &mut Report, failed: Vec<FailedTest>) {
    report.tests.retain(|test| failed.iter().all(|f| f.file != test.file || f.args != test.args));
    let covered: std::collections::HashSet<_> = report.tests.iter().flat_map(|t| t.covers.iter().copied()).collect();
    for index in failed.iter().flat_map(|f| &f.covers).filter(|index| !covered.contains(*index)) {
        let Some(branch) = report.sites.get_mut(index.site).and_then(|s| s.branches.get_mut(index.branch)) else {
            continue;
        };
        if !matches!(branch.status, Status::Covered | Status::Saturated) {
            continue;
        }
        let counts = &mut report.branches;
        counts.saturated -= usize::from(branch.status == Status::Saturated).min(counts.saturated);
        counts.covered = counts.covered.saturating_sub(1);
        counts.without_test += 1;
        branch.status = Status::WithoutTest;
    }
    report.failed_tests.extend(failed);
}

/// Describes the checks for the terminal; empty if the program was not checked.
pub(super) fn list(report: &Report, out: &mut String) {
    let of = |result| {
        let all: Vec<_> = report.test_checks.iter().filter(|c| c.result == result).collect();
        (!all.is_empty()).then_some(all)
    };
    if let Some(passed) = of(Checked::Passed) {
        let names: Vec<_> = passed.iter().map(|c| c.compiler.as_str()).collect();
        let _ = writeln!(out, "Built and passed with {}", names.join(" and "));
    }
    for (result, what) in
        [(Checked::NotBuilt, "does not build"), (Checked::Failed, "fails"), (Checked::NotChecked, "was not checked")]
    {
        for check in of(result).into_iter().flatten() {
            let _ = writeln!(out, "The test program {what} with {}: {}", check.compiler, check.message);
        }
    }
    list_failed(report, out);
}

fn list_failed(report: &Report, out: &mut String) {
    let failed = &report.failed_tests;
    if failed.is_empty() {
        return;
    }
    let n = report.branches.without_test;
    let branches = match n {
        0 => "other tests cover their branches".to_owned(),
        _ => format!("{} not counted as covered", plural(n, "branch")),
    };
    let _ = writeln!(
        out,
        "Set aside: {} that {} outside of the campaign; {branches}",
        plural(failed.len(), "test"),
        if failed.len() == 1 { "fails" } else { "fail" }
    );
    for test in failed.iter().take(LISTED) {
        let _ = writeln!(out, "  {}: {} ({})", call(report, &test.args), test.reason, test.compiler);
    }
    if failed.len() > LISTED {
        let _ = writeln!(out, "  and {} more in report.json", failed.len() - LISTED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;

    fn failed(report: &Report, test: usize) -> FailedTest {
        let test = &report.tests[test];
        FailedTest {
            file: test.file.clone(),
            args: test.args.clone(),
            covers: test.covers.clone(),
            compiler: "gcc 14".to_owned(),
            reason: "it ends by SIGABRT".to_owned(),
        }
    }

    #[test]
    fn branches_of_a_failed_test_count_if_another_test_covers_them() {
        let mut report = example::report();
        let (before, first) = (report.branches.covered, failed(&report, 0));
        let others: Vec<BranchIndex> = report.tests[1..].iter().flat_map(|t| t.covers.clone()).collect();
        let alone = first.covers.iter().filter(|b| !others.contains(b)).count();
        assert!(alone > 0, "the example has a test with branches of its own");
        set_aside(&mut report, vec![first.clone()]);
        assert_eq!((report.branches.covered, report.branches.without_test), (before - alone, alone));
        let marked = report.sites.iter().flat_map(|s| &s.branches).filter(|b| b.status == Status::WithoutTest).count();
        assert_eq!(marked, alone);
        assert!(report.tests.iter().all(|t| t.args != first.args));
        let mut text = String::new();
        list(&report, &mut text);
        assert!(text.contains("it ends by SIGABRT (gcc 14)"), "{text}");
    }
}
