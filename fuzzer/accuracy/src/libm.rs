//! The table of functions of `<math.h>` and of those that only MPFR has: name, parameters, origin, and the value by
//! MPFR.

use penfuzz_mutators::view::Kind;

use self::Origin::{C23, FpCore, MathH, Mpfr};
pub use self::by_mpfr::Value;
use self::by_mpfr::{
    Value::{One, Three, Two, WithInteger},
    exactly, fdim, lgamma, rsqrt, scaled,
};
use rug::{
    Float,
    ops::{PowAssignRound, RemAssignRound},
};

/// Where a function is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// `<math.h>`, and an operation of `FPCore`.
    FpCore,
    /// `<math.h>` alone.
    MathH,
    /// C23 (7.12.4 to 7.12.7, annex H); most libraries do not have it.
    C23,
    /// MPFR alone: the Airy function, digamma, the exponential integral, the dilogarithm, and Riemann's zeta.
    Mpfr,
}

/// A function that MPFR computes.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// Its name, without a suffix for the type.
    pub name: &'static str,
    /// The C types of its parameters, for a result of type `double`. At most one is an integer type.
    pub parameters: &'static [&'static str],
    /// Where it is defined.
    pub origin: Origin,
    /// How MPFR computes it.
    pub value: Value,
}

const X: &[&str] = &["double"];
const XY: &[&str] = &["double", "double"];
const XYZ: &[&str] = &["double", "double", "double"];

/// A row of the table; without MPFR the last column is left out.
macro_rules! function {
    ($name:literal, $parameters:expr, $origin:expr, $value:expr) => {
        Function { name: $name, parameters: $parameters, origin: $origin, value: $value }
    };
}

/// All functions, by name.
pub const FUNCTIONS: [Function; 68] = [
    function!("acos", X, FpCore, One(Float::acos_round)),
    function!("acosh", X, FpCore, One(Float::acosh_round)),
    function!("acospi", X, C23, One(Float::acos_pi_round)),
    function!("ai", X, Mpfr, One(Float::ai_round)),
    function!("asin", X, FpCore, One(Float::asin_round)),
    function!("asinh", X, FpCore, One(Float::asinh_round)),
    function!("asinpi", X, C23, One(Float::asin_pi_round)),
    function!("atan", X, FpCore, One(Float::atan_round)),
    function!("atan2", XY, FpCore, Two(Float::atan2_round)),
    function!("atan2pi", XY, C23, Two(Float::atan2_pi_round)),
    function!("atanh", X, FpCore, One(Float::atanh_round)),
    function!("atanpi", X, C23, One(Float::atan_pi_round)),
    function!("cbrt", X, FpCore, One(Float::cbrt_round)),
    function!("ceil", X, FpCore, One(|x, _| exactly(x, Float::ceil_mut))),
    function!("compoundn", &["double", "long long"], C23, WithInteger(Float::compound_i_round)),
    function!("cos", X, FpCore, One(Float::cos_round)),
    function!("cosh", X, FpCore, One(Float::cosh_round)),
    function!("cospi", X, C23, One(Float::cos_pi_round)),
    function!("digamma", X, Mpfr, One(Float::digamma_round)),
    function!("eint", X, Mpfr, One(Float::eint_round)),
    function!("erf", X, FpCore, One(Float::erf_round)),
    function!("erfc", X, FpCore, One(Float::erfc_round)),
    function!("exp", X, FpCore, One(Float::exp_round)),
    function!("exp10", X, MathH, One(Float::exp10_round)),
    function!("exp10m1", X, C23, One(Float::exp10_m1_round)),
    function!("exp2", X, FpCore, One(Float::exp2_round)),
    function!("exp2m1", X, C23, One(Float::exp2_m1_round)),
    function!("expm1", X, FpCore, One(Float::exp_m1_round)),
    function!("fabs", X, FpCore, One(|x, _| exactly(x, Float::abs_mut))),
    function!("fdim", XY, FpCore, Two(fdim)),
    function!("floor", X, FpCore, One(|x, _| exactly(x, Float::floor_mut))),
    function!("fma", XYZ, FpCore, Three(Float::mul_add_round)),
    function!("fmod", XY, FpCore, Two(|x, y, round| x.rem_assign_round(y, round))),
    function!("hypot", XY, FpCore, Two(Float::hypot_round)),
    function!("j0", X, MathH, One(Float::j0_round)),
    function!("j1", X, MathH, One(Float::j1_round)),
    function!("jn", &["int", "double"], MathH, WithInteger(Float::jn_round)),
    function!("ldexp", &["double", "int"], MathH, WithInteger(scaled)),
    function!("lgamma", X, FpCore, One(lgamma)),
    function!("li2", X, Mpfr, One(Float::li2_round)),
    function!("log", X, FpCore, One(Float::ln_round)),
    function!("log10", X, FpCore, One(Float::log10_round)),
    function!("log10p1", X, C23, One(Float::log10_1p_round)),
    function!("log1p", X, FpCore, One(Float::ln_1p_round)),
    function!("log2", X, FpCore, One(Float::log2_round)),
    function!("log2p1", X, C23, One(Float::log2_1p_round)),
    function!("pow", XY, FpCore, Two(|x, y, round| x.pow_assign_round(y, round))),
    function!("pown", &["double", "long long"], C23, WithInteger(PowAssignRound::pow_assign_round)),
    function!("remainder", XY, FpCore, Two(Float::remainder_round)),
    function!("rint", X, MathH, One(|x, _| exactly(x, Float::round_even_mut))),
    function!("rootn", &["double", "long long"], C23, WithInteger(Float::root_i_round)),
    function!("round", X, FpCore, One(|x, _| exactly(x, Float::round_mut))),
    function!("rsqrt", X, C23, One(rsqrt)),
    function!("scalbln", &["double", "long"], MathH, WithInteger(scaled)),
    function!("scalbn", &["double", "int"], MathH, WithInteger(scaled)),
    function!("sin", X, FpCore, One(Float::sin_round)),
    function!("sinh", X, FpCore, One(Float::sinh_round)),
    function!("sinpi", X, C23, One(Float::sin_pi_round)),
    function!("sqrt", X, FpCore, One(Float::sqrt_round)),
    function!("tan", X, FpCore, One(Float::tan_round)),
    function!("tanh", X, FpCore, One(Float::tanh_round)),
    function!("tanpi", X, C23, One(Float::tan_pi_round)),
    function!("tgamma", X, FpCore, One(Float::gamma_round)),
    function!("trunc", X, FpCore, One(|x, _| exactly(x, Float::trunc_mut))),
    function!("y0", X, MathH, One(Float::y0_round)),
    function!("y1", X, MathH, One(Float::y1_round)),
    function!("yn", &["int", "double"], MathH, WithInteger(Float::yn_round)),
    function!("zeta", X, Mpfr, One(Float::zeta_round)),
];

