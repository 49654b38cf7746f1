//! A total order on the values of a kind by how easily a person reads them.
//!
//! Found inputs become arguments of tests that people read, so [`simplify`](crate::simplify) replaces numbers by
//! simpler ones. [`of`] gives the sort key of a value; the value with the smaller key is simpler. Keys compare by class
//! first:
//!
//! | class | values |
//! | --- | --- |
//! | 0 | zero |
//! | 1 | finite, at most [`SHORT`] significant digits in the shortest decimal |
//! | 2, 3, 4 | infinities; -0; the quiet NaN without payload, of either sign |
//! | 5 | powers of two, for integers also one less, and the limits of the range |
//! | 6 | all other finite values |
//! | 7 | other NaNs |
//!
//! Within a class, keys compare by the length of the shortest decimal: `d` significant digits with `z` zeros between
//! them and the decimal point (as in 1200, or 0.0012) have the length `d`, plus 1 from 3 zeros on, 2 from 9 and 3 from
//! 99. Then integers come before fractions, few zeros before many, small digits before large ones, positive before
//! negative. The raw bits are compared last, so that only equal values have equal keys.

use crate::view::Kind;

/// Greatest number of significant digits of the values in class 1.
pub const SHORT: u32 = 4;

/// The sort key of a value, made by [`of`]: the smaller, the simpler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Simplicity {
    class: u8,
    length: u32,
    is_fraction: bool,
    zeros: u32,
    digits: u64,
    is_negative: bool,
    bits: u64,
}

/// A decimal number `± digits · 10^scale`. [`Decimal::of`] makes it without trailing zeros in `digits`; 0 has scale 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    /// Whether the number is below 0.
    pub is_negative: bool,
    /// The significant digits as an integer; at most 20 digits.
    pub digits: u64,
    /// Exponent of ten of the last digit.
    pub scale: i32,
}

impl Decimal {
    /// The shortest decimal that is rounded to the value again; `None` for infinities and NaN. The decimal of -0 is 0.
    #[must_use]
    pub fn of(kind: Kind, raw: u64) -> Option<Self> {
        match kind {
            Kind::F64 => Self::of_text(&format!("{:e}", Some(f64::from_bits(raw)).filter(|v| v.is_finite())?)),
            Kind::F32 => Self::of_text(&format!("{:e}", Some(f32::from_bits(raw as u32)).filter(|v| v.is_finite())?)),
            _ => {
                let value = i128::from(kind.to_integer(raw)?);
                let value = if kind.is_signed() { value } else { i128::from(raw & kind.mask()) };
                Some(Self { is_negative: value < 0, digits: value.unsigned_abs() as u64, scale: 0 }.trimmed())
            }
        }
    }

    /// Parses the format `{:e}`, for example `-1.25e-7`.
    fn of_text(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once('e')?;
        let fraction = mantissa.split_once('.').map_or(0, |(_, f)| f.len());
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let scale = exponent.parse::<i32>().ok()? - fraction as i32;
        let digits = digits.parse().ok()?;
        Some(Self { is_negative: mantissa.starts_with('-') && digits != 0, digits, scale }.trimmed())
    }

    /// The same number without trailing zeros in `digits`.
    fn trimmed(mut self) -> Self {
        if self.digits == 0 {
            return Self { is_negative: false, digits: 0, scale: 0 };
        }
        while self.digits.is_multiple_of(10) {
            self.digits /= 10;
            self.scale += 1;
        }
        self
    }

    /// Number of significant digits; 1 for zero.
    #[must_use]
    pub fn count(self) -> u32 {
        self.digits.checked_ilog10().unwrap_or(0) + 1
    }

    /// The raw bits of the value of a kind that is closest to this number, for floats possibly a zero of its sign.
    ///
    /// `None` if an integer kind does not have the exact number, or if the float would be infinite.
    #[must_use]
    pub fn to_raw(self, kind: Kind) -> Option<u64> {
        let sign = if self.is_negative { "-" } else { "" };
        match kind {
            Kind::F64 => {
                let value: f64 = format!("{sign}{}e{}", self.digits, self.scale).parse().ok()?;
                value.is_finite().then(|| value.to_bits())
            }
            Kind::F32 => {
                let value: f32 = format!("{sign}{}e{}", self.digits, self.scale).parse().ok()?;
                value.is_finite().then(|| u64::from(value.to_bits()))
            }
            _ => {
                let power = 10i128.checked_pow(u32::try_from(self.scale).ok()?)?;
                let magnitude = i128::from(self.digits).checked_mul(power)?;
                let value = if self.is_negative { -magnitude } else { magnitude };
                let half = 1i128 << (kind.bits() - 1);
                let range = if kind.is_signed() { -half..half } else { 0..2 * half };
                range.contains(&value).then_some(value as u64 & kind.mask())
            }
        }
    }

    /// Number of zeros between the digits and the decimal point, on either side.
    fn zeros(self) -> u32 {
        let above = i64::from(self.scale);
        let below = -above - i64::from(self.count());
        above.max(below).max(0) as u32
    }

