//! The values of each kind that are derived from a constant of the program.

use crate::{line, view::Kind};

/// Smallest high word of a normal double. Smaller integers are counts and shifts and rarely words of an encoding.
const FIRST_NORMAL_HIGH_WORD: u32 = 0x0010_0000;

/// Calls `emit` with raw bits, which may repeat and may exceed the kind's width; the constants themselves come first.
pub(super) fn harvest(kind: Kind, floats: &[u64], integers: &[i64], emit: &mut dyn FnMut(u64)) {
    // The encoding of rounding modes is that of this crate, and all modes are special values.
    if kind == Kind::Rounding {
        return;
    }
    for &bits in floats {
        emit(kind.from_real(f64::from_bits(bits)));
    }
    for &c in integers {
        as_itself(kind, c, emit);
    }
    for &bits in floats {
        near_float(kind, f64::from_bits(bits), emit);
    }
    for &c in integers {
        near_integer(kind, c, emit);
    }
}

/// The interpretations that programs compare most often: the number, and the word of an encoding with sign and
/// exponent.
fn as_itself(kind: Kind, c: i64, emit: &mut dyn FnMut(u64)) {
    match kind {
        Kind::F64 => {
            if let Some(word) = high_word(c) {
                emit(u64::from(word) << 32);
            }
            emit((c as f64).to_bits());
        }
        Kind::F32 => {
            if let Some(word) = word(c) {
                emit(u64::from(word));
            }
            emit(u64::from((c as f32).to_bits()));
        }
        _ => emit(c as u64),
    }
}

/// The constant, its negative, and their neighbours on the ULP line.
fn near_float(kind: Kind, c: f64, emit: &mut dyn FnMut(u64)) {
    for value in [c, -c] {
        let raw = kind.from_real(value);
        let position = line::position(kind, raw);
        emit(raw);
        emit(line::raw(kind, line::up(kind, position, 1)));
        emit(line::raw(kind, line::down(position, 1)));
    }
}

/// The constant, its neighbours, negative and complement, as numbers and as encodings.
fn near_integer(kind: Kind, c: i64, emit: &mut dyn FnMut(u64)) {
    let variants = [c, c.wrapping_add(1), c.wrapping_sub(1), c.wrapping_neg(), !c];
    match kind {
        Kind::F64 => {
            for v in variants {
                emit((v as f64).to_bits());
            }
            encodings_of_double(c, emit);
        }
        Kind::F32 => {
            for v in variants {
                emit(u64::from((v as f32).to_bits()));
                if let Some(word) = word(v) {
                    emit(u64::from(word));
                }
            }
        }
        _ => {
            for v in variants {
                emit(v as u64);
            }
        }
    }
}

/// Doubles of which the constant is one of the words or all bits.
fn encodings_of_double(c: i64, emit: &mut dyn FnMut(u64)) {
    for word in [c, c.wrapping_sub(1), c.wrapping_add(1)].into_iter().filter_map(high_word) {
        let high = u64::from(word) << 32;
        for low in [0, 0xffff_ffff, 1] {
            emit(high | low);
        }
        emit(high ^ (1 << 63));
    }
    if let Some(low) = word(c) {
        emit(u64::from(low));
        // The same low word with the high word of 1.0, which is a normal number.
        emit(1.0f64.to_bits() | u64::from(low));
    }
    emit(c as u64);
}

/// The constant as a 32-bit word, signed or unsigned in the source; `None` if it is wider.
fn word(c: i64) -> Option<u32> {
    i32::try_from(c).map(|v| v as u32).or_else(|_| u32::try_from(c)).ok()
}

/// The constant as the high word of a normal double, an infinity or a NaN; `None` otherwise.
fn high_word(c: i64) -> Option<u32> {
    word(c).filter(|&w| w & (u32::MAX >> 1) >= FIRST_NORMAL_HIGH_WORD)
}
