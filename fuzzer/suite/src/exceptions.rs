//! Summary of the floating-point exceptions of a whole suite: `exceptions.json` and its table, computed from the
//! reports of the targets.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::Path,
};

use penfuzz_error::{Error, context::Result};
use penfuzz_report::{
    Exception, Report,
    exceptions::{AvoidabilityCounts, Confirmed, Count, ExceptionVerdict, Operations},
    format::{count, seconds},
    json,
};
use penfuzz_system::files::atomic;
use serde::{Deserialize, Serialize};

use super::{Suite, SuiteReport};

/// The file's name in the output directory of a suite.
pub const FILE: &str = "exceptions.json";

/// The version of the file's schema.
pub const SCHEMA: u32 = 1;

/// The exceptions of all targets of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the suite.
    pub name: String,
    /// Wall time of the whole suite, in seconds.
    pub seconds: f64,
    /// The targets that ended with a report, in the order of the suite.
    pub targets: Vec<Row>,
    /// The names of the targets that ended without a report.
    pub failed: Vec<String>,
    /// Sums over `targets`, one entry per exception, worst first.
    pub totals: Vec<Total>,
    /// The number of functions per verdict.
    #[serde(default)]
    pub verdicts: Verdicts,
    /// Sums of the operations over all functions under test. An operation that several of them reach counts once per
    /// function.
    #[serde(default)]
    pub operations: Operations,
}

/// The number of functions per verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Proved free of exceptions.
    pub free_proved: usize,
    /// Without a find.
    pub free_searched: usize,
    /// With a find.
    pub exceptions: usize,
}

impl Verdicts {
    fn add(&mut self, verdict: ExceptionVerdict) {
        *match verdict {
            ExceptionVerdict::FreeProved => &mut self.free_proved,
            ExceptionVerdict::FreeSearched => &mut self.free_searched,
            ExceptionVerdict::Exceptions => &mut self.exceptions,
        } += 1;
    }
}

/// The exceptions of one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name in the suite.
    pub name: String,
    /// The function under test.
    pub function: String,
    /// Operations in scope.
    pub operations: usize,
    /// Operations that raise an exception for some input.
    pub raising: usize,
    /// Operations that are proved free of exceptions.
    #[serde(default)]
    pub proved_free: usize,
    /// Whether the function is free of exceptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ExceptionVerdict>,
    /// Counts per exception, worst first.
    pub counts: Vec<Count>,
    /// Search time in seconds.
    pub seconds: f64,
    /// Calls of the representing function.
    pub evaluations: u64,
}

/// Sums for one exception.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// The exception.
    pub exception: Exception,
    /// Input-site pairs over all functions under test. A site that several of them reach counts once per function.
    pub pairs: usize,
    /// Pairs whose site is in the function under test itself. Each operation then belongs to one function, as in the
    /// counts of Ariadne (Barr et al., POPL 2013, Sect. 5).
    pub own: usize,
    /// Distinct sites over all functions under test; each counts once.
    pub distinct: usize,
    /// Pairs that the function's result does not show.
    pub silent: usize,
    /// Pairs that a replay without hooks confirmed.
    pub confirmed: usize,
    /// Confirmed pairs that the replay located: at the operation, at its line, or by its operand.
    pub located: usize,
    /// Pairs of a function under test and a site that are proved impossible.
    #[serde(default)]
    pub proved: usize,
    /// Verdicts on overflow, underflow and subnormal sums, if any of them was recomputed in high precision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<AvoidabilityCounts>,
}

impl Total {
    /// Sets the number of distinct sites. Pairs of targets without a precise computation count as not judged.
    fn over(mut self, sites: &BTreeSet<Place>) -> Self {
        self.distinct = sites.len();
        if let Some(judged) = &mut self.judged {
            judged.not_judged = self.pairs - judged.avoidable - judged.not_avoidable;
        }
        self
    }
}

impl Table {
    /// Sums up the reports in the directories below `out`.
    #[must_use]
    pub fn new(suite: &Suite, out: &Path, run: &SuiteReport) -> Self {
        let mut table = Self {
            schema: SCHEMA,
            name: suite.name.clone(),
            seconds: run.seconds,
            targets: Vec::new(),
            failed: run.targets.iter().filter(|r| r.error.is_some()).map(|r| r.name.clone()).collect(),
            totals: Vec::new(),
            verdicts: Verdicts::default(),
            operations: Operations::default(),
        };
        let mut sums = Sums::default();
        for row in run.targets.iter().filter(|r| r.error.is_none()) {
            match json::read(&out.join(&row.name).join(json::FILE)) {
                Ok(report) if report.exceptions.is_some() => table.add(&row.name, &report, &mut sums),
                _ => table.failed.push(row.name.clone()),
            }
        }
        table.totals = sums.totals();
        table
    }

