//! Constants of the program as a dictionary, because inputs near the constants in comparisons take new branches.

use penfuzz_mutators::dictionary::Dictionary;

use super::Target;

/// Tokens for programs that read standard input: numbers and separators.
const READ: [&[u8]; 8] = [b"0 ", b"1 ", b"2 ", b"3 ", b"10 ", b"-1 ", b"1.5 ", b"\n"];

/// Returns the constants of `function` and of every function that it can call, and numbers as text if it reads standard
/// input.
#[must_use]
pub fn dictionary(target: &Target, function: usize) -> Dictionary {
    // The constants of the function itself come first.
    let called = target.called_by(function);
    let others = (0..called.len()).filter(|f| called[*f] && *f != function);
    let (mut floats, mut integers, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    for body in core::iter::once(function).chain(others).map(|f| &target.functions[f]) {
        floats.extend_from_slice(&body.floats);
        integers.extend_from_slice(&body.integers);
        tokens.extend_from_slice(&body.tokens);
    }
    if target.functions[function].model.as_ref().is_some_and(|model| model.input.is_some()) {
        tokens.extend(READ.iter().map(|text| text.to_vec()));
    }
    Dictionary::new(&floats, &integers).with_tokens(tokens)
}
