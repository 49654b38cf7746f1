//! Properties that hold for every value, layout and input, checked by `proptest` on generated ones.
//!
//! The seed is fixed, so that a run on the same code gives the same result. `PROPTEST_RNG_SEED=2 PROPTEST_CASES=10000`
//! checks others.

mod distance;
mod havoc;
mod line;
mod moves;
mod simplicity;
mod simplify;
mod view;

use penfuzz_mutators::{
    line as ulp_line,
    view::{Kind, Layout},
};
use proptest::{
    collection::vec,
    num::f64::ANY,
    prelude::*,
    sample::{SizeRange, select},
    test_runner::RngSeed,
};

/// `cases` generated cases per property. Nothing is written to the source tree: the seed reproduces a failure.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

/// Two doubles of any classes: one in two pairs lies within 16 doubles of each other.
fn pair() -> impl Strategy<Value = (f64, f64)> {
    let close = (ANY, 0..=16u64, any::<bool>()).prop_map(|(a, steps, rising)| (a, stepped(a, rising, steps)));
    prop_oneof![(ANY, ANY), close]
}

/// The double `steps` above or below `a` on the ULP line.
fn stepped(a: f64, rising: bool, steps: u64) -> f64 {
    let position = ulp_line::position(Kind::F64, a.to_bits());
    f64::from_bits(ulp_line::raw(Kind::F64, ulp_line::step(Kind::F64, position, rising, steps)))
}

/// A number: its kind, and raw bits within its width.
fn number() -> impl Strategy<Value = (Kind, u64)> {
    select(&Kind::ALL[..]).prop_flat_map(|kind| raw(kind).prop_map(move |raw| (kind, raw)))
}

/// Raw bits of two numbers of one kind: one in two pairs differs in one bit.
fn two_numbers() -> impl Strategy<Value = (Kind, u64, u64)> {
    number().prop_flat_map(|(kind, a)| {
        let flipped = (0..kind.bits()).prop_map(move |bit| a ^ 1 << bit);
        (Just(kind), Just(a), prop_oneof![raw(kind), flipped])
    })
}

/// Raw bits of a kind: uniform ones, and the bits of a double or integer of any magnitude.
fn raw(kind: Kind) -> impl Strategy<Value = u64> {
    let magnitude = (any::<i64>(), 0..64u32).prop_map(|(value, shift)| (value >> shift) as f64);
    let real = prop_oneof![ANY, magnitude].prop_map(move |value| kind.from_real(value));
    prop_oneof![any::<u64>(), real].prop_map(move |raw| raw & kind.mask())
}

/// Packed layouts of as many numbers of any kinds.
fn layouts(numbers: impl Into<SizeRange>) -> impl Strategy<Value = Layout> {
    vec(select(&Kind::ALL[..]), numbers).prop_map(|kinds| Layout::packed(&kinds))
}
