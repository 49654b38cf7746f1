//! Floating-point arithmetic as SMT-LIB defines it, for every format and rounding mode, computed with exact integers.
//!
//! A finite value is an integer times a power of two. Sums, products, remainders and fused operations are computed
//! exactly. Quotients and square roots are computed to more bits than the format has, plus one sticky bit for what is
//! cut off. Then [`Format::round`] rounds once. The code is slow, and uses no floats of the machine.
//!
//! M. Brain, C. Tinelli, P. Rümmer and T. Wahl, *An Automatable Formal Semantics for IEEE-754 Floating-Point
//! Arithmetic*, ARITH 2015.

use core::cmp::Ordering;

use num_bigint::BigUint;

/// A floating-point format: the number of bits of the exponent, and of the significand with the hidden bit. IEEE 754's
/// double is (11, 53).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format {
    /// Bits of the exponent, at least 2.
    pub exponent: u32,
    /// Bits of the significand with the hidden bit, at least 2; both together at most 128.
    pub significand: u32,
}

/// The five rounding modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the nearest, ties to even.
    NearestEven,
    /// To the nearest, ties away from zero.
    NearestAway,
    /// Towards positive infinity.
    Up,
    /// Towards negative infinity.
    Down,
    /// Towards zero.
    Zero,
}

impl Rounding {
    /// All modes, each with its short and its long name in SMT-LIB.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::NearestEven, "RNE", "roundNearestTiesToEven"),
        (Self::NearestAway, "RNA", "roundNearestTiesToAway"),
        (Self::Up, "RTP", "roundTowardPositive"),
        (Self::Down, "RTN", "roundTowardNegative"),
        (Self::Zero, "RTZ", "roundTowardZero"),
    ];

    /// Returns true if the magnitude is rounded away from zero. `odd` is the last bit that is kept, `rest` what is cut
    /// off.
    fn rounds_away(self, negative: bool, odd: bool, rest: Discarded) -> bool {
        match self {
            _ if rest == Discarded::None => false,
            Self::NearestEven => rest == Discarded::More || rest == Discarded::Half && odd,
            Self::NearestAway => rest != Discarded::Less,
            Self::Up => !negative,
            Self::Down => negative,
            Self::Zero => false,
        }
    }
}

/// What is cut off, compared with half of the last place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Discarded {
    None,
    Less,
    Half,
    More,
}

impl Discarded {
    /// Compares a remainder `rest` below `whole` with half of `whole`.
    fn of(rest: &BigUint, whole: &BigUint) -> Self {
        if *rest == BigUint::ZERO {
            return Self::None;
        }
        match (rest << 1u32).cmp(whole) {
            Ordering::Less => Self::Less,
            Ordering::Equal => Self::Half,
            Ordering::Greater => Self::More,
        }
    }
}

/// A value of any format. A finite value is `magnitude * 2^power` with a sign; zeros have a sign too.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Number {
    NaN,
    Infinite { negative: bool },
    Finite(Finite),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Finite {
    negative: bool,
    magnitude: BigUint,
    power: i64,
}

impl Finite {
    fn is_zero(&self) -> bool {
        self.magnitude == BigUint::ZERO
    }

    /// The magnitude as a multiple of `2^power`; `power` is at most that of the value.
    fn at(&self, power: i64) -> BigUint {
        &self.magnitude << (self.power - power).cast_unsigned()
    }

    /// The exact sum. If it is zero, its sign follows from the rounding mode.
    fn plus(&self, other: &Self, mode: Rounding) -> Self {
        let power = self.power.min(other.power);
        let (a, b) = (self.at(power), other.at(power));
        let (negative, magnitude) = match a.cmp(&b) {
            _ if self.negative == other.negative => (self.negative, a + b),
            Ordering::Equal => (mode == Rounding::Down, BigUint::ZERO),
            Ordering::Greater => (self.negative, a - b),
            Ordering::Less => (other.negative, b - a),
        };
        Self { negative, magnitude, power }
    }

