//! From a loaded target to one whose function can be called: what the function takes besides numbers is found out first.

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use penfuzz_engine::{
    executor::{evaluator::Limits, guard, sandbox::Sandbox},
    inputs::{self, Sizes},
    program::Target,
};

use super::session::silence;
use crate::process::child::{self, Limit};

/// Time for finding out sizes; what is not known by then is assumed.
const TIME: Duration = Duration::from_secs(10);

/// Gives the function under test the model of its inputs, if it needs one. The calls by which sizes are found out are made in a child
/// process, under the same filter as all later ones.
///
/// # Panics
/// Never: only the child process takes the target away.
#[must_use]
pub fn with_inputs(target: Target, function: usize, limits: Limits, hold: &Sandbox) -> Rc<Target> {
    if !inputs::has_more_than_numbers(&target, function) {
        return Rc::new(target);
    }
    let mut loaded = Some(target);
    let mut sizes = Sizes::new();
    let work = |send: &mut dyn FnMut(&Sizes)| {
        silence();
        // The guard first: its handlers and its timer pass no filter.
        if guard::install(limits.timeout, limits.memory).is_err() {
            return;
        }
        let _ = hold.install();
        if let Some(target) = loaded.take() {
            send(&inputs::sizes(target, function, limits));
        }
    };
    child::run(work, |found| sizes = found, Limit::At(Instant::now() + TIME));
    inputs::with_sizes(loaded.take().expect("only the child takes it"), function, &sizes)
}
