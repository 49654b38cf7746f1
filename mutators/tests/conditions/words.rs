//! The operations by which mathematical libraries decompose numbers.

use penfuzz_mutators::{
    distance::{Relation, exact_integer},
    view::Layout,
};

/// The value where the site is not reached.
pub const UNREACHED: u64 = u64::MAX;

/// The arguments as doubles.
pub fn real<const N: usize>(bytes: &[u8]) -> [f64; N] {
    Layout::doubles(bytes.len()).reals(bytes).try_into().expect("as many doubles as the condition has arguments")
}

/// The high word, as a signed integer.
pub fn high(x: f64) -> i32 {
    (x.to_bits() >> 32) as i32
}

/// The low word.
pub fn low(x: f64) -> u32 {
    x.to_bits() as u32
}

/// High word without the sign.
pub fn magnitude(x: f64) -> i32 {
    high(x) & 0x7fff_ffff
}

/// The exact distance of a comparison of integers.
pub fn int(relation: Relation, a: impl Into<i128>, b: impl Into<i128>) -> u64 {
    exact_integer(relation, a.into(), b.into())
}

/// The value of `d` if the site is reached, otherwise [`UNREACHED`].
pub fn guarded(reached: bool, d: impl FnOnce() -> u64) -> u64 {
    if reached { d() } else { UNREACHED }
}

/// `(int)x` of C on x86-64: the smallest integer if `x` is out of range or NaN.
pub fn to_int(x: f64) -> i32 {
    if x > -2_147_483_649.0 && x < 2_147_483_648.0 { x as i32 } else { i32::MIN }
}

/// The bits of the low word of `y` that are before the binary point, as a number and in their place, as a power
/// function computes them to test whether `y` is an integer, and odd. `None` unless `2^21 <= |y| < 2^52`.
pub fn whole(y: f64) -> Option<(u32, u32)> {
    let k = (magnitude(y) >> 20) - 1023;
    (21..52).contains(&k).then(|| {
        let j = low(y) >> (52 - k);
        (j, j << (52 - k))
    })
}

/// `x` minus the nearest multiple of pi/2, as the fast argument reduction of a sine computes it.
pub fn reduced(x: f64) -> f64 {
    let pi_2 = core::f64::consts::FRAC_PI_2;
    x - (x / pi_2).round() * pi_2
}
