//! The types of the numbers in an input. A search treats all numbers alike, through their raw bits; this module has
//! everything that depends on the type.

use serde::{Deserialize, Serialize};

/// The type of one number.
///
/// Raw bits of a number are the low [`bits`](Self::bits) of a `u64`, zero-extended.
///
/// # Example
/// ```
/// use penfuzz_mutators::view::Kind;
///
/// assert_eq!(Kind::I8.from_real(-1.0), 0xff);
/// assert_eq!(Kind::I8.to_integer(0xff), Some(-1));
/// assert_eq!(Kind::F32.from_real(1e300), u64::from(f32::INFINITY.to_bits()));
/// assert_eq!(Kind::U8.from_real(f64::NAN), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// One byte; its lowest bit is the value.
    Bool,
    /// A rounding mode, in the lowest two bits of one byte: 0 [to nearest](NEAREST), 1 upward, 2 downward, 3 toward
    /// zero. If the bit [`RAISED`] is set, all exception flags are raised when the call begins.
    ///
    /// It is not an argument of the function under test: a layout has at most one, as its last slot. The modes have no
    /// order and no special values, so the moves replace a mode and do not compute with it.
    Rounding,
}

/// The [`Kind::Rounding`] of the default floating-point environment, which applies to inputs without a mode.
pub const NEAREST: u64 = 0;

/// The bit of a [`Kind::Rounding`] that means: the caller has raised all exception flags.
pub const RAISED: u64 = 4;

impl Kind {
    /// All kinds, in declaration order.
    pub const ALL: [Self; 12] = [
        Self::F32,
        Self::F64,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::Bool,
        Self::Rounding,
    ];

    /// Number of bytes in the input: 1, 2, 4 or 8.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool | Self::Rounding => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Number of bits of the value: 8 times [`size`](Self::size), but 1 for `Bool` and 3 for `Rounding`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Rounding => 3,
            _ => 8 * self.size() as u32,
        }
    }

    /// A mask of the low [`bits`](Self::bits).
    #[must_use]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Whether values are IEEE 754 numbers.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether the topmost bit is a sign: true for floats and signed integers.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Number of bits of the fraction field of a float; 0 for other kinds.
    #[must_use]
    pub const fn fraction_bits(self) -> u32 {
        match self {
            Self::F32 => 23,
            Self::F64 => 52,
            _ => 0,
        }
    }

    /// The value of the raw bits as an integer; `None` for floats. A `U64` above `i64::MAX` wraps to a negative number.
    #[must_use]
    pub const fn to_integer(self, raw: u64) -> Option<i64> {
        let shift = 64 - self.bits();
        match self {
            Self::F32 | Self::F64 => None,
            _ if self.is_signed() => Some(((raw << shift) as i64) >> shift),
            _ => Some((raw & self.mask()) as i64),
        }
    }

    /// The value of the raw bits as a double.
    ///
    /// Exact except for integers beyond `2^53`, which are rounded to nearest. Signed zeros, infinities and the payloads
    /// of doubles are kept; a signalling NaN of `F32` becomes quiet.
    #[must_use]
    pub fn to_real(self, raw: u64) -> f64 {
        match self {
            Self::F32 => f64::from(f32::from_bits(raw as u32)),
            Self::F64 => f64::from_bits(raw),
            Self::U64 => raw as f64,
            // The values of all other kinds are in the range of `i64`.
            _ => self.to_integer(raw).unwrap_or(0) as f64,
        }
    }

    /// The raw bits of the value of this kind closest to `value`.
    ///
    /// * Floats are rounded to nearest; a `value` beyond the range of `F32` becomes an infinity. NaN stays NaN, signed
    ///   zeros and infinities are kept.
    /// * Integers and rounding modes are rounded half away from zero and saturate, at infinities too; NaN becomes 0.
    /// * `Bool` is `value != 0`: 0 for both zeros, 1 for NaN.
    #[must_use]
    pub fn from_real(self, value: f64) -> u64 {
        // `as` saturates and maps NaN to 0.
        let rounded = value.round();
        match self {
            Self::F32 => u64::from((value as f32).to_bits()),
            Self::F64 => value.to_bits(),
            Self::I8 => u64::from(rounded as i8 as u8),
            Self::I16 => u64::from(rounded as i16 as u16),
            Self::I32 => u64::from(rounded as i32 as u32),
            Self::I64 => rounded as i64 as u64,
            Self::U8 => u64::from(rounded as u8),
            Self::U16 => u64::from(rounded as u16),
            Self::U32 => u64::from(rounded as u32),
            Self::U64 => rounded as u64,
            Self::Bool => u64::from(value != 0.0),
            Self::Rounding => u64::from(rounded as u8).min(self.mask()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_saturate_and_nan_is_zero() {
        let of = |v| Kind::I32.to_integer(Kind::I32.from_real(v)).unwrap();
        assert_eq!(
            [of(1e300), of(-1e300), of(f64::NAN), of(2.5), of(-2.5)],
            [i64::from(i32::MAX), i64::from(i32::MIN), 0, 3, -3]
        );
    }
}
