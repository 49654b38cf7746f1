//! Conversions of floats to integers: is the operand outside the range of the type?
//!
//! C11, 6.3.1.4: when the integral part cannot be represented the behaviour is undefined. x86-64 raises the invalid flag for
//! `int` and `long`; narrower and unsigned types are converted by way of a wider one, which may hold the number.

use penfuzz_abi::operation;
use penfuzz_target::program::Site;

/// Bits of the integer type that an operation converts to, and whether it is signed; `None` for another operation.
#[must_use]
pub fn integer_type(site: &Site) -> Option<(u32, bool)> {
    let signed = match site.operation {
        operation::TO_SIGNED => true,
        operation::TO_UNSIGNED => false,
        _ => return None,
    };
    Some((bits_of(&site.name), signed))
}

/// Of a type as the pass writes it: `(unsigned char)`, `(int)`; `(int24)`. The others are functions that give a `long`.
fn bits_of(name: &str) -> u32 {
    let inside = name.trim_start_matches('(').trim_end_matches(')');
    match inside.rsplit(' ').next().unwrap_or_default() {
        "char" => 8,
        "short" => 16,
        "int" => 32,
        other => other.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(64),
    }
}

/// Can the integral part of `x` not be represented? NaN and infinities cannot.
#[must_use]
pub fn is_out_of_range(x: f64, bits: u32, signed: bool) -> bool {
    let x = x.trunc();
    let upper = 2f64.powi(bits as i32 - i32::from(signed));
    let lower = if signed { -upper } else { 0.0 };
    !(x >= lower && x < upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_as_in_c() {
        let out = |x, bits, signed| is_out_of_range(x, bits, signed);
        assert!(!out(127.9, 8, true) && out(128.0, 8, true) && out(-129.0, 8, true), "signed char");
        assert!(!out(-0.9, 32, false) && out(-1.0, 32, false) && out(4_294_967_296.0, 32, false), "unsigned");
        let end = 9_223_372_036_854_775_808.0;
        assert!(!out(-end, 64, true) && out(end, 64, true), "long");
        assert!(out(f64::NAN, 32, true), "NaN is no integer");
    }

    #[test]
    fn types_are_read_from_their_names() {
        let names =
            ["(signed char)", "(unsigned short)", "(int)", "(unsigned int)", "(long)", "(unsigned24)", "lround"];
        assert_eq!(names.map(bits_of), [8, 16, 32, 32, 64, 24, 64]);
    }
}
