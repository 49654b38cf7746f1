//! How libraries take numbers apart.

use penfuzz_mutators::{
    distance::{Relation, exact_integer},
    view::Layout,
};

pub const UNREACHED: u64 = u64::MAX;

/// The arguments as doubles.
pub fn real<const N: usize>(bytes: &[u8]) -> [f64; N] {
    Layout::doubles(bytes.len()).reals(bytes).try_into().expect("as many doubles as the condition has arguments")
}

pub fn high(x: f64) -> i32 {
    (x.to_bits() >> 32) as i32
}

pub fn low(x: f64) -> u32 {
    x.to_bits() as u32
}

/// High word without the sign.
pub fn magnitude(x: f64) -> i32 {
    high(x) & 0x7fff_ffff
}

pub fn int(relation: Relation, a: impl Into<i128>, b: impl Into<i128>) -> u64 {
    exact_integer(relation, a.into(), b.into())
}

/// `d` where `reached`.
pub fn behind(reached: bool, d: impl FnOnce() -> u64) -> u64 {
    if reached { d() } else { UNREACHED }
}

/// `(int)x` of C on x86: out of range gives the smallest integer.
pub fn to_int(x: f64) -> i32 {
    if x > -2_147_483_649.0 && x < 2_147_483_648.0 { x as i32 } else { i32::MIN }
}

/// The low word of a whole `y` between `2^21` and `2^53` with its fraction bits cut off, as a power function computes it.
pub fn whole(y: f64) -> Option<(u32, u32)> {
    let k = (magnitude(y) >> 20) - 1023;
    (21..52).contains(&k).then(|| {
        let j = low(y) >> (52 - k);
        (j, j << (52 - k))
    })
}

/// Distance of a multiple of pi/2 to `x`, as the quick argument reduction of a sine sees it.
pub fn reduced(x: f64) -> f64 {
    let pi_2 = core::f64::consts::FRAC_PI_2;
    x - (x / pi_2).round() * pi_2
}
