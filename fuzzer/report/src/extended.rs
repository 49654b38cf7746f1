//! Writes a `long double` of x86 as text without loss, from its 80-bit encoding.
//!
//! | value | text |
//! | --- | --- |
//! | finite | the shortest decimal that is read back as the number: `1.0e-1L`, `4.0e-4951L` |
//! | infinities, the quiet NaN without payload | `INFINITY`, `NAN` |
//! | other NaNs | `__builtin_nanl("0x1")`, `__builtin_nansl("0x1")` (signaling), of gcc and clang |
//! | encodings with a wrong integer bit | `penfuzz_f80(0x3fff, 0x1ULL)`: sign with exponent, and significand |
//!
//! No processor writes encodings with a wrong integer bit. Hex floats would show the bits, but C before C99 and C++
//! before C++17 have none.

use penfuzz_target::inputs::extended::split;

use super::{extended_digits::shortest, literal::nan};

const INTEGER: u64 = 1 << 63;
const QUIET: u64 = 1 << 62;

/// Name of the emitted function for encodings without a literal.
pub const FUNCTION: &str = "penfuzz_f80";
/// Definition of [`FUNCTION`] in C and C++.
pub const DEFINITION: &str = "static long double penfuzz_f80(unsigned head, unsigned long long significand)
{
  union { struct { unsigned long long significand; unsigned short head; } parts; long double value; } both = {{0, 0}};
  both.parts.significand = significand;
  both.parts.head = (unsigned short)head;
  return both.value;
}
";

/// A C literal, or a call of [`FUNCTION`], that reproduces every bit.
#[must_use]
pub fn c_literal(number: u128) -> String {
    let (head, significand) = split(number);
    let (sign, biased) = (if head >> 15 == 1 { "-" } else { "" }, i32::from(head & 0x7fff));
    let fraction = significand & !INTEGER;
    if (significand & INTEGER != 0) != (biased != 0) {
        return format!("{FUNCTION}({head:#x}, {significand:#x}ULL)");
    }
    match biased {
        0x7fff if fraction == 0 => format!("{sign}INFINITY"),
        0x7fff => nan(sign, "l", fraction & QUIET != 0, fraction & !QUIET),
        0 if fraction == 0 => format!("{sign}0.0L"),
        // Subnormals have the exponent of the smallest normal number.
        _ => format!("{sign}{}L", shortest(significand, biased.max(1) - 16383 - 63, fraction == 0 && biased > 1)),
    }
}

#[cfg(test)]
mod tests {
    use penfuzz_target::inputs::extended::of_double;

    use super::*;

    fn of(head: u16, significand: u64) -> String {
        c_literal(u128::from(head) << 64 | u128::from(significand))
    }

    #[test]
    fn finite_numbers_are_decimals() {
        let doubles = [1.0, -1.5, 0.0, -0.0].map(|x| c_literal(of_double(f64::to_bits(x))));
        assert_eq!(doubles, ["1.0e0L", "-1.5e0L", "0.0L", "-0.0L"]);
        assert_eq!(of(0x3fff, INTEGER | 1), "1.0000000000000000001e0L");
        assert_eq!(of(0x7ffe, u64::MAX), "1.189731495357231765e4932L");
        assert_eq!(of(1, INTEGER), "3.3621031431120935063e-4932L");
        assert_eq!(of(0, 1), "4.0e-4951L");
    }

    #[test]
    fn others_are_exact_too() {
        assert_eq!([of(0x7fff, INTEGER), of(0xffff, INTEGER | QUIET)], ["INFINITY", "-NAN"]);
        assert_eq!(of(0x7fff, INTEGER | QUIET | 5), "__builtin_nanl(\"0x5\")");
        assert_eq!(of(0xffff, INTEGER | 5), "-__builtin_nansl(\"0x5\")");
        let wrong = [of(0x3fff, 1), of(0, INTEGER), of(0x7fff, QUIET)];
        assert_eq!(wrong[0], "penfuzz_f80(0x3fff, 0x1ULL)");
        assert!(wrong.iter().all(|text| text.starts_with(FUNCTION)), "{wrong:?}");
    }
}
