//! Functions of `<math.h>` by name, as far as MPFR computes them.

use penfuzz_mutators::view::Kind;

/// The functions of `<math.h>` that MPFR has, with the number of their arguments.
const FUNCTIONS: [(&str, usize); 43] = [
    ("acos", 1),
    ("acosh", 1),
    ("asin", 1),
    ("asinh", 1),
    ("atan", 1),
    ("atan2", 2),
    ("atanh", 1),
    ("cbrt", 1),
    ("ceil", 1),
    ("cos", 1),
    ("cosh", 1),
    ("erf", 1),
    ("erfc", 1),
    ("exp", 1),
    ("exp10", 1),
    ("exp2", 1),
    ("expm1", 1),
    ("fabs", 1),
    ("fdim", 2),
    ("floor", 1),
    ("fma", 3),
    ("fmod", 2),
    ("hypot", 2),
    ("j0", 1),
    ("j1", 1),
    ("lgamma", 1),
    ("log", 1),
    ("log10", 1),
    ("log1p", 1),
    ("log2", 1),
    ("pow", 2),
    ("remainder", 2),
    ("rint", 1),
    ("round", 1),
    ("sin", 1),
    ("sinh", 1),
    ("sqrt", 1),
    ("tan", 1),
    ("tanh", 1),
    ("tgamma", 1),
    ("trunc", 1),
    ("y0", 1),
    ("y1", 1),
];

/// Functions of C23 (7.12.4 to 7.12.7) that most libraries do not have.
const OF_C23: [(&str, usize); 12] = [
    ("acospi", 1),
    ("asinpi", 1),
    ("atan2pi", 2),
    ("atanpi", 1),
    ("cospi", 1),
    ("exp10m1", 1),
    ("exp2m1", 1),
    ("log10p1", 1),
    ("log2p1", 1),
    ("rsqrt", 1),
    ("sinpi", 1),
    ("tanpi", 1),
];

/// Functions with an integer among their arguments, with the C types of all: from `<math.h>` and from annex H of C23.
const WITH_INTEGER: [(&str, [&str; 2]); 8] = [
    ("compoundn", ["double", "long long"]),
    ("jn", ["int", "double"]),
    ("ldexp", ["double", "int"]),
    ("pown", ["double", "long long"]),
    ("rootn", ["double", "long long"]),
    ("scalbln", ["double", "long"]),
    ("scalbn", ["double", "int"]),
    ("yn", ["int", "double"]),
];
/// Those of them that the system's library does not have.
const NOT_IN_LIBRARY: [&str; 3] = ["compoundn", "pown", "rootn"];

/// Functions that only MPFR has: the Airy function, digamma, the exponential integral, the dilogarithm, and Riemann's
/// zeta.
const FURTHER: [(&str, usize); 5] = [("ai", 1), ("digamma", 1), ("eint", 1), ("li2", 1), ("zeta", 1)];

/// Other names of these functions in libraries.
const ALIASES: [(&str, &str); 6] = [
    ("gamma", "lgamma"),
    ("pow10", "exp10"),
    ("fabs", "fabs"),
    ("ln", "log"),
    ("drem", "remainder"),
    ("nearbyint", "rint"),
];

/// As a part of another function's name this is no function, but the way that was compiled (`sin_fma`).
const VARIANT: &str = "fma";

/// Returns all functions that MPFR computes here, with the number of their arguments.
pub fn all() -> impl Iterator<Item = (&'static str, usize)> {
    FUNCTIONS.into_iter().chain(OF_C23).chain(FURTHER).chain(WITH_INTEGER.map(|(name, types)| (name, types.len())))
}

/// Returns the C types of the parameters, for a result of type `double`.
#[must_use]
pub fn parameters(name: &str) -> Option<Vec<&'static str>> {
    let with_integer = WITH_INTEGER.iter().find(|(known, _)| *known == name).map(|(_, types)| types.to_vec());
    with_integer.or_else(|| arity(name).map(|n| vec!["double"; n]))
}

/// Returns the number of arguments of a function.
#[must_use]
pub fn arity(name: &str) -> Option<usize> {
    all().find(|(known, _)| *known == name).map(|(_, n)| n)
}

/// Returns the function of `<math.h>` that a function computes, by its name: `sinf`, `__ieee754_log`, `my_sin` and
/// `crlibm_sin_rn` are recognised.
#[must_use]
pub fn named(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let known = |word: &str| {
        let word = ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word, |(_, name)| *name);
        let further = WITH_INTEGER.iter().map(|(name, _)| *name);
        let mut names = FUNCTIONS.iter().chain(&OF_C23).map(|(name, _)| *name).chain(further);
        names.find(|known| *known == word)
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
    let is_here = FUNCTIONS.iter().any(|(known, _)| *known == name)
        || WITH_INTEGER.iter().any(|(known, _)| *known == name && !NOT_IN_LIBRARY.contains(known));
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
        assert!(FUNCTIONS.is_sorted_by(|a, b| a.0 < b.0) && OF_C23.is_sorted_by(|a, b| a.0 < b.0));
        assert!(WITH_INTEGER.is_sorted_by(|a, b| a.0 < b.0));
    }
}
