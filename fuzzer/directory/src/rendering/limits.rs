//! What a report states about the limits of its tests.

use std::path::Path;

use penfuzz_executor::Evaluator;
use penfuzz_report::{SharedVariable, c_text};
use penfuzz_target::program::state::Variable;

/// The state that evaluations share, for a report.
#[must_use]
pub fn shared_state(evaluator: &Evaluator) -> Vec<SharedVariable> {
    let shown =
        |v: &Variable| SharedVariable { name: v.name.clone(), file: v.file.clone(), line: v.line, size: v.size };
    evaluator.shared().variables().iter().map(shown).collect()
}

/// Can a test include the file?
#[must_use]
pub fn is_there(file: &str) -> bool {
    let file = Path::new(file);
    (c_text::is_source(file) || c_text::is_header(file)) && file.is_file()
}
