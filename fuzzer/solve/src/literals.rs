//! Literals: bit vectors, special floats, and real numbers, which become floats.

use num_bigint::BigUint;

use super::{
    float::{Format, Rounding},
    sexp::{Exprs, Id},
    term::{MAX_BITS, Value, mask},
};

/// Largest power of ten by which a real number such as `1e-5` is scaled: its value would have too many digits.
const MOST_DIGITS: i64 = 100_000;

/// Parses `#b…` and `#x…`.
#[must_use]
pub fn bits(text: &str) -> Option<Value> {
    let (digits, radix, each) = match text.get(..2)? {
        "#b" => (&text[2..], 2, 1),
        "#x" => (&text[2..], 16, 4),
        _ => return None,
    };
    let width = u32::try_from(digits.len()).ok()? * each;
    let is_digit = digits.chars().all(|c| c.is_digit(radix));
    (is_digit && width <= MAX_BITS).then_some(())?;
    Some(Value::Bits(width, u128::from_str_radix(digits, radix).ok()?))
}

/// The value of `(_ bvN W)`, by its two words.
#[must_use]
pub fn numbered(name: &str, width: &str) -> Option<Value> {
    let (value, width) = (name.strip_prefix("bv")?.parse::<u128>().ok()?, width.parse::<u32>().ok()?);
    ((1..=MAX_BITS).contains(&width)).then(|| Value::Bits(width, value & mask(width)))
}

/// The value of `(_ +oo E S)` and similar literals, by the name.
#[must_use]
pub fn special(name: &str, format: Format) -> Option<Value> {
    let bits = match name {
        "+oo" => format.infinity(),
        "-oo" => format.signed(true, format.infinity()),
        "+zero" => 0,
        "-zero" => format.signed(true, 0),
        "NaN" => format.nan(),
        _ => return None,
    };
    Some(Value::Float(format, bits))
}

/// A rational number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Real {
    negative: bool,
    numerator: BigUint,
    denominator: BigUint,
}

impl Real {
    /// Parses `1`, `0.5`, `(- 0.5)`, `(/ 1 10)`, and nested expressions of this kind; `None` for everything else.
    #[must_use]
    pub fn read(exprs: &Exprs, id: Id) -> Option<Self> {
        if let Some(text) = exprs.atom(id) {
            return Self::of_text(text);
        }
        let list = exprs.list(id)?;
        match (exprs.atom(*list.first()?)?, &list[1..]) {
            ("-", [value]) => {
                let value = Self::read(exprs, *value)?;
                Some(Self { negative: !value.negative, ..value })
            }
            ("/", [numerator, denominator]) => {
                let (a, b) = (Self::read(exprs, *numerator)?, Self::read(exprs, *denominator)?);
                let denominator = a.denominator * b.numerator;
                (denominator != BigUint::ZERO).then_some(())?;
                Some(Self { negative: a.negative != b.negative, numerator: a.numerator * b.denominator, denominator })
            }
            _ => None,
        }
    }

    /// Parses a decimal number with or without a point, and with or without an exponent. SMT-LIB has no exponents, but
    /// some programs write them.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        (!whole.is_empty() && all.bytes().all(|b| b.is_ascii_digit())).then_some(())?;
        let power = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        (power.abs() <= MOST_DIGITS).then_some(())?;
        let scale = BigUint::from(10u8).pow(power.unsigned_abs() as u32);
        let (numerator, one) = (BigUint::parse_bytes(all.as_bytes(), 10)?, BigUint::from(1u8));
        Some(if power < 0 {
            Self { negative, numerator, denominator: scale }
        } else {
            Self { negative, numerator: numerator * scale, denominator: one }
        })
    }

    /// Whether it is negative, its numerator, and its denominator.
    #[must_use]
    pub const fn parts(&self) -> (bool, &BigUint, &BigUint) {
        (self.negative, &self.numerator, &self.denominator)
    }

    /// The same number without its sign.
    #[must_use]
    pub fn magnitude(&self) -> Self {
        Self { negative: false, ..self.clone() }
    }

    /// Rounds to a float; 0 gets the positive sign.
    #[must_use]
    pub fn to_float(&self, format: Format, mode: Rounding) -> Value {
        let negative = self.negative && self.numerator != BigUint::ZERO;
        Value::Float(format, format.ratio(mode, negative, &self.numerator, &self.denominator, 0))
    }
}
