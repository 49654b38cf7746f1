//! Computes the figures from the trials: of each tool on each function, and of each tool over all functions.

use penfuzz_suite::gcov::{Executed, GcovCriteria};

use super::{
    grid::{Grid, Row, complete},
    summary::{Against, Cell, Comparison, FunctionSummary, Pooled, Summary, ToolSummary, TrialError, Verdict},
};
use crate::{
    model::{SCHEMA, Trial},
    statistics::{ALPHA, Magnitude, Spread, a12, holm, mann_whitney, mean, median, smallest_p},
};

impl Summary {
    /// Computes every figure from the trials.
    pub fn new(grid: &Grid) -> Self {
        let functions = functions(grid);
        let tools: Vec<_> = (0..grid.tools.len()).map(|t| tool(grid, &functions, t)).collect();
        let per_tool = grid.functions.len() * grid.experiment.trials as usize;
        Self {
            schema: SCHEMA,
            reference: grid.reference_name().to_owned(),
            alpha: ALPHA,
            trials_done: tools.iter().map(|t| t.trials).sum(),
            trials_planned: per_tool * tools.len(),
            errors: (0..tools.len()).flat_map(|t| errors(grid, t)).collect(),
            tools,
            functions,
        }
    }
}

fn errors(grid: &Grid, tool: usize) -> impl Iterator<Item = TrialError> {
    grid.of_tool(tool).filter_map(|t| {
        let error = t.error.clone()?;
        Some(TrialError { function: t.function.clone(), tool: t.tool.clone(), trial: t.trial, error })
    })
}

/// Computes the figures of every function with every tool.
fn functions(grid: &Grid) -> Vec<FunctionSummary> {
    let mut all: Vec<_> = grid.functions.iter().map(|row| function(grid, row)).collect();
    for tool in 0..grid.tools.len() {
        correct(&mut all, tool);
    }
    all
}

fn function(grid: &Grid, row: &Row) -> FunctionSummary {
    let cell = |tool: usize| Cell {
        tool: grid.tools[tool].name.clone(),
        covered: Spread::of(&row.covered(tool)),
        against: if tool == grid.reference { None } else { comparison(row, grid.reference, tool) },
    };
    FunctionSummary {
        function: row.info.name.clone(),
        suite: row.info.suite.clone(),
        total: row.total,
        best_known: row.best,
        tools: (0..grid.tools.len()).map(cell).collect(),
    }
}

/// Compares two tools on a function; the p-value is not yet corrected for the number of functions.
fn comparison(row: &Row, reference: usize, tool: usize) -> Option<Comparison> {
    let (x, y) = (row.covered(reference), row.covered(tool));
    let (a12, p) = (a12(&x, &y)?, mann_whitney(&x, &y)?);
    let verdict = match a12 {
        a if a > 0.5 => Verdict::Better,
        a if a < 0.5 => Verdict::Worse,
        _ => Verdict::Equal,
    };
    Some(Comparison { a12, magnitude: Magnitude::of(a12), p, p_holm: p, verdict, significant: false })
}

/// Corrects the p-values; the functions of one tool are one family of tests.
fn correct(functions: &mut [FunctionSummary], tool: usize) {
    let mut family: Vec<_> = functions.iter_mut().filter_map(|f| f.tools[tool].against.as_mut()).collect();
    let p: Vec<_> = family.iter().map(|c| c.p).collect();
    for (comparison, p_holm) in family.iter_mut().zip(holm(&p)) {
        comparison.p_holm = p_holm;
        comparison.significant = p_holm < ALPHA;
    }
}

/// Computes the figures of one tool over all functions.
fn tool(grid: &Grid, functions: &[FunctionSummary], tool: usize) -> ToolSummary {
    let trials: Vec<_> = grid.of_tool(tool).collect();
    let common = grid.common(&[tool]);
    let share = |of: fn(&Row) -> usize| {
        let shares: Vec<_> = common.iter().filter_map(|f| percent(mean(&f.covered(tool))?, of(f))).collect();
        mean(&shares)
    };
    let at_best = |f: &&FunctionSummary| f.tools[tool].covered.is_some_and(|c| c.median >= f.best_known as f64);
    ToolSummary {
        tool: grid.tools[tool].name.clone(),
        trials: trials.len(),
        functions: common.len(),
        coverage: share(|f| f.total),
        coverage_of_best: share(|f| f.best),
        lines: executed(&common, tool, |c| c.lines),
        conditions: executed(&common, tool, |c| c.conditions),
        calls: executed(&common, tool, |c| c.calls),
        functions_at_best: functions.iter().filter(|f| f.total > 0).filter(at_best).count(),
        evaluations: median(&trials.iter().filter_map(|t| t.evaluations.map(|e| e as f64)).collect::<Vec<_>>()),
        cpu_seconds: median(&trials.iter().map(|t| t.cpu_seconds).collect::<Vec<_>>()),
        build_seconds: grid.functions.iter().map(|f| build_seconds(f, tool)).sum(),
        errors: trials.iter().filter(|t| t.error.is_some()).count(),
        against: (tool != grid.reference).then(|| against(grid, functions, tool)),
    }
}

/// Computes the mean over functions of the mean over trials of a share of gcov's other criteria, in percent.
fn executed(functions: &[&Row], tool: usize, kind: fn(&GcovCriteria) -> Executed) -> Option<f64> {
    let share = |t: &&Trial| t.criteria.as_ref().map(kind).filter(|c| c.total > 0).map(Executed::share);
    let of = |f: &&Row| mean(&f.trials[tool].iter().filter_map(share).collect::<Vec<_>>());
    mean(&functions.iter().filter_map(of).collect::<Vec<_>>())
}

/// Returns the build time, which is the same in every trial unless the target was built again between them.
fn build_seconds(row: &Row, tool: usize) -> f64 {
    row.trials[tool].iter().map(|t| t.build_seconds).fold(0.0, f64::max)
}

fn percent(covered: f64, of: usize) -> Option<f64> {
    (of > 0).then(|| 100.0 * covered / of as f64)
}

fn against(grid: &Grid, functions: &[FunctionSummary], tool: usize) -> Against {
    let count = |verdict, significant: bool| {
        let all = functions.iter().filter_map(|f| f.tools[tool].against);
        all.filter(|c| c.verdict == verdict && (c.significant || !significant)).count()
    };
    Against {
        better: count(Verdict::Better, false),
        better_significant: count(Verdict::Better, true),
        equal: count(Verdict::Equal, false),
        worse: count(Verdict::Worse, false),
        worse_significant: count(Verdict::Worse, true),
        pooled: pooled(grid, tool),
    }
}

fn pooled(grid: &Grid, tool: usize) -> Pooled {
    let functions = grid.common(&[grid.reference, tool]);
    let (x, y) = (means(&functions, grid.reference), means(&functions, tool));
    let a12 = a12(&x, &y);
    Pooled {
        functions: functions.len(),
        n_reference: x.len(),
        n: y.len(),
        a12,
        magnitude: a12.map(Magnitude::of),
        p: mann_whitney(&x, &y),
        smallest_p: smallest_p(x.len(), y.len()),
    }
}

/// Returns, for each trial that has all these functions, its mean over them of the share of all branches, in percent.
pub fn means(functions: &[&Row], tool: usize) -> Vec<f64> {
    let share = |f: &Row, number| f.trial(tool, number).and_then(|t| percent(t.covered() as f64, f.total));
    let of_trial = |number| mean(&functions.iter().filter_map(|f| share(f, number)).collect::<Vec<_>>());
    complete(functions, tool).into_iter().filter_map(of_trial).collect()
}
