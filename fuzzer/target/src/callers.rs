//! How a program gets to a function: through its callers, with objects that other functions construct.

use std::ffi::CString;

use crate::{
    inputs,
    program::{Function, Target, names},
};

/// The functions with external linkage through which control gets to a function with internal linkage: those that call
/// it, or that call a static function that calls it, and so on. Calls through pointers are not followed. Nearest first.
#[must_use]
pub fn public_callers(target: &Target, function: usize) -> Vec<usize> {
    let callers = callers(target);
    let mut found = Vec::new();
    let mut seen = vec![false; target.functions.len()];
    let mut level = vec![function];
    seen[function] = true;
    while !level.is_empty() {
        let mut next: Vec<usize> = level.iter().flat_map(|f| &callers[*f]).copied().collect();
        next.sort_unstable();
        next.dedup();
        next.retain(|f| !core::mem::replace(&mut seen[*f], true));
        let (inner, public) = next.into_iter().partition(|f| target.functions[*f].is_static);
        let is_own = |f: &usize| !names::is_of_library(&target.functions[*f].name, &target.functions[*f].file);
        found.extend(Vec::into_iter(public).filter(is_own));
        level = inner;
    }
    found
}

/// Per function: the functions that call it directly.
fn callers(target: &Target) -> Vec<Vec<usize>> {
    let mut callers = vec![Vec::new(); target.functions.len()];
    for (i, f) in target.functions.iter().enumerate() {
        let edges = target.sites[f.sites.clone()].iter().flat_map(|site| &site.edges);
        for callee in f.entry_edges.calls.iter().chain(edges.flat_map(|edges| &edges.calls)) {
            if callers[*callee].last() != Some(&i) {
                callers[*callee].push(i);
            }
        }
    }
    callers
}

/// The functions that construct objects of the type with this name for callers of `f`, the most typical one first. If
/// there are any, no caller fills in such an object member by member.
#[must_use]
pub fn constructors(target: &Target, f: &Function, type_name: &str) -> Vec<usize> {
    CString::new(type_name).map_or_else(|_| Vec::new(), |name| inputs::constructors_of(target, f, &name))
}
