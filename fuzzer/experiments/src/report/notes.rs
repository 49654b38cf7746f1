//! Notes for interpreting the figures: what is missing, what cannot be significant, how they were obtained.

use penfuzz_report::format::{p_value, plural};
use penfuzz_system::console::shown;

use super::{grid::Grid, summary::Summary};
use crate::{
    model::Budget,
    statistics::{ALPHA, smallest_p},
    tools::penfuzz::PAPER,
};

/// Describes the budget of a trial.
pub fn budget(budget: &Budget) -> String {
    if let Some(times) = budget.times_paper {
        return format!("{times} times the CPU time that {PAPER} takes to finish on the function in the same trial");
    }
    let evaluations = budget.evaluations.map(|n| format!(" or {n} calls of the function, whichever comes first"));
    format!("{} s of CPU time{}", budget.cpu_seconds, evaluations.unwrap_or_default())
}

/// Describes the limits of these figures; empty if the experiment is complete and large enough.
pub fn limits(grid: &Grid, summary: &Summary) -> Vec<String> {
    let mut out = Vec::new();
    let (done, planned) = (summary.trials_done, summary.trials_planned);
    if done < planned {
        out.push(format!(
            "{done} of {planned} trials are done. Figures are of those only: a tool's means are over the functions \
             that it has trials of; a pooled comparison takes the functions that both tools have, and the trials that \
             have all of them."
        ));
    }
    let uncounted = grid.functions.iter().filter(|f| f.total == 0).count();
    if uncounted > 0 && done > 0 {
        out.push(format!("The means leave out {} whose branches no trial has counted.", plural(uncounted, "function")));
    }
    for (name, why) in &grid.experiment.left_out {
        out.push(format!("{} is left out: {}", shown(name), shown(&why.replace('\n', " "))));
    }
    out.extend(significance(grid, summary));
    let errors = summary.errors.len();
    if errors > 0 {
        out.push(format!(
            "There were errors in {}, listed below; the coverage reached still counts.",
            plural(errors, "trial")
        ));
    }
    out
}

/// Describes comparisons that cannot be significant with so few trials.
fn significance(grid: &Grid, summary: &Summary) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for tool in &summary.tools {
        let Some(pooled) = tool.against.as_ref().map(|a| &a.pooled).filter(|p| p.n > 0 && p.n_reference > 0) else {
            continue;
        };
        let (n, m, m_tests) = (pooled.n_reference, pooled.n, pooled.functions);
        let least = smallest_p(n, m);
        let sizes = if n == m { plural(n, "trial") + " each" } else { format!("{n} trials against {m}") };
        let line = if least >= ALPHA {
            format!(
                "With {sizes} no difference can be significant: the smallest two-sided p-value that the test can give \
                 is {}.",
                p_value(Some(least))
            )
        } else if least * m_tests as f64 >= ALPHA {
            format!(
                "With {sizes} no single function can differ significantly: the smallest p-value is {}, times {m_tests} \
                 functions (Holm).",
                p_value(Some(least))
            )
        } else {
            continue;
        };
        if !out.contains(&line) {
            out.push(line);
        }
    }
    if out.is_empty() && grid.tools.len() == 1 {
        out.push("One tool alone: there is nothing to compare it with.".to_owned());
    }
    out
}

fn seeds(without: bool) -> &'static str {
    if without {
        "No tool gets seed inputs but those that cannot do without: an input with all arguments 0 and one with all 1."
    } else {
        "Every tool gets the same two seed inputs, all arguments 0 and all 1; they count as found from the start."
    }
}

/// Describes how the figures were obtained.
pub fn method(grid: &Grid, summary: &Summary) -> Vec<String> {
    let reference = &summary.reference;
    vec![
        format!(
            "A trial is one tool on one function with one seed, on one core, for {}. Starting the tool is counted, \
             building the targets is not: the column build has it, for all functions together; builds from penfuzz's \
             own cache take no time.",
            budget(&grid.experiment.budget)
        ),
        seeds(grid.experiment.without_seeds).to_owned(),
        "Coverage is counted by gcov at -O0 on the inputs that a tool kept, in the function alone. Shares are of all \
         branches, also of those that no input can take; the best known are the branches that any tool took in any \
         trial."
            .to_owned(),
        "Coverage over time is in wall time since the start of the trial's first process, for all tools: an input is \
         found when its file is written, or at the time in its name, which a tool counts from the start of its search, \
         plus the time until that start."
            .to_owned(),
        "Coverage in the table of tools, and of all functions over time, is the mean over functions of the mean over \
         trials; a function is at the best known if its median trial is. Quartiles are of type 7."
            .to_owned(),
        format!(
            "A12 (Vargha and Delaney) is the probability that a trial of {reference} covers more than one of the other \
             tool, ties counted half: above 0.5 {reference} is better. p is that of the two-sided Mann-Whitney U test, \
             for single functions with Holm's correction over the functions; significant is a p below {ALPHA}. Next \
             to the tools' names both are pooled: a trial's mean over functions is one observation."
        ),
    ]
}
