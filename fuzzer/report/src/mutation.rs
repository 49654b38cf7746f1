//! Results of mutation analysis: which mutants the tests kill. This is the part of `report.json` that `penfuzz mutate`
//! adds, and `mutants.json`, which viewers of the mutation-testing-elements schema show.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::format::{percent, plural, share};

/// The file in the output directory, in the schema of mutation-testing-elements, version 2.
pub const FILE: &str = "mutants.json";

/// The results of `penfuzz mutate`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mutation {
    /// Counts of mutants.
    pub mutants: Counts,
    /// Mutants that no test kills and that are not proved equivalent, in source order.
    pub live: Vec<Mutant>,
    /// Mutants that solvers have proved equivalent, in source order.
    #[serde(default)]
    pub equivalent: Vec<Mutant>,
    /// Number of mutant runs.
    #[serde(default)]
    pub mutant_runs: u64,
    /// Time in seconds for running the mutants with the campaign's tests, which gives the score.
    #[serde(default)]
    pub score_seconds: f64,
    /// Time in seconds for one run of these tests without mutants, in the same kind of process.
    #[serde(default)]
    pub plain_seconds: f64,
    /// Time in seconds for the search for killing inputs.
    #[serde(default)]
    pub search_seconds: f64,
    /// Time in seconds for the solvers, including the translation for them.
    #[serde(default)]
    pub proof_seconds: f64,
}

/// Counts of mutants by their status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All mutants.
    pub total: usize,
    /// Killed by the tests of the campaign: a test program would fail.
    pub killed_by_tests: usize,
    /// Killed by these tests or by those that the search added.
    pub killed: usize,
    /// Proved to behave like the original.
    pub proved_equivalent: usize,
    /// Neither killed nor proved equivalent.
    pub unknown: usize,
    /// Unknown mutants for which some test computes another value at the mutated place than the original does.
    #[serde(default)]
    pub infected: usize,
    /// Unknown mutants that one solver found to be equivalent while no other solver had an answer.
    #[serde(default)]
    pub proved_by_one: usize,
    /// Mutants that are not counted because their optimized code equals that of another mutant.
    #[serde(default)]
    pub duplicates: usize,
}

/// One mutant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    /// Name of the function.
    pub function: String,
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// The kind of change.
    pub operator: String,
    /// The change: `a < b → a <= b`.
    pub change: String,
    /// The result for this mutant.
    pub status: Status,
    /// The reason for the status, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For a killed mutant: the number of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<usize>,
    /// For a live mutant: one solver found that it is equivalent, and no other solver had an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_proved_by_one: bool,
    /// The file of a proof that it is equivalent, relative to the directory of the campaign.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub proof: String,
}

/// The result for a mutant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A test fails.
    Killed,
    /// A test does not end.
    Hangs,
    /// No known input makes the mutated place compute another value than the original does.
    #[default]
    NotInfected,
    /// Some input makes the mutated place compute another value, but all results are the same.
    Survived,
    /// It behaves like the original.
    Equivalent,
}

impl Status {
    /// Returns whether it is killed.
    #[must_use]
    pub fn is_killed(self) -> bool {
        matches!(self, Self::Killed | Self::Hangs)
    }

    /// The name of the status in the schema of mutation-testing-elements.
    fn in_schema(self) -> &'static str {
        match self {
            Self::Killed => "Killed",
            Self::Hangs => "Timeout",
            Self::NotInfected => "NoCoverage",
            Self::Survived => "Survived",
            Self::Equivalent => "Ignored",
        }
    }
}

impl Mutation {
    /// Share of killed mutants among those that are not proved equivalent, in percent.
    #[must_use]
    pub fn score(&self) -> f64 {
        share(self.mutants.killed, self.mutants.total - self.mutants.proved_equivalent)
    }

