//! Copies data between the LibAFL state and `state.json`.

use libafl::HasMetadata;
use penfuzz_engine::{
    saturation::{Saturation, feedback::KnownPlaces},
    stages::{budget::Spent, paper::Starts},
};
use penfuzz_executor::Evaluator;

use penfuzz_directory::{output::store::SavedState, shrink::Closest};

/// Copies to the LibAFL state what cannot be recomputed from the inputs: budgets, branches given up, known faults.
/// Returns the pending inputs that are promoted because branches are given up.
///
/// # Errors
/// When the state lacks the metadata of the feedbacks.
pub fn restore<S: HasMetadata>(state: &mut S, saved: &SavedState) -> Result<Vec<Vec<u8>>, libafl::Error> {
    let n = state.metadata::<Saturation>()?.len();
    // The file may have been edited: discards branches that are not in the target.
    let valid = |branches: &[u32]| branches.iter().copied().filter(|b| (*b as usize) < n).collect::<Vec<_>>();
    state.add_metadata(spent(saved, n));
    state.add_metadata(Starts(saved.starts.min(u32::MAX / 2)));
    let places = state.metadata_mut::<KnownPlaces>()?;
    places.0.extend(saved.faults.values().map(|f| f.key));
    let saturation = state.metadata_mut::<Saturation>()?;
    // Crashes on these branches may have ended earlier processes, and searching for other inputs of these branches may
    // end this one.
    saturation.cover_by_fatal(&valid(&saved.by_crash));
    saturation.recall_uninitialized(saved.uninitialized.iter().copied());
    saturation.recall_unconfirmed(saved.unconfirmed.iter().map(|(branch, replays)| (*branch, *replays)));
    let given_up: Vec<usize> = valid(&saved.given_up).into_iter().map(|b| b as usize).collect();
    Ok(saturation.give_up_all(&given_up).into_iter().map(|p| p.bytes).collect())
}

/// The effort spent on each of `n` branches. The file may have been edited, so the values are bounded: no later sum
/// overflows.
#[must_use]
pub fn spent(saved: &SavedState, n: usize) -> Spent {
    let bounded = |spent: &[u64]| spent.iter().map(|e| (*e).min(u64::MAX / 2)).collect();
    let attempts = saved.attempts.iter().map(|a| (*a).min(u32::MAX / 2)).collect();
    let mut spent = Spent::known(bounded(&saved.spent), bounded(&saved.evaluated), attempts, bounded(&saved.improved));
    spent.ensure(n);
    spent
}

/// Copies the same data from the LibAFL state to `saved`.
///
/// # Errors
/// When the state lacks the metadata of the feedbacks.
pub fn remember<S: HasMetadata>(state: &S, saved: &mut SavedState) -> Result<(), libafl::Error> {
    let saturation = state.metadata::<Saturation>()?;
    let which =
        |wanted: &dyn Fn(usize) -> bool| (0..saturation.len()).filter(|b| wanted(*b)).map(|b| b as u32).collect();
    saved.given_up = which(&|b| saturation.is_given_up(b));
    saved.by_crash = which(&|b| saturation.is_covered_by_crash(b));
    saved.unconfirmed = saturation.unconfirmed().collect();
    saved.uninitialized = saturation.uninitialized().collect();
    if let Ok(spent) = state.metadata::<Spent>() {
        saved.spent.clone_from(&spent.units);
        saved.evaluated.clone_from(&spent.evaluations);
        saved.attempts.clone_from(&spent.attempts);
        saved.improved.clone_from(&spent.improved);
    }
    saved.starts = state.metadata::<Starts>().map_or(0, |s| s.0);
    Ok(())
}

/// Maximum number of closest inputs that are saved, and of their bytes: the state is written every few seconds.
const CLOSEST: usize = 256;
const CLOSEST_BYTES: usize = 32 * 1024;

/// Copies to `saved` the evaluation at which each branch was first taken, and the inputs closest to uncovered branches:
/// those with the smallest distances, at most [`CLOSEST`] inputs and [`CLOSEST_BYTES`] bytes.
///
/// # Errors
/// When the state lacks the metadata of the feedbacks.
pub fn remember_progress<S: HasMetadata>(
    evaluator: &Evaluator,
    state: &S,
    saved: &mut SavedState,
) -> Result<(), libafl::Error> {
    let known = |b: usize| evaluator.closest(b).map(|(distance, bytes)| (distance, b as u32, bytes));
    let mut closest: Vec<_> = state.metadata::<Saturation>()?.uncovered().filter_map(known).collect();
    closest.sort_unstable();
    closest.truncate(CLOSEST.min(CLOSEST_BYTES / evaluator.input_size().max(1)));
    saved.closest =
        closest.into_iter().map(|(distance, b, bytes)| (b, Closest { distance, bytes: bytes.to_vec() })).collect();
    saved.taken_at = evaluator.taken_at().to_vec();
    Ok(())
}

/// Copies the same data back to the evaluator.
pub fn restore_progress(evaluator: &mut Evaluator, saved: &SavedState) {
    evaluator.recall_taken_at(&saved.taken_at);
    let n = evaluator.target().n_branches;
    for (branch, closest) in saved.closest.iter().filter(|(b, _)| (**b as usize) < n) {
        evaluator.recall_closest(*branch as usize, closest.distance, &closest.bytes);
    }
}