    fn times(&self, other: &Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            magnitude: &self.magnitude * &other.magnitude,
            power: self.power + other.power,
        }
    }

    /// The magnitude, rounded to an integer.
    fn to_integer(&self, mode: Rounding) -> BigUint {
        if self.power >= 0 {
            return self.at(0);
        }
        let shift = self.power.unsigned_abs();
        let whole = &self.magnitude >> shift;
        let rest = Discarded::of(&(&self.magnitude - (&whole << shift)), &(BigUint::from(1u8) << shift));
        whole.clone() + u8::from(mode.rounds_away(self.negative, whole.bit(0), rest))
    }
}

/// Appends a sticky bit to a truncated quotient or root: 1 if anything was cut off.
fn with_sticky_bit(cut: &BigUint, is_inexact: bool) -> BigUint {
    (cut << 1u32) + u8::from(is_inexact)
}

/// The bits of a value. NaN has only one representation ([`Format::nan`]).
type Bits = u128;

impl Format {
    /// binary16, binary32 and binary64.
    pub const ALL: [Self; 3] = [Self::new(5, 11), Self::new(8, 24), Self::new(11, 53)];

    /// The format with these numbers of bits.
    #[must_use]
    pub const fn new(exponent: u32, significand: u32) -> Self {
        Self { exponent, significand }
    }

    /// Number of bits of a value.
    #[must_use]
    pub const fn width(self) -> u32 {
        self.exponent + self.significand
    }

    /// Number of bits of the fraction, the significand without the hidden bit.
    const fn fraction(self) -> u32 {
        self.significand - 1
    }

    const fn sign(self) -> Bits {
        1 << (self.width() - 1)
    }

    /// Positive infinity.
    #[must_use]
    pub const fn infinity(self) -> Bits {
        ((1 << self.exponent) - 1) << self.fraction()
    }

    /// The canonical NaN.
    #[must_use]
    pub const fn nan(self) -> Bits {
        self.infinity() | 1 << (self.fraction() - 1)
    }

    /// The magnitude with a sign.
    #[must_use]
    pub const fn signed(self, negative: bool, magnitude: Bits) -> Bits {
        if negative { magnitude | self.sign() } else { magnitude }
    }

    /// The same value, with the canonical representation of NaN.
    #[must_use]
    pub const fn canonical(self, bits: Bits) -> Bits {
        if self.is_nan(bits) { self.nan() } else { bits }
    }

    /// Returns true if the value is NaN.
    #[must_use]
    pub const fn is_nan(self, bits: Bits) -> bool {
        bits & !self.sign() > self.infinity()
    }

    /// Returns true if the sign bit is set.
    #[must_use]
    pub const fn is_negative(self, bits: Bits) -> bool {
        bits & self.sign() != 0
    }

    /// The value without its sign.
    #[must_use]
    pub const fn magnitude(self, bits: Bits) -> Bits {
        bits & !self.sign()
    }

    /// The smallest normal value.
    #[must_use]
    pub const fn least_normal(self) -> Bits {
        1 << self.fraction()
    }

    /// The exponent of the lowest bit of subnormal values, as a power of two.
    fn least_power(self) -> i64 {
        2 - (1 << (self.exponent - 1)) - i64::from(self.fraction())
    }

    fn read(self, bits: Bits) -> Number {
        let (negative, magnitude) = (self.is_negative(bits), self.magnitude(bits));
        if magnitude > self.infinity() {
            return Number::NaN;
        }
        if magnitude == self.infinity() {
            return Number::Infinite { negative };
        }
        let (biased, fraction) = (magnitude >> self.fraction(), magnitude & (self.least_normal() - 1));
        let hidden = if biased == 0 { 0 } else { self.least_normal() };
        let power = self.least_power() + (biased as i64 - 1).max(0);
        Number::Finite(Finite { negative, magnitude: BigUint::from(hidden | fraction), power })
    }

