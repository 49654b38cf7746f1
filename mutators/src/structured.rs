//! Structured random values: the baseline search `structured`, and the kicks and start points of the other searches.
//!
//! A uniformly random double is almost never small, an integer, subnormal or related to another argument, but
//! conditions test for such values. So each value is drawn from a mixture of such families. Nothing here allocates.

use libafl_bolts::rands::Rand;

use crate::{
    dictionary::Dictionary,
    line,
    moves::{At, Move, Related, write_random},
    view::{Kind, Layout, NEAREST, Slot, run_length},
};

/// Fills every slot of `x` with a [`value`]; from the second slot on, one number in four is instead
/// [derived](crate::moves::Related) from another slot (`y = x`, `-x`, a neighbour of `x`, `1/x`…). One run of bytes in
/// two begins with a token, if the dictionary has any.
///
/// In seven of eight draws, an integer that is the length of an array is at most the capacity of the array.
///
/// The result does not depend on the previous bytes of `x`.
///
/// # Panics
/// If `x` is shorter than the layout.
pub fn fill<R: Rand>(rng: &mut R, layout: &Layout, dictionary: &Dictionary, x: &mut [u8]) {
    for (i, slot) in layout.slots().iter().enumerate() {
        let raw = if i > 0 && slot.kind != Kind::Rounding && rng.below_or_zero(4) == 0 {
            // Only the slots that are filled already.
            let at = At { x, slots: &layout.slots()[..=i], slot: i, dictionary };
            Related.candidate(&at, rng.below_or_zero(Related.count(&at)))
        } else {
            value(rng, slot.kind, dictionary)
        };
        slot.set(x, raw);
    }
    for (index, largest) in layout.lengths() {
        if rng.below_or_zero(8) > 0 {
            layout.slots()[*index].set(x, rng.below_or_zero(*largest as usize + 1) as u64);
        }
    }
    if !dictionary.tokens().is_empty() {
        write_tokens(rng, layout.slots(), dictionary, x);
    }
}

/// Writes a random token at the beginning of one run of bytes in two, and in one of four of these runs another token at
/// a random place.
fn write_tokens<R: Rand>(rng: &mut R, slots: &[Slot], dictionary: &Dictionary, x: &mut [u8]) {
    let mut first = 0;
    while first < slots.len() {
        let length = run_length(slots, first, usize::MAX);
        if length > 1 && rng.coinflip(0.5) {
            write_random(rng, slots, first, dictionary, x);
            if rng.below_or_zero(4) == 0 {
                let middle = first + rng.below_or_zero(length);
                write_random(rng, slots, middle, dictionary, x);
            }
        }
        first += length.max(1);
    }
}

/// One value of a kind, as raw bits.
///
/// In eighths: 2 are values of the dictionary, 1 neighbours of such values, 1 uniformly distributed bits, and 4 numbers
/// of further families: small, integral, subnormal, of few significant bits, or of moderate magnitude. Floats may be
/// NaN, infinite, subnormal, or zero of either sign. Of the rounding modes, one draw in two is to nearest, for which
/// programs are written, with no exception flag raised; the other is uniform.
pub fn value<R: Rand>(rng: &mut R, kind: Kind, dictionary: &Dictionary) -> u64 {
    let raw = match rng.below_or_zero(8) {
        0..4 if kind == Kind::Rounding => NEAREST,
        _ if kind == Kind::Rounding => rng.next(),
        0 | 1 => dictionary.pick(rng, kind),
        2 => neighbour(rng, kind, dictionary),
        3 => rng.next(),
        _ if kind.is_float() => float(rng, kind),
        _ => integer(rng),
    };
    raw & kind.mask()
}

/// A value of the dictionary moved by 1, 2, 4, 8 or 16 steps on the ULP line.
fn neighbour<R: Rand>(rng: &mut R, kind: Kind, dictionary: &Dictionary) -> u64 {
    let position = line::position(kind, dictionary.pick(rng, kind));
    // Powers of two, so that near neighbours are drawn most often.
    let steps = 1 << rng.below_or_zero(5);
    line::raw(kind, line::step(kind, position, rng.coinflip(0.5), steps))
}

