//! Prepares a loaded target so that its function can be called: finds the input model of functions that take more than
//! numbers.

use std::{
    rc::Rc,
    time::{Duration, Instant},
};

use penfuzz_error::Error;
use penfuzz_executor::{evaluator::EvaluationLimits, guard, sandbox::Sandbox};
use penfuzz_system::{
    files::destination::Unusable,
    process::child::{self, Limit},
};
use penfuzz_target::{
    inputs::{self, Calls, Sizes},
    program::{self, Target},
    recorded::{self, RecordedCall},
};

use super::session::silence;

/// Time limit for finding the sizes of blocks. Sizes that are not found by then are assumed.
const TIME: Duration = Duration::from_secs(10);

/// Selects the function with this name, or the only candidate, and applies the call options.
///
/// # Errors
/// Those of [`select::find`](penfuzz_target::program::select::find), and those of [`set_calls`].
pub fn select(target: &mut Target, name: Option<&str>, calls: &Calls) -> Result<usize, Error> {
    let function = program::select::find(target, name)?;
    set_calls(target, function, calls)?;
    Ok(function)
}

/// Applies the options about the calls of an input to the function, and checks that it can be called.
///
/// # Errors
/// With the source [`Unusable`], when an option names a function that cannot make an argument. When the function cannot
/// be called.
pub fn set_calls(target: &mut Target, function: usize, calls: &Calls) -> Result<(), Error> {
    inputs::set_calls(target, function, calls).map_err(|why| Error::from_source(Unusable(why)))?;
    program::select::check(target, function)
}

/// What is known about the sizes of the blocks of a function.
#[derive(Debug, Clone, Copy)]
pub enum KnownSizes<'a> {
    /// Nothing.
    None,
    /// Calls that the program has made.
    Recorded(&'a [RecordedCall]),
    /// The sizes, from an earlier process.
    All(&'a Sizes),
}

impl<'a> KnownSizes<'a> {
    /// The sizes of an earlier process, if there are any.
    #[must_use]
    pub fn stored(sizes: Option<&'a Sizes>) -> Self {
        sizes.map_or(Self::None, Self::All)
    }
}

/// [`with_sizes`] without known sizes.
///
/// # Errors
/// Those of [`with_sizes`].
pub fn with_inputs(
    target: Target,
    function: usize,
    statements: &[String],
    limits: EvaluationLimits,
    hold: &Sandbox,
) -> Result<Rc<Target>, Error> {
    with_sizes(target, function, statements, KnownSizes::None, limits, hold).map(|(target, _)| target)
}

/// Applies argument options (`--arg`) to a function that takes only numbers.
///
/// # Errors
/// As [`with_sizes`].
pub fn with_statements(mut target: Target, function: usize, statements: &[String]) -> Result<Rc<Target>, Error> {
    apply_constraints(&mut target, function, statements)?;
    Ok(Rc::new(target))
}

fn apply_constraints(target: &mut Target, function: usize, statements: &[String]) -> Result<(), Error> {
    inputs::apply_constraints(target, function, statements)
        .map_err(|why| Error::from_source(Unusable(format!("--arg: {why}"))))
}

/// Gives the function under test the input model that it needs, if any, and returns the sizes of its blocks. If they
/// are not `known` from an earlier process, it finds them by calls in a child process, under the same system call
/// filter as all later calls.
///
/// `statements` are the argument options (`--arg`).
///
/// # Errors
/// With the source [`Unusable`], when an option cannot be parsed or does not fit the function.
///
/// # Panics
/// Never: only the child process takes the target.
pub fn with_sizes(
    mut target: Target,
    function: usize,
    statements: &[String],
    known: KnownSizes,
    limits: EvaluationLimits,
    hold: &Sandbox,
) -> Result<(Rc<Target>, Sizes), Error> {
    apply_constraints(&mut target, function, statements)?;
    if !penfuzz_executor::probe::has_more_than_numbers(&target, function) {
        return Ok((Rc::new(target), Sizes::new()));
    }
    if let KnownSizes::All(known) = known {
        return Ok((penfuzz_executor::probe::with_sizes(target, function, known), known.clone()));
    }
    let mut loaded = Some(target);
    let mut sizes = Sizes::new();
    let work = |send: &mut dyn FnMut(&Sizes)| {
        silence();
        // The guard must be installed first: the filter does not allow its handlers and its timer.
        if guard::install(limits.timeout, limits.memory).is_err() {
            return;
        }
        let _ = hold.install();
        if let Some(target) = loaded.take() {
            send(&penfuzz_executor::probe::sizes(target, function, limits));
        }
    };
    child::run(work, |found| sizes = found, Limit::At(Instant::now() + TIME));
    let mut target = loaded.take().expect("only the child takes it");
    if let KnownSizes::Recorded(calls) = known {
        recorded::extend_sizes(&mut target, function, calls, &mut sizes);
    }
    Ok((penfuzz_executor::probe::with_sizes(target, function, &sizes), sizes))
}
