//! Published figures on the functions, compared with ours: Tables 2 and 3 of the `CoverMe` paper (Fu and Su, PLDI
//! 2017).

use penfuzz_report::format::{number, plural};
use penfuzz_suite::config::Paper;

use super::{
    grid::{Grid, Row},
    table::{Cell, Table},
};
use crate::statistics::mean;

/// A published column and ours: heads, the paper's figure, our tool, our figure, and digits.
struct Column {
    head: [&'static str; 2],
    paper: fn(&Paper) -> Option<f64>,
    tool: &'static str,
    ours: fn(&Row, usize) -> Option<f64>,
    digits: usize,
}

const COLUMNS: [Column; 4] = [
    Column {
        head: ["CoverMe, s", "penfuzz-paper, CPU s"],
        paper: |p| p.seconds,
        tool: "penfuzz-paper",
        ours: cpu_seconds,
        digits: 2,
    },
    Column { head: ["Rand, %", "uniform, %"], paper: |p| p.rand, tool: "uniform", ours: coverage, digits: 1 },
    Column { head: ["AFL, %", "afl++, %"], paper: |p| p.afl, tool: "afl++", ours: coverage, digits: 1 },
    Column {
        head: ["CoverMe, %", "penfuzz-paper, %"],
        paper: |p| p.coverme,
        tool: "penfuzz-paper",
        ours: coverage,
        digits: 1,
    },
];

/// Our tools without a published column of their own.
const OWN: [&str; 2] = ["penfuzz-paper-as-run", "penfuzz"];

/// Returns the table; `None` if no function has published figures. Ours are means over trials. The mean at the foot is
/// over the functions that have both figures, so that the two can be compared.
pub fn table(grid: &Grid) -> Option<Table> {
    let rows: Vec<(&Row, Paper)> = grid.functions.iter().filter_map(|f| Some((f, f.info.paper?))).collect();
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new(&["function", "branches, paper", "branches"]);
    let mut columns = vec![branches(&rows)];
    for column in &COLUMNS {
        table.head.extend(column.head.map(str::to_owned));
        columns.push(both(grid, column, &rows));
    }
    for tool in OWN {
        table.head.push(format!("{tool}, %"));
        let own = rows.iter().map(|(f, _)| of_tool(grid, tool).and_then(|t| coverage(f, t))).collect();
        columns.push(Figures { left: None, right: own, digits: 1 });
    }
    for (i, (row, _)) in rows.iter().enumerate() {
        table.rows.push(line(&row.info.name, &columns, |values| values[i]));
    }
    table.feet = 1;
    table.rows.push(foot(&columns));
    Some(table.without_empty())
}

/// A published figure per function with ours, or only ours.
struct Figures {
    left: Option<Vec<Option<f64>>>,
    right: Vec<Option<f64>>,
    digits: usize,
}

fn branches(rows: &[(&Row, Paper)]) -> Figures {
    Figures {
        left: Some(rows.iter().map(|(_, p)| p.branches.map(|b| b as f64)).collect()),
        right: rows.iter().map(|(f, _)| (f.total > 0).then_some(f.total as f64)).collect(),
        digits: 0,
    }
}

fn both(grid: &Grid, column: &Column, rows: &[(&Row, Paper)]) -> Figures {
    let tool = of_tool(grid, column.tool);
    Figures {
        left: Some(rows.iter().map(|(_, p)| (column.paper)(p)).collect()),
        right: rows.iter().map(|(f, _)| tool.and_then(|t| (column.ours)(f, t))).collect(),
        digits: column.digits,
    }
}

fn of_tool(grid: &Grid, name: &str) -> Option<usize> {
    grid.tools.iter().position(|t| t.name == name)
}

fn coverage(row: &Row, tool: usize) -> Option<f64> {
    (row.total > 0).then_some(())?;
    mean(&row.covered(tool)).map(|covered| 100.0 * covered / row.total as f64)
}

fn cpu_seconds(row: &Row, tool: usize) -> Option<f64> {
    mean(&row.trials[tool].iter().map(|t| t.cpu_seconds).collect::<Vec<_>>())
}

fn line(name: &str, columns: &[Figures], pick: impl Fn(&[Option<f64>]) -> Option<f64>) -> Vec<Cell> {
    let mut cells = vec![Cell::from(name)];
    for column in columns {
        let sides = column.left.iter().chain([&column.right]);
        cells.extend(sides.map(|values| Cell::from(number(pick(values), column.digits))));
    }
    cells
}

/// Means over the functions that have both figures.
fn foot(columns: &[Figures]) -> Vec<Cell> {
    let mut cells = vec![Cell::from("mean")];
    for column in columns {
        let complete = |i: usize| column.right[i].is_some() && column.left.as_ref().is_none_or(|l| l[i].is_some());
        let chosen: Vec<_> = (0..column.right.len()).filter(|&i| complete(i)).collect();
        for values in column.left.iter().chain([&column.right]) {
            let values: Vec<_> = chosen.iter().filter_map(|&i| values[i]).collect();
            cells.push(Cell::from(number(mean(&values), column.digits.max(1))));
        }
    }
    cells
}

/// Describes how the two experiments differ.
pub fn notes(grid: &Grid) -> Vec<String> {
    let differs = |f: &&Row| f.info.paper.and_then(|p| p.branches).is_some_and(|b| f.total > 0 && b != f.total);
    let other: Vec<_> = grid.functions.iter().filter(differs).map(|f| f.info.name.as_str()).collect();
    let mut out = vec![
        "Columns in pairs: the paper's figure, then ours as the mean over trials. Means at the foot are over the \
         functions that have both."
            .to_owned(),
        "The paper's times are wall times on another machine; \
         its AFL is the AFL of 2017, ours is the AFL++ listed below; its Rand draws arguments as our uniform does."
            .to_owned(),
    ];
    if !other.is_empty() {
        let many = plural(other.len(), "function");
        out.push(format!(
            "The sources have another number of branches than the paper's in {many}: {}.",
            other.join(", ")
        ));
    }
    out
}
