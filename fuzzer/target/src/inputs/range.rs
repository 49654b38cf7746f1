//! Ranges of numbers in constraints: `-90..90`, `0..`, `..0.5`, `0x1.8p-1..1`, `finite`.

use penfuzz_mutators::{domain::Domain, view::Kind};

/// A range for numbers of any kind. Both ends are included; a missing end is the last finite number of the kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    /// All numbers that are neither NaN nor infinite.
    Finite,
    /// From the first end to the second; `None` is a missing end.
    Between(Option<End>, Option<End>),
}

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    real: f64,
    /// `None` if it was written with a fraction or an exponent.
    integer: Option<i128>,
}

impl End {
    fn parse(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
        let integer = match size.strip_prefix("0x") {
            Some(digits) => {
                u128::from_str_radix(digits, 16).ok().and_then(|size| i128::try_from(size).ok()).map(|size| sign * size)
            }
            None => text.parse().ok(),
        };
        let written = || text.parse().ok().or_else(|| hexf_parse::parse_hexf64(text, false).ok());
        let real = integer.map(|i| i as f64).or_else(written).filter(|real| !real.is_nan());
        let real = real.ok_or_else(|| {
            format!("`{text}` is not an end of a range; write for example -90..90, 0..0.5 or 0x1.8p-1..1")
        })?;
        Ok(Some(Self { real, integer }))
    }
}

impl Range {
    /// Parses `finite`, or two numbers with `..` between them.
    ///
    /// # Errors
    /// An end is no number, or the range is empty.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "finite" {
            return Ok(Self::Finite);
        }
        let (least, greatest) = text.split_once("..").ok_or_else(|| format!("`{text}` is not a range"))?;
        let (least, greatest) = (End::parse(least)?, End::parse(greatest)?);
        if let Some((a, b)) = least.zip(greatest) {
            let is_empty = match a.integer.zip(b.integer) {
                Some((a, b)) => a > b,
                None => a.real > b.real,
            };
            if is_empty {
                return Err(format!("the range `{text}` has no value: its lower end is above its upper end"));
            }
        }
        Ok(Self::Between(least, greatest))
    }

    /// The largest integer of the range; `None` if its upper end is missing or no integer.
    pub fn greatest_integer(&self) -> Option<i64> {
        let Self::Between(_, Some(end)) = self else { return None };
        end.integer.map(|i| i64::try_from(i).unwrap_or(i64::MAX))
    }

    /// The values of `kind` in the range.
    ///
    /// # Errors
    /// The end of a sentence about the argument: why the range has no such value.
    pub fn domain(&self, kind: Kind) -> Result<Domain, String> {
        let none = || format!("has no value in this range: its type has {} bits", kind.bits());
        match self {
            Self::Finite => Domain::finite(kind).ok_or_else(|| "is an integer, which is always finite".to_owned()),
            Self::Between(a, b) if kind.is_float() => {
                let greatest = if kind == Kind::F32 { f64::from(f32::MAX) } else { f64::MAX };
                let (a, b) = (a.map_or(-greatest, |a| a.real), b.map_or(greatest, |b| b.real));
                Domain::new(kind, inward(kind, a, true), inward(kind, b, false)).ok_or_else(none)
            }
            Self::Between(a, b) => {
                let (least, greatest) = ends(kind);
                let integer = |end: &Option<End>, other: i128| match end {
                    None => Ok(other),
                    Some(End { integer: Some(integer), .. }) => Ok(*integer),
                    Some(end) => Err(format!("is an integer, and {} is not", end.real)),
                };
                let (a, b) = (integer(a, least)?.max(least), integer(b, greatest)?.min(greatest));
                let raw = |value: i128| value as u64 & kind.mask();
                if a > b { Err(none()) } else { Domain::new(kind, raw(a), raw(b)).ok_or_else(none) }
            }
        }
    }
}

/// The smallest and the largest integer of a kind.
const fn ends(kind: Kind) -> (i128, i128) {
    let count = 1i128 << kind.bits();
    if kind.is_signed() { (-count / 2, count / 2 - 1) } else { (0, count - 1) }
}

/// Rounds an end to a value of the kind, towards the inside of the range. `up` is set for the lower end.
fn inward(kind: Kind, end: f64, up: bool) -> u64 {
    let raw = kind.from_real(end);
    let rounded = kind.to_real(raw);
    let is_outside = if up { rounded < end } else { rounded > end };
    if !is_outside {
        return raw;
    }
    let position = penfuzz_mutators::line::position(kind, raw);
    penfuzz_mutators::line::raw(kind, penfuzz_mutators::line::step(kind, position, up, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Range {
        Range::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    fn has(text: &str, kind: Kind, value: f64) -> bool {
        range(text).domain(kind).expect("a domain").contains(kind, kind.from_real(value))
    }

    #[test]
    fn both_ends_are_included() {
        assert!(has("-90..90", Kind::F64, -90.0) && has("-90..90", Kind::F64, 90.0));
        assert!(!has("-90..90", Kind::F64, 90.000_001) && !has("-90..90", Kind::F64, f64::NAN));
        assert!(has("1..8", Kind::I32, 8.0) && !has("1..8", Kind::I32, 9.0) && !has("1..8", Kind::I32, 0.0));
        assert!(has("0x10..0x20", Kind::U8, 32.0) && !has("0x10..0x20", Kind::U8, 15.0));
    }

    #[test]
    fn ends_are_written_as_reports_print_them() {
        let text = "-0x1.8p-1..0x1.0000000000001p+4";
        for (end, beyond) in [(-0.75, (-0.75f64).next_down()), (16.0f64.next_up(), 16.0f64.next_up().next_up())] {
            assert!(has(text, Kind::F64, end) && !has(text, Kind::F64, beyond), "{end}");
        }
        assert!(has("-0x10..0x1p3", Kind::F64, -16.0) && has("0..0x10000000000000000", Kind::U64, 5.0));
        assert!(range("0x1.8p+1..0x1p3").domain(Kind::I32).is_err_and(|why| why.contains("3 is not")));
    }

    #[test]
    fn an_end_that_is_left_out_is_the_last_finite_number() {
        assert!(has("0..", Kind::F32, 1e38) && !has("0..", Kind::F32, f64::INFINITY) && !has("0..", Kind::F32, -1.0));
        assert!(has("..5", Kind::I8, -128.0) && !has("..5", Kind::I8, 6.0));
    }

    #[test]
    fn an_end_between_two_floats_is_rounded_inward() {
        // 0.1 as a float is above 0.1.
        assert!(!has("0..0.1", Kind::F32, f64::from(0.1f32)), "above the end");
        assert!(has("0.1..1", Kind::F32, f64::from(0.1f32)));
    }

    #[test]
    fn empty_ranges_are_refused() {
        for text in ["5..1", "0.5..0.25", "1..-1"] {
            assert!(Range::parse(text).is_err_and(|why| why.contains("no value")), "{text}");
        }
        assert!(range("300..400").domain(Kind::U8).is_err_and(|why| why.contains("8 bits")));
        assert!(range("0.5..2").domain(Kind::I32).is_err_and(|why| why.contains("0.5 is not")));
        assert!(range("finite").domain(Kind::I32).is_err());
        for text in ["a..b", "nan..1", "1...2"] {
            assert!(Range::parse(text).is_err(), "{text}");
        }
    }
}
