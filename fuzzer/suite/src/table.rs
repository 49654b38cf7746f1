//! The results of a suite as text: a line per finished target while it runs, and the table at its end.

use std::{collections::BTreeMap, fmt::Write};

use penfuzz_engine::saturation::Goals;
use penfuzz_report::{
    decisions::Criterion,
    format::{count, plural, seconds, share},
};

use super::{
    gcov::{Executed, GcovCriteria},
    outcome::{Row, SuiteReport},
    referee::Referee,
};

impl Row {
    /// One progress line for a finished target.
    #[must_use]
    pub fn progress(&self) -> String {
        if let Some(error) = &self.error {
            return format!("{}: FAILED: {error}", self.name);
        }
        let b = &self.branches;
        let mut line = format!(
            "{}: {} of {} {} ({:.1} %), {} evaluations in {}",
            self.name,
            b.covered,
            b.total,
            if self.goals.include_branches() { "branches" } else { self.goals.name() },
            self.coverage_own(),
            count(self.evaluations),
            seconds(self.seconds)
        );
        if let Some(r) = &self.referee {
            let _ = write!(line, "; {}: {} of {}", r.tool, r.covered, r.total);
        }
        for (number, what) in [(self.crashes, "crashes"), (self.hangs, "hangs")] {
            if number > 0 {
                let _ = write!(line, "; {what}: {number}");
            }
        }
        line
    }
}

impl SuiteReport {
    /// The table, followed by the errors.
    #[must_use]
    pub fn table(&self) -> String {
        let columns = Columns {
            name: self.targets.iter().map(|r| r.name.chars().count()).chain([8]).max().unwrap_or(8),
            referee: self.targets.iter().find_map(|r| r.referee.as_ref()).map(|r| r.tool.as_str()),
            paper: self.targets.iter().any(|r| r.paper.is_some_and(|p| p.coverme.is_some())),
            crash_only: self.has_covered_by_crash(),
            findings: self.has_findings(),
        };
        let mut out = columns.head();
        for row in &self.targets {
            out.push_str(&columns.row(row));
        }
        out.push_str(&self.footer(&columns));
        for row in &self.targets {
            if let Some(error) = &row.error {
                let _ = writeln!(out, "FAILED  {}: {error}", row.name);
            }
        }
        out
    }

    /// The sums as a row.
    pub(super) fn total_row(&self) -> Row {
        let t = &self.totals;
        Row {
            name: "total".to_owned(),
            goals: Goals::Branches,
            branches: t.branches,
            criteria: BTreeMap::new(),
            evaluations: t.evaluations,
            seconds: t.seconds,
            crashes: t.crashes,
            hangs: t.hangs,
            referee: self.referee_total(),
            paper: None,
            error: None,
            file: String::new(),
            function: String::new(),
            tests: t.tests,
            differences: Vec::new(),
        }
    }

    fn footer(&self, columns: &Columns) -> String {
        let t = &self.totals;
        let mut out = columns.row(&self.total_row());
        let _ = writeln!(
            out,
            "{}: mean branch coverage {:.2} % over {} functions{}, in {}{}",
            self.name,
            self.mean_coverage,
            t.targets,
            columns.referee.map_or(String::new(), |tool| {
                format!(" by {tool}'s count ({:.2} % by our own)", self.mean_coverage_own)
            }),
            seconds(self.seconds),
            if self.interrupted { "; INTERRUPTED" } else { "" }
        );
        for (name, mean) in &self.mean_criteria {
            let sum = |f: fn(&Criterion) -> usize| -> usize {
                self.targets.iter().filter_map(|row| row.criteria.get(name)).map(f).sum()
            };
            let (covered, total) = (sum(|c| c.covered), sum(|c| c.total));
            let proved = sum(|c| c.proved_infeasible);
            let _ = writeln!(out, "{name}: {covered} of {total}, {proved} proved infeasible; mean {mean:.2} %");
        }
        if let Some(means) = self.criteria_of_referee() {
            let _ = writeln!(out, "{means}");
        }
        if let Some(mean) = self.paper_mean() {
            let _ = writeln!(out, "Published for CoverMe: mean {mean:.2} %");
        }
        out
    }

