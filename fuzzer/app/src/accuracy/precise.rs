//! Errors of results by MPFR.
//!
//! MPFR rounds correctly, so with `p` bits the reference is wrong by a relative `2^-p` at most, and the error in ulps of a double by
//! about `2^(53-p)`. With [`PRECISION`] bits nothing that is printed depends on it. The reference is a power of two, where the
//! ulp changes, only if the exact value rounds to one; then the precision rises, and what stays one is exact.

use penfuzz_mutators::view::Kind;
use rug::{Float, float::Special, ops::Pow};

use super::{Class, Compared, Exact, comparator::format};

/// Bits of the significand of a reference.
pub const PRECISION: u32 = 192;
/// The most bits that are tried where the reference is a power of two.
const LONGEST: u32 = 4096;

/// Compares the result `y` with the function of this name at `args`; `None` if there is no such function of as many arguments.
#[must_use]
pub fn compare(name: &str, args: &[f64], result: Kind, y: u64) -> Option<Exact> {
    let mut precision = PRECISION;
    let mut r = value(name, args, precision)?;
    while is_power_of_two(&r) && precision < LONGEST {
        precision *= 4;
        r = value(name, args, precision)?;
    }
    error(&r, result, y)
}

/// The value of a function as the sum of a double and a smaller one.
#[must_use]
pub fn sum(r: &Float) -> (f64, f64) {
    let high = r.to_f64();
    (high, Float::with_val(r.prec(), r - high).to_f64())
}

fn is_power_of_two(r: &Float) -> bool {
    r.is_normal() && r.get_exp().is_some_and(|e| *r.as_abs() == Float::with_val(2, 1) << (e - 1))
}

/// The error of `y`, raw bits of a result, against the value `r`; `None` for a result that is no float.
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

/// The value of a function, rounded to this many bits; `None` if there is no such function of as many arguments.
#[must_use]
pub fn value(name: &str, args: &[f64], precision: u32) -> Option<Float> {
    apply(name, args.iter().map(|x| Float::with_val(precision.max(64), *x)).collect())
}

/// A function of `<math.h>`, rounded to the precision of the first argument; `None` if there is none of this name.
#[must_use]
pub fn apply(name: &str, args: Vec<Float>) -> Option<Float> {
    let mut args = args.into_iter();
    match (args.next(), args.next(), args.next(), args.next()) {
        (Some(x), None, None, None) => Some(one(name)?(x)),
        (Some(x), Some(y), None, None) => Some(two(name)?(x, y)),
        (Some(x), Some(y), Some(z), None) if name == "fma" => Some(x.mul_add(&y, &z)),
        _ => None,
    }
}

type One = fn(Float) -> Float;
type Two = fn(Float, Float) -> Float;

fn one(name: &str) -> Option<One> {
    Some(match name {
        "acos" => Float::acos,
        "acosh" => Float::acosh,
        "asin" => Float::asin,
        "asinh" => Float::asinh,
        "atan" => Float::atan,
        "atanh" => Float::atanh,
        "cbrt" => Float::cbrt,
        "ceil" => Float::ceil,
        "cos" => Float::cos,
        "cosh" => Float::cosh,
        "erf" => Float::erf,
        "erfc" => Float::erfc,
        "exp" => Float::exp,
        "exp10" => Float::exp10,
        "exp2" => Float::exp2,
        "expm1" => Float::exp_m1,
        "fabs" => Float::abs,
        "floor" => Float::floor,
        "j0" => Float::j0,
        "j1" => Float::j1,
        "lgamma" => |x| {
            // At its poles MPFR returns NaN for the sign, C an infinity.
            if x.is_infinite() { x.abs() } else { x.ln_abs_gamma().0 }
        },
        "log" => Float::ln,
        "log10" => Float::log10,
        "log1p" => Float::ln_1p,
        "log2" => Float::log2,
        "rint" => Float::round_even,
        "round" => Float::round,
        "sin" => Float::sin,
        "sinh" => Float::sinh,
        "sqrt" => Float::sqrt,
        "tan" => Float::tan,
        "tanh" => Float::tanh,
        "tgamma" => Float::gamma,
        "trunc" => Float::trunc,
        "y0" => Float::y0,
        "y1" => Float::y1,
        // Of C23.
        "acospi" => Float::acos_pi,
        "asinpi" => Float::asin_pi,
        "atanpi" => Float::atan_pi,
        "cospi" => Float::cos_pi,
        "exp10m1" => Float::exp10_m1,
        "exp2m1" => Float::exp2_m1,
        "log10p1" => Float::log10_1p,
        "log2p1" => Float::log2_1p,
        // At -0 MPFR returns +infinity, C the infinity with the sign of the zero (F.10.4.9).
        "rsqrt" => |x| if x.is_zero() { x.recip() } else { x.recip_sqrt() },
        "sinpi" => Float::sin_pi,
        "tanpi" => Float::tan_pi,
        // Of MPFR alone.
        "ai" => Float::ai,
        "digamma" => Float::digamma,
        "eint" => Float::eint,
        "li2" => Float::li2,
        "zeta" => Float::zeta,
        _ => return None,
    })
}

