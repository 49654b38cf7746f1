//! Coverage of lines, conditions, branches and calls per tool (Table 5 of the `CoverMe` paper, Fu and Su, PLDI 2017),
//! and the published means.

use penfuzz_report::format::number;

use super::{
    grid::Grid,
    summary::Summary,
    table::{Cell, Table},
    tables,
};

/// Returns one row per tool, the best first, and one per published tool; `None` if no trial has these figures and none
/// is published.
pub fn table(grid: &Grid, summary: &Summary) -> Option<Table> {
    let published = &grid.experiment.published;
    if published.is_empty() && summary.tools.iter().all(|t| t.lines.is_none()) {
        return None;
    }
    let mut table = Table::new(&["tool", "lines, %", "conditions, %", "branches, %", "calls, %"]);
    let mut row = |name: String, shares: [Option<f64>; 4]| {
        let cells = shares.map(|share| Cell::from(number(share, 1)));
        table.rows.push([Cell::from(name)].into_iter().chain(cells).collect());
    };
    for tool in tables::ranked(summary) {
        row(tool.tool.clone(), [tool.lines, tool.conditions, tool.coverage, tool.calls]);
    }
    for tool in published {
        row(format!("{}, published", tool.tool), [tool.lines, tool.conditions, tool.branches, tool.calls]);
    }
    Some(table.without_empty())
}

/// Describes the columns.
pub fn notes(grid: &Grid) -> Vec<String> {
    let mut notes = vec![
        "By gcov: lines with code that are executed, branches whose condition is evaluated, branches that are taken, \
         calls that are made. Means over functions of means over trials; functions without calls do not count for \
         calls."
            .to_owned(),
    ];
    if !grid.experiment.published.is_empty() {
        notes.push(
            "Published figures are for all functions of a suite, with the sources and tools of their time.".to_owned(),
        );
    }
    notes
}
