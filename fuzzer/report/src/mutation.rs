//! Mutants in reports: which of them the tests kill. The part of `report.json` that `penfuzz mutate` adds, and `mutants.json`, the file
//! that viewers of the mutation-testing-elements schema show.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::format::{percent, plural, share};

/// The file in the output directory, by the schema of mutation-testing-elements, version 2.
pub const FILE: &str = "mutants.json";

/// What is known of the mutants.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Mutation {
    /// How many there are.
    pub mutants: Counts,
    /// Those that no test kills and that are not proved equivalent, in the order of the source.
    pub live: Vec<Mutant>,
    /// Those that solvers have proved equivalent, in the order of the source.
    #[serde(default)]
    pub equivalent: Vec<Mutant>,
    /// Runs of mutants.
    #[serde(default)]
    pub mutant_runs: u64,
    /// Seconds that running the mutants took for the score of the campaign's tests.
    #[serde(default)]
    pub score_seconds: f64,
    /// Seconds that one run of these tests takes without mutants, in a process like those of mutants.
    #[serde(default)]
    pub plain_seconds: f64,
    /// Seconds that the search for killing inputs took.
    #[serde(default)]
    pub search_seconds: f64,
    /// Seconds that solvers took, with the translation for them.
    #[serde(default)]
    pub proof_seconds: f64,
}

/// Numbers of mutants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All of them.
    pub total: usize,
    /// Those that the tests of the campaign kill: a test program would fail.
    pub killed_by_tests: usize,
    /// Those that are killed by these tests or by those that the search has added.
    pub killed: usize,
    /// Those of which it is proved that they do what the original does.
    pub proved_equivalent: usize,
    /// The others.
    pub unknown: usize,
    /// Of the unknown: those for which some test computes another value at the mutated place than the original.
    #[serde(default)]
    pub infected: usize,
    /// Of the unknown: equivalent if integer operations that overflow wrap around, which C leaves undefined.
    #[serde(default)]
    pub equivalent_if_wraps: usize,
    /// Of the unknown: those that one solver found to be equivalent, and no other had an answer.
    #[serde(default)]
    pub proved_by_one: usize,
    /// Mutants that are not counted, because their optimized code is that of another.
    #[serde(default)]
    pub duplicates: usize,
}

/// One mutant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutant {
    /// Its function.
    pub function: String,
    /// Its source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
    /// The kind of change.
    pub operator: String,
    /// The change: `a < b → a <= b`.
    pub change: String,
    /// What became of it.
    pub status: Status,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Of a killed one: the number of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<usize>,
    /// Of a live one: one solver found that it is equivalent, and no other had an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_proved_by_one: bool,
    /// Of a live one: two solvers found that it is equivalent if integer operations that overflow wrap around. C leaves that undefined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_equivalent_if_wraps: bool,
    /// The file of a proof that it is equivalent, in the directory of the campaign.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub proof: String,
}

/// What became of a mutant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A test fails.
    Killed,
    /// A test does not end.
    Hangs,
    /// For no known input the mutated place computes another value than that of the original.
    #[default]
    NotInfected,
    /// For some input it does, and all results are the same.
    Survived,
    /// It does what the original does.
    Equivalent,
}

impl Status {
    /// Is it killed?
    #[must_use]
    pub fn is_killed(self) -> bool {
        matches!(self, Self::Killed | Self::Hangs)
    }

    /// In the schema of mutation-testing-elements.
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
    /// Killed mutants of those that are not proved equivalent, in percent.
    #[must_use]
    pub fn score(&self) -> f64 {
        share(self.mutants.killed, self.mutants.total - self.mutants.proved_equivalent)
    }

    /// The text for people.
    #[must_use]
    pub fn text(&self, function: &str) -> String {
        let n = self.mutants;
        let of = n.total - n.proved_equivalent;
        let mut text = format!(
            "{function}: {} of {} killed ({}); by the tests of the campaign {} ({}); {} proved equivalent, {} unknown ({})\n",
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

/// The text of [`FILE`]. `sources` has the text of each file, and `tests` the name of each test.
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
