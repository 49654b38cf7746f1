//! Compilation that ends with the program: a signal also ends the compilers, and their incomplete output is removed.

use std::path::PathBuf;

use penfuzz_error::Error;
use penfuzz_system::process::interrupts::{self, SignalGuard};

use crate::{Recipe, build_until};

/// Builds the target file of a recipe. SIGINT, SIGTERM and SIGHUP end the compilers, and then this process, by the same
/// signal.
///
/// # Errors
/// Those of [`crate::build`].
pub fn build(recipe: &Recipe) -> Result<PathBuf, Error> {
    let watch = SignalGuard::begin();
    let built = build_until(recipe, &interrupts::requested);
    drop(watch);
    interrupts::end_if_requested();
    built
}
