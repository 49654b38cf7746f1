//! Floating-point arithmetic as SMT-LIB defines it, for every format and rounding mode, by exact integers.
//!
//! A finite value is an integer times a power of two. Sums, products, remainders and fused operations are computed exactly, quotients and
//! square roots to more bits than the format has, with one bit for what is cut off; then all are rounded once by [`Format::round`].
//! Nothing here is fast, and nothing uses floats of the machine.
//!
//! M. Brain, C. Tinelli, P. Rümmer and T. Wahl, *An Automatable Formal Semantics for IEEE-754 Floating-Point Arithmetic*, ARITH 2015.

use core::cmp::Ordering;

use num_bigint::BigUint;

/// A format: bits of the exponent, and bits of the significand with the hidden one. IEEE 754's double is (11, 53).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Format {
    /// At least 2.
    pub exponent: u32,
    /// At least 2; both together at most 128.
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
    /// All of them, with the short and the long name.
    pub const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::NearestEven, "RNE", "roundNearestTiesToEven"),
        (Self::NearestAway, "RNA", "roundNearestTiesToAway"),
        (Self::Up, "RTP", "roundTowardPositive"),
        (Self::Down, "RTN", "roundTowardNegative"),
        (Self::Zero, "RTZ", "roundTowardZero"),
    ];

    /// Is the magnitude rounded up, if it is odd, and the rest lies so to one half of the last place?
    fn is_away(self, negative: bool, odd: bool, rest: Rest) -> bool {
        match self {
            _ if rest == Rest::None => false,
            Self::NearestEven => rest == Rest::More || rest == Rest::Half && odd,
            Self::NearestAway => rest != Rest::Less,
            Self::Up => !negative,
            Self::Down => negative,
            Self::Zero => false,
        }
    }
}

/// What is cut off, in halves of the last place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    None,
    Less,
    Half,
    More,
}

impl Rest {
    /// Of a remainder below `whole`.
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

/// A value apart from its format. A finite one is `magnitude * 2^power`, with a sign also where it is zero.
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

    /// The magnitude as a multiple of `2^power`, which is not above its own power.
    fn at(&self, power: i64) -> BigUint {
        &self.magnitude << (self.power - power).cast_unsigned()
    }

    /// The exact sum; the sign of an exact zero follows from the mode.
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

    /// The magnitude rounded to an integer.
    fn to_integer(&self, mode: Rounding) -> BigUint {
        if self.power >= 0 {
            return self.at(0);
        }
        let shift = self.power.unsigned_abs();
        let whole = &self.magnitude >> shift;
        let rest = Rest::of(&(&self.magnitude - (&whole << shift)), &(BigUint::from(1u8) << shift));
        whole.clone() + u8::from(mode.is_away(self.negative, whole.bit(0), rest))
    }
}

/// A quotient or root that is cut off: the lowest bit is 1 if anything was.
fn with_rest(cut: &BigUint, is_inexact: bool) -> BigUint {
    (cut << 1u32) + u8::from(is_inexact)
}

/// Bits of a value; NaN has one representation only ([`Format::nan`]).
type Bits = u128;

impl Format {
    /// binary16, binary32 and binary64.
    pub const ALL: [Self; 3] = [Self::new(5, 11), Self::new(8, 24), Self::new(11, 53)];

    /// A format by its numbers of bits.
    #[must_use]
    pub const fn new(exponent: u32, significand: u32) -> Self {
        Self { exponent, significand }
    }

    /// Bits of a value.
    #[must_use]
    pub const fn width(self) -> u32 {
        self.exponent + self.significand
    }

    /// Bits of the fraction.
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

    /// The only NaN.
    #[must_use]
    pub const fn nan(self) -> Bits {
        self.infinity() | 1 << (self.fraction() - 1)
    }

    /// Zero, infinity and the like with a sign.
    #[must_use]
    pub const fn signed(self, negative: bool, magnitude: Bits) -> Bits {
        if negative { magnitude | self.sign() } else { magnitude }
    }

