//! Writes values as text without loss: C literals that reproduce every bit, and the shortest decimals that parse to the
//! same value.
//!
//! | value | literal |
//! | --- | --- |
//! | finite floats | C99 hex floats: `0x1.8p+1`, `-0x0p+0`, `0x0.0000000000001p-1022`; `f` at the end for `float` |
//! | infinities | `INFINITY`, `-INFINITY` (of `<math.h>`) |
//! | the quiet NaN without payload | `NAN`, `-NAN` (of `<math.h>`) |
//! | other NaNs | `__builtin_nan("0x1")`, `__builtin_nans("0x1")` (signaling), of gcc and clang |
//! | integers | hex with the suffix of the type; the smallest as `(-0x7fffffffffffffffLL - 1)` |
//! | rounding modes | their number in an input; the decimal is the C name, `FE_DOWNWARD` |

use std::fmt::Write;

use penfuzz_mutators::view::{Kind, RAISED};

use super::arg::{Arg, ROUNDING_MODE};

const ALL: [(Kind, &str); 12] = [
    (Kind::F32, "f32"),
    (Kind::F64, "f64"),
    (Kind::I8, "i8"),
    (Kind::I16, "i16"),
    (Kind::I32, "i32"),
    (Kind::I64, "i64"),
    (Kind::U8, "u8"),
    (Kind::U16, "u16"),
    (Kind::U32, "u32"),
    (Kind::U64, "u64"),
    (Kind::Bool, "bool"),
    (Kind::Rounding, "rounding"),
];

/// The names of the rounding modes in `<fenv.h>`, indexed by their number in an input.
const MODES: [&str; 4] = ["FE_TONEAREST", "FE_UPWARD", "FE_DOWNWARD", "FE_TOWARDZERO"];

/// The name of a kind in reports: `f32`, `f64`, `i8` to `u64`, `bool`, `rounding`.
///
/// # Panics
/// Never: every kind has a name.
#[must_use]
pub fn kind_name(kind: Kind) -> &'static str {
    ALL.iter().find(|(k, _)| *k == kind).expect("every kind has a name").1
}

/// The inverse of [`kind_name`]; `None` for `void` and any other name.
#[must_use]
pub fn kind_named(name: &str) -> Option<Kind> {
    ALL.iter().find(|(_, n)| *n == name).map(|(kind, _)| *kind)
}

/// The C type of a kind, in keywords of C itself: a program that includes a source need not have `<stdint.h>`.
#[must_use]
pub const fn c_keywords(kind: Kind) -> &'static str {
    match kind {
        Kind::F32 => "float",
        Kind::F64 => "double",
        Kind::I8 => "signed char",
        Kind::I16 => "short",
        Kind::I32 => "int",
        Kind::I64 => "long long",
        Kind::U16 => "unsigned short",
        Kind::U32 => "unsigned",
        Kind::U64 => "unsigned long long",
        Kind::Bool => "_Bool",
        Kind::U8 | Kind::Rounding => "unsigned char",
    }
}

/// Makes an argument from its raw bits: the little-endian value in the low bits of `bits`. Higher bits are ignored.
/// `type_name` is the C type; for a pointer, the type pointed to.
#[must_use]
pub fn arg(name: &str, type_name: &str, kind: Kind, bits: u64) -> Arg {
    Arg {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        hex: c_literal(kind, bits),
        decimal: decimal(kind, bits),
        bits: raw(kind, bits),
        ..Arg::default()
    }
}

/// Makes an argument entry for the rounding mode of a call, from its number in an input.
#[must_use]
pub fn rounding(mode: u64) -> Arg {
    arg("rounding", ROUNDING_MODE, Kind::Rounding, mode)
}

/// The C name of the rounding mode, and whether the exception flags are set when the call begins.
fn environment(mode: u64) -> String {
    let flags = if mode & RAISED == 0 { "" } else { ", flags raised" };
    format!("{}{flags}", mode_name(mode))
}

/// The name in `<fenv.h>` of the rounding mode with this number in an input.
#[must_use]
pub const fn mode_name(mode: u64) -> &'static str {
    MODES[(mode & 3) as usize]
}

/// Makes one argument for a byte buffer (`LLVMFuzzerTestOneInput`): `hex` is a C array initializer, `bits` has the
/// bytes in memory order, and `decimal` is their number.
#[must_use]
pub fn bytes(name: &str, data: &[u8]) -> Arg {
    let mut digits = String::from("0x");
    let mut items = Vec::with_capacity(data.len());
    for byte in data {
        let _ = write!(digits, "{byte:02x}");
        items.push(format!("0x{byte:02x}"));
    }
    Arg {
        name: name.to_owned(),
        type_name: "const uint8_t *".to_owned(),
        hex: format!("{{{}}}", items.join(", ")),
        decimal: format!("{} bytes", data.len()),
        bits: digits,
        ..Arg::default()
    }
}

/// Makes one argument for a structure of unknown members: `hex` is a C array initializer of 64-bit words, `bits` has
/// the words in hex, and `decimal` is their number.
#[must_use]
pub fn words(name: &str, type_name: &str, words: &[u64]) -> Arg {
    let items: Vec<_> = words.iter().map(|w| format!("{w:#x}ULL")).collect();
    let digits: Vec<_> = words.iter().map(|w| format!("{w:#018x}")).collect();
    Arg {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        hex: format!("{{{}}}", items.join(", ")),
        decimal: format!("{} words", words.len()),
        bits: digits.join(" "),
        ..Arg::default()
    }
}

