//! Writes one report over all clients, in a separate process that loads the target and evaluates all inputs that the
//! clients have on disk once more. It needs only the directories, so it works no matter which clients live.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use penfuzz_directory::{
    output::{
        preconditions,
        recovery::{self, Inputs},
        reports,
        store::{self, SavedState},
    },
    replay::fresh::{NO_SUPERVISOR, Pipes, Zygote},
    shrink::Shrinker,
};
use penfuzz_engine::saturation::{BranchGraph, Saturation, Scope};
use penfuzz_error::Error;
use penfuzz_executor::{
    Evaluator,
    evaluator::RunStatus,
    fresh::{FreshProcessRunner, FreshResult},
};
use penfuzz_system::files::{foreign, reserve};

use super::client_directories;
use crate::{assembly as report_assembly, options::Options, prepare::Prepared, saved_state, worker_shm::StopReason};

/// Figures that the supervisor adds to the content of the directories.
#[derive(Debug, Clone, Copy)]
pub struct Totals {
    /// Total evaluations of all clients.
    pub evaluations: u64,
    /// Seconds of search.
    pub seconds: f64,
    /// Why the campaign ended; [`StopReason::None`] while it runs.
    pub stop: StopReason,
}

/// The merged content of the directories of all clients.
struct Merged {
    saved: SavedState,
    inputs: Inputs,
    fault_inputs: BTreeMap<String, Vec<u8>>,
}

/// Writes the reports of the campaign in `dir`. Returns false and writes nothing if the process that replays inputs has
/// ended early, or if the campaign still runs and this process may open no file: then another reporter should try
/// again.
///
/// # Errors
/// When the target cannot be loaded, or files cannot be read or written.
pub fn write(options: &Options, dir: &Path, totals: Totals) -> Result<bool, Error> {
    // Replays without a free descriptor fail for other reasons than the target's.
    let may_replay = || totals.stop != StopReason::None || reserve::is_left();
    if !may_replay() {
        return Ok(false);
    }
    let prepared = Prepared::load(options)?;
    let merged = merge(dir, &prepared.fingerprint, totals);
    let Prepared { target, function, scope, hold, .. } = prepared;
    let mut saturation = Saturation::new(BranchGraph::new(&target, &scope));
    let mut evaluator = Evaluator::new(target, function, options.settings.limits())?;
    evaluator.set_scope(&scope.sites);
    evaluator.allow(&options.settings.allow);
    evaluator.set_preconditions(preconditions::read(dir, &evaluator.function().symbol));
    let pipes = Pipes::new();
    // If the system refuses the filter, the clients have already warned.
    let _ = hold.install();
    let mut fresh =
        pipes.and_then(|p| Zygote::start(p, &mut evaluator, &scope, options.settings.limits().timeout, NO_SUPERVISOR));
    cover(&mut saturation, &mut evaluator, &scope, &merged, fresh.as_mut());
    let n = saturation.len();
    let within = |branches: &[u32]| -> Vec<u32> { branches.iter().copied().filter(|b| (*b as usize) < n).collect() };
    saturation.cover(&within(&merged.saved.by_crash), true);
    for branch in within(&merged.saved.given_up) {
        if saturation.is_goal(branch as usize) {
            saturation.give_up(branch as usize);
        }
    }
    saved_state::restore_progress(&mut evaluator, &merged.saved);
    let spent = saved_state::spent(&merged.saved, n);
    let sources = report_assembly::ReportInputs {
        dir,
        options,
        inputs: &merged.inputs,
        fault_inputs: &merged.fault_inputs,
        saved: &merged.saved,
        saturation: &saturation,
        spent: Some(&spent),
        scope: &scope,
        stop: totals.stop,
        fresh: fresh.as_ref(),
        only_fresh: false,
    };
    let report = report_assembly::report(&mut evaluator, &sources, &mut Shrinker::default());
    hold.restore_process_state();
    if fresh.as_ref().is_some_and(Zygote::is_lost) || !may_replay() {
        return Ok(false);
    }
    reports::write_all(dir, &report).map_err(Error::from_source)?;
    Ok(true)
}

/// Covers the branches that the inputs take. An input that takes a new branch is run in a fresh process; if some
/// branches depend on earlier calls, every input is.
fn cover(
    saturation: &mut Saturation,
    evaluator: &mut Evaluator,
    scope: &Scope,
    merged: &Merged,
    mut fresh: Option<&mut Zygote>,
) {
    saturation.recall_uninitialized(merged.saved.uninitialized.iter().copied());
    saturation.recall_unconfirmed(merged.saved.unconfirmed.iter().map(|(branch, replays)| (*branch, *replays)));
    evaluator.arm_records(&scope.branches);
    for (_, bytes) in &merged.inputs {
        let (ran, hits) = evaluator.run_recorded(bytes);
        let is_new = hits.iter().any(|b| !saturation.is_covered(*b as usize));
        match &mut fresh {
            Some(fresh) if is_new || saturation.has_unconfirmed() => match fresh.run_fresh(bytes) {
                FreshResult::Ended { hits, fault: None, .. } => drop(saturation.cover(&hits, false)),
                FreshResult::NoProcess if ran == RunStatus::Returned => drop(saturation.cover(&hits, false)),
                _ => {}
            },
            _ if ran == RunStatus::Returned => drop(saturation.cover(&hits, false)),
            _ => {}
        }
    }
}

fn merge(dir: &Path, fingerprint: &str, totals: Totals) -> Merged {
    let mut all = SavedState::default();
    let (mut inputs, mut fault_inputs) = (Inputs::new(), BTreeMap::new());
    for client in client_directories(dir) {
        let (one, its_inputs) = store::peek(&client);
        if one.fingerprint != fingerprint {
            continue;
        }
        let prefix = client.strip_prefix(dir).map(PathBuf::from).unwrap_or_default();
        let below = |file: &str| prefix.join(file).to_string_lossy().into_owned();
        inputs.extend(its_inputs.into_iter().map(|(file, bytes)| (below(&file), bytes)));
        let read =
            |file: &String| Some((below(file), foreign::read_own(&client.join(file), foreign::LONGEST_INPUT).ok()?));
        fault_inputs.extend(one.faults.keys().filter_map(read));
        all.add(&one);
        for (file, fault) in one.faults {
            if all.faults.values().all(|f| f.key != fault.key) {
                all.faults.insert(below(&file), fault);
            }
        }
    }
    // The figures in the files are older: they are written every few seconds.
    (all.evaluations, all.seconds) = (totals.evaluations, totals.seconds);
    // An input is in the directories of all clients that received it: keep the copy that was found first.
    let found = |file: &str| recovery::figure(file, "time").unwrap_or(u64::MAX);
    inputs.sort_by_cached_key(|(file, bytes)| (bytes.clone(), found(file), file.clone()));
    inputs.dedup_by(|a, b| a.1 == b.1);
    inputs.sort_by_cached_key(|(file, _)| (found(file), file.clone()));
    Merged { saved: all, inputs, fault_inputs }
}