fn two(name: &str) -> Option<Two> {
    Some(match name {
        "atan2" => |y, x| y.atan2(&x),
        "atan2pi" => |y, x| y.atan2_pi(&x),
        "fdim" => |x, y| {
            if x.is_nan() || y.is_nan() { Float::with_val(x.prec(), Special::Nan) } else { x.positive_diff(&y) }
        },
        "fmod" => |x, y| x % y,
        "hypot" => |x, y| x.hypot(&y),
        "pow" => |x, y| x.pow(y),
        "remainder" => |x, y| x.remainder(&y),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{super::libm, *};

    fn ulps(name: &str, x: f64, y: f64) -> Compared {
        compare(name, &[x], Kind::F64, y.to_bits()).expect("there is such a function").compared
    }

    #[test]
    fn every_function_has_a_value() {
        for (name, arity) in libm::all() {
            assert!(value(name, &vec![0.5; arity], 64).is_some(), "{name}");
        }
    }

    #[test]
    fn special_values_of_c23_are_those_of_its_annex_f() {
        let infinity = f64::INFINITY;
        for (name, x, y) in [
            ("sinpi", 2.0, 0.0),
            ("sinpi", -2.0, -0.0),
            ("cospi", 0.5, 0.0),
            ("cospi", -1.5, 0.0),
            ("tanpi", 2.0, 0.0),
            ("tanpi", 3.0, -0.0),
            ("tanpi", -3.0, 0.0),
            ("tanpi", -2.0, -0.0),
            ("tanpi", 0.5, infinity),
            ("tanpi", 1.5, -infinity),
            ("acospi", 1.0, 0.0),
            ("acospi", -1.0, 1.0),
            ("asinpi", -0.0, -0.0),
            ("atanpi", -infinity, -0.5),
            ("exp2m1", -infinity, -1.0),
            ("exp10m1", -0.0, -0.0),
            ("log2p1", -1.0, -infinity),
            ("log10p1", 9.0, 1.0),
            ("rsqrt", -0.0, -infinity),
            ("rsqrt", 0.25, 2.0),
            ("rsqrt", infinity, 0.0),
        ] {
            assert_eq!(ulps(name, x, y), Compared::Ulps(0.0), "{name}({x})");
        }
        let of = |args: &[f64], y: f64| compare("atan2pi", args, Kind::F64, y.to_bits()).expect("it is known").compared;
        assert_eq!(of(&[-0.0, -1.0], -1.0), Compared::Ulps(0.0));
        assert_eq!(of(&[1.0, -1.0], 0.75), Compared::Ulps(0.0));
    }

    #[test]
    fn a_product_and_a_sum_are_rounded_once() {
        let x = 1.0 + 2f64.powi(-30);
        let y = -1.0 - 2f64.powi(-29);
        let of = |value: f64| compare("fma", &[x, x, y], Kind::F64, value.to_bits()).expect("it is known").compared;
        assert_eq!(of(x.mul_add(x, y)), Compared::Ulps(0.0), "the square is 1 + 2^-29 + 2^-60");
        assert_eq!(of(0.0), Compared::Ulps(2f64.powi(52)), "what is left of a rounded square");
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