    /// Rounds an exact value to this format.
    fn round(self, mode: Rounding, value: &Finite) -> Bits {
        if value.is_zero() {
            return self.signed(value.negative, 0);
        }
        let top = value.power + value.magnitude.bits() as i64 - 1;
        let power = (top - i64::from(self.fraction())).max(self.least_power());
        let at_power = Finite { power: value.power - power, ..value.clone() };
        let kept = at_power.to_integer(mode);
        // The hidden bit of a normal value adds 1 to the exponent, as does a carry of the rounding.
        let exponent = BigUint::from((power - self.least_power()).cast_unsigned()) << self.fraction();
        let bits = kept + exponent;
        match Bits::try_from(&bits) {
            Ok(bits) if bits < self.infinity() => self.signed(value.negative, bits),
            _ => self.overflow(mode, value.negative),
        }
    }

    fn overflow(self, mode: Rounding, negative: bool) -> Bits {
        let is_infinite = mode.rounds_away(negative, true, Discarded::More);
        self.signed(negative, self.infinity() - u128::from(!is_infinite))
    }

    /// `a + b`.
    #[must_use]
    pub fn add(self, mode: Rounding, a: Bits, b: Bits) -> Bits {
        match (self.read(a), self.read(b)) {
            (Number::Finite(a), Number::Finite(b)) => self.round(mode, &a.plus(&b, mode)),
            (Number::NaN, _) | (_, Number::NaN) => self.nan(),
            (Number::Infinite { negative: a }, Number::Infinite { negative: b }) if a != b => self.nan(),
            (Number::Infinite { negative }, _) | (_, Number::Infinite { negative }) => {
                self.signed(negative, self.infinity())
            }
        }
    }

    /// `-a`; NaN is unchanged.
    #[must_use]
    pub const fn neg(self, a: Bits) -> Bits {
        if self.is_nan(a) { a } else { a ^ self.sign() }
    }

    /// `|a|`.
    #[must_use]
    pub const fn abs(self, a: Bits) -> Bits {
        if self.is_nan(a) { a } else { self.magnitude(a) }
    }

    /// `a * b`.
    #[must_use]
    pub fn mul(self, mode: Rounding, a: Bits, b: Bits) -> Bits {
        let negative = self.is_negative(a) != self.is_negative(b);
        match (self.read(a), self.read(b)) {
            (Number::Finite(a), Number::Finite(b)) => self.round(mode, &a.times(&b)),
            (Number::NaN, _) | (_, Number::NaN) => self.nan(),
            (Number::Finite(zero), _) | (_, Number::Finite(zero)) if zero.is_zero() => self.nan(),
            _ => self.signed(negative, self.infinity()),
        }
    }

    /// `a * b + c`, rounded once.
    #[must_use]
    pub fn fma(self, mode: Rounding, a: Bits, b: Bits, c: Bits) -> Bits {
        match (self.read(a), self.read(b), self.read(c)) {
            (Number::Finite(a), Number::Finite(b), Number::Finite(c)) => self.round(mode, &a.times(&b).plus(&c, mode)),
            (Number::Finite(_), Number::Finite(_), _) => self.canonical(c),
            // The product is infinite or NaN. Adding a finite value leaves it unchanged.
            _ => self.add(mode, self.mul(mode, a, b), c),
        }
    }

    /// `a / b`.
    #[must_use]
    pub fn div(self, mode: Rounding, a: Bits, b: Bits) -> Bits {
        let negative = self.is_negative(a) != self.is_negative(b);
        match (self.read(a), self.read(b)) {
            (Number::NaN, _) | (_, Number::NaN) | (Number::Infinite { .. }, Number::Infinite { .. }) => self.nan(),
            (Number::Infinite { .. }, _) => self.signed(negative, self.infinity()),
            (_, Number::Infinite { .. }) => self.signed(negative, 0),
            (Number::Finite(a), Number::Finite(b)) if b.is_zero() => {
                if a.is_zero() {
                    self.nan()
                } else {
                    self.signed(negative, self.infinity())
                }
            }
            (Number::Finite(a), Number::Finite(b)) => {
                self.ratio(mode, negative, &a.magnitude, &b.magnitude, a.power - b.power)
            }
        }
    }

