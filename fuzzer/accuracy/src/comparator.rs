//! The C function that compares a result with its reference. It is compiled like a target, so that faults of the
//! reference are detected, and a search can call it millions of times a second.
//!
//! The error is `|y - r| / ulp(r)` with the ulp of the binade of the exact value `r` in the type of the result. It is
//! fractional, as in the tables of Gladman, Innocente, Mather and Zimmermann, *Accuracy of Mathematical Functions in
//! Single, Double, Double Extended, and Quadruple Precision*: the ulp of doubles of exponent `e` is `2^(e-52)`, at
//! least `2^-1074`. An infinity counts as `2^1024`.

use std::fmt::Write;

use penfuzz_mutators::view::Kind;
use penfuzz_target::program::Function;

use super::{
    Class, fpcore, libm,
    reference::Reference,
    value::{Measure, Member, Value},
};

/// The name of the comparing function.
pub const FUNCTION: &str = "penfuzz_compare";

/// C code for the exponent as `frexpl` returns it, and for powers of two as `ldexpl` returns them. Where the bits of
/// the type are known it uses them: calls of the library would take longer than all the rest.
const BITS: &str = "#if __LDBL_MANT_DIG__ == 64
union penfuzz_bits { long double value; struct { unsigned long long significand; unsigned short exponent; } part; };
static inline int penfuzz_exponent(long double x) {
    union penfuzz_bits bits = {x};
    return x == 0 ? -32768 : (bits.part.exponent & 0x7fff) - 16382;
}
static inline long double penfuzz_power(int e) {
    union penfuzz_bits bits = {1.0L};
    bits.part.exponent = 16383 + e;
    return bits.value;
}
#else
static inline int penfuzz_exponent(long double x) { int e; return x == 0 ? -32768 : (__builtin_frexpl(x, &e), e); }
static inline long double penfuzz_power(int e) { return __builtin_ldexpl(1.0L, e); }
#endif
";

/// Measures the error as a multiple of the function's estimate. No result can keep an estimate below half an ulp; then
/// twice the error in ulps counts.
const AS_MULTIPLE_OF_ESTIMATE: &str = "    ulps *= 2;
    double claims = penfuzz_claim > 0 ? (double)((error < 0 ? -error : error) / penfuzz_claim) : ulps;
    if (claims < ulps) return claims;
";

/// Measures the absolute error.
const AS_ABSOLUTE: &str = "    return (double)(error < 0 ? -error : error);
";

/// Measures the error relative to the exact value; an infinity where that is 0.
const AS_RELATIVE: &str = "    if (error == 0) return 0;
    return (double)((error < 0 ? -error : error) / size);
";

/// The C name of a core's value in `long double`.
const CORE: &str = "penfuzz_core";
/// The C name of the function that returns the member that a reference fills in.
const FILLED_IN: &str = "penfuzz_filled_in";
/// Value of the last argument that requests the difference of reference and result instead of the error.
pub const DIFFERENCE: u8 = 2;
/// Return value of the comparing function for an input for which the reference is not defined.
const OUTSIDE: i32 = -100;

/// Returns the exponent of the smallest ulp, the number of bits of a significand, and the largest exponent of a float
/// type; `None` for integers.
#[must_use]
pub const fn format(kind: Kind) -> Option<(i32, i32, i32)> {
    match kind {
        Kind::F64 => Some((-1074, 53, 1024)),
        Kind::F32 => Some((-149, 24, 128)),
        _ => None,
    }
}

/// Returns the C name of a type.
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

/// How a reference in C returns its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As its result.
    Returns,
    /// In the structures that it fills in, like the function under test. Its result is then a status.
    FillsIn,
}

/// Returns the C source of the comparing function. Its arguments are those of the function, the result, and the
/// estimate of the error if there is one. It returns the error in the chosen unit, the negative number of a [`Class`],
/// or another negative number if the reference is not defined there. `None` if only MPFR can compute the reference.
#[must_use]
pub fn text(function: &Function, value: &Value, reference: &Reference, form: Form) -> Option<String> {
    let kinds: Vec<Kind> = function.inputs().filter_map(|p| p.kind).collect();
    let names: Vec<String> = (0..kinds.len()).map(|i| format!("penfuzz_x{i}")).collect();
    let typed: Vec<String> = kinds.iter().zip(&names).map(|(k, n)| format!("{} {n}", c_type(*k))).collect();
    let parameters = typed.join(", ");
    let mut out = String::from("#define _GNU_SOURCE 1\n");
    let (mut outside, mut without) = (String::new(), "");
    let name = match reference {
        Reference::Mpfr(name) => {
            let wider = libm::wider(name, value.kind())?;
            out.push_str("#include <math.h>\n");
            wider
        }
        Reference::Source { file, name } => {
            let _ =
                writeln!(out, "#include \"{}\"", file.display().to_string().replace('\\', "\\\\").replace('"', "\\\""));
            match form {
                Form::Returns => name.clone(),
                Form::FillsIn => {
                    out.push_str(&filling_in(function, value, name, &parameters));
                    without = "if (penfuzz_status) return penfuzz_outside;\n    ";
                    FILLED_IN.to_owned()
                }
            }
        }
        Reference::Core { core, .. } => {
            out.push_str(&fpcore::reference(core, CORE));
            outside = format!("if (!{CORE}_pre({})) return penfuzz_outside;\n    ", names.join(", "));
            CORE.to_owned()
        }
    };
    let values: Vec<String> = kinds.iter().map(|k| format!("({})1", c_type(*k))).collect();
    let claim = if value.has_estimate() { ", double penfuzz_claim" } else { "" };
    let y = c_type(value.kind());
    let _ = write!(
        out,
        "typedef __typeof__({name}({values})) penfuzz_reference;
typedef __typeof__(0.0L + (penfuzz_reference)0) penfuzz_wide;
{BITS}double {FUNCTION}({parameters}, {y} penfuzz_y{claim}, int penfuzz_exact) {{
    const int penfuzz_outside = {OUTSIDE};
    {outside}penfuzz_reference given = {name}({names});
    {without}penfuzz_wide r = given, y = penfuzz_y;
    if (penfuzz_exact == {DIFFERENCE}) return (double)(r - y);
{body}}}
",
        values = values.join(", "),
        names = names.join(", "),
        body = if value.kind().is_float() { of_floats(value)? } else { of_integers(value) },
    );
    Some(out)
}

