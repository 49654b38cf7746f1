//! Special values: those that numeric code treats separately, or at which it rounds or overflows, independent of the
//! function that it computes.

use core::f64::consts::{E, FRAC_PI_2, FRAC_PI_4, LN_2, PI, SQRT_2};

use crate::view::Kind;

/// Calls `emit` with raw bits, which may repeat and may exceed the kind's width; the values most often tested for come
/// first.
pub(super) fn values(kind: Kind, emit: &mut dyn FnMut(u64)) {
    match kind {
        Kind::F32 | Kind::F64 => floats(kind, emit),
        Kind::Bool => [0, 1].into_iter().for_each(emit),
        Kind::Rounding => (0..=kind.mask()).for_each(emit),
        _ => integers(kind, emit),
    }
}

/// Zeros, limits, subnormals, NaN, usual constants and powers of two, of both signs.
fn floats(kind: Kind, emit: &mut dyn FnMut(u64)) {
    let sign = 1 << (kind.bits() - 1);
    let mut both = |raw: u64| {
        emit(raw);
        emit(raw | sign);
    };
    let fraction = 1u64 << kind.fraction_bits();
    let infinity = (sign - 1) & !(fraction - 1);
    both(0);
    both(kind.from_real(1.0));
    both(infinity);
    both(infinity | fraction >> 1); // quiet NaN
    both(infinity | 1); // signalling NaN
    both(1); // smallest subnormal
    both(fraction - 1); // largest subnormal
    both(fraction); // smallest normal
    both(infinity - 1); // largest finite
    both(kind.from_real(1.0) + 1);
    both(kind.from_real(1.0) - 1);
    both(sign - 1); // NaN with a full payload
    for real in [0.5, 2.0, 1.5, 3.0, 10.0, 100.0, PI, FRAC_PI_2, FRAC_PI_4, 2.0 * PI, E, LN_2, SQRT_2] {
        both(kind.from_real(real));
    }
    for exponent in exponents(kind) {
        both(kind.from_real(2f64.powi(exponent)));
    }
    // The largest argument for which the exponential function is finite, and the magnitude of the one at which it
    // underflows.
    for real in [709.782_712_893_384, 745.133_219_101_941_1, 88.722_83, 103.972_08] {
        both(kind.from_real(real));
    }
}

/// Binary exponents at which rounding, the overflow of a square or the conversion to an integer changes.
fn exponents(kind: Kind) -> [i32; 14] {
    let p = kind.fraction_bits() as i32;
    let max = if kind == Kind::F64 { 1023 } else { 127 };
    [-2, p, p + 1, -p, -p - 1, -p / 2, 31, 32, 63, 64, max, max / 2, -max / 2, p - 1]
}

/// Limits and small integers, powers of two, and limits of narrower types, with their negatives.
fn integers(kind: Kind, emit: &mut dyn FnMut(u64)) {
    let max = if kind.is_signed() { kind.mask() >> 1 } else { kind.mask() };
    let min = if kind.is_signed() { max + 1 } else { 0 };
    for raw in [0, 1, u64::MAX, max, min, 2, 3, max - 1, min + 1] {
        emit(raw);
    }
    for value in [4i64, 8, 10, 16, 32, 64, 100, 127, 128, 255, 256, 1000, 1024, 32767, 65535, 65536] {
        if value as u64 <= max {
            emit(value as u64);
            emit(value.wrapping_neg() as u64);
        }
    }
}
