//! From a loaded target to one whose function can be called: what the function takes besides numbers is found out first.

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use penfuzz_error::Error;
use penfuzz_executor::{evaluator::Limits, guard, sandbox::Sandbox};
use penfuzz_system::{
    files::destination::Unusable,
    process::child::{self, Limit},
};
use penfuzz_target::{
    inputs::{self, Calls, Sizes},
    program::{self, Target},
};

use super::session::silence;

/// Time for finding out sizes; what is not known by then is assumed.
const TIME: Duration = Duration::from_secs(10);

/// The function of this name, or the only one that offers itself, with what the user says about its calls.
///
/// # Errors
/// Those of [`select::find`](penfuzz_target::program::select::find); with the source [`Unusable`], there is no such maker. When the
/// function cannot be called.
pub fn select(target: &mut Target, name: Option<&str>, calls: &Calls) -> Result<usize, Error> {
    let function = program::select::find(target, name)?;
    set_calls(target, function, calls)?;
    Ok(function)
}

/// Gives the function what the user says about its calls, and checks that it can be called.
///
/// # Errors
/// As [`select`].
pub fn set_calls(target: &mut Target, function: usize, calls: &Calls) -> Result<(), Error> {
    inputs::set_calls(target, function, calls).map_err(|why| Error::from_source(Unusable(why)))?;
    program::select::check(target, function)
}

/// [`with_sizes`] without sizes that are known.
///
/// # Errors
/// Those of [`with_sizes`].
pub fn with_inputs(
    target: Target,
    function: usize,
    statements: &[String],
    limits: Limits,
    hold: &Sandbox,
) -> Result<Rc<Target>, Error> {
    with_sizes(target, function, statements, None, limits, hold).map(|(target, _)| target)
}

/// The target with what the user says about the arguments of a function of numbers.
///
/// # Errors
/// As [`with_sizes`].
pub fn with_statements(mut target: Target, function: usize, statements: &[String]) -> Result<Rc<Target>, Error> {
    say(&mut target, function, statements)?;
    Ok(Rc::new(target))
}

fn say(target: &mut Target, function: usize, statements: &[String]) -> Result<(), Error> {
    inputs::say(target, function, statements).map_err(|why| Error::from_source(Unusable(format!("--arg: {why}"))))
}

/// Gives the function under test the model of its inputs, if it needs one, and returns the sizes of its blocks. Those that are not
/// `known` from an earlier process are found out by calls, which are made in a child process, under the same filter as all later ones.
///
/// `statements` are what the user says about the arguments.
///
/// # Errors
/// With the source [`Unusable`]: a statement cannot be read, or does not fit the function.
///
/// # Panics
/// Never: only the child process takes the target away.
pub fn with_sizes(
    mut target: Target,
    function: usize,
    statements: &[String],
    known: Option<&Sizes>,
    limits: Limits,
    hold: &Sandbox,
) -> Result<(Rc<Target>, Sizes), Error> {
    say(&mut target, function, statements)?;
    if !penfuzz_executor::probe::has_more_than_numbers(&target, function) {
        return Ok((Rc::new(target), Sizes::new()));
    }
    if let Some(known) = known {
        return Ok((penfuzz_executor::probe::with_sizes(target, function, known), known.clone()));
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
            send(&penfuzz_executor::probe::sizes(target, function, limits));
        }
    };
    child::run(work, |found| sizes = found, Limit::At(Instant::now() + TIME));
    Ok((penfuzz_executor::probe::with_sizes(loaded.take().expect("only the child takes it"), function, &sizes), sizes))
}
