//! `summary.json`: every figure of the other reports. Shares of coverage are in percent.

use serde::Serialize;

use crate::statistics::{Magnitude, Spread};

/// The file's name in the directory of an experiment.
pub const FILE: &str = "summary.json";

/// The figures of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Version of the schema.
    pub schema: u32,
    /// The reference tool, which the others are compared with; empty if there is none.
    pub reference: String,
    /// Level of significance.
    pub alpha: f64,
    /// Number of finished trials.
    pub trials_done: usize,
    /// Number of requested trials of the installed tools.
    pub trials_planned: usize,
    /// One per installed tool, in the experiment's order.
    pub tools: Vec<ToolSummary>,
    /// One per function, in the experiment's order.
    pub functions: Vec<FunctionSummary>,
    /// Trials that had an error; their coverage counts.
    pub errors: Vec<TrialError>,
}

/// A tool over all functions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSummary {
    /// The tool.
    pub tool: String,
    /// Number of finished trials.
    pub trials: usize,
    /// Number of functions with a trial of this tool.
    pub functions: usize,
    /// Mean over these functions of the mean over trials of the share of all branches.
    pub coverage: Option<f64>,
    /// The same relative to the best known coverage: the branches that any tool covered in any trial.
    pub coverage_of_best: Option<f64>,
    /// The same of lines, of conditions and of calls (by gcov), over the functions that have any.
    pub lines: Option<f64>,
    /// See `lines`: branches whose condition was evaluated.
    pub conditions: Option<f64>,
    /// See `lines`.
    pub calls: Option<f64>,
    /// Number of functions on which the median trial covers the best known.
    pub functions_at_best: usize,
    /// Median over all trials of the number of calls of the function, for those that report it.
    pub evaluations: Option<f64>,
    /// Median over all trials of the CPU time.
    pub cpu_seconds: Option<f64>,
    /// Sum over functions of the times to build the targets, which are not part of the budget.
    pub build_seconds: f64,
    /// Number of trials that had an error.
    pub errors: usize,
    /// The reference tool compared with this one; `None` for itself.
    pub against: Option<Against>,
}

/// The reference tool compared with another, over all functions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Against {
    /// Number of functions on which the reference tool's trials tend to cover more (A12 > 0.5).
    pub better: usize,
    /// Number of those with a corrected p-value below alpha.
    pub better_significant: usize,
    /// Number of functions with A12 = 0.5.
    pub equal: usize,
    /// Number of functions on which the reference tool's trials tend to cover less.
    pub worse: usize,
    /// Number of those with a corrected p-value below alpha.
    pub worse_significant: usize,
    /// All functions together.
    pub pooled: Pooled,
}

/// A comparison over all functions together: each trial is one observation, its mean over functions of the share of all
/// branches covered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pooled {
    /// Number of functions that both tools have a trial on.
    pub functions: usize,
    /// Number of trials of the reference tool on all of these functions.
    pub n_reference: usize,
    /// Number of trials of the other tool on all of them.
    pub n: usize,
    /// Probability that a trial of the reference tool covers more than one of the other, ties counted half.
    pub a12: Option<f64>,
    /// Effect size in words.
    pub magnitude: Option<Magnitude>,
    /// p-value of the two-sided Mann-Whitney U test.
    pub p: Option<f64>,
    /// The smallest p-value that samples of these sizes can give.
    pub smallest_p: f64,
}

/// One function with all tools.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionSummary {
    /// Its unique name.
    pub function: String,
    /// Its suite.
    pub suite: String,
    /// Its branches.
    pub total: usize,
    /// Number of branches that any trial of any tool covers.
    pub best_known: usize,
    /// One per tool, in the order of [`Summary::tools`].
    pub tools: Vec<Cell>,
}

/// One tool on one function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The tool.
    pub tool: String,
    /// Branches covered by its trials; `None` if there are none yet.
    pub covered: Option<Spread>,
    /// The reference tool compared with this one; `None` for itself, and as long as one of them has no trial.
    pub against: Option<Comparison>,
}

/// The reference tool compared with another on one function.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// Probability that a trial of the reference tool covers more than one of the other, ties counted half.
    pub a12: f64,
    /// Effect size in words.
    pub magnitude: Magnitude,
    /// p-value of the two-sided Mann-Whitney U test.
    pub p: f64,
    /// The same with Holm's correction over the functions.
    pub p_holm: f64,
    /// The verdict for the reference tool.
    pub verdict: Verdict,
    /// Whether the corrected p-value is below alpha.
    pub significant: bool,
}

/// The verdict for the reference tool compared with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The reference tool tends to cover more: A12 > 0.5.
    Better,
    /// A12 is 0.5.
    Equal,
    /// The reference tool tends to cover less: A12 < 0.5.
    Worse,
}

/// A trial that had an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrialError {
    /// The function.
    pub function: String,
    /// The tool.
    pub tool: String,
    /// Number of the trial.
    pub trial: u32,
    /// The error.
    pub error: String,
}

/// A function on which the reference tool loses against another tool.
pub struct Loss<'a> {
    /// The function.
    pub function: &'a FunctionSummary,
    /// The other tool on this function.
    pub cell: &'a Cell,
    /// The reference tool against the other tool.
    pub comparison: &'a Comparison,
}

impl Summary {
    /// Returns the functions on which the reference tool loses against any tool: first the significant losses, then by
    /// the effect size.
    pub fn losses(&self) -> Vec<Loss<'_>> {
        let all = self.functions.iter().flat_map(|f| f.tools.iter().map(move |c| (f, c)));
        let mut lost: Vec<_> = all
            .filter_map(|(function, cell)| Some(Loss { function, cell, comparison: cell.against.as_ref()? }))
            .filter(|loss| loss.comparison.verdict == Verdict::Worse)
            .collect();
        let rank = |loss: &Loss| (!loss.comparison.significant, loss.comparison.a12);
        lost.sort_by(|a, b| {
            let (a, b) = (rank(a), rank(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        lost
    }

    /// Returns indented JSON with a final newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a summary is plain data") + "\n"
    }
}
