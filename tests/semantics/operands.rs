//! Operands and result that are reported for an operation whose exception is watched.

use penfuzz_abi::exception;

use crate::{
    operations::{build, site_of},
    twin::on_target_thread,
};

/// A function, the exception to watch, its arguments, and the expected numbers: operands, then the result.
type Sight = (&'static str, usize, Vec<u8>, [u64; 4]);

/// Floats are represented as doubles of the same value, integers as 64 bits.
fn sights() -> Vec<Sight> {
    let d = |x: f64| x.to_bits();
    let f = |x: f32| f64::from(x).to_bits();
    let doubles = |x: &[f64]| x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
    let floats = |x: &[f32]| x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
    let scaled = [doubles(&[1.5]), 2000i32.to_le_bytes().to_vec()].concat();
    let down = [doubles(&[-1.5]), (-2000i32).to_le_bytes().to_vec()].concat();
    let tiny_f = f32::MIN_POSITIVE;
    vec![
        ("add", exception::OVERFLOW, doubles(&[f64::MAX, 1e300]), [d(f64::MAX), d(1e300), 0, d(f64::INFINITY)]),
        ("divide", exception::INVALID, doubles(&[0.0, -0.0]), [d(0.0), d(-0.0), 0, d(f64::NAN)]),
        ("divide", exception::DIVIDE_BY_ZERO, doubles(&[3.0, -0.0]), [d(3.0), d(-0.0), 0, d(f64::NEG_INFINITY)]),
        ("multiply_f", exception::OVERFLOW, floats(&[1e30, -1e30]), [f(1e30), f(-1e30), 0, f(f32::NEG_INFINITY)]),
        ("multiply_f", exception::UNDERFLOW, floats(&[tiny_f, 0.3]), [f(tiny_f), f(0.3), 0, f(tiny_f * 0.3)]),
        ("fused", exception::OVERFLOW, doubles(&[1e200, 1e200, 1.0]), [d(1e200), d(1e200), d(1.0), d(f64::INFINITY)]),
        ("narrow", exception::OVERFLOW, doubles(&[1e300]), [d(1e300), 0, 0, d(f64::INFINITY)]),
        ("to_long_f", exception::INVALID, floats(&[1e30]), [f(1e30), 0, 0, i64::MIN as u64]),
        ("from_int_f", exception::INEXACT, 16_777_217i32.to_le_bytes().to_vec(), [16_777_217, 0, 0, f(16_777_216.0)]),
        (
            "from_long",
            exception::INEXACT,
            (-i64::MAX).to_le_bytes().to_vec(),
            [-i64::MAX as u64, 0, 0, d(-(2f64.powi(63)))],
        ),
        ("scale", exception::OVERFLOW, scaled, [d(1.5), 2000, 0, d(f64::INFINITY)]),
        ("scale", exception::UNDERFLOW, down, [d(-1.5), -2000i64 as u64, 0, d(-0.0)]),
        ("root", exception::INVALID, doubles(&[-2.0]), [d(-2.0), 0, 0, d(f64::NAN)]),
    ]
}

/// Replaces the bits of a NaN result, whose payload is not specified.
fn without_payload([a, b, c, result]: [u64; 4]) -> [u64; 4] {
    [a, b, c, if f64::from_bits(result).is_nan() { f64::NAN.to_bits() } else { result }]
}

fn operands_are_seen(flags: &[&str]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = build(directory.path(), flags);
    for (name, exception, x, numbers) in sights() {
        let function = twin.index_of(name);
        let branch = site_of(&twin.target, function).first_branch + exception;
        let seen = twin.evaluator(function).observe(branch, &x).unwrap_or_else(|| panic!("{name} raises {exception}"));
        let expected = (without_payload(numbers), 1);
        assert_eq!((without_payload(seen.values), seen.times), expected, "{name}: operands and result, left seen");
    }
}

#[test]
fn operands_and_results_are_seen_as_they_are() {
    on_target_thread(|| operands_are_seen(&["-O0"]));
    on_target_thread(|| operands_are_seen(&["-O2"]));
}

#[test]
fn nothing_is_seen_of_an_exception_that_is_not_raised() {
    on_target_thread(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let twin = build(directory.path(), &["-O2"]);
        let function = twin.index_of("add");
        let branch = site_of(&twin.target, function).first_branch + exception::OVERFLOW;
        let x: Vec<u8> = [1.0f64, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(twin.evaluator(function).observe(branch, &x), None);
    });
}