    /// The same value with the only representation of NaN.
    #[must_use]
    pub const fn canonical(self, bits: Bits) -> Bits {
        if self.is_nan(bits) { self.nan() } else { bits }
    }

    /// Is it NaN?
    #[must_use]
    pub const fn is_nan(self, bits: Bits) -> bool {
        bits & !self.sign() > self.infinity()
    }

    /// Is the sign bit set?
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

    /// The power of two of the lowest bit of subnormal values.
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

    /// Rounds an exact value once.
    fn round(self, mode: Rounding, value: &Finite) -> Bits {
        if value.is_zero() {
            return self.signed(value.negative, 0);
        }
        let top = value.power + value.magnitude.bits() as i64 - 1;
        let power = (top - i64::from(self.fraction())).max(self.least_power());
        let at_power = Finite { power: value.power - power, ..value.clone() };
        let kept = at_power.to_integer(mode);
        // The hidden bit of a normal value adds one to the exponent; so does a carry.
        let exponent = BigUint::from((power - self.least_power()).cast_unsigned()) << self.fraction();
        let bits = kept + exponent;
        match Bits::try_from(&bits) {
            Ok(bits) if bits < self.infinity() => self.signed(value.negative, bits),
            _ => self.overflow(mode, value.negative),
        }
    }

    fn overflow(self, mode: Rounding, negative: bool) -> Bits {
        let is_infinite = mode.is_away(negative, true, Rest::More);
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

    /// `-a`; NaN stays as it is.
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

    /// `a * b + c` with one rounding.
    #[must_use]
    pub fn fma(self, mode: Rounding, a: Bits, b: Bits, c: Bits) -> Bits {
        match (self.read(a), self.read(b), self.read(c)) {
            (Number::Finite(a), Number::Finite(b), Number::Finite(c)) => self.round(mode, &a.times(&b).plus(&c, mode)),
            (Number::Finite(_), Number::Finite(_), _) => self.canonical(c),
            // The product is an infinity or NaN, which adding something finite leaves as it is.
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
        self.round(mode, &Finite { negative, magnitude: with_rest(&cut, is_inexact), power: power - shift as i64 - 1 })
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
        // An even power, and twice as many bits as the result has.
        let even = i64::from(2 * self.significand + 4) + (value.power & 1);
        let magnitude = &value.magnitude << even.cast_unsigned();
        let root = magnitude.sqrt();
        let is_inexact = &root * &root != magnitude;
        let power = (value.power - even) / 2 - 1;
        self.round(mode, &Finite { negative: false, magnitude: with_rest(&root, is_inexact), power })
    }

    /// The remainder `a - b * n`, with `n` the integer nearest to `a / b`, ties to even.
    #[must_use]
    pub fn rem(self, a: Bits, b: Bits) -> Bits {
        match (self.read(a), self.read(b)) {
            (Number::Finite(x), Number::Finite(y)) if !y.is_zero() => {
                let power = x.power.min(y.power);
                let (above, below) = (x.at(power), y.at(power));
                let (whole, rest) = (&above / &below, &above % &below);
                let is_away = Rounding::NearestEven.is_away(false, whole.bit(0), Rest::of(&rest, &below));
                let magnitude = if is_away { &below - &rest } else { rest };
                self.round(Rounding::NearestEven, &Finite { negative: x.negative != is_away, magnitude, power })
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

    /// From an integer by sign and magnitude; 0 has the positive sign.
    #[must_use]
    pub fn of_integer(self, mode: Rounding, negative: bool, magnitude: u128) -> Bits {
        self.round(mode, &Finite { negative, magnitude: BigUint::from(magnitude), power: 0 })
    }

    /// The integer that it rounds to, by sign and magnitude; `None` for NaN, infinities, and magnitudes above 128 bits.
    #[must_use]
    pub fn to_integer(self, mode: Rounding, a: Bits) -> Option<(bool, u128)> {
        let Number::Finite(value) = self.read(a) else { return None };
        Some((value.negative, u128::try_from(value.to_integer(mode)).ok()?))
    }

    /// The order of the values; none if one is NaN. Zeros are equal.
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
