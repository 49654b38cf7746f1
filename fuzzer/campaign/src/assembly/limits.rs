//! The limitations of a campaign that its report states: state that calls share, code that was not followed,
//! assumptions that no input met, and a source file that is missing.

use penfuzz_directory::shrink::cover::Kept;
use penfuzz_engine::saturation::ScopeKind;
use penfuzz_executor::Evaluator;
use penfuzz_target::program::{Target, outside};

use crate::assembly::ReportInputs;

/// The shared libraries that the target calls into; empty unless the scope follows calls.
#[must_use]
pub fn not_followed(target: &Target, kind: ScopeKind) -> Vec<String> {
    if kind == ScopeKind::Calls { outside::libraries(target) } else { Vec::new() }
}

/// A kept input for the test of a function without branches: the first one that meets the assumptions.
pub fn any_test(evaluator: &mut Evaluator, kept: &[Kept]) -> Option<Kept> {
    let count = evaluator.evaluations();
    let is_valid = |k: &&Kept| {
        evaluator.run(&k.bytes);
        !evaluator.is_rejected()
    };
    let found = kept.iter().find(is_valid).cloned();
    evaluator.set_evaluations(count);
    found
}

/// The source position of the first assumption in scope, if the campaign covered no branch and found no fault.
#[must_use]
pub fn unmet_assumption(from: &ReportInputs, target: &Target, covered: usize) -> Option<String> {
    let nothing = covered == 0 && from.scope.requested.contains(&true) && from.saved.faults.is_empty();
    let assumed = || from.scope.sites.iter().map(|s| &target.sites[*s]).filter(|s| s.is_assumption());
    let first = nothing.then(|| assumed().min_by_key(|s| (&s.file, s.line, s.column)))??;
    // The text of `--assume` is compiled under this file name.
    if first.file.ends_with("--assume") {
        Some("--assume".to_owned())
    } else {
        Some(format!("{}:{}", first.file, first.line))
    }
}
