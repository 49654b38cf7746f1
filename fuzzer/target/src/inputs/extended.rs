//! The `long double` of x86 (x87's double extended format) in an input: a `double` and the bits that a `double` lacks.
//!
//! | bytes of the input | number |
//! | --- | --- |
//! | 0 to 7 | a `double` |
//! | 8, 9 | added to the 15-bit exponent modulo 2^15; the highest bit has no effect on the exponent |
//! | 10, 11 | the low 11 bits: exclusive or with the low 11 bits of the fraction |
//!
//! The integer bit is inverted if the high 5 bits of the last number are all set and the two highest bits of the number
//! before it differ.
//!
//! As a result, a `double` followed by zeros has the same value, mutations for doubles have their usual effect, and
//! each of the 2^80 encodings has an input. Encodings with a wrong integer bit are rare: no processor writes them.

/// Size in an input, in bytes.
pub const SIZE: usize = 12;
/// Number of bits of an encoding in memory, from the lowest: significand with its integer bit (64), exponent (15),
/// sign.
pub const BITS: u32 = 80;
/// The low bits of the significand that a `double` does not have.
const LOW: u64 = (1 << 11) - 1;
/// The bits of the last number that are all set if the integer bit is inverted.
const OTHER: u16 = 0xf800;
const BIAS: i32 = 16383;
const FRACTION: u64 = (1 << 52) - 1;

/// Reads an encoding from an input. Its padding in memory is 0.
///
/// # Panics
/// If `x` has fewer than [`SIZE`] bytes.
#[must_use]
pub fn load(x: &[u8]) -> u128 {
    let (added, low) = (u16::from_le_bytes([x[8], x[9]]), u16::from_le_bytes([x[10], x[11]]));
    let (head, significand) = split(of_double(double(x)));
    let exponent = (head & 0x7fff).wrapping_add(added) & 0x7fff;
    // The integer bit as processors write it: 0 for zero and subnormals, 1 otherwise.
    let is_other = low & OTHER == OTHER && (added ^ added << 1) & 0x8000 != 0;
    let is_set = (exponent != 0) != is_other;
    let fraction = (significand ^ u64::from(low) & LOW) & (u64::MAX >> 1);
    join(head & 0x8000 | exponent, u64::from(is_set) << 63 | fraction)
}

/// Writes an encoding to an input, as a `double` followed by zeros if a `double` has the same value.
///
/// # Panics
/// If `x` has fewer than [`SIZE`] bytes.
pub fn store(number: u128, x: &mut [u8]) {
    if let Some(bits) = to_double(number) {
        x[..8].copy_from_slice(&bits.to_le_bytes());
        x[8..SIZE].fill(0);
        return;
    }
    let (head, significand) = split(number);
    let (sign, exponent) = (u64::from(head >> 15) << 63, head & 0x7fff);
    let is_other = (significand >> 63 == 1) != (exponent != 0);
    let low = (significand & LOW) as u16 | if is_other { OTHER } else { 0 };
    let near = i32::from(exponent) - BIAS;
    let (biased, added) = match near {
        _ if exponent == 0x7fff => (0x7ff, 0),
        -1022..=1023 => ((near + 1023) as u64, 0),
        _ => (1023, near as u16),
    };
    // The highest bit equals the bit below it, unless the integer bit is inverted.
    let added = added & 0x7fff | (added << 1 & 0x8000) ^ u16::from(is_other) << 15;
    let bits = sign | biased << 52 | significand >> 11 & FRACTION;
    x[..8].copy_from_slice(&bits.to_le_bytes());
    x[8..10].copy_from_slice(&added.to_le_bytes());
    x[10..SIZE].copy_from_slice(&low.to_le_bytes());
}

/// The bits of the `double` with the same value, or with the same NaN; `None` if there is none.
#[must_use]
pub fn to_double(number: u128) -> Option<u64> {
    let (head, significand) = split(number);
    let (sign, exponent) = (u64::from(head >> 15) << 63, i32::from(head & 0x7fff) - BIAS);
    let fraction = significand >> 11 & FRACTION;
    let bits = match exponent {
        _ if number << 49 == 0 => sign,
        16384 => sign | 0x7ff << 52 | fraction,
        -1022..=1023 => sign | ((exponent + 1023) as u64) << 52 | fraction,
        -1074..=-1023 => sign | (1 << 52 | fraction) >> (-1022 - exponent),
        _ => return None,
    };
    (of_double(bits) == number).then_some(bits)
}

/// Converts the bits of a `double` to a `long double` of the same value.
#[must_use]
pub fn of_double(bits: u64) -> u128 {
    let sign = ((bits >> 63) as u16) << 15;
    match magnitude(bits) {
        Some(Magnitude { exponent, fraction }) => join(sign | (exponent + BIAS) as u16, 1 << 63 | fraction << 11),
        None if bits << 1 == 0 => join(sign, 0),
        None => join(sign | 0x7fff, 1 << 63 | (bits & FRACTION) << 11),
    }
}

