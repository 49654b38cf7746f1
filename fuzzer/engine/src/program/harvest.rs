//! Constants of the program as a dictionary: what code compares with is what inputs should be made of.

use penfuzz_mutators::dictionary::Dictionary;

use super::Target;

/// The constants of `function` and of every function that it can call.
#[must_use]
pub fn dictionary(target: &Target, function: usize) -> Dictionary {
    // Those of the function itself first.
    let called = target.called_by(function);
    let others = (0..called.len()).filter(|f| called[*f] && *f != function);
    let (mut floats, mut integers, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    for body in core::iter::once(function).chain(others).map(|f| &target.functions[f]) {
        floats.extend_from_slice(&body.floats);
        integers.extend_from_slice(&body.integers);
        tokens.extend_from_slice(&body.tokens);
    }
    Dictionary::new(&floats, &integers).with_tokens(tokens)
}
