//! The results of a suite as data: `suite.json`. [`super::table`] makes the text table from it.

use std::collections::BTreeMap;

use penfuzz_engine::saturation::Goals;
use penfuzz_error::Error;
use penfuzz_report::{Branches, Report, decisions::Criterion, format::share};
use serde::{Deserialize, Serialize};

use super::{
    config::{Paper, TargetSpec},
    referee::{LineDifference, Referee},
};

/// The version of the `suite.json` schema.
pub const SCHEMA: u32 = 1;

/// The results of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the suite.
    pub name: String,
    /// The suite was interrupted: targets are missing or ended early.
    pub interrupted: bool,
    /// The targets that ended, in the order of the suite.
    pub targets: Vec<Row>,
    /// Mean over `targets` of the share of covered branches, in percent, by the referee's count where there is one. A
    /// target that failed counts as 0.
    pub mean_coverage: f64,
    /// As `mean_coverage`, always by penfuzz's own count.
    pub mean_coverage_own: f64,
    /// For each criterion: mean over `targets` of the share of its goals that are covered, in percent. Goals that are
    /// proved infeasible do not count. A target without a goal of the criterion counts as 100, a target that failed as
    /// 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mean_criteria: BTreeMap<String, f64>,
    /// Sums over `targets`.
    pub totals: Totals,
    /// Wall time of the whole suite, in seconds.
    pub seconds: f64,
}

/// The results of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name in the suite.
    pub name: String,
    /// Source file, relative to the sources of the suite.
    pub file: String,
    /// The function under test.
    pub function: String,
    /// The kind of goals.
    #[serde(default, skip_serializing_if = "Goals::are_branches")]
    pub goals: Goals,
    /// Branch counts by penfuzz; all 0 when the target failed.
    pub branches: Branches,
    /// The counts of each criterion of `--criterion`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub criteria: BTreeMap<String, Criterion>,
    /// Number of emitted tests.
    pub tests: usize,
    /// Wall time of the search, in seconds.
    pub seconds: f64,
    /// Calls of the representing function.
    pub evaluations: u64,
    /// Number of distinct crashes.
    pub crashes: usize,
    /// Number of distinct hangs.
    pub hangs: usize,
    /// The referee's counts, if `--referee` is set and the referee succeeded.
    pub referee: Option<Referee>,
    /// Lines on which the counts of the referee and of penfuzz differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<LineDifference>,
    /// Published figures for the function.
    pub paper: Option<Paper>,
    /// The error of the target or of its referee.
    pub error: Option<String>,
}

/// Sums over targets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Number of targets that ended.
    pub targets: usize,
    /// Number of targets with an error.
    pub failed: usize,
    /// Branch counts by penfuzz.
    pub branches: Branches,
    /// Number of emitted tests.
    pub tests: usize,
    /// Calls of the representing function.
    pub evaluations: u64,
    /// Search time in seconds, summed over the targets.
    pub seconds: f64,
    /// Number of distinct crashes.
    pub crashes: usize,
    /// Number of distinct hangs.
    pub hangs: usize,
}

impl Row {
    /// The row of a target that ran to its end.
    #[must_use]
    pub fn finished(target: &TargetSpec, report: &Report) -> Self {
        Self {
            goals: report.goals,
            branches: report.branches,
            criteria: report.criteria.clone(),
            tests: report.tests.len(),
            seconds: report.seconds,
            evaluations: report.evaluations,
            crashes: report.crashes.iter().filter(|crash| crash.counts()).count(),
            hangs: report.hangs.len(),
            error: None,
            ..Self::failed(target, &Error::new(""))
        }
    }

