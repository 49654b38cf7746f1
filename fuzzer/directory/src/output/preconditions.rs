//! The likely preconditions of a campaign: a file that the user can edit before the report is written again.

use std::path::Path;

use penfuzz_error::{Error, at, failed};
use penfuzz_system::{
    errln,
    files::{atomic, foreign},
};
use penfuzz_target::recorded::{self, PRECONDITIONS, Precondition, Stated};

/// Copies the lines about a function from a recording to the directory of a campaign, unless that has such a file.
///
/// # Errors
/// When the file of the recording has a line of an unknown form; when a file cannot be read or written.
pub fn copy(recording: &Path, dir: &Path, symbol: &str) -> Result<(), Error> {
    let (from, to) = (recording.join(PRECONDITIONS), dir.join(PRECONDITIONS));
    if !from.exists() || to.exists() {
        return Ok(());
    }
    let text = foreign::read_text(&from).map_err(|e| failed(&from, "cannot be read", e))?;
    let is_own = |s: &Stated| s.symbol == symbol;
    let stated = parsed(&from, &text)?;
    if !stated.iter().any(is_own) {
        return Ok(());
    }
    let start = format!("{symbol}: PEN_ASSUME(");
    let own: Vec<&str> = text.lines().filter(|l| l.starts_with(&start)).collect();
    atomic::write(&to, (own.join("\n") + "\n").as_bytes()).map_err(Error::from_source)
}

/// The conditions of the function under test in the directory of its campaign. A file that cannot be used is named on
/// standard error, and has none.
#[must_use]
pub fn read(dir: &Path, symbol: &str) -> Vec<Precondition> {
    let file = dir.join(PRECONDITIONS);
    if !file.exists() {
        return Vec::new();
    }
    let text = foreign::read_text(&file).map_err(|e| failed(&file, "cannot be read", e));
    match text.and_then(|text| parsed(&file, &text)) {
        Ok(all) => all.into_iter().filter(|s| s.symbol == symbol).map(|s| s.condition).collect(),
        Err(e) => {
            errln!("penfuzz: {e}");
            Vec::new()
        }
    }
}

fn parsed(file: &Path, text: &str) -> Result<Vec<Stated>, Error> {
    recorded::stated(text)
        .map_err(|(line, forms)| at(file, format!("line {line} is not `FUNCTION: PEN_ASSUME(CONDITION);`; {forms}")))
}
