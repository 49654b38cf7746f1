//! Errors of results, computed by MPFR.
//!
//! MPFR rounds correctly: with `p` bits the relative error of the reference is at most `2^-p`, and the error in ulps of
//! a double is wrong by about `2^(53-p)`. With [`PRECISION`] bits nothing that is printed depends on it. The ulp
//! changes at powers of two. The reference is a power of two only if the exact value is one or rounds to one; if MPFR
//! reports a rounding, the precision is increased, and a value that stays a power of two is exact.

use std::cmp::Ordering;

use penfuzz_mutators::view::Kind;
use rug::{Float, float::Round};

use super::{
    Class, Compared, Exact,
    comparator::format,
    libm::{self, Value},
};

/// Precision of a reference, in bits.
pub const PRECISION: u32 = 192;
/// Maximum precision for a reference that is a power of two.
const LONGEST: u32 = 4096;

/// Compares the result `y`, raw bits, with the function of this name at `args`; `None` if there is no such function
/// with this number of arguments.
#[must_use]
pub fn compare(name: &str, args: &[f64], result: Kind, y: u64) -> Option<Exact> {
    error(&settled(name, args)?, result, y)
}

/// Returns the value of a function with enough bits to decide in which binade it is.
fn settled(name: &str, args: &[f64]) -> Option<Float> {
    let mut precision = PRECISION;
    let (mut r, mut order) = rounded(name, args, precision)?;
    while order != Ordering::Equal && is_power_of_two(&r) && precision < LONGEST {
        precision *= 4;
        (r, order) = rounded(name, args, precision)?;
    }
    Some(r)
}

/// Returns a value as the sum of a double and a smaller one.
#[must_use]
pub fn sum(r: &Float) -> (f64, f64) {
    let high = r.to_f64();
    (high, Float::with_val(r.prec(), r - high).to_f64())
}

fn is_power_of_two(r: &Float) -> bool {
    r.is_normal() && r.get_exp().is_some_and(|e| *r.as_abs() == Float::with_val(2, 1) << (e - 1))
}

/// Returns the error of `y`, raw bits of a result, against the value `r`; `None` if the result is not a float.
#[must_use]
pub fn error(r: &Float, result: Kind, y: u64) -> Option<Exact> {
    let (least, digits, greatest) = format(result)?;
    let y = result.to_real(y);
    let rounded = match result {
        Kind::F32 => u64::from(r.to_f32().to_bits()),
        _ => r.to_f64().to_bits(),
    };
    let text = if r.is_normal() { format!("{r:.25e}") } else { format!("{}", r.to_f64()) };
    let of = |compared, absolute: f64, relative: f64| Exact {
        compared,
        rounded,
        text: text.clone(),
        absolute: Some(absolute).filter(|e| e.is_finite()),
        relative: Some(relative).filter(|e| e.is_finite()),
    };
    let is_nan = r.is_nan();
    if is_nan || y.is_nan() {
        let compared = if is_nan == y.is_nan() { Compared::Ulps(0.0) } else { Compared::Wrong(Class::Nan) };
        return Some(of(compared, f64::NAN, f64::NAN));
    }
    if r.is_zero() && y == 0.0 {
        let same = r.is_sign_negative() == y.is_sign_negative();
        return Some(of(if same { Compared::Ulps(0.0) } else { Compared::Wrong(Class::Zero) }, 0.0, 0.0));
    }
    let precision = r.prec() + 64;
    let top = Float::with_val(precision, 1) << greatest;
    let within = |x: Float| x.min(&top).max(&-top.clone());
    let limited = within(Float::with_val(precision, r));
    let exponent = limited.get_exp().map_or(least, |e| e - digits).clamp(least, greatest - digits);
    let difference = (Float::with_val(precision, y) - &limited).abs();
    let difference =
        if y.is_infinite() { (within(Float::with_val(precision, y)) - &limited).abs() } else { difference };
    let ulps = Float::with_val(precision, &difference >> exponent).to_f64().min(f64::MAX);
    let bound = Float::with_val(precision, &top - (Float::with_val(precision, 1) << (greatest - digits - 1)));
    let is_beyond = limited.clone().abs() >= bound;
    let relative = if limited.is_zero() { f64::INFINITY } else { (difference.clone() / &limited).abs().to_f64() };
    let compared = if ulps > 1.0 && (y.is_infinite() || is_beyond) {
        Compared::Wrong(Class::Infinity)
    } else {
        Compared::Ulps(ulps)
    };
    Some(of(compared, difference.to_f64(), relative))
}