    /// The row of a target that did not run to its end.
    #[must_use]
    pub fn failed(target: &TargetSpec, error: &Error) -> Self {
        Self {
            name: target.name.clone(),
            file: target.file.clone(),
            function: target.function.clone(),
            goals: Goals::Branches,
            branches: Branches::default(),
            criteria: BTreeMap::new(),
            tests: 0,
            seconds: 0.0,
            evaluations: 0,
            crashes: 0,
            hangs: 0,
            referee: None,
            differences: Vec::new(),
            paper: target.paper,
            error: Some(error.to_string()),
        }
    }

    /// Share of covered branches by penfuzz's own count, in percent; 0 for a target that failed.
    #[must_use]
    pub fn coverage_own(&self) -> f64 {
        if self.has_failed() { 0.0 } else { share(self.branches.covered, self.branches.total) }
    }

    /// Share of the goals of a criterion that are covered, in percent, without those that are proved infeasible; 0 for
    /// a target that failed.
    #[must_use]
    pub fn share_of(&self, criterion: &str) -> f64 {
        self.criteria.get(criterion).map_or(0.0, |c| share(c.covered, c.total.saturating_sub(c.proved_infeasible)))
    }

    /// Share of covered branches, in percent, by the referee's count if there is one.
    #[must_use]
    pub fn coverage(&self) -> f64 {
        self.referee.as_ref().map_or_else(|| self.coverage_own(), |r| share(r.covered, r.total))
    }

    /// Returns whether the target itself failed (not only its referee): nothing was evaluated.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.error.is_some() && self.evaluations == 0 && self.branches.total == 0
    }
}

impl SuiteReport {
    /// Computes the means and totals of these rows.
    #[must_use]
    pub fn new(name: &str, rows: Vec<Row>, seconds: f64, interrupted: bool) -> Self {
        let mean = |f: fn(&Row) -> f64| match rows.len() {
            0 => 0.0,
            n => rows.iter().map(f).sum::<f64>() / n as f64,
        };
        Self {
            schema: SCHEMA,
            name: name.to_owned(),
            interrupted,
            mean_criteria: mean_criteria(&rows),
            mean_coverage: mean(Row::coverage),
            mean_coverage_own: mean(Row::coverage_own),
            totals: totals(&rows),
            targets: rows,
            seconds,
        }
    }

    /// The text of `suite.json`, indented, with a final newline.
    ///
    /// # Panics
    /// Never: no map in a report has keys that are not strings.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is plain data") + "\n"
    }

    /// Returns whether some branch of some target is covered only by inputs that crash.
    #[must_use]
    pub const fn has_covered_by_crash(&self) -> bool {
        self.totals.branches.covered_by_crash_only > 0
    }

    /// Returns whether some target crashed or hung.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        self.totals.crashes + self.totals.hangs > 0
    }
}

fn mean_criteria(rows: &[Row]) -> BTreeMap<String, f64> {
    let mut means = BTreeMap::new();
    for name in rows.iter().flat_map(|row| row.criteria.keys()) {
        let sum: f64 = rows.iter().map(|row| row.share_of(name)).sum();
        means.insert(name.clone(), sum / rows.len() as f64);
    }
    means
}

fn totals(rows: &[Row]) -> Totals {
    let mut t = Totals { targets: rows.len(), ..Totals::default() };
    for row in rows {
        t.failed += usize::from(row.error.is_some());
        t.branches.total += row.branches.total;
        t.branches.covered += row.branches.covered;
        t.branches.covered_by_crash_only += row.branches.covered_by_crash_only;
        t.branches.depends_on_earlier_calls += row.branches.depends_on_earlier_calls;
        t.branches.depends_on_uninitialized += row.branches.depends_on_uninitialized;
        t.branches.without_test += row.branches.without_test;
        t.branches.saturated += row.branches.saturated;
        t.branches.given_up += row.branches.given_up;
        t.branches.proved_unreachable += row.branches.proved_unreachable;
        t.tests += row.tests;
        t.evaluations += row.evaluations;
        t.seconds += row.seconds;
        t.crashes += row.crashes;
        t.hangs += row.hangs;
    }
    t
}
