//! The files that an experiment writes for readers and programs. Every format is one file here, and all are derived
//! from the same figures:
//!
//! | file | written by | for |
//! | --- | --- | --- |
//! | `results.csv` | [`csv`] | other statistics: one row per trial |
//! | `summary.json` | [`summary`] | programs |
//! | `table.md` | [`markdown`] | papers |
//! | `index.html` | [`html`] | a browser; no scripts, no external files |
//! | `rerun.sh` | [`rerun`] | repeating the experiment |
//! | (terminal) | [`headline`] | readers |

mod criteria;
mod csv;
mod curves;
#[cfg(test)]
pub(crate) mod example;
mod grid;
mod heat;
mod html;
mod markdown;
mod notes;
mod paper;
mod plots;
mod rerun;
mod summary;
mod table;
mod tables;
mod verdict;

use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

use grid::Grid;
use penfuzz_system::files::atomic;
use summary::{Loss, Summary};

use super::model::{Experiment, Trial};

/// Maximum number of functions named in one line of a terminal.
const SHOWN_LOSSES: usize = 8;

/// Writes all reports of a finished or running experiment into its directory, each file durably and atomically.
///
/// # Errors
/// Those of the file system, with the path and what was tried.
pub fn write_all(dir: &Path, experiment: &Experiment, trials: &[Trial]) -> io::Result<()> {
    let grid = Grid::new(experiment, trials);
    let summary = Summary::new(&grid);
    atomic::write(&dir.join(csv::FILE), &csv::table(&grid))?;
    atomic::write(&dir.join(markdown::FILE), markdown::document(&grid, &summary).as_bytes())?;
    atomic::write(&dir.join(html::FILE), html::page(&grid, &summary).as_bytes())?;
    let script = dir.join(rerun::FILE);
    atomic::write(&script, rerun::script(experiment).as_bytes())?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
        .map_err(|e| io::Error::new(e.kind(), format!("cannot make {} executable: {e}", script.display())))?;
    // Written last, so that a program that sees new figures finds the other files of the same state.
    atomic::write(&dir.join(summary::FILE), summary.to_json().as_bytes())
}

/// Returns a short table of the tools, with the limits of the figures, for the terminal.
#[must_use]
pub fn headline(experiment: &Experiment, trials: &[Trial]) -> String {
    let grid = Grid::new(experiment, trials);
    let summary = Summary::new(&grid);
    let mut out = tables::short(&summary).plain();
    for line in notes::limits(&grid, &summary) {
        out.push_str(&line);
        out.push('\n');
    }
    out + &losses(&summary)
}

/// Returns the functions on which the reference tool loses, in one line.
fn losses(summary: &Summary) -> String {
    let mut names = Vec::new();
    for Loss { function, .. } in summary.losses() {
        if !names.contains(&function.function.as_str()) {
            names.push(function.function.as_str());
        }
    }
    let more = match names.len().saturating_sub(SHOWN_LOSSES) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    names.truncate(SHOWN_LOSSES);
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!("Functions on which {} loses against any tool: {names}{more}\n", summary.reference)
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
