//! Runs solver models as inputs of a campaign that has ended.

use std::{path::Path, time::Duration};

use penfuzz_error::Error;
use penfuzz_prove::{self as prove, stated::StoredProofs};
use penfuzz_report::Report;
use penfuzz_system::process::{deadline, interrupts};

use super::{CallerSearch, Options, Proofs, RunOptions, run};

/// Time for the models of solvers: to run them, and to search from them.
const TIME: Duration = Duration::from_secs(1);

/// The time that models get in any case: the solvers may have used all of the campaign's.
const LEAST_TIME: Duration = Duration::from_millis(900);

/// Runs the models in `report` as inputs of the campaign in `dir`, whose options are given, and searches from them for
/// a short time. `report` becomes that of the continued campaign with the proofs so far, which the files in `dir` do
/// not have. Returns one message for each branch that is proved unreachable and yet was taken.
///
/// # Errors
/// When the campaign cannot be continued.
pub fn try_all(options: &Options, dir: &Path, report: &mut Report) -> Result<Vec<String>, Error> {
    try_inputs(options, dir, report, prove::models::inputs(report))
}

/// Does the same as [`try_all`] with the given inputs.
///
/// # Errors
/// As [`try_all`].
pub fn try_inputs(
    options: &Options,
    dir: &Path,
    report: &mut Report,
    hints: Vec<Vec<u8>>,
) -> Result<Vec<String>, Error> {
    let time = deadline::left().map_or(TIME, |left| left.clamp(LEAST_TIME, TIME));
    if hints.is_empty() || interrupts::requested() {
        return Ok(Vec::new());
    }
    let run_options = RunOptions {
        out: Some(dir.to_path_buf()),
        seeds: None,
        fresh: false,
        max_time: Some(time),
        max_evals: None,
        sync: Vec::new(),
        monitors: Vec::new(),
        quiet: true,
        hints,
        patience: None,
        proofs: Proofs::Off,
        caller_search: CallerSearch::Never,
        check_tests: false,
        ..options.run.clone()
    };
    let mut after = run(&Options { run: run_options, ..options.clone() })?.report;
    after.stop_reason.clone_from(&report.stop_reason);
    let faults = carry_over(&StoredProofs::of(report), &mut after);
    *report = after;
    Ok(faults)
}

/// Copies the proofs of branches to a later report. Returns one message for each branch that is proved unreachable and
/// yet was taken.
pub fn carry_over(stated: &StoredProofs, to: &mut Report) -> Vec<String> {
    let fault = |place| {
        format!("{place} is proved unreachable, and an input takes it: this is a fault of penfuzz, please report it")
    };
    stated.carry_over(to).into_iter().map(fault).collect()
}
