//! Conversions of floats to integers: detects operands outside the range of the integer type.
//!
//! C11, 6.3.1.4: if the type cannot represent the integral part, the behaviour is undefined. x86-64 raises the invalid
//! flag for `int` and `long`. Narrower and unsigned types are converted by way of a wider type, which may be able to
//! represent the number.

use penfuzz_abi::operation;
use penfuzz_target::program::Site;

/// The number of bits of the integer type that an operation converts to, and whether it is signed; `None` for other
/// operations.
#[must_use]
pub fn integer_type(site: &Site) -> Option<(u32, bool)> {
    let signed = match site.operation {
        operation::TO_SIGNED => true,
        operation::TO_UNSIGNED => false,
        _ => return None,
    };
    Some((bits_of(&site.name), signed))
}

/// The number of bits of a type by its name in the site table, such as `(unsigned char)`, `(int)` or `(int24)`. Other
/// names are functions that return a `long`.
fn bits_of(name: &str) -> u32 {
    let inside = name.trim_start_matches('(').trim_end_matches(')');
    match inside.rsplit(' ').next().unwrap_or_default() {
        "char" => 8,
        "short" => 16,
        "int" => 32,
        other => other.trim_start_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(64),
    }
}

/// Returns true if the type cannot represent the integral part of `x`. This includes NaN and infinities.
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