/// Reads the encoding at the start of memory, without padding.
///
/// # Panics
/// If there are fewer than 10 bytes.
#[must_use]
pub fn number(memory: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..10].copy_from_slice(&memory[..10]);
    u128::from_le_bytes(bytes)
}

/// Splits an encoding into sign with exponent, and significand.
#[must_use]
pub const fn split(number: u128) -> (u16, u64) {
    ((number >> 64) as u16, number as u64)
}

const fn join(head: u16, significand: u64) -> u128 {
    (head as u128) << 64 | significand as u128
}

/// The bits of the `double` at the start of an input.
pub(super) fn double(x: &[u8]) -> u64 {
    u64::from_le_bytes(x[..8].try_into().unwrap_or_default())
}

/// The magnitude of a `double`, normalized.
pub(super) struct Magnitude {
    /// The exponent without bias.
    pub(super) exponent: i32,
    /// The fraction below the leading one.
    pub(super) fraction: u64,
}

/// The magnitude of the `double` with these bits; `None` for 0, infinities and NaN.
pub(super) fn magnitude(bits: u64) -> Option<Magnitude> {
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & FRACTION);
    match biased {
        0x7ff => None,
        0 if fraction == 0 => None,
        0 => {
            let shift = fraction.leading_zeros() - 11;
            Some(Magnitude { exponent: -1022 - shift as i32, fraction: fraction << shift & FRACTION })
        }
        _ => Some(Magnitude { exponent: biased - 1023, fraction }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a `long double`; exact if a `double` has the same value.
    fn value(number: u128) -> f64 {
        let (head, significand) = split(number);
        let magnitude = significand as f64 * 2f64.powi(i32::from(head & 0x7fff) - 16383 - 63);
        if head >> 15 == 1 { -magnitude } else { magnitude }
    }

    #[test]
    fn doubles_become_long_doubles() {
        for x in [1.0, -1.5, 0.1, 1e300, -3.75e-200, 0.0, -0.0] {
            assert_eq!(value(of_double(f64::to_bits(x))).to_bits(), x.to_bits(), "{x}");
        }
        // The smallest subnormal `double`, 2^-1074, is a normal `long double`.
        assert_eq!(split(of_double(1)), (16383 - 1074, 1 << 63));
        assert_eq!(split(of_double(f64::NEG_INFINITY.to_bits())), (0xffff, 1 << 63));
        assert_eq!(split(of_double(f64::NAN.to_bits())).1 >> 62, 3, "a quiet NaN stays quiet");
    }

    #[test]
    fn each_encoding_has_an_input() {
        let ends = [0, 1, 2, 1 << 11, 1 << 52, 1 << 62, u64::MAX >> 1, u64::MAX >> 12, 0x5555_5555_5555_5555];
        let edges = [-1, 0, 1].map(|i| BIAS + i);
        let exponents = edges.iter().flat_map(|e| [0, -1075, -1074, -1023, -1022, 1023, 1024].map(|d| e + d));
        for exponent in exponents.chain([0, 1, 2, 0x7ffd, 0x7ffe, 0x7fff]) {
            for significand in ends.iter().flat_map(|end| [*end, !*end, *end | 1 << 63]) {
                for head in [exponent as u16, exponent as u16 | 0x8000] {
                    let (number, mut x) = (join(head, significand), [0xa5; SIZE]);
                    store(number, &mut x);
                    assert_eq!(load(&x), number, "{head:#x} {significand:#x}: {x:x?}");
                }
            }
        }
    }

    #[test]
    fn a_double_before_zeros_is_the_same_value_and_comes_back() {
        let ends = [0, 1, 2, 1 << 51, FRACTION];
        for bits in ends.iter().flat_map(|end| [0, 1, 1022, 1023, 2046, 2047, 4095].map(|e| e << 52 | *end)) {
            let mut x = [0; SIZE];
            x[..8].copy_from_slice(&bits.to_le_bytes());
            assert_eq!(load(&x), of_double(bits), "{bits:#x}");
            assert_eq!(to_double(load(&x)), Some(bits), "{bits:#x}");
            let mut again = [0xa5; SIZE];
            store(load(&x), &mut again);
            assert_eq!(again, x, "{bits:#x}");
        }
    }

    #[test]
    fn encodings_with_the_wrong_integer_bit_are_rare() {
        let is_wrong = |added: u16, low: u16| {
            let mut x = [0; SIZE];
            x[..8].copy_from_slice(&1f64.to_le_bytes());
            x[8..10].copy_from_slice(&added.to_le_bytes());
            x[10..].copy_from_slice(&low.to_le_bytes());
            load(&x) >> 63 & 1 == 0
        };
        let of = |added| (0..=u16::MAX).filter(|low| is_wrong(added, *low)).count();
        assert_eq!([0, 1, u16::MAX, 0x3fff, 0x4000, 0x8000].map(of), [0, 0, 0, 0, 1 << 11, 1 << 11]);
    }
}
