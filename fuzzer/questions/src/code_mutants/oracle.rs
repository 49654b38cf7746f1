//! The test oracle: a mutant is killed when a test of the original would fail, because its result, the memory behind
//! its pointers, `errno`, or the way it ends differs. Floating-point exception flags and payloads of NaN do not count.

use penfuzz_mutators::{line, view::Kind};

use penfuzz_directory::rendering::results::RunObservation;
use penfuzz_report::{Arg, End, Test};

/// Describes how a run of a mutant differs from the expectations of a test; `None` if it does not. Floating-point
/// results may differ by `ulp` floats. The run happened in a child process, which survives what the function does.
#[must_use]
pub fn difference(test: &Test, seen: &RunObservation, ulp: u64) -> Option<String> {
    let exits = seen.exit.map(End::Exit);
    if !seen.returned {
        return Some("it crashes".to_owned());
    }
    if test.ends != exits {
        return Some("another exit status".to_owned());
    }
    if test.throws != seen.throws {
        return Some("another exception".to_owned());
    }
    if exits.is_some() || seen.throws.is_some() {
        return None;
    }
    let differs = |expected: &Arg, found: Option<&Arg>| found.is_none_or(|found| !is_same(expected, found, ulp));
    if let Some(result) = test.result.as_ref().filter(|r| differs(r, seen.result.as_ref())) {
        return Some(format!("result {}, not {}", seen.result.as_ref().map_or("none", |r| &r.decimal), result.decimal));
    }
    for (i, expected) in test.results.iter().enumerate() {
        let found = seen.results.get(i).and_then(Option::as_ref);
        if expected.as_ref().is_some_and(|e| differs(e, found)) {
            return Some(format!("another result of call {}", i + 1));
        }
    }
    let left = |name: &str| seen.outputs.iter().find(|o| o.name == name);
    if let Some(output) = test.outputs.iter().find(|o| differs(o, left(&o.name))) {
        return Some(format!("another {}", output.name));
    }
    let sets = |(i, e): (usize, &Option<i32>)| e.is_some_and(|e| seen.errnos.get(i) != Some(&e));
    let differs = test.errno.is_some_and(|e| e != seen.errno) || test.errnos.iter().enumerate().any(sets);
    differs.then(|| "another errno".to_owned())
}

/// Returns a test that expects all of these values.
#[must_use]
pub fn test_of(seen: &RunObservation) -> Test {
    Test {
        ends: seen.exit.map(End::Exit),
        throws: seen.throws.clone(),
        result: seen.result.clone(),
        results: seen.results.clone(),
        outputs: seen.outputs.clone(),
        errno: Some(seen.errno).filter(|e| *e != 0),
        ..Test::default()
    }
}

fn is_same(a: &Arg, b: &Arg, ulp: u64) -> bool {
    if a.bits == b.bits {
        return true;
    }
    let Some((kind, x)) = float_of(a) else { return false };
    let Some((_, y)) = float_of(b).filter(|(other, _)| *other == kind) else { return false };
    if kind.to_real(x).is_nan() || kind.to_real(y).is_nan() {
        return kind.to_real(x).is_nan() && kind.to_real(y).is_nan();
    }
    // The sign of a zero is part of a result, as in the emitted tests.
    ulp > 0 && line::between(kind, x, y) <= ulp
}

/// Returns type and bits of a floating-point value: its decimal has a point or an exponent, or is not a number.
fn float_of(arg: &Arg) -> Option<(Kind, u64)> {
    let bits = u64::from_str_radix(arg.bits.strip_prefix("0x")?, 16).ok()?;
    let is_integer = arg.decimal.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    match arg.bits.len() {
        18 if !is_integer => Some((Kind::F64, bits)),
        10 if !is_integer => Some((Kind::F32, bits)),
        _ => None,
    }
}