    fn paper_mean(&self) -> Option<f64> {
        let all: Vec<_> = self.targets.iter().filter_map(|r| r.paper?.coverme).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    fn referee_total(&self) -> Option<Referee> {
        let all = || self.targets.iter().filter_map(|r| r.referee.as_ref());
        let sum = |f: fn(&Referee) -> usize| all().map(f).sum();
        let plus = |f: fn(&Referee) -> Executed| all().map(f).fold(Executed::default(), Executed::plus);
        let criteria = GcovCriteria {
            lines: plus(|r| r.criteria.lines),
            conditions: plus(|r| r.criteria.conditions),
            calls: plus(|r| r.criteria.calls),
        };
        let tool = all().next()?.tool.clone();
        Some(Referee { tool, total: sum(|r| r.total), covered: sum(|r| r.covered), criteria })
    }

    /// The means of the referee's other criteria, over the targets that have any of the kind.
    fn criteria_of_referee(&self) -> Option<String> {
        let all = || self.targets.iter().filter_map(|r| r.referee.as_ref());
        let tool = &all().next()?.tool;
        let mut parts = Vec::new();
        for (i, name) in ["lines", "conditions", "calls"].into_iter().enumerate() {
            let counts = all().map(|r| [r.criteria.lines, r.criteria.conditions, r.criteria.calls][i]);
            let shares: Vec<f64> = counts.filter(|e| e.total > 0).map(Executed::share).collect();
            if !shares.is_empty() {
                let mean = shares.iter().sum::<f64>() / shares.len() as f64;
                parts.push(format!("{name} {mean:.2} % ({})", plural(shares.len(), "function")));
            }
        }
        (!parts.is_empty()).then(|| format!("Means of {tool}'s other counts: {}", parts.join(", ")))
    }
}

/// Selects the columns of the table. Columns that would be empty are left out.
struct Columns<'a> {
    name: usize,
    referee: Option<&'a str>,
    paper: bool,
    crash_only: bool,
    findings: bool,
}

impl Columns<'_> {
    fn head(&self) -> String {
        let mut out = format!("{:<w$}  branches  covered       %", "name", w = self.name);
        if self.crash_only {
            out.push_str("  crash-only");
        }
        if let Some(tool) = self.referee {
            let _ = write!(out, "  {tool:>9}       %");
        }
        out.push_str("  evaluations         time");
        if self.paper {
            out.push_str("  CoverMe");
        }
        if self.findings {
            out.push_str("  crashes  hangs");
        }
        out + "\n"
    }

    fn row(&self, row: &Row) -> String {
        let b = &row.branches;
        let w = self.name;
        let mut out = format!("{:<w$}  {:>8}  {:>7}  {:>6.1}", row.name, b.total, b.covered, row.coverage_own());
        if self.crash_only {
            let _ = write!(out, "  {:>10}", b.covered_by_crash_only);
        }
        if self.referee.is_some() {
            let counts = row.referee.as_ref().map_or("-".to_owned(), |r| format!("{}/{}", r.covered, r.total));
            let share = row.referee.as_ref().map_or("-".to_owned(), |r| format!("{:.1}", share(r.covered, r.total)));
            let _ = write!(out, "  {counts:>9}  {share:>6}");
        }
        let _ = write!(out, "  {:>11}  {:>11}", count(row.evaluations), seconds(row.seconds));
        if self.paper {
            let coverme = row.paper.and_then(|p| p.coverme).map_or(String::new(), |c| format!("{c:.1}"));
            let _ = write!(out, "  {coverme:>7}");
        }
        if self.findings {
            let _ = write!(out, "  {:>7}  {:>5}", row.crashes, row.hangs);
        }
        out.trim_end().to_owned() + "\n"
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