/// A float of a random family, as raw bits.
fn float<R: Rand>(rng: &mut R, kind: Kind) -> u64 {
    let sign = (rng.next() & 1) << (kind.bits() - 1);
    match rng.below_or_zero(8) {
        // Subnormals, every binary magnitude being equally likely.
        0 => {
            sign | (rng.next() & ((1 << kind.fraction_bits()) - 1)) >> rng.below_or_zero(kind.fraction_bits() as usize)
        }
        1 => kind.from_real(small_integer(rng)),
        2 => kind.from_real(small_integer(rng) / 2.0),
        // Integers of any magnitude.
        3 => kind.from_real((rng.next() as i64 >> rng.below_or_zero(64)) as f64),
        // Any exponent with few fraction bits.
        4 => rng.next() & !((1 << (kind.fraction_bits() - rng.below_or_zero(8) as u32)) - 1),
        // Moderate magnitudes: the main range of elementary functions.
        _ => sign | kind.from_real(magnitude(rng)),
    }
}

/// A positive double of uniform fraction and a binary exponent near 0: one in two within `±4`, the others within `±64`.
fn magnitude<R: Rand>(rng: &mut R) -> f64 {
    let range = if rng.coinflip(0.5) { 4 } else { 64 };
    let exponent = rng.between(0, 2 * range) as i32 - range as i32;
    (1.0 + rng.next_float()) * f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// An integer in `[-32, 32]`.
fn small_integer<R: Rand>(rng: &mut R) -> f64 {
    rng.between(0, 64) as f64 - 32.0
}

/// A 64-bit integer in two's complement, small or of any magnitude.
fn integer<R: Rand>(rng: &mut R) -> u64 {
    if rng.coinflip(0.5) {
        (small_integer(rng) as i64) as u64
    } else {
        // Any magnitude, both signs.
        (rng.next() as i64 >> rng.below_or_zero(64)) as u64
    }
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;

    fn share(n: usize, mut event: impl FnMut(&mut StdRand) -> bool) -> f64 {
        let mut rng = StdRand::with_seed(11);
        (0..n).filter(|_| event(&mut rng)).count() as f64 / n as f64
    }

    type Family = (&'static str, fn(f64) -> bool);

    #[test]
    fn doubles_fall_into_every_family() {
        let dictionary = Dictionary::general();
        let families: [Family; 6] = [
            ("zero", |v| v == 0.0),
            ("NaN", f64::is_nan),
            ("infinite", f64::is_infinite),
            ("subnormal", f64::is_subnormal),
            ("small integer", |v| v != 0.0 && v.abs() <= 32.0 && v.fract() == 0.0),
            ("moderate", |v| (0.01..100.0).contains(&v.abs()) && v.fract() != 0.0),
        ];
        for (name, belongs) in families {
            let p = share(20_000, |rng| belongs(f64::from_bits(value(rng, Kind::F64, &dictionary))));
            assert!(p > 0.005, "{name}: {p}");
        }
    }

    #[test]
    fn arguments_are_often_equal() {
        let (layout, dictionary) = (Layout::doubles(16), Dictionary::general());
        let mut x = [0; 16];
        let p = share(10_000, |rng| {
            fill(rng, &layout, &dictionary, &mut x);
            x[..8] == x[8..]
        });
        assert!(p > 0.02, "{p}");
    }

    #[test]
    fn runs_of_bytes_begin_with_tokens() {
        let dictionary = Dictionary::general().with_tokens([b"GPGGA".to_vec()]);
        let layout = Layout::packed(&[Kind::F64, Kind::U8, Kind::U8, Kind::U8, Kind::U8, Kind::U8, Kind::U8, Kind::U8]);
        let mut x = [0; 15];
        let p = share(10_000, |rng| {
            fill(rng, &layout, &dictionary, &mut x);
            x[8..].starts_with(b"GPGGA")
        });
        assert!((0.4..0.6).contains(&p), "{p}");
    }

    #[test]
    fn half_of_the_rounding_modes_are_to_nearest_and_all_occur() {
        let dictionary = Dictionary::general();
        for (mode, least, most) in [(0, 0.6, 0.65), (1, 0.1, 0.15), (2, 0.1, 0.15), (3, 0.1, 0.15)] {
            let p = share(20_000, |rng| value(rng, Kind::Rounding, &dictionary) & 3 == mode);
            assert!((least..most).contains(&p), "{mode}: {p}");
        }
    }

    #[test]
    fn the_result_is_independent_of_the_previous_bytes() {
        let (layout, dictionary) = (Layout::packed(&[Kind::F32, Kind::I16, Kind::F64]), Dictionary::general());
        let from = |byte| {
            let mut x = vec![byte; layout.size()];
            fill(&mut StdRand::with_seed(5), &layout, &dictionary, &mut x);
            x
        };
        assert_eq!(from(0), from(0xff));
    }
}
