//! The C function that compares a result with its reference. It is compiled like a target, so that a reference that faults is noticed,
//! and a search can call it millions of times a second.
//!
//! The error is `|y - r| / ulp(r)` with the ulp of the binade of the exact value `r` in the type of the result, fractions counted, as
//! tables of libraries define it (Gladman, Innocente, Mather, Zimmermann, *Accuracy of Mathematical Functions in Single, Double,
//! Double Extended, and Quadruple Precision*): `2^(e-52)` for doubles of exponent `e`, at least `2^-1074`. An infinity counts as `2^1024`.

use std::fmt::Write;

use penfuzz_engine::program::Function;
use penfuzz_mutators::view::Kind;

use super::{Class, libm, reference::Reference};

/// The name of the comparing function.
pub const FUNCTION: &str = "penfuzz_compare";

/// Of the type of a result: the exponent of the smallest ulp, the bits of a significand, and the largest exponent.
#[must_use]
pub const fn format(kind: Kind) -> Option<(i32, i32, i32)> {
    match kind {
        Kind::F64 => Some((-1074, 53, 1024)),
        Kind::F32 => Some((-149, 24, 128)),
        _ => None,
    }
}

/// The C name of a number's type.
#[must_use]
pub const fn c_type(kind: Kind) -> &'static str {
    match kind {
        Kind::F32 => "float",
        Kind::F64 => "double",
        Kind::I8 => "signed char",
        Kind::I16 => "short",
        Kind::I32 | Kind::Rounding => "int",
        Kind::I64 => "long long",
        Kind::U8 => "unsigned char",
        Kind::U16 => "unsigned short",
        Kind::U32 => "unsigned",
        Kind::U64 => "unsigned long long",
        Kind::Bool => "_Bool",
    }
}

/// The text: a function of the arguments and the result, which returns the error in ulps, or the negative number of a [`Class`].
/// `None` when the reference is computed by MPFR alone.
#[must_use]
pub fn text(function: &Function, result: Kind, reference: &Reference) -> Option<String> {
    let (least, digits, greatest) = format(result)?;
    let kinds: Vec<Kind> = function.inputs().filter_map(|p| p.kind).collect();
    let mut out = String::from("#define _GNU_SOURCE 1\n");
    let name = match reference {
        Reference::Mpfr(name) => {
            let wider = libm::wider(name, result)?;
            out.push_str("#include <math.h>\n");
            wider
        }
        Reference::Source { file, name } => {
            let _ =
                writeln!(out, "#include \"{}\"", file.display().to_string().replace('\\', "\\\\").replace('"', "\\\""));
            name.clone()
        }
    };
    let values: Vec<String> = kinds.iter().map(|k| format!("({})1", c_type(*k))).collect();
    let names: Vec<String> = (0..kinds.len()).map(|i| format!("penfuzz_x{i}")).collect();
    let parameters: Vec<String> = kinds.iter().zip(&names).map(|(k, n)| format!("{} {n}", c_type(*k))).collect();
    let (values, names, parameters) = (values.join(", "), names.join(", "), parameters.join(", "));
    let (wrong_nan, wrong_infinity, wrong_zero) = (Class::Nan.code(), Class::Infinity.code(), Class::Zero.code());
    let y = c_type(result);
    let exact = Class::Different.code();
    let _ = write!(
        out,
        "typedef __typeof__({name}({values})) penfuzz_reference;
_Static_assert(_Generic((penfuzz_reference)0, float: 1, double: 1, long double: 1, __float128: 1, default: 0),
               \"{NO_FLOAT}\");
_Static_assert(sizeof(penfuzz_reference) >= sizeof({y}), \"{NARROWER}\");
typedef __typeof__(0.0L + (penfuzz_reference)0) penfuzz_wide;
double {FUNCTION}({parameters}, {y} penfuzz_y, int penfuzz_exact) {{
    const penfuzz_wide top = __builtin_ldexpl(1.0L, {greatest});
    penfuzz_reference given = {name}({names});
    penfuzz_wide r = given, y = penfuzz_y;
    if (penfuzz_exact) {{
        {y} a = penfuzz_y, b = ({y})given;
        return (a != a) != (b != b) || (a == a && __builtin_memcmp(&a, &b, sizeof a) != 0) ? {exact} : 0;
    }}
    if (r != r || y != y) return (r != r) == (y != y) ? 0 : {wrong_nan};
    if (r == 0 && y == 0) return !__builtin_signbit(penfuzz_y) == !__builtin_signbit((long double)r) ? 0 : {wrong_zero};
    int is_infinite = __builtin_isinf(penfuzz_y) != 0;
    if (r > top) r = top;
    if (r < -top) r = -top;
    if (y > top) y = top;
    if (y < -top) y = -top;
    int e;
    (void)__builtin_frexpl((long double)r, &e);
    e -= {digits};
    if (e < {least}) e = {least};
    if (e > {greatest} - {digits}) e = {greatest} - {digits};
    penfuzz_wide error = y - r;
    double ulps = (double)((error < 0 ? -error : error) * __builtin_ldexpl(1.0L, -e));
    penfuzz_wide size = r < 0 ? -r : r;
    int is_beyond = size >= top * (1 - __builtin_ldexpl(1.0L, -{digits} - 1));
    return ulps > 1 && (is_infinite || is_beyond) ? {wrong_infinity} : ulps;
}}
",
    );
    Some(out)
}

/// What the compiler says about a reference that returns something else.
pub const NO_FLOAT: &str = "the reference does not return a floating-point number";
/// What the compiler says about a reference that cannot hold the results.
pub const NARROWER: &str = "the reference returns a narrower type than the function";
