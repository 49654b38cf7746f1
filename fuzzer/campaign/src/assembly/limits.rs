//! What a report says about the limits of its campaign: state that calls share, code that was not followed, assumptions that nothing met, a source that is not there.

use penfuzz_directory::shrink::cover::Kept;
use penfuzz_engine::saturation::ScopeKind;
use penfuzz_executor::Evaluator;
use penfuzz_target::program::{Target, outside};

use crate::assembly::Sources;

/// Shared libraries that the target calls into, if calls are followed.
#[must_use]
pub fn not_followed(target: &Target, kind: ScopeKind) -> Vec<String> {
    if kind == ScopeKind::Calls { outside::libraries(target) } else { Vec::new() }
}

/// A kept input for the test of a function without branches: one that meets the assumptions.
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

/// The place of the first assumption in scope, if nothing was `covered` and nothing crashed.
#[must_use]
pub fn unmet_assumption(from: &Sources, target: &Target, covered: usize) -> Option<String> {
    let nothing = covered == 0 && from.scope.requested.contains(&true) && from.saved.faults.is_empty();
    let assumed = || from.scope.sites.iter().map(|s| &target.sites[*s]).filter(|s| s.is_assumption());
    let first = nothing.then(|| assumed().min_by_key(|s| (&s.file, s.line, s.column)))??;
    // The text of the command line is compiled under this name.
    if first.file.ends_with("--assume") {
        Some("--assume".to_owned())
    } else {
        Some(format!("{}:{}", first.file, first.line))
    }
}