    /// The report as text, for people.
    #[must_use]
    pub fn text(&self, function: &str) -> String {
        let n = self.mutants;
        let of = n.total - n.proved_equivalent;
        let mut text = format!(
            "{function}: {} of {} killed ({}); by the tests of the campaign {} ({}); {} proved equivalent, {} \
             unknown ({})\n",
            n.killed,
            plural(of, "mutant"),
            percent(n.killed, of),
            n.killed_by_tests,
            percent(n.killed_by_tests, of),
            n.proved_equivalent,
            n.unknown,
            percent(n.unknown, n.total),
        );
        let mut last = String::new();
        for mutant in &self.live {
            let place = format!("{}:{}", mutant.file, mutant.line);
            if place != last {
                let _ = writeln!(text, "{place}");
                last = place;
            }
            let _ = writeln!(text, "  {:<12} {}  ({})", mutant.operator, mutant.change, mutant.reason);
        }
        text
    }
}

/// The text of [`FILE`]. `sources` maps each file to its text, and `tests` has the name of each test.
#[must_use]
pub fn elements(mutants: &[Mutant], sources: &BTreeMap<String, String>, tests: &[String]) -> String {
    let mut files: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (id, m) in mutants.iter().enumerate() {
        files.entry(&m.file).or_default().push(json!({
            "id": id.to_string(),
            "mutatorName": m.operator,
            "replacement": m.change,
            "description": m.change,
            "status": m.status.in_schema(),
            "statusReason": m.reason,
            "killedBy": m.killed_by.map(|t| t.to_string()).into_iter().collect::<Vec<_>>(),
            // The end of the changed text is not known.
            "location": {
                "start": {"line": m.line.max(1), "column": m.column.max(1)},
                "end": {"line": m.line.max(1), "column": m.column.max(1) + 1},
            },
        }));
    }
    let file = |(name, mutants): (&str, Vec<Value>)| {
        let language = if std::path::Path::new(name).extension().is_some_and(|e| e == "c") { "c" } else { "cpp" };
        (name.to_owned(), json!({"language": language, "source": sources.get(name), "mutants": mutants}))
    };
    let named: Vec<_> = tests.iter().enumerate().map(|(i, name)| json!({"id": i.to_string(), "name": name})).collect();
    let all = json!({
        "schemaVersion": "2.0",
        "thresholds": {"high": 90, "low": 70},
        "files": files.into_iter().map(file).collect::<serde_json::Map<_, _>>(),
        "testFiles": {"tests": {"tests": named}},
        "framework": {"name": "penfuzz"},
    });
    serde_json::to_string_pretty(&all).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(line: u32, status: Status) -> Mutant {
        let change = "a < b → a <= b".to_owned();
        Mutant { file: "a.c".to_owned(), line, operator: "comparison".to_owned(), change, status, ..Mutant::default() }
    }

    #[test]
    fn live_mutants_are_listed_by_line_and_equivalent_ones_do_not_count() {
        let live = vec![mutant(3, Status::Survived), mutant(3, Status::Survived), mutant(5, Status::NotInfected)];
        let mutants = Counts {
            total: 10,
            killed_by_tests: 4,
            killed: 6,
            proved_equivalent: 2,
            unknown: 2,
            infected: 1,
            ..Counts::default()
        };
        let mutation = Mutation { mutants, live, ..Mutation::default() };
        assert!((mutation.score() - 75.0).abs() < 1e-9);
        let text = mutation.text("f");
        assert!(text.starts_with("f: 6 of 8 mutants killed (75.0 %)"), "{text}");
        assert_eq!(text.matches("a.c:3\n").count(), 1, "{text}");
    }

    #[test]
    fn the_viewer_gets_every_file_with_its_mutants() {
        let sources = BTreeMap::from([("a.c".to_owned(), "int x;".to_owned())]);
        let text = elements(&[mutant(3, Status::Survived), mutant(0, Status::Hangs)], &sources, &["t".to_owned()]);
        let value: Value = serde_json::from_str(&text).expect("it is JSON");
        let file = &value["files"]["a.c"];
        assert_eq!((&file["language"], &file["source"]), (&json!("c"), &json!("int x;")));
        assert_eq!(file["mutants"][0]["status"], "Survived");
        assert_eq!(file["mutants"][1]["status"], "Timeout");
        assert_eq!(file["mutants"][1]["location"]["start"]["line"], 1, "lines begin with 1 in the schema");
    }
}
