//! Coverage over time, at times that are evenly spaced logarithmically. Each curve shows the statistic of the
//! corresponding table: over all functions the mean over trials, on one function their median.

use super::grid::{Grid, Row, complete};
use crate::{
    model::Trial,
    statistics::{Spread, mean, median},
};

/// Number of points in time: enough for steps to look like steps at the width of a page.
const TIMES: usize = 160;
/// Maximum number of decades: the first ten thousandth of the time is drawn as the start.
const DECADES: f64 = 4.0;

/// The share of all branches covered by one tool over time, in percent.
pub struct Curve {
    /// The tool.
    pub tool: usize,
    /// First quartile over trials.
    pub q1: Vec<f64>,
    /// Mean or median over trials.
    pub level: Vec<f64>,
    /// Third quartile over trials.
    pub q3: Vec<f64>,
}

impl Curve {
    /// Returns the level at the last time.
    pub fn end(&self) -> f64 {
        self.level.last().copied().unwrap_or(0.0)
    }
}

/// Returns the times, ascending, in seconds: up to the budget, or to the last time stamp if that is later.
pub fn times(grid: &Grid) -> Vec<f64> {
    let stamps = || grid.functions.iter().flat_map(|f| f.trials.iter().flatten()).flat_map(|t| &t.timeline);
    let budget = grid.experiment.budget.cpu_seconds;
    let most = stamps().map(|p| p.seconds).filter(|s| s.is_finite()).fold(budget, f64::max).max(1e-3);
    let least = stamps().map(|p| p.seconds).filter(|s| *s > 0.0).fold(most, f64::min);
    let least = 10_f64.powf(least.log10().floor()).max(most / 10_f64.powf(DECADES)).min(most / 10.0);
    let step = (most / least).ln() / (TIMES - 1) as f64;
    (0..TIMES).map(|i| if i + 1 == TIMES { most } else { least * (step * i as f64).exp() }).collect()
}

/// Returns the functions on which all tools that have any trial have one.
pub fn compared<'g, 'a>(grid: &'g Grid<'a>) -> Vec<&'g Row<'a>> {
    let with_trials: Vec<_> = (0..grid.tools.len()).filter(|&t| grid.of_tool(t).next().is_some()).collect();
    grid.common(&with_trials)
}

/// Returns one curve for each tool that has trials: the mean over these functions, for the trials that cover all of
/// them.
pub fn overall(grid: &Grid, functions: &[&Row], times: &[f64]) -> Vec<Curve> {
    let of_tool = |tool: usize| {
        let numbers = complete(functions, tool);
        let per_trial: Vec<_> = numbers.iter().map(|&n| mean_over(functions, tool, n, times)).collect();
        curve(tool, &per_trial, times.len(), mean)
    };
    (0..grid.tools.len()).filter_map(of_tool).collect()
}

/// Returns one curve for each tool that has trials on one function.
pub fn of_function(row: &Row, times: &[f64]) -> Vec<Curve> {
    let of_tool = |tool: usize| {
        let per_trial: Vec<_> = row.trials[tool].iter().map(|t| shares(t, row.total, times)).collect();
        curve(tool, &per_trial, times.len(), median)
    };
    (0..row.trials.len()).filter_map(of_tool).collect()
}

fn mean_over(functions: &[&Row], tool: usize, number: u32, times: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; times.len()];
    for row in functions {
        if let Some(trial) = row.trial(tool, number) {
            sum.iter_mut().zip(shares(trial, row.total, times)).for_each(|(s, share)| *s += share);
        }
    }
    sum.iter().map(|s| s / functions.len() as f64).collect()
}

/// Returns the share covered at each time, in percent.
fn shares(trial: &Trial, total: usize, times: &[f64]) -> Vec<f64> {
    let mut points = trial.timeline.iter().peekable();
    let mut covered = 0;
    let at = |time: &f64| {
        while let Some(point) = points.next_if(|p| p.seconds <= *time) {
            covered = point.covered;
        }
        100.0 * covered as f64 / total.max(1) as f64
    };
    times.iter().map(at).collect()
}

fn curve(tool: usize, per_trial: &[Vec<f64>], times: usize, level: fn(&[f64]) -> Option<f64>) -> Option<Curve> {
    let at = |i: usize| {
        let sample: Vec<_> = per_trial.iter().map(|t| t[i]).collect();
        Some((Spread::of(&sample)?, level(&sample)?))
    };
    let spreads: Vec<_> = (0..times).map_while(at).collect();
    (spreads.len() == times).then(|| Curve {
        tool,
        q1: spreads.iter().map(|(s, _)| s.q1).collect(),
        level: spreads.iter().map(|(_, level)| *level).collect(),
        q3: spreads.iter().map(|(s, _)| s.q3).collect(),
    })
}
