//! Writes the report into an output directory.

use std::path::Path;

use penfuzz_error::Error;
use penfuzz_system::files::atomic;

use super::{Answer, answer, page, pair::Pair};

/// The report for programs.
pub(super) const JSON: &str = "report.json";
/// The report for a browser.
const HTML: &str = "report.html";

/// Writes both files.
pub(super) fn write(dir: &Path, pair: &Pair, answer: &Answer, (target, seed): (&str, u64)) -> Result<(), Error> {
    let files = [(HTML, page::page(pair, answer)), (JSON, answer::json(pair, answer, target, seed))];
    for (name, text) in files {
        atomic::write(&dir.join(name), text.as_bytes()).map_err(Error::from_source)?;
    }
    Ok(())
}
