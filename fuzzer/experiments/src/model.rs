//! An experiment and its outcome as data. Every report is derived from [`Experiment`] and its [`Trial`]s.

use std::time::Duration;

use penfuzz_suite::{
    config::{Paper, PublishedMeans},
    gcov::GcovCriteria,
};
use serde::{Deserialize, Serialize};

/// The version of the schema of `experiment.json`, `trial.json` and `summary.json`.
pub const SCHEMA: u32 = 1;

/// `experiment.json`: the functions, the tools and the protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Names of the suites.
    pub suites: Vec<String>,
    /// The functions, in the order of the suites.
    pub functions: Vec<FunctionInfo>,
    /// Published figures of other tools on the suites as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedMeans>,
    /// Functions that are left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(String, String)>,
    /// The requested tools, including those that are not installed.
    pub tools: Vec<ToolInfo>,
    /// Trials of each tool on each function.
    pub trials: u32,
    /// Budget of one trial.
    pub budget: Budget,
    /// Whether tools that need no seed inputs get none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_seeds: bool,
    /// Seed of the first trial; each further one has the next number.
    pub seed: u64,
    /// The machine it ran on.
    pub machine: Machine,
    /// The arguments of `penfuzz compare` that repeat it, without the output directory.
    pub command: Vec<String>,
}

/// One function of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FunctionInfo {
    /// Unique in the experiment.
    pub name: String,
    /// Name of its suite.
    pub suite: String,
    /// Source file, relative to the sources of the suite.
    pub file: String,
    /// The function under test.
    pub function: String,
    /// Published figures on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
}

/// One tool of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolInfo {
    /// Name on the command line and in all tables.
    pub name: String,
    /// What it is, in a few words.
    pub what: String,
    /// The version that the tool reports; empty when it was skipped.
    pub version: String,
    /// How its targets are built: compiler, flags and environment, as one would type it.
    pub build: String,
    /// How a trial is started, as one would type it, with the placeholders `CORPUS`, `SEED` and `TARGET`.
    pub run: String,
    /// Why it is skipped, and how to fix that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// The budget of one trial. It ends when the first of these is used up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// CPU seconds of all its processes together.
    pub cpu_seconds: f64,
    /// Calls of the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluations: Option<u64>,
    /// If set, `cpu_seconds` is the limit of `penfuzz-paper` only, which ends by itself. All other tools get this
    /// multiple of the CPU time that it used on the function in the same trial (`CoverMe`'s protocol, PLDI 2017, Sect.
    /// 6.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_paper: Option<f64>,
}

/// The machine of an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Cores that trials ran on, one trial on each at a time.
    pub cores: Vec<usize>,
    /// Memory in bytes.
    pub memory: u64,
    /// Operating system and kernel.
    pub system: String,
    /// Compiler of the referee.
    pub gcc: String,
}

/// `trial.json`: one tool on one function with one seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// [`SCHEMA`].
    pub schema: u32,
    /// [`FunctionInfo::name`].
    pub function: String,
    /// [`ToolInfo::name`].
    pub tool: String,
    /// Number of the trial, from 0.
    pub trial: u32,
    /// Seed of the tool's generator.
    pub seed: u64,
    /// CPU time that the tool's processes used, in seconds.
    pub cpu_seconds: f64,
    /// Wall time, in seconds.
    pub wall_seconds: f64,
    /// The time it took to build its target, in seconds, when it was built; not part of the budget.
    pub build_seconds: f64,
    /// Calls of the function by the tool's own count.
    pub evaluations: Option<u64>,
    /// Number of starts of the tool: one that ends before its budget is used up (libFuzzer at a crash) is started
    /// again.
    pub starts: u32,
    /// Inputs of the final corpus.
    pub inputs: usize,
    /// Inputs that the referee could not use: they crash or time out.
    pub failing_inputs: usize,
    /// Number of branches of the function by the referee's count.
    pub total: usize,
    /// Branches that the corpus covers, as indices below `total`, ascending.
    pub taken: Vec<u32>,
    /// Lines, conditions and calls that the corpus covers, by the referee's count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub criteria: Option<GcovCriteria>,
    /// Coverage over time by the tool's own time stamps, ascending.
    pub timeline: Vec<Point>,
    /// The error of a trial that failed; the other members have the figures up to then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Coverage at one time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Seconds since the trial's start.
    pub seconds: f64,
    /// Branches that the inputs found until then cover.
    pub covered: usize,
}

/// A time in seconds, rounded to microseconds, so that its decimal form is short and exact.
#[must_use]
pub fn seconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}

impl Trial {
    /// Returns the number of branches that the corpus covers.
    #[must_use]
    pub fn covered(&self) -> usize {
        self.taken.len()
    }
}