    /// `above / below * 2^power`, rounded; `below` is not 0.
    #[must_use]
    pub fn ratio(self, mode: Rounding, negative: bool, above: &BigUint, below: &BigUint, power: i64) -> Bits {
        let shift = (u64::from(self.significand) + 2 + below.bits()).saturating_sub(above.bits());
        let above = above << shift;
        let cut = &above / below;
        let is_inexact = &cut * below != above;
        self.round(
            mode,
            &Finite { negative, magnitude: with_sticky_bit(&cut, is_inexact), power: power - shift as i64 - 1 },
        )
    }

    /// The square root.
    #[must_use]
    pub fn sqrt(self, mode: Rounding, a: Bits) -> Bits {
        let Number::Finite(value) = self.read(a) else {
            return if self.is_negative(a) { self.nan() } else { self.canonical(a) };
        };
        if value.is_zero() || value.negative {
            return if value.is_zero() { a } else { self.nan() };
        }
        // The power must be even, and the root needs more bits than the format.
        let even = i64::from(2 * self.significand + 4) + (value.power & 1);
        let magnitude = &value.magnitude << even.cast_unsigned();
        let root = magnitude.sqrt();
        let is_inexact = &root * &root != magnitude;
        let power = (value.power - even) / 2 - 1;
        self.round(mode, &Finite { negative: false, magnitude: with_sticky_bit(&root, is_inexact), power })
    }

    /// The remainder `a - b * n`, with `n` the integer nearest to `a / b`, ties to even.
    #[must_use]
    pub fn rem(self, a: Bits, b: Bits) -> Bits {
        match (self.read(a), self.read(b)) {
            (Number::Finite(x), Number::Finite(y)) if !y.is_zero() => {
                let power = x.power.min(y.power);
                let (above, below) = (x.at(power), y.at(power));
                let (whole, rest) = (&above / &below, &above % &below);
                let rounds_away = Rounding::NearestEven.rounds_away(false, whole.bit(0), Discarded::of(&rest, &below));
                let magnitude = if rounds_away { &below - &rest } else { rest };
                self.round(Rounding::NearestEven, &Finite { negative: x.negative != rounds_away, magnitude, power })
            }
            (Number::Finite(_), Number::Infinite { .. }) => a,
            _ => self.nan(),
        }
    }

    /// Rounds to an integer of the same format.
    #[must_use]
    pub fn to_integral(self, mode: Rounding, a: Bits) -> Bits {
        let Number::Finite(value) = self.read(a) else { return self.canonical(a) };
        let magnitude = value.to_integer(mode);
        self.round(mode, &Finite { magnitude, power: 0, ..value })
    }

    /// Converts to another format.
    #[must_use]
    pub fn convert(self, mode: Rounding, a: Bits, to: Self) -> Bits {
        match self.read(a) {
            Number::NaN => to.nan(),
            Number::Infinite { negative } => to.signed(negative, to.infinity()),
            Number::Finite(value) => to.round(mode, &value),
        }
    }

    /// Converts an integer, given by sign and magnitude. Zero gets the sign that is given.
    #[must_use]
    pub fn of_integer(self, mode: Rounding, negative: bool, magnitude: u128) -> Bits {
        self.round(mode, &Finite { negative, magnitude: BigUint::from(magnitude), power: 0 })
    }

    /// Rounds to an integer, and returns its sign and magnitude; `None` for NaN, infinities, and magnitudes above 128
    /// bits.
    #[must_use]
    pub fn to_integer(self, mode: Rounding, a: Bits) -> Option<(bool, u128)> {
        let Number::Finite(value) = self.read(a) else { return None };
        Some((value.negative, u128::try_from(value.to_integer(mode)).ok()?))
    }

    /// Compares two values; `None` if one is NaN. Zeros of both signs are equal.
    #[must_use]
    pub fn compare(self, a: Bits, b: Bits) -> Option<Ordering> {
        if self.is_nan(a) || self.is_nan(b) {
            return None;
        }
        let key = |bits: Bits| {
            let magnitude = self.magnitude(bits).cast_signed();
            if self.is_negative(bits) { -magnitude } else { magnitude }
        };
        Some(key(a).cmp(&key(b)))
    }
}