/// A C literal that reproduces every bit of the value.
#[must_use]
pub fn c_literal(kind: Kind, bits: u64) -> String {
    match kind {
        Kind::F64 => float64(bits),
        Kind::F32 => float32(bits as u32),
        Kind::I8 => signed(i64::from(bits as i8), ""),
        Kind::I16 => signed(i64::from(bits as i16), ""),
        Kind::I32 if bits as u32 == 1 << 31 => "(-0x7fffffff - 1)".to_owned(),
        Kind::I32 => signed(i64::from(bits as i32), ""),
        Kind::I64 if bits == 1 << 63 => "(-0x7fffffffffffffffLL - 1)".to_owned(),
        Kind::I64 => signed(bits as i64, "LL"),
        Kind::U8 => format!("{:#x}", bits as u8),
        Kind::U16 => format!("{:#x}", bits as u16),
        Kind::U32 => format!("{:#x}U", bits as u32),
        Kind::U64 => format!("{bits:#x}ULL"),
        Kind::Bool => (bits & 1).to_string(),
        Kind::Rounding => format!("{:#x}", bits & kind.mask()),
    }
}

fn signed(value: i64, suffix: &str) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{:#x}{suffix}", value.unsigned_abs())
}

fn float64(bits: u64) -> String {
    let value = f64::from_bits(bits);
    let sign = if bits >> 63 == 1 { "-" } else { "" };
    let mantissa = bits & ((1 << 52) - 1);
    if value.is_nan() {
        return nan(sign, "", mantissa & (1 << 51) != 0, mantissa & ((1 << 51) - 1));
    }
    if value.is_infinite() {
        return format!("{sign}INFINITY");
    }
    if value == 0.0 {
        return format!("{sign}0x0p+0");
    }
    let biased = (bits >> 52 & 0x7ff) as i32;
    // Subnormals have the exponent of the smallest normal number and no leading one.
    let (lead, exponent) = if biased == 0 { (0, -1022) } else { (1, biased - 1023) };
    let digits = format!("{mantissa:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x{lead}{point}{digits}p{exponent:+}")
}

fn float32(bits: u32) -> String {
    let value = f32::from_bits(bits);
    let sign = if bits >> 31 == 1 { "-" } else { "" };
    if value.is_nan() {
        return nan(sign, "f", bits & (1 << 22) != 0, u64::from(bits & ((1 << 22) - 1)));
    }
    if value.is_infinite() {
        return format!("{sign}INFINITY");
    }
    // Every float is exactly a double.
    format!("{}f", float64(f64::from(value).to_bits()))
}

pub(super) fn nan(sign: &str, suffix: &str, quiet: bool, payload: u64) -> String {
    match (quiet, payload) {
        (true, 0) => format!("{sign}NAN"),
        (true, _) => format!("{sign}__builtin_nan{suffix}(\"{payload:#x}\")"),
        (false, _) => format!("{sign}__builtin_nans{suffix}(\"{payload:#x}\")"),
    }
}

/// The shortest decimal that parses to the same value; `inf`, `-inf`, `nan`, `-nan` for values without one. Only
/// [`raw`] has the payload of a NaN.
#[must_use]
pub fn decimal(kind: Kind, bits: u64) -> String {
    match kind {
        Kind::F64 => shortest(f64::from_bits(bits), format!("{:?}", f64::from_bits(bits))),
        Kind::F32 => {
            let value = f32::from_bits(bits as u32);
            // The conversion keeps the sign of a NaN.
            let sign = if bits as u32 >> 31 == 1 { -1.0 } else { 1.0 };
            shortest(f64::from(value).copysign(sign), format!("{value:?}"))
        }
        Kind::I8 => (bits as i8).to_string(),
        Kind::I16 => (bits as i16).to_string(),
        Kind::I32 => (bits as i32).to_string(),
        Kind::I64 => (bits as i64).to_string(),
        Kind::U8 => (bits as u8).to_string(),
        Kind::U16 => (bits as u16).to_string(),
        Kind::U32 => (bits as u32).to_string(),
        Kind::U64 => bits.to_string(),
        Kind::Bool => (bits & 1).to_string(),
        Kind::Rounding => environment(bits),
    }
}

fn shortest(value: f64, debug: String) -> String {
    match (value.is_nan(), value.is_sign_negative()) {
        (true, true) => "-nan".to_owned(),
        (true, false) => "nan".to_owned(),
        _ => debug,
    }
}

/// The raw bits with all hex digits of the type: `0x3ff0000000000000`.
#[must_use]
pub fn raw(kind: Kind, bits: u64) -> String {
    let size = kind.size();
    let mask = if size == 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
    format!("{:#0width$x}", bits & mask, width = 2 + 2 * size)
}

/// The bytes in hex, two digits each.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}

/// The bytes of an even number of hexadecimal digits; `None` for any other text.
#[must_use]
pub fn bytes_of_hex(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
    let is_hex = digits.len().is_multiple_of(2) && digits.bytes().all(|c| c.is_ascii_hexdigit());
    is_hex.then(|| digits.as_bytes().chunks(2).map(byte).collect()).flatten()
}

#[cfg(test)]
#[path = "literal_tests.rs"]
mod tests;