/// Returns a C function that calls a reference which fills in structures, and returns the compared member. It sets
/// `penfuzz_status` if the status of the reference says that there is no result.
fn filling_in(function: &Function, value: &Value, name: &str, parameters: &str) -> String {
    let (mut variables, mut passed, mut n) = (String::new(), Vec::new(), 0);
    let place = value.member().map(Member::for_tests);
    let mut member = None;
    for (i, p) in function.parameters.iter().enumerate() {
        if !p.is_output() {
            passed.push(format!("penfuzz_x{n}"));
            n += 1;
            continue;
        }
        let type_name = p.value_type();
        let _ = write!(
            variables,
            "    {type_name} penfuzz_o{i};\n    __builtin_memset(&penfuzz_o{i}, 0, sizeof penfuzz_o{i});\n"
        );
        passed.push(format!("&penfuzz_o{i}"));
        if let Some(place) = place.as_ref().filter(|place| place.variable == p.name) {
            let below = place.expression.trim_start_matches('.');
            member = Some((format!("__typeof__((({type_name} *)0)->{below})"), format!("penfuzz_o{i}.{below}")));
        }
    }
    let call = format!("{name}({})", passed.join(", "));
    let status = if value.has_status() { "penfuzz_status = 0 != " } else { "" };
    let (type_of, body) = match member {
        Some((type_of, member)) => (type_of, format!("{status}{call};\n    return {member};")),
        None => (c_type(value.kind()).to_owned(), format!("return {call};")),
    };
    format!(
        "static int penfuzz_status;\nstatic inline {type_of} {FILLED_IN}({parameters}) {{\n{variables}    {body}\n}}\n"
    )
}

/// Returns the C statements that compare floats; `None` for another type.
fn of_floats(value: &Value) -> Option<String> {
    let (least, digits, greatest) = format(value.kind())?;
    let (wrong_nan, wrong_infinity, wrong_zero) = (Class::Nan.code(), Class::Infinity.code(), Class::Zero.code());
    let exact = Class::Different.code();
    let y = c_type(value.kind());
    let measure = match value.measure() {
        _ if value.has_estimate() => AS_MULTIPLE_OF_ESTIMATE,
        Measure::Ulp => "",
        Measure::Absolute => AS_ABSOLUTE,
        Measure::Relative => AS_RELATIVE,
    };
    Some(format!(
        "    _Static_assert(_Generic((penfuzz_reference)0, float: 1, double: 1, long double: 1, __float128: 1, \
         default: 0),
                   \"{NO_FLOAT}\");
    _Static_assert(sizeof(penfuzz_reference) >= sizeof({y}), \"{NARROWER}\");
    const penfuzz_wide top = 0x1p{greatest}L;
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
    int e = penfuzz_exponent((long double)r) - {digits};
    if (e < {least}) e = {least};
    if (e > {greatest} - {digits}) e = {greatest} - {digits};
    penfuzz_wide error = y - r;
    double ulps = (double)((error < 0 ? -error : error) * penfuzz_power(-e));
    penfuzz_wide size = r < 0 ? -r : r;
    int is_beyond = size >= top * (1 - 0x1p-{digits}L / 2);
    if (ulps > 1 && (is_infinite || is_beyond)) return {wrong_infinity};
{measure}    return ulps;
"
    ))
}

/// Returns the C statements that compare integers. A difference of 64-bit integers is exact in `long double`.
fn of_integers(value: &Value) -> String {
    let (wrong_nan, wrong_infinity, exact) = (Class::Nan.code(), Class::Infinity.code(), Class::Different.code());
    let measure = if value.measure() == Measure::Relative { AS_RELATIVE } else { AS_ABSOLUTE };
    format!(
        "    if (r != r) return {wrong_nan};
    if (r - r != 0) return {wrong_infinity};
    penfuzz_wide error = y - r, size = r < 0 ? -r : r;
    if (penfuzz_exact) return error != 0 ? {exact} : 0;
{measure}"
    )
}

/// Message of the compiler for a reference whose result is not a float.
pub const NO_FLOAT: &str = "the reference does not return a floating-point number";
/// Message of the compiler for a reference whose type cannot hold the results.
pub const NARROWER: &str = "the reference returns a narrower type than the function";