    /// The length by which keys compare.
    fn length(self) -> u32 {
        self.count()
            + match self.zeros() {
                0..3 => 0,
                3..9 => 1,
                9..99 => 2,
                _ => 3,
            }
    }
}

/// The sort key of the value with these raw bits. Bits beyond the kind's width are ignored.
#[must_use]
pub fn of(kind: Kind, raw: u64) -> Simplicity {
    let raw = raw & kind.mask();
    let without_digits = |class| Simplicity {
        class,
        length: 0,
        is_fraction: false,
        zeros: 0,
        digits: 0,
        is_negative: kind.is_float() && raw >> (kind.bits() - 1) == 1,
        bits: raw,
    };
    let Some(decimal) = Decimal::of(kind, raw) else {
        return without_digits(if kind.to_real(raw).is_infinite() {
            2
        } else if raw & (kind.mask() >> 1) == quiet_nan(kind) {
            4
        } else {
            7
        });
    };
    if decimal.digits == 0 {
        return without_digits(if raw == 0 { 0 } else { 3 });
    }
    let class = match decimal.count() {
        0..=SHORT => 1,
        _ if is_round_in_binary(kind, raw) => 5,
        _ => 6,
    };
    Simplicity {
        class,
        length: decimal.length(),
        is_fraction: decimal.scale < 0,
        zeros: decimal.zeros(),
        digits: decimal.digits,
        is_negative: decimal.is_negative,
        bits: raw,
    }
}

/// Raw bits of the positive quiet NaN without payload; 0 for kinds that are no floats.
#[must_use]
pub fn quiet_nan(kind: Kind) -> u64 {
    match kind {
        Kind::F64 => f64::NAN.to_bits(),
        Kind::F32 => u64::from(f32::NAN.to_bits()),
        _ => 0,
    }
}

/// Whether a finite non-zero value is in class 5.
fn is_round_in_binary(kind: Kind, raw: u64) -> bool {
    if kind.is_float() {
        let magnitude = raw & (kind.mask() >> 1);
        let fraction = magnitude & ((1 << kind.fraction_bits()) - 1);
        let is_subnormal = magnitude >> kind.fraction_bits() == 0;
        let is_largest = Decimal::of(kind, magnitude + 1).is_none();
        return is_largest || fraction == 0 || is_subnormal && fraction.is_power_of_two();
    }
    let value = kind.to_integer(raw).unwrap_or(0);
    let magnitude = if kind.is_signed() { value.unsigned_abs() } else { raw };
    magnitude.is_power_of_two() || magnitude.wrapping_add(1).is_power_of_two() || magnitude == u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_less_and_less_simple(kind: Kind, raws: &[u64]) {
        for pair in raws.windows(2) {
            let (a, b) = (of(kind, pair[0]), of(kind, pair[1]));
            assert!(a < b, "{kind:?}: {:#x} is simpler than {:#x}: {a:?} {b:?}", pair[0], pair[1]);
        }
    }

    #[test]
    fn doubles_have_the_documented_order() {
        let values = [
            0.0,
            1.0,
            -1.0,
            2.0,
            9.0,
            10.0,
            100.0,
            0.5,
            -0.5,
            0.01,
            12.0,
            1000.0,
            1.5,
            0.0001,
            123.0,
            1e10,
            1e-30,
            1234.0,
            1e300,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            f64::NAN,
            65536.0,
            f64::MAX,
            f64::MIN_POSITIVE,
            65537.0,
            0.1 + 0.2,
            1.756_580_577_729_901e156,
            f64::from_bits(0x7ff8_0000_0000_0001),
        ];
        assert_less_and_less_simple(Kind::F64, &values.map(f64::to_bits));
    }

    #[test]
    fn integers_have_the_documented_order() {
        let values =
            [0, 1, -1, 7, 10, -100, 12, 1000, 123, 1_000_000_000, 1234, 65536, i32::MAX, i32::MIN, 65539, -123_457];
        assert_less_and_less_simple(Kind::I32, &values.map(|v| u64::from(v as u32)));
        assert_less_and_less_simple(Kind::U64, &[0, 1, 1000, 1 << 40, u64::MAX, 12_345, (1 << 40) + 1]);
        assert_less_and_less_simple(Kind::Bool, &[0, 1]);
    }

    #[test]
    fn the_smallest_subnormal_is_short() {
        assert_eq!(Decimal::of(Kind::F64, 1), Some(Decimal { is_negative: false, digits: 5, scale: -324 }));
    }

    #[test]
    fn a_number_outside_the_kind_has_no_raw_bits() {
        let of = |digits, scale| Decimal { is_negative: true, digits, scale };
        assert_eq!(of(1, 0).to_raw(Kind::U8), None, "-1 unsigned");
        assert_eq!(of(129, 0).to_raw(Kind::I8), None, "-129 in 8 bits");
        assert_eq!(of(5, -1).to_raw(Kind::I32), None, "-0.5 as integer");
        assert_eq!(of(1, 400).to_raw(Kind::F64), None, "-1e400");
    }
}
