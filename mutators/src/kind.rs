//! The types of numbers that a program's arguments have.

use serde::{Deserialize, Serialize};

/// The type of one number.
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
    /// One byte of which the lowest bit is the value.
    Bool,
    /// A rounding mode, in the lowest two bits of one byte: [to nearest](NEAREST), upward, downward, toward zero.
    ///
    /// It belongs to no argument: a layout has at most one, behind all numbers. The modes have no order and no special
    /// values, so it is substituted, not computed with.
    Rounding,
}

/// The [`Kind::Rounding`] of the default environment: what an input without a mode means.
pub const NEAREST: u64 = 0;

impl Kind {
    /// Every kind, in declaration order.
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

    /// Bytes that the number occupies in the input.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool | Self::Rounding => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    /// Bits that carry the value: 8 times [`size`](Self::size), but 1 for `Bool` and 2 for `Rounding`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Rounding => 2,
            _ => 8 * self.size() as u32,
        }
    }

    /// A mask of the [`bits`](Self::bits) low bits.
    #[must_use]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Whether values are IEEE 754 numbers.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether the topmost bit says that a value is negative (true for floats).
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::F32 | Self::F64 | Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Bits of the fraction field of a float, 0 for other kinds.
    #[must_use]
    pub const fn fraction_bits(self) -> u32 {
        match self {
            Self::F32 => 23,
            Self::F64 => 52,
            _ => 0,
        }
    }

    /// The raw bits as a signed 64-bit integer; `None` for floats. `U64` above `i64::MAX` wraps.
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
    /// 64-bit integers round to nearest; NaN stays NaN, signed zeros and infinities are kept.
    #[must_use]
    pub fn to_real(self, raw: u64) -> f64 {
        match self {
            Self::F32 => f64::from(f32::from_bits(raw as u32)),
            Self::F64 => f64::from_bits(raw),
            Self::U64 => raw as f64,
            // All other kinds fit.
            _ => self.to_integer(raw).unwrap_or(0) as f64,
        }
    }

    /// The raw bits of the value closest to `value`.
    ///
    /// Floats round to nearest, so too large a value becomes an infinity in `F32`; NaN stays NaN. Integers round half
    /// away from zero and saturate, NaN becomes 0. `Bool` is `value != 0`, true for NaN.
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