/// Other names of these functions in libraries.
const ALIASES: [(&str, &str); 5] =
    [("gamma", "lgamma"), ("pow10", "exp10"), ("ln", "log"), ("drem", "remainder"), ("nearbyint", "rint")];

/// As a part of another function's name this is no function, but the way that was compiled (`sin_fma`).
const VARIANT: &str = "fma";

/// Returns the function with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// Returns the function that a function computes, by its name: `sinf`, `__ieee754_log`, `my_sin` and `crlibm_sin_rn`
/// are recognised. Functions that only MPFR has are not.
#[must_use]
pub fn named(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let known = |word: &str| {
        let word = ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word, |(_, name)| *name);
        find(word).filter(|function| function.origin != Mpfr).map(|function| function.name)
    };
    let of = |word: &str| known(word).or_else(|| word.strip_suffix('f').and_then(known));
    of(&lower).or_else(|| {
        let names = || lower.split('_').filter_map(of);
        let mut others = names().filter(|name| *name != VARIANT);
        let first = others.next().or_else(|| names().next());
        first.filter(|_| others.next().is_none())
    })
}

/// Returns the function of the system's library that computes the same in a wider type than a result of this kind.
#[must_use]
pub fn wider(name: &str, result: Kind) -> Option<String> {
    let is_here = find(name).is_some_and(|function| matches!(function.origin, FpCore | MathH));
    match result {
        _ if !is_here => None,
        Kind::F32 => Some(name.to_owned()),
        // Where `long double` is not wider, only MPFR is used.
        Kind::F64 if cfg!(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")) => {
            Some(format!("{name}l"))
        }
        _ => None,
    }
}

/// How MPFR computes the functions of the table.
mod by_mpfr {
    use std::cmp::Ordering;

    use rug::{
        Float,
        float::{Round, Special},
        ops::AssignRound,
    };

    /// Replaces the first argument by the value, rounded; returns the order of that relative to the exact value.
    #[derive(Debug, Clone, Copy)]
    pub enum Value {
        /// Of one argument.
        One(fn(&mut Float, Round) -> Ordering),
        /// Of two arguments.
        Two(fn(&mut Float, &Float, Round) -> Ordering),
        /// Of three arguments.
        Three(fn(&mut Float, &Float, &Float, Round) -> Ordering),
        /// Of a float and an integer, whatever their order in C.
        WithInteger(fn(&mut Float, i32, Round) -> Ordering),
    }

    /// Applies a function whose values need no more bits than its arguments.
    pub fn exactly(x: &mut Float, function: fn(&mut Float)) -> Ordering {
        function(x);
        Ordering::Equal
    }

    pub fn lgamma(x: &mut Float, round: Round) -> Ordering {
        // At its poles MPFR returns NaN for the sign, C an infinity.
        if x.is_infinite() { exactly(x, Float::abs_mut) } else { x.ln_abs_gamma_round(round).1 }
    }

    pub fn rsqrt(x: &mut Float, round: Round) -> Ordering {
        // At -0 MPFR returns +infinity, C the infinity with the sign of the zero (F.10.4.9).
        if x.is_zero() { x.recip_round(round) } else { x.recip_sqrt_round(round) }
    }

    pub fn fdim(x: &mut Float, y: &Float, round: Round) -> Ordering {
        if x.is_nan() || y.is_nan() { x.assign_round(Special::Nan, round) } else { x.positive_diff_round(y, round) }
    }

    pub fn scaled(x: &mut Float, n: i32, _: Round) -> Ordering {
        *x <<= n;
        Ordering::Equal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_out_by_their_names() {
        for (name, expected) in [
            ("sin", "sin"),
            ("sinf", "sin"),
            ("__ieee754_log", "log"),
            ("__ieee754_expf", "exp"),
            ("fast_erf", "erf"),
            ("erf", "erf"),
            ("__sin", "sin"),
            ("my_atan2f", "atan2"),
            ("fmaf", "fma"),
            ("my_fma", "fma"),
            ("__sin_fma", "sin"),
            ("__sinf_fma", "sin"),
            ("cr_sinpif", "sinpi"),
            ("q_rsqrt", "rsqrt"),
            ("__ieee754_jnf", "jn"),
            ("cr_pownf", "pown"),
        ] {
            assert_eq!(named(name), Some(expected), "{name}");
        }
        for name in ["foo", "", "sin_cos", "f"] {
            assert_eq!(named(name), None, "{name}");
        }
    }

    #[test]
    fn names_are_in_order_and_once() {
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.name < b.name));
    }
}
