//! Coverage criteria other than branches, and decisions with several conditions. For MC/DC, each condition of a
//! decision has the pair of tests that shows its independent effect.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::{
    criterion_goals,
    model::{Branch, Report, Status},
};

/// The counts of one criterion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// Number of goals: lines, branches, outcomes of conditions, or conditions whose effect must be shown.
    pub total: usize,
    /// Goals that the emitted tests cover.
    pub covered: usize,
    /// Goals that are proved infeasible; not counted in `covered`.
    pub proved_infeasible: usize,
}

/// The name of the figures of statements, which `--criterion line` adds. Lines are those of gcov, statements are like
/// the regions of llvm-cov.
pub const STATEMENT: &str = "statement";

/// A line with code that no test executes, or a statement on a line of which another part is executed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UncoveredLine {
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column of the statement, from 1; `None` for the whole line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl UncoveredLine {
    /// The line, with the column if it is a statement on the line.
    fn place(&self) -> String {
        self.column.map_or_else(|| self.line.to_string(), |column| format!("{}:{column}", self.line))
    }
}

/// An expression of `&&` and `||` with several branching conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Function that contains it.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line of its first condition, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// The conditions in source order.
    pub conditions: Vec<Condition>,
    /// The vectors that the tests produce and the pairs refer to, each once.
    pub vectors: Vec<Vector>,
    /// Vectors that are proved infeasible.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub infeasible: Vec<Infeasible>,
}

/// A condition of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// Index of its site in [`Report::sites`]; `None` in a report that an older penfuzz wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<usize>,
    /// Two vectors that show that the condition affects the outcome independently, as indices into
    /// [`Decision::vectors`]; `None` if no two tests do.
    pub pair: Option<(usize, usize)>,
    /// It is proved that no two executions show the effect: of each pair of vectors that would, one is infeasible.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub proved_infeasible: bool,
}

/// A vector that no execution produces, as two solvers proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Infeasible {
    /// As in [`Vector::values`].
    pub values: String,
    /// The query file, relative to the output directory.
    pub proof: String,
}

/// The values of all conditions in one evaluation of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vector {
    /// One character per condition: `T`, `F`, or `-` if the condition is not evaluated.
    pub values: String,
    /// The outcome of the decision.
    pub outcome: bool,
    /// The tests that contain such an evaluation, as numbers from 1.
    pub tests: Vec<usize>,
}

impl Decision {
    /// Number of conditions whose effect is shown.
    #[must_use]
    pub fn shown(&self) -> usize {
        self.conditions.iter().filter(|c| c.pair.is_some()).count()
    }

    /// The two vectors that show the effect of a condition.
    #[must_use]
    pub fn pair(&self, condition: &Condition) -> Option<[&Vector; 2]> {
        let (a, b) = condition.pair?;
        Some([self.vectors.get(a)?, self.vectors.get(b)?])
    }
}

impl Condition {
    /// Returns whether the condition is not shown and it is proved that it cannot be: by its vectors, or because one of
    /// its outcomes is infeasible.
    #[must_use]
    pub fn is_infeasible(&self, report: &Report) -> bool {
        let site = self.site.and_then(|s| report.sites.get(s));
        let is_proved = site.is_some_and(|s| s.branches.iter().any(|b| b.status == Status::ProvedUnreachable));
        self.pair.is_none() && (is_proved || self.proved_infeasible)
    }
}

/// All conditions as CSV (RFC 4180): one line per condition with the two tests that show it. Tests are numbered from 1,
/// as in `tests/`.
#[must_use]
pub fn csv(report: &Report) -> String {
    let mut out = "function,file,line,column,condition,condition_line,condition_column,shown,\
                   test_1,vector_1,outcome_1,test_2,vector_2,outcome_2\r\n"
        .to_owned();
    for decision in &report.decisions {
        for (number, condition) in decision.conditions.iter().enumerate() {
            let pair = decision.pair(condition);
            let _ = write!(
                out,
                "{},{},{},{},{},{},{},{}",
                quoted(&decision.function),
                quoted(&decision.file),
                decision.line,
                decision.column,
                number + 1,
                condition.line,
                condition.column,
                if pair.is_some() { "yes" } else { "no" },
            );
            for side in 0..2 {
                let vector = pair.map(|p| p[side]);
                let test = vector.and_then(|v| v.tests.first()).map_or_else(String::new, usize::to_string);
                let outcome = vector.map_or("", |v| if v.outcome { "true" } else { "false" });
                let _ = write!(out, ",{test},{},{outcome}", vector.map_or("", |v| v.values.as_str()));
            }
            out.push_str("\r\n");
        }
    }
    out
}

/// Quotes a CSV field. A leading sign that spreadsheets would read as a formula is not escaped: no name or path begins
/// with one.
pub(super) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// Maximum number of conditions that a text lists; `decisions.csv` has all.
const LISTED: usize = 10;

