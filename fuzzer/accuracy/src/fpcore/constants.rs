//! The constants of `FPCore`, in C and by MPFR.

use rug::{Float, float::Constant};

/// All constants with their C text. Digits end with `L`; they are rounded to the precision of the context.
const CONSTANTS: [(&str, &str); 17] = [
    ("E", "2.718281828459045235360287471352662498L"),
    ("LOG2E", "1.442695040888963407359924681001892137L"),
    ("LOG10E", "0.434294481903251827651128918916605082L"),
    ("LN2", "0.693147180559945309417232121458176568L"),
    ("LN10", "2.302585092994045684017991454684364208L"),
    ("PI", "3.141592653589793238462643383279502884L"),
    ("PI_2", "1.570796326794896619231321691639751442L"),
    ("PI_4", "0.785398163397448309615660845819875721L"),
    ("M_1_PI", "0.318309886183790671537767526745028724L"),
    ("M_2_PI", "0.636619772367581343075535053490057448L"),
    ("M_2_SQRTPI", "1.128379167095512573896158903121545172L"),
    ("SQRT2", "1.414213562373095048801688724209698079L"),
    ("SQRT1_2", "0.707106781186547524400844362104849039L"),
    ("INFINITY", "((double)INFINITY)"),
    ("NAN", "((double)NAN)"),
    ("TRUE", "1"),
    ("FALSE", "0"),
];

/// Returns the C text of a constant; `None` if there is no such constant.
pub fn c_text(name: &str) -> Option<&'static str> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Returns the value of a constant with `p` bits, which at most three roundings have changed; `None` for truth values.
#[must_use]
pub fn value(name: &str, p: u32) -> Option<Float> {
    let of = |x: f64| Float::with_val(p, x);
    let pi = || Float::with_val(p, Constant::Pi);
    Some(match name {
        "E" => of(1.0).exp(),
        "LOG2E" => of(1.0) / Float::with_val(p, Constant::Log2),
        "LOG10E" => of(1.0) / of(10.0).ln(),
        "LN2" => Float::with_val(p, Constant::Log2),
        "LN10" => of(10.0).ln(),
        "PI" => pi(),
        "PI_2" => pi() / 2u32,
        "PI_4" => pi() / 4u32,
        "M_1_PI" => of(1.0) / pi(),
        "M_2_PI" => of(2.0) / pi(),
        "M_2_SQRTPI" => of(2.0) / pi().sqrt(),
        "SQRT2" => of(2.0).sqrt(),
        "SQRT1_2" => of(0.5).sqrt(),
        "INFINITY" => of(f64::INFINITY),
        "NAN" => of(f64::NAN),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_value() {
        for (name, text) in CONSTANTS {
            let Some(digits) = text.strip_suffix('L') else { continue };
            let (value, digits) = (value(name, 256).expect("a number"), Float::parse(digits).expect("digits"));
            let difference = Float::with_val(256, Float::with_val(256, digits) - &value).abs();
            assert!(difference / value < 1e-35, "{name}");
        }
    }
}