    fn add(&mut self, name: &str, report: &Report, sums: &mut Sums) {
        let Some(all) = &report.exceptions else { return };
        self.targets.push(Row {
            name: name.to_owned(),
            function: report.function.clone(),
            operations: all.operations,
            raising: all.raising,
            proved_free: report.operations.map_or(0, |o| o.proved_free),
            verdict: report.verdict,
            counts: all.counts.clone(),
            seconds: report.seconds,
            evaluations: report.evaluations,
        });
        if let Some((operations, verdict)) = report.operations.zip(report.verdict) {
            self.operations = self.operations + operations;
            self.verdicts.add(verdict);
        }
        for count in &all.counts {
            let (total, _) = sums.of(count.exception);
            total.pairs += count.pairs;
            total.own += count.own;
            total.silent += count.silent;
            total.confirmed += count.confirmed;
            total.proved += count.proved;
            total.judged = AvoidabilityCounts::sum(total.judged, count.judged);
        }
        for find in &all.finds {
            let (total, sites) = sums.of(find.exception);
            total.located += usize::from(find.confirmed.by <= Confirmed::Value);
            let place = format!("{}:{}:{}", find.file, find.line, find.column);
            sites.insert((place, find.operation.clone(), find.function.clone()));
        }
    }

    /// Writes [`FILE`].
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write(&self, out: &Path) -> Result<()> {
        atomic::write(&out.join(FILE), self.to_json().as_bytes()).map_err(Error::from_source)
    }

    /// The text of [`FILE`].
    ///
    /// # Panics
    /// Never: every table can be serialized.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a table is plain data") + "\n"
    }

    /// The table as text: one line per target that has a find, then the sums.
    #[must_use]
    pub fn text(&self) -> String {
        let width = self.targets.iter().map(|t| t.name.chars().count()).max().unwrap_or(0).max(8);
        let mut out = format!("{:width$}  {:>10}  {:>7}", "function", "operations", "raising");
        for e in LISTED {
            let _ = write!(out, "  {:>14}", e.name());
        }
        let _ = writeln!(out, "  {:>10}", "time");
        for row in self.targets.iter().filter(|r| r.raising > 0) {
            let _ = write!(out, "{:width$}  {:>10}  {:>7}", row.name, row.operations, row.raising);
            for e in LISTED {
                let pairs = row.counts.iter().find(|c| c.exception == e).map_or(0, |c| c.pairs);
                let _ = write!(out, "  {pairs:>14}");
            }
            let _ = writeln!(out, "  {:>10}", seconds(row.seconds));
        }
        self.sums(&mut out);
        out
    }

    /// Writes the verdicts, and what is proved, if anything is.
    fn proved(&self, out: &mut String) {
        let Verdicts { free_proved, free_searched, exceptions } = self.verdicts;
        let Operations { total, found, proved_free, open } = self.operations;
        let proved = self.totals.iter().filter(|t| t.proved > 0);
        let proved: Vec<_> = proved.map(|t| format!("{} {}", t.proved, t.exception.name())).collect();
        if proved.is_empty() && free_proved == 0 {
            return;
        }
        let _ = writeln!(
            out,
            "functions: {free_proved} proved free, {free_searched} without a find, {exceptions} with exceptions\n\
             operations: {proved_free} of {total} proved free, {found} with exceptions, {open} open\n\
             proved impossible: {}",
            proved.join(", ")
        );
    }

    fn sums(&self, out: &mut String) {
        let without = self.targets.iter().filter(|r| r.raising == 0).count();
        let evaluations = self.targets.iter().map(|r| r.evaluations).sum();
        let _ = writeln!(
            out,
            "\n{}: {} functions ({without} without a find), {} evaluations, {} in all",
            self.name,
            self.targets.len(),
            count(evaluations),
            seconds(self.seconds)
        );
        let _ = writeln!(
            out,
            "{:14}  {:>7}  {:>12}  {:>14}  {:>7}  {:>9}  {:>8}",
            "input-site", "pairs", "own function", "distinct sites", "silent", "confirmed", "located"
        );
        for t in &self.totals {
            let name = t.exception.name();
            let _ = writeln!(
                out,
                "{name:14}  {:>7}  {:>12}  {:>14}  {:>7}  {:>9}  {:>8}",
                t.pairs, t.own, t.distinct, t.silent, t.confirmed, t.located
            );
        }
        self.proved(out);
        for t in &self.totals {
            if let Some(j) = t.judged {
                let name = t.exception.name();
                let _ = writeln!(
                    out,
                    "{name}: {} of {} avoidable, {} not, {} not judged",
                    j.avoidable, t.pairs, j.not_avoidable, j.not_judged
                );
            }
        }
        if !self.failed.is_empty() {
            let _ = writeln!(out, "failed: {}", self.failed.join(", "));
        }
    }
}

