//! One input on request: one that takes a given path, or executes a given line.
//!
//! `penfuzz-path-search` makes the search; here are the ways to state a path, and its check before the search.

pub mod enumerate;
pub mod lines;
pub mod spec;
pub mod syntax;

use penfuzz_engine::{
    goals::path::Step,
    saturation::{Scope, ScopeKind},
};
use penfuzz_error::Error;
use penfuzz_target::program::Target;

use self::spec::Conditionals;

/// Rejects a path in which a step can never follow the step before, as far as calls can be followed.
///
/// # Errors
/// The first such step, and what can follow instead.
pub fn check(
    target: &Target,
    function: usize,
    scope: &Scope,
    names: &Conditionals,
    steps: &[Step],
) -> Result<(), Error> {
    let is_recursive = {
        let f = &target.functions[function];
        let edges = target.sites[f.sites.clone()].iter().flat_map(|s| &s.edges).chain([&f.entry_edges]);
        let mut callees = edges.flat_map(|e| e.calls.iter().copied());
        callees.any(|c| target.called_by(c)[function])
    };
    if scope.kind != ScopeKind::Function || is_recursive {
        return Ok(());
    }
    let mut before: Option<Step> = None;
    for (i, step) in steps.iter().enumerate() {
        let edges = match before {
            None => Some(&target.functions[function].entry_edges),
            Some(Step::Branch(b)) => {
                let site = &target.sites[target.site_of(b)];
                Some(&site.edges[b - site.first_branch])
            }
            _ => None,
        };
        if let (Some(edges), Step::Branch(b)) = (edges, *step) {
            let next: Vec<usize> = edges.next.iter().copied().filter(|s| target.sites[*s].is_conditional()).collect();
            if !next.contains(&target.site_of(b)) {
                return Err(Error::new(impossible(target, names, i, *step, before, &next)));
            }
        }
        before = Some(*step);
    }
    Ok(())
}

fn impossible(
    target: &Target,
    names: &Conditionals,
    i: usize,
    step: Step,
    before: Option<Step>,
    next: &[usize],
) -> String {
    let after = before.map_or("the entry of the function".to_owned(), |b| format!("{} (step {i})", names.step(b)));
    let places: Vec<String> = next.iter().map(|s| names.place(target.sites[*s].first_branch)).collect();
    let instead =
        if places.is_empty() { "the function returns".to_owned() } else { format!("comes {}", places.join(" or ")) };
    format!("step {} of the path, {}, never follows {after}: after that {instead}", i + 1, names.step(step))
}