/// Returns the value of a function, rounded to this number of bits; `None` if there is no such function with this
/// number of arguments.
#[must_use]
pub fn value(name: &str, args: &[f64], precision: u32) -> Option<Float> {
    rounded(name, args, precision).map(|(r, _)| r)
}

/// As [`value`], with the order of the rounded value relative to the exact one.
fn rounded(name: &str, args: &[f64], precision: u32) -> Option<(Float, Ordering)> {
    apply(name, args.iter().map(|x| Float::with_val(precision.max(64), *x)).collect())
}

/// Computes a function of the table. Returns its value, rounded to the precision of the arguments, and the order of
/// that relative to the exact value; `None` if there is no function of this name with this number of arguments, or its
/// integer has more than 32 bits.
#[must_use]
pub fn apply(name: &str, mut args: Vec<Float>) -> Option<(Float, Ordering)> {
    let function = libm::find(name)?;
    if args.len() != function.parameters.len() {
        return None;
    }
    // Where the integer is the first parameter, the float is the second.
    let integer_first = function.parameters[0] != "double";
    let mut x = args.remove(usize::from(integer_first));
    let order = match (function.value, &args[..]) {
        (Value::One(value), _) => value(&mut x, Round::Nearest),
        (Value::Two(value), [y, ..]) => value(&mut x, y, Round::Nearest),
        (Value::Three(value), [y, z, ..]) => value(&mut x, y, z, Round::Nearest),
        (Value::WithInteger(value), [n, ..]) => value(&mut x, integer(n)?, Round::Nearest),
        _ => return None,
    };
    Some((x, order))
}

