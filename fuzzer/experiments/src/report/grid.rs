//! Trials by function and tool, and the best known coverage of each function.

use std::collections::HashMap;

use crate::model::{Experiment, FunctionInfo, ToolInfo, Trial};

/// The tool that the others are compared with, if it is in the experiment.
const REFERENCE: &str = "penfuzz";

/// The trials of an experiment by function and tool.
pub struct Grid<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The installed tools, in the experiment's order.
    pub tools: Vec<&'a ToolInfo>,
    /// Index in `tools` of the one that the others are compared with; also 0 if there is none.
    pub reference: usize,
    /// The functions, in the experiment's order.
    pub functions: Vec<Row<'a>>,
}

/// One function.
pub struct Row<'a> {
    /// The function.
    pub info: &'a FunctionInfo,
    /// Number of its branches; 0 as long as no trial has counted them.
    pub total: usize,
    /// Number of branches that any trial of any tool covers.
    pub best: usize,
    /// The trials of each tool, in the order of their numbers.
    pub trials: Vec<Vec<&'a Trial>>,
}

impl<'a> Grid<'a> {
    /// Groups the trials by function and tool. Trials of tools and functions outside the experiment are ignored.
    pub fn new(experiment: &'a Experiment, trials: &'a [Trial]) -> Self {
        let tools: Vec<_> = experiment.tools.iter().filter(|t| t.skipped.is_none()).collect();
        let row = |info| Row { info, total: 0, best: 0, trials: vec![Vec::new(); tools.len()] };
        let mut functions: Vec<_> = experiment.functions.iter().map(row).collect();
        let function_at: HashMap<_, _> = functions.iter().enumerate().map(|(i, f)| (&f.info.name, i)).collect();
        let tool_at: HashMap<_, _> = tools.iter().enumerate().map(|(i, t)| (&t.name, i)).collect();
        for trial in trials {
            if let (Some(&f), Some(&t)) = (function_at.get(&trial.function), tool_at.get(&trial.tool)) {
                functions[f].trials[t].push(trial);
            }
        }
        functions.iter_mut().for_each(Row::finish);
        let reference = tools.iter().position(|t| t.name == REFERENCE).unwrap_or(0);
        Self { experiment, tools, reference, functions }
    }

    /// Returns the name of the reference tool; empty if there is none.
    pub fn reference_name(&self) -> &'a str {
        self.tools.get(self.reference).map_or("", |t| &t.name)
    }

    /// Returns all trials of a tool.
    pub fn of_tool(&self, tool: usize) -> impl Iterator<Item = &'a Trial> {
        self.functions.iter().flat_map(move |f| f.trials[tool].iter().copied())
    }

    /// Returns the functions with a trial of every one of these tools.
    pub fn common(&self, tools: &[usize]) -> Vec<&Row<'a>> {
        self.functions.iter().filter(|f| f.total > 0 && tools.iter().all(|&t| !f.trials[t].is_empty())).collect()
    }
}

impl<'a> Row<'a> {
    fn finish(&mut self) {
        let all = || self.trials.iter().flatten();
        let mut taken = vec![false; all().map(|t| t.total).max().unwrap_or(0)];
        for &branch in all().flat_map(|t| &t.taken) {
            if let Some(cell) = taken.get_mut(branch as usize) {
                *cell = true;
            }
        }
        (self.total, self.best) = (taken.len(), taken.iter().filter(|t| **t).count());
        self.trials.iter_mut().for_each(|of_tool| of_tool.sort_by_key(|t| t.trial));
    }

    /// Returns the number of branches covered by each trial of a tool.
    pub fn covered(&self, tool: usize) -> Vec<f64> {
        self.trials[tool].iter().map(|t| t.covered() as f64).collect()
    }

    /// Returns the trial of a tool with this number.
    pub fn trial(&self, tool: usize, number: u32) -> Option<&'a Trial> {
        let trials = &self.trials[tool];
        trials.binary_search_by_key(&number, |t| t.trial).ok().map(|i| trials[i])
    }
}

/// Returns the numbers of the trials that a tool has on every one of the functions: only their means are over the same
/// functions.
pub fn complete(functions: &[&Row], tool: usize) -> Vec<u32> {
    let Some((first, others)) = functions.split_first() else {
        return Vec::new();
    };
    let numbers = first.trials[tool].iter().map(|t| t.trial);
    numbers.filter(|&n| others.iter().all(|f| f.trial(tool, n).is_some())).collect()
}