/// Adds proofs about branches to the counts of the criteria. A condition of which one outcome is proved infeasible
/// cannot be shown.
pub fn add_proofs(report: &mut Report) {
    let is_proved = |b: &Branch| b.status == Status::ProvedUnreachable;
    let outcomes = report.sites.iter().filter(|s| s.kind != "switch").flat_map(|s| &s.branches);
    let outcomes = outcomes.filter(|b| is_proved(b)).count();
    let hidden = |d: &Decision| d.conditions.iter().filter(|c| c.is_infeasible(report)).count();
    let conditions = report.decisions.iter().map(hidden).sum();
    let branches = report.branches.proved_unreachable;
    let others = |name: &str| criterion_goals::figures(report, name).proved_infeasible;
    let proved = |name: &String| match name.as_str() {
        "branch" => branches,
        "condition" => outcomes,
        "mcdc" => conditions,
        name => others(name),
    };
    let all: Vec<usize> = report.criteria.keys().map(proved).collect();
    for (figures, proved) in report.criteria.values_mut().zip(all) {
        figures.proved_infeasible = proved;
    }
}

/// Describes what a criterion counts.
const fn words(criterion: &str) -> &'static str {
    match criterion.as_bytes() {
        b"line" => "lines covered",
        b"statement" => "statements covered",
        b"condition" => "outcomes of conditions covered",
        b"boundary" => "boundary values met",
        b"exceptions" => "exceptions raised",
        b"path" => "paths taken",
        b"loop" => "loop iteration counts reached",
        _ => "conditions shown to affect the outcome of their decision",
    }
}

/// The counts of the criteria for the HTML page.
#[must_use]
pub fn facts(report: &Report) -> Vec<String> {
    let others = report.criteria.iter().filter(|(name, _)| *name != "branch");
    others.map(|(name, c)| format!("{name}: {} of {}", c.covered, c.total)).collect()
}

/// Writes the counts of the criteria, one line each, and the conditions that are not shown.
pub fn list(report: &Report, out: &mut String) {
    for (name, c) in report.criteria.iter().filter(|(name, _)| *name != "branch") {
        if c.total == 0 {
            let _ = writeln!(out, "{name}: this function has no such goal");
            continue;
        }
        let what = words(name);
        let proved = if c.proved_infeasible == 0 {
            String::new()
        } else {
            format!(", {} proved infeasible", c.proved_infeasible)
        };
        let _ = writeln!(out, "{name}: {} of {} {what}{proved}", c.covered, c.total);
    }
    if report.paths.is_some_and(|paths| !paths.complete) {
        let _ = writeln!(out, "  the budget was spent before all path prefixes were tried");
    }
    let lines: Vec<_> = report.uncovered_lines.iter().take(LISTED).map(UncoveredLine::place).collect();
    if !lines.is_empty() {
        let more = if report.uncovered_lines.len() > LISTED { ", ..." } else { "" };
        let _ = writeln!(out, "  not executed: line {}{more}", lines.join(", "));
    }
    let open = || {
        report.decisions.iter().flat_map(|d| {
            let missing = d.conditions.iter().enumerate().filter(|(_, c)| c.pair.is_none());
            missing.map(move |(number, c)| (d, number, c))
        })
    };
    for (d, number, c) in open().take(LISTED) {
        let file = d.file.rsplit('/').next().unwrap_or(&d.file);
        let _ = writeln!(
            out,
            "  not shown: condition {} of {} at {file}:{}:{}{}",
            number + 1,
            d.conditions.len(),
            c.line,
            c.column,
            if c.is_infeasible(report) { " (proved infeasible)" } else { "" }
        );
    }
    let more = open().count().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(out, "  and {more} more (decisions.csv)");
    }
}

#[cfg(test)]
mod tests {
    use super::{super::example, *};

    fn decision() -> Decision {
        let condition = |column, pair| Condition { line: 4, column, site: None, pair, proved_infeasible: false };
        let vector = |values: &str, outcome, tests: &[usize]| Vector {
            values: values.to_owned(),
            outcome,
            tests: tests.to_vec(),
        };
        Decision {
            function: "f".to_owned(),
            file: "/src/a,b.c".to_owned(),
            line: 4,
            column: 7,
            conditions: vec![condition(7, Some((0, 1))), condition(12, None)],
            infeasible: Vec::new(),
            vectors: vec![vector("TT", true, &[2, 3]), vector("F-", false, &[1])],
        }
    }

    #[test]
    fn the_csv_has_a_line_per_condition() {
        let mut report = example::report();
        report.decisions = vec![decision()];
        let text = csv(&report);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "f,\"/src/a,b.c\",4,7,1,4,7,yes,2,TT,true,1,F-,false");
        assert_eq!(lines[2], "f,\"/src/a,b.c\",4,7,2,4,12,no,,,,,,");
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn the_text_names_what_is_not_shown() {
        let mut report = example::report();
        report.decisions = vec![decision()];
        report.criteria.insert("mcdc".to_owned(), Criterion { total: 2, covered: 1, proved_infeasible: 0 });
        let mut out = String::new();
        list(&report, &mut out);
        assert_eq!(
            out,
            "mcdc: 1 of 2 conditions shown to affect the outcome of their decision\n  \
             not shown: condition 2 of 2 at a,b.c:4:12\n"
        );
    }
}