/// The columns of the table. `exceptions.json` also has inexact results.
const LISTED: [Exception; 6] = [
    Exception::Invalid,
    Exception::DivideByZero,
    Exception::Overflow,
    Exception::Conversion,
    Exception::Underflow,
    Exception::Subnormal,
];

type Place = (String, String, String);

/// Per exception: the sums, and the set of sites.
#[derive(Default)]
struct Sums(BTreeMap<Exception, (Total, BTreeSet<Place>)>);

impl Sums {
    fn totals(self) -> Vec<Total> {
        self.0.into_values().map(|(total, sites)| total.over(&sites)).collect()
    }

    fn of(&mut self, exception: Exception) -> &mut (Total, BTreeSet<Place>) {
        self.0.entry(exception).or_insert_with(|| {
            let none = Total {
                exception,
                pairs: 0,
                own: 0,
                distinct: 0,
                silent: 0,
                confirmed: 0,
                located: 0,
                proved: 0,
                judged: None,
            };
            (none, BTreeSet::new())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penfuzz_report::{
        Exceptions, Find, ResultEvidence, example,
        exceptions::{Precise, example::find},
    };

    fn table() -> Table {
        Table {
            schema: SCHEMA,
            name: "s".to_owned(),
            seconds: 1.0,
            targets: Vec::new(),
            failed: Vec::new(),
            totals: Vec::new(),
            verdicts: Verdicts::default(),
            operations: Operations::default(),
        }
    }

    fn overflow() -> Find {
        find(Exception::Overflow, 5, "*", &[1e300, 1e300], f64::INFINITY, ResultEvidence::Nowhere)
    }

    fn report(function: &str, finds: Vec<Find>) -> Report {
        let mut report = example::report();
        report.function = function.to_owned();
        let operations = Operations::new(4, finds.len(), 2);
        (report.operations, report.verdict) = (Some(operations), Some(operations.verdict()));
        report.exceptions = Some(Exceptions::new(4, &[(Exception::Overflow, 3)], finds, 1, function));
        report
    }

    #[test]
    fn a_site_that_two_functions_reach_is_one_site_and_two_pairs() {
        let (mut table, mut sums) = (table(), Sums::default());
        for function in ["f", "g"] {
            table.add(function, &report(function, vec![overflow()]), &mut sums);
        }
        let (total, sites) = &sums.0[&Exception::Overflow];
        assert_eq!((total.pairs, total.own, sites.len()), (2, 1, 1), "pairs, in its own function, sites");
    }

    #[test]
    fn operations_and_verdicts_are_summed() {
        let (mut table, mut sums) = (table(), Sums::default());
        let mut free = report("g", Vec::new());
        free.exceptions.as_mut().expect("exceptions").note_proved(|_| 3);
        let all = Operations::new(2, 0, 2);
        (free.operations, free.verdict) = (Some(all), Some(all.verdict()));
        for (function, report) in [("f", report("f", vec![overflow()])), ("g", free)] {
            table.add(function, &report, &mut sums);
        }
        table.totals = sums.totals();
        let expected = "functions: 1 proved free, 0 without a find, 1 with exceptions\n\
                        operations: 4 of 6 proved free, 1 with exceptions, 1 open\n\
                        proved impossible: 3 overflow\n";
        assert!(table.text().contains(expected), "{}", table.text());
    }

    #[test]
    fn pairs_without_recomputation_are_not_judged() {
        let mut avoidable = overflow();
        avoidable.avoidable = Some(true);
        avoidable.precise = Some(Precise { operation: "1.00000e600".to_owned(), results: vec!["1.0".to_owned()] });
        let (mut table, mut sums) = (table(), Sums::default());
        for (function, find) in [("f", avoidable), ("g", overflow())] {
            table.add(function, &report(function, vec![find]), &mut sums);
        }
        table.totals = sums.totals();
        assert!(table.text().contains("overflow: 1 of 2 avoidable, 0 not, 1 not judged"), "{}", table.text());
    }
}
