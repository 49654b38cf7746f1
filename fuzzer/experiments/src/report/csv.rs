//! `results.csv`: one row per trial, for other statistics.

use serde::Serialize;

use super::grid::{Grid, Row};
use crate::model::Trial;

/// The file's name in the directory of an experiment.
pub const FILE: &str = "results.csv";

const HEAD: [&str; 17] = [
    "suite",
    "function",
    "tool",
    "trial",
    "seed",
    "cpu_seconds",
    "wall_seconds",
    "build_seconds",
    "evaluations",
    "starts",
    "inputs",
    "failing_inputs",
    "total",
    "covered",
    "best_known",
    "time_to_last_branch",
    "error",
];

/// In the order of [`HEAD`].
#[derive(Serialize)]
struct Record<'a> {
    suite: &'a str,
    function: &'a str,
    tool: &'a str,
    trial: u32,
    seed: u64,
    cpu_seconds: f64,
    wall_seconds: f64,
    build_seconds: f64,
    evaluations: Option<u64>,
    starts: u32,
    inputs: usize,
    failing_inputs: usize,
    total: usize,
    covered: usize,
    best_known: usize,
    time_to_last_branch: Option<f64>,
    error: Option<&'a str>,
}

/// Returns the table with a header, by function, tool and trial; an unknown value is an empty field.
///
/// # Panics
/// Never: writing to memory does not fail.
pub fn table(grid: &Grid) -> Vec<u8> {
    // Written explicitly, because serde writes no header without a record.
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    writer.write_record(HEAD).expect("memory takes every row");
    for row in &grid.functions {
        for trial in row.trials.iter().flatten() {
            writer.serialize(record(row, trial)).expect("a record is plain data");
        }
    }
    writer.into_inner().expect("memory takes every row")
}

fn record<'a>(row: &Row<'a>, trial: &'a Trial) -> Record<'a> {
    Record {
        suite: &row.info.suite,
        function: &row.info.name,
        tool: &trial.tool,
        trial: trial.trial,
        seed: trial.seed,
        cpu_seconds: trial.cpu_seconds,
        wall_seconds: trial.wall_seconds,
        build_seconds: trial.build_seconds,
        evaluations: trial.evaluations,
        starts: trial.starts,
        inputs: trial.inputs,
        failing_inputs: trial.failing_inputs,
        // The total of the function: a failed trial may have none.
        total: row.total,
        covered: trial.covered(),
        best_known: row.best,
        time_to_last_branch: last_branch(trial),
        error: trial.error.as_deref(),
    }
}

/// Returns the time at which the last branch was found, in seconds.
fn last_branch(trial: &Trial) -> Option<f64> {
    let last = trial.timeline.last()?.covered;
    trial.timeline.iter().find(|p| p.covered == last && last > 0).map(|p| p.seconds)
}
