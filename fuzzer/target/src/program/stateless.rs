//! Functions of the C library that keep no state. Their result depends only on their arguments and the data behind
//! them. Their only side effects are on `errno` and the exception flags, which no code can read without calling another
//! function.

/// Functions of `<math.h>`, each also with the suffix `f` or `l`. `lgamma` is not among them, because it writes
/// `signgam`; nor are functions that only read or write the floating-point environment.
const MATHEMATICS: [&str; 57] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "exp10",
    "exp2",
    "expm1",
    "fabs",
    "fdim",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "hypot",
    "ilogb",
    "ldexp",
    "llrint",
    "llround",
    "log",
    "log10",
    "log1p",
    "log2",
    "logb",
    "lrint",
    "lround",
    "modf",
    "nan",
    "nearbyint",
    "nextafter",
    "nexttoward",
    "pow",
    "remainder",
    "remquo",
    "rint",
    "round",
    "scalbln",
    "scalbn",
    "sin",
    "sincos",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
];

/// Functions for any argument type, without a suffix.
const OTHERS: [&str; 22] = [
    "abs",
    "labs",
    "llabs",
    "div",
    "ldiv",
    "lldiv",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "strchr",
    "strcmp",
    "strlen",
    "strncmp",
    "strrchr",
    "__finite",
    "__fpclassify",
    "__isinf",
    "__isnan",
    "__signbit",
    "__issignaling",
];

/// Is this a function of the C library that keeps no state from one call to the next?
pub(super) fn is_stateless(name: &str) -> bool {
    let of = |list: &[&str], name: &str| list.contains(&name);
    let shorter = name.strip_suffix(['f', 'l']).unwrap_or(name);
    of(&MATHEMATICS, name)
        || of(&MATHEMATICS, shorter)
        || of(&OTHERS, name)
        || shorter.starts_with("__") && of(&OTHERS, shorter)
}

#[cfg(test)]
mod tests {
    use super::is_stateless;

    #[test]
    fn only_stateless_functions_are_listed() {
        for name in
            ["sin", "sinf", "sinl", "fmaf", "modf", "modff", "memset", "__isnanf", "ceil", "ceill", "__signbitl"]
        {
            assert!(is_stateless(name), "{name}");
        }
        for name in
            ["lgamma", "rand", "fegetround", "__errno_location", "malloc", "strtok", "memsetf", "signgam", "time", ""]
        {
            assert!(!is_stateless(name), "{name}");
        }
    }
}