/// Returns the value of an argument as an integer, if it is one of at most 32 bits.
fn integer(x: &Float) -> Option<i32> {
    let n = x.to_f64();
    let is_one = x.is_integer() && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&n);
    is_one.then_some(n as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ulps(name: &str, x: f64, y: f64) -> Compared {
        compare(name, &[x], Kind::F64, y.to_bits()).expect("there is such a function").compared
    }

    #[test]
    fn every_function_has_a_value() {
        for function in libm::FUNCTIONS {
            assert!(value(function.name, &vec![1.0; function.parameters.len()], 64).is_some(), "{}", function.name);
        }
    }

    /// One value for each function that MPFR has under another name, and the special values at which C differs from
    /// MPFR.
    #[test]
    fn values_are_those_of_the_standard() {
        let infinity = f64::INFINITY;
        let (x, y) = (1.0 + 2f64.powi(-30), -1.0 - 2f64.powi(-29));
        for (name, args, y) in [
            ("fma", &[x, x, y][..], x.mul_add(x, y)),
            ("fdim", &[f64::NAN, 1.0], f64::NAN),
            ("lgamma", &[-infinity], infinity),
            ("sinpi", &[-2.0], -0.0),
            ("cospi", &[-1.5], 0.0),
            ("tanpi", &[0.25], 1.0),
            ("acospi", &[-1.0], 1.0),
            ("asinpi", &[1.0], 0.5),
            ("atanpi", &[-infinity], -0.5),
            ("atan2pi", &[1.0, -1.0], 0.75),
            ("exp2m1", &[2.0], 3.0),
            ("exp10m1", &[1.0], 9.0),
            ("log2p1", &[3.0], 2.0),
            ("log10p1", &[9.0], 1.0),
            ("rsqrt", &[-0.0], -infinity),
            ("rsqrt", &[0.25], 2.0),
            ("pown", &[-2.0, 3.0], -8.0),
            ("rootn", &[-8.0, 3.0], -2.0),
            ("compoundn", &[0.5, 2.0], 2.25),
            ("ldexp", &[-0.0, 7.0], -0.0),
            ("scalbn", &[0.75, 1000.0], 0.75 * 2f64.powi(1000)),
            ("scalbln", &[1.0, -1074.0], f64::from_bits(1)),
            ("yn", &[2.0, 0.0], -infinity),
            ("jn", &[0.0, 0.0], 1.0),
        ] {
            let compared = compare(name, args, Kind::F64, y.to_bits()).expect("it is known").compared;
            assert_eq!(compared, Compared::Ulps(0.0), "{name}{args:?}");
        }
        assert_eq!(value("pown", &[1.5, 2f64.powi(40)], 64), None, "more than 32 bits");
    }

    #[test]
    fn fractions_of_ulps_are_counted() {
        // sqrt(2) = 1.4142135623730950488016887242…, whose ulp is 2^-52.
        let Compared::Ulps(e) = ulps("sqrt", 2.0, 2.0f64.sqrt()) else { panic!("a number") };
        assert!((e - 0.435_376_185_6).abs() < 1e-9, "{e}");
        let Compared::Ulps(next) = ulps("sqrt", 2.0, 2.0f64.sqrt().next_down()) else { panic!("a number") };
        assert!((next - (1.0 - e)).abs() < 1e-9, "{next}");
    }

    #[test]
    fn the_ulp_is_that_of_the_exact_value() {
        // 1 is the exact value of exp(0); the double below is half an ulp of 1 away.
        assert_eq!(ulps("exp", 0.0, 1.0f64.next_down()), Compared::Ulps(0.5));
        // exp(-1e-20) lies below 1, where ulps are half as large.
        let Compared::Ulps(e) = ulps("exp", -1e-20, 1.0) else { panic!("a number") };
        assert!((e - 1e-20 * 2f64.powi(53)).abs() < 1e-9, "{e}");
    }

    #[test]
    fn more_bits_are_taken_only_where_a_power_of_two_is_not_exact() {
        let bits = |name, x| settled(name, &[x]).expect("it is known").prec();
        for (name, x) in [("sinpi", 0.5), ("exp2", 3.0), ("exp", 1.0), ("sqrt", 4.0)] {
            assert_eq!(bits(name, x), PRECISION, "{name}({x})");
        }
        assert!(bits("exp", -1e-200) > 600, "1 - 1e-200 has 665 bits");
    }

    #[test]
    fn wrong_nan_infinity_and_zero_are_classes() {
        assert_eq!(ulps("log", -1.0, 1.0), Compared::Wrong(Class::Nan));
        assert_eq!(ulps("log", 2.0, f64::NAN), Compared::Wrong(Class::Nan));
        assert_eq!(ulps("log", -1.0, f64::NAN), Compared::Ulps(0.0));
        assert_eq!(ulps("log", 2.0, f64::INFINITY), Compared::Wrong(Class::Infinity));
        assert_eq!(ulps("exp", 1000.0, f64::MAX), Compared::Ulps(1.0), "the value is limited to 2^1024");
        assert_eq!(ulps("exp", 1000.0, 1.0), Compared::Wrong(Class::Infinity));
        assert_eq!(ulps("exp", 1000.0, f64::INFINITY), Compared::Ulps(0.0));
        assert_eq!(ulps("log", 0.0, f64::NEG_INFINITY), Compared::Ulps(0.0));
        assert_eq!(ulps("log", 0.0, f64::INFINITY), Compared::Wrong(Class::Infinity));
        assert_eq!(ulps("sin", -0.0, 0.0), Compared::Wrong(Class::Zero));
        assert_eq!(ulps("sin", -0.0, -0.0), Compared::Ulps(0.0));
    }

    #[test]
    fn subnormal_results_have_the_smallest_ulp() {
        let Compared::Ulps(e) = ulps("exp", -745.2, 0.0) else { panic!("a number") };
        assert!(e < 0.5, "half of the smallest number is rounded to 0: {e}");
        let Compared::Ulps(e) = ulps("exp", -745.0, 0.0) else { panic!("a number") };
        assert!((0.5..1.5).contains(&e), "{e}");
    }
}
