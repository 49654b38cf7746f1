//! Constants of the program as a dictionary: what code compares with is what inputs should be made of.

use penfuzz_mutators::dictionary::Dictionary;

use super::Target;

/// The constants of `function` and of every function that it can call.
#[must_use]
pub fn dictionary(target: &Target, function: usize) -> Dictionary {
    let mut seen = vec![false; target.functions.len()];
    let mut work = vec![function];
    let (mut floats, mut integers) = (Vec::new(), Vec::new());
    while let Some(f) = work.pop() {
        if core::mem::replace(&mut seen[f], true) {
            continue;
        }
        let body = &target.functions[f];
        floats.extend_from_slice(&body.floats);
        integers.extend_from_slice(&body.integers);
        work.extend(&body.entry_edges.calls);
        work.extend(target.sites[body.sites.clone()].iter().flat_map(|s| &s.edges).flat_map(|e| &e.calls));
    }
    Dictionary::new(&floats, &integers)
}
