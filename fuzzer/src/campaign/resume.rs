//! Between the LibAFL state and what the store remembers.

use libafl::HasMetadata;

use super::store::Remembered;
use crate::{
    saturation::{Saturation, feedback::KnownPlaces},
    stage::{budget::Spent, paper::Starts},
};

/// Puts back what cannot be recomputed from the inputs: budgets, verdicts, known faults. Returns the pending inputs that the
/// verdicts promote.
///
/// # Errors
/// When the state lacks the metadata of the feedbacks.
pub fn restore<S: HasMetadata>(state: &mut S, remembered: &Remembered) -> Result<Vec<Vec<u8>>, libafl::Error> {
    let n = state.metadata::<Saturation>()?.len();
    let mut spent =
        Spent { evaluations: remembered.spent.clone(), attempts: remembered.attempts.clone(), exploring: 0 };
    spent.ensure(n);
    state.add_metadata(spent);
    state.add_metadata(Starts(remembered.starts));
    let places = state.metadata_mut::<KnownPlaces>()?;
    places.0.extend(remembered.faults.values().map(|f| f.key));
    let saturation = state.metadata_mut::<Saturation>()?;
    saturation.cover(&remembered.by_crash, true);
    let mut promoted = Vec::new();
    for branch in &remembered.given_up {
        promoted.extend(saturation.give_up(*branch as usize).into_iter().map(|p| p.bytes));
    }
    Ok(promoted)
}

/// Takes the same out of the state.
///
/// # Errors
/// When the state lacks the metadata of the feedbacks.
pub fn remember<S: HasMetadata>(state: &S, remembered: &mut Remembered) -> Result<(), libafl::Error> {
    let saturation = state.metadata::<Saturation>()?;
    let which =
        |wanted: &dyn Fn(usize) -> bool| (0..saturation.len()).filter(|b| wanted(*b)).map(|b| b as u32).collect();
    remembered.given_up = which(&|b| saturation.is_given_up(b));
    remembered.by_crash = which(&|b| saturation.is_covered_by_crash(b));
    if let Ok(spent) = state.metadata::<Spent>() {
        remembered.spent.clone_from(&spent.evaluations);
        remembered.attempts.clone_from(&spent.attempts);
    }
    remembered.starts = state.metadata::<Starts>().map_or(0, |s| s.0);
    Ok(())
}
