//! What an experiment is and what came of it, as data: every report is derived from [`Experiment`] and its [`Trial`]s.

use std::time::Duration;

use penfuzz_app::suite::config::Paper;
use serde::{Deserialize, Serialize};

/// The version of the schema of `experiment.json`, `trial.json` and `summary.json`.
pub const SCHEMA: u32 = 1;

/// `experiment.json`: what is compared, and with what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Names of the suites.
    pub suites: Vec<String>,
    /// The functions, in the order of the suites.
    pub functions: Vec<FunctionInfo>,
    /// Functions that take no part, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(String, String)>,
    /// The tools, in the order in which they were asked for; those that are not installed too.
    pub tools: Vec<ToolInfo>,
    /// Trials of each tool on each function.
    pub trials: u32,
    /// What one trial may use.
    pub budget: Budget,
    /// Tools that need no seed inputs get none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_seeds: bool,
    /// Seed of the first trial; each further one has the next number.
    pub seed: u64,
    /// Where it ran.
    pub machine: Machine,
    /// The arguments of `penfuzz compare` that repeat it, but for the output directory.
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
    /// What a paper reports on it.
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
    /// The version as the tool tells it; empty when it was skipped.
    pub version: String,
    /// How its targets are built: compiler, flags and environment, as one would type it.
    pub build: String,
    /// How a trial is started, as one would type it, with `CORPUS`, `SEED` and `TARGET` for what differs.
    pub run: String,
    /// Why it does not take part and what to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// What one trial may use: whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// CPU seconds of all its processes together.
    pub cpu_seconds: f64,
    /// Calls of the function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluations: Option<u64>,
    /// When given, `cpu_seconds` is for `penfuzz-paper` only, which ends by itself, and all others get this many times the
    /// CPU time that it took on the function in the same trial (`CoverMe`'s protocol, PLDI 2017, Sect. 6.1).
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
    /// What it took to build its target, in seconds, whenever that was; not part of the budget.
    pub build_seconds: f64,
    /// Calls of the function, as the tool counts them.
    pub evaluations: Option<u64>,
    /// How often the tool was started: one that ends before its budget is used (libFuzzer at a crash) starts again.
    pub starts: u32,
    /// Inputs of the final corpus.
    pub inputs: usize,
    /// Inputs that the referee could not use: they crash, or do not end in time.
    pub failing_inputs: usize,
    /// Branches of the function by the referee's count.
    pub total: usize,
    /// Those that the corpus takes, as indices below `total`, ascending.
    pub taken: Vec<u32>,
    /// Coverage over time by the tool's own time stamps, ascending.
    pub timeline: Vec<Point>,
    /// What went wrong; the other members say what was had nevertheless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Coverage at one time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Seconds since the trial's start.
    pub seconds: f64,
    /// Branches that the inputs found until then take.
    pub covered: usize,
}

/// A time in seconds, to the microsecond: so short a decimal reads back as the same number.
#[must_use]
pub fn seconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}

impl Trial {
    /// Branches that the corpus takes.
    #[must_use]
    pub fn covered(&self) -> usize {
        self.taken.len()
    }
}
