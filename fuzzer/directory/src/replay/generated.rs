//! C functions that penfuzz generates: formulas, and comparisons with a reference.

use std::path::{Path, PathBuf};

use penfuzz_compile::{Recipe, interruptible::build};
use penfuzz_engine::saturation::{Goals, ScopeKind};
use penfuzz_error::{Error, failed};
use penfuzz_executor::evaluator::EvaluationLimits;
use penfuzz_system::files::atomic;
use penfuzz_target::{hash::StableHash, inputs::Calls, program::Rounding};

use super::session::{ReplaySession, Subject};

/// Writes a text to a C file in the directory `room` of the cache. The name of the file depends only on the text, so
/// the same text is compiled once.
///
/// # Errors
/// When the cache cannot be written.
pub fn source(room: &str, text: &str) -> Result<PathBuf, Error> {
    let directory = penfuzz_cc::cache_room(room).map_err(Error::from_source)?;
    let file = directory.join(format!("{:016x}.c", StableHash::new().texts(&[text]).finish()));
    if !std::fs::read(&file).is_ok_and(|known| known == text.as_bytes()) {
        atomic::write(&file, text.as_bytes()).map_err(|e| failed(&file, "cannot be written", e))?;
    }
    Ok(file)
}

/// Compiles the file, links it with the math library, and loads its `function`.
///
/// # Errors
/// Those of the compiler, and of [`ReplaySession::load`].
pub fn load(file: &Path, function: &str, flags: Vec<String>, mut libs: Vec<String>) -> Result<ReplaySession, Error> {
    libs.push("-lm".to_owned());
    let recipe = Recipe { sources: vec![file.to_path_buf()], flags, libs, ..Recipe::default() };
    let subject = Subject {
        name: file,
        function: Some(function),
        rounding: Rounding::Nearest,
        args: &[],
        calls: &Calls::default(),
        sizes: None,
        only_numbers: false,
        goals: Goals::Branches,
        scope: Some(ScopeKind::Function),
        limits: EvaluationLimits::default(),
    };
    ReplaySession::load(&build(&recipe)?, subject)
}
