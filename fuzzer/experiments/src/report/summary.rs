//! `summary.json`: every figure that the other reports show. Shares of coverage are in percent.

use serde::Serialize;

use crate::statistics::{Magnitude, Spread};

/// The file's name in the directory of an experiment.
pub const FILE: &str = "summary.json";

/// The figures of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Version of the schema.
    pub schema: u32,
    /// The tool that the others are compared with; empty when there is none.
    pub reference: String,
    /// Level of significance.
    pub alpha: f64,
    /// Trials that are done.
    pub trials_done: usize,
    /// Requested trials of the tools that take part.
    pub trials_planned: usize,
    /// One per tool that takes part, in the experiment's order.
    pub tools: Vec<ToolSummary>,
    /// One per function, in the experiment's order.
    pub functions: Vec<FunctionSummary>,
    /// Trials in which something went wrong; what they covered counts.
    pub errors: Vec<TrialError>,
}

/// A tool over all functions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSummary {
    /// The tool.
    pub tool: String,
    /// Trials that are done.
    pub trials: usize,
    /// Functions with a trial of this tool.
    pub functions: usize,
    /// Mean over these functions of the mean over trials of the share of all branches.
    pub coverage: Option<f64>,
    /// The same of the best known: the branches that any tool took in any trial.
    pub coverage_of_best: Option<f64>,
    /// Functions on which the median trial covers the best known.
    pub functions_at_best: usize,
    /// Median over all trials of the calls of the function, of those that report it.
    pub evaluations: Option<f64>,
    /// Median over all trials of the CPU time.
    pub cpu_seconds: Option<f64>,
    /// Sum over functions of the times to build the targets, which do not count for the budget.
    pub build_seconds: f64,
    /// Trials in which something went wrong.
    pub errors: usize,
    /// The reference tool beside this one; none for itself.
    pub against: Option<Against>,
}

/// The reference tool beside another, over all functions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Against {
    /// Functions on which the reference tool's trials tend to cover more (A12 > 0.5).
    pub better: usize,
    /// Those of them where the corrected p-value is below alpha.
    pub better_significant: usize,
    /// Functions with A12 = 0.5.
    pub equal: usize,
    /// Functions on which the reference tool's trials tend to cover less.
    pub worse: usize,
    /// Those of them where the corrected p-value is below alpha.
    pub worse_significant: usize,
    /// All functions together.
    pub pooled: Pooled,
}

/// All functions together: each trial is one observation, its mean over functions of the share of all branches covered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pooled {
    /// Functions that both tools have a trial on.
    pub functions: usize,
    /// Trials of the reference tool that have all of these functions.
    pub n_reference: usize,
    /// Trials of the other tool that have all of them.
    pub n: usize,
    /// Probability that a trial of the reference tool covers more than one of the other, ties counted half.
    pub a12: Option<f64>,
    /// The word for the effect size.
    pub magnitude: Option<Magnitude>,
    /// Of the two-sided Mann-Whitney U test.
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
    /// Branches that some trial of some tool takes.
    pub best_known: usize,
    /// One per tool, in the order of [`Summary::tools`].
    pub tools: Vec<Cell>,
}

/// One tool on one function.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// The tool.
    pub tool: String,
    /// Branches covered by its trials; none as long as it has none.
    pub covered: Option<Spread>,
    /// The reference tool beside it; none for itself, and as long as one of them has no trial.
    pub against: Option<Comparison>,
}

/// The reference tool beside another on one function.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// Probability that a trial of the reference tool covers more than one of the other, ties counted half.
    pub a12: f64,
    /// The word for the effect size.
    pub magnitude: Magnitude,
    /// Of the two-sided Mann-Whitney U test.
    pub p: f64,
    /// The same with Holm's correction over the functions.
    pub p_holm: f64,
    /// The verdict for the reference tool.
    pub verdict: Verdict,
    /// The corrected p-value is below alpha.
    pub significant: bool,
}

/// The verdict for the reference tool beside another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It tends to cover more: A12 > 0.5.
    Better,
    /// A12 is 0.5.
    Equal,
    /// It tends to cover less.
    Worse,
}

/// A trial in which something went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrialError {
    /// The function.
    pub function: String,
    /// The tool.
    pub tool: String,
    /// Number of the trial.
    pub trial: u32,
    /// What went wrong.
    pub error: String,
}

impl Summary {
    /// The functions on which the reference tool loses against some tool: first those where it is significant, then by
    /// the effect.
    pub fn losses(&self) -> Vec<(&FunctionSummary, &Cell, &Comparison)> {
        let all = self.functions.iter().flat_map(|f| f.tools.iter().map(move |c| (f, c)));
        let mut lost: Vec<_> = all
            .filter_map(|(f, c)| c.against.as_ref().map(|a| (f, c, a)))
            .filter(|(_, _, a)| a.verdict == Verdict::Worse)
            .collect();
        lost.sort_by(|(_, _, a), (_, _, b)| b.significant.cmp(&a.significant).then(a.a12.total_cmp(&b.a12)));
        lost
    }

    /// As indented JSON with a final newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a summary is plain data") + "\n"
    }
}
