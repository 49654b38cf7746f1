//! Renders numbers of an input as C text.

use penfuzz_mutators::view::Kind;
use penfuzz_target::inputs::extended;

use penfuzz_report::{self as report, literal};

/// Renders a `long double` in memory, as a double if a double has the same value.
pub(super) fn long_double(memory: &[u8]) -> String {
    let number = extended::number(memory);
    let double = extended::to_double(number).filter(|bits| !f64::from_bits(*bits).is_nan());
    double.map_or_else(|| report::extended::c_literal(number), |bits| plain(Kind::F64, bits))
}

/// The value of a `_Float16`, which a double represents exactly.
pub(super) fn half(bits: u64) -> f64 {
    let (exponent, fraction) = ((bits >> 10 & 0x1f) as i32, (bits & 0x3ff) as f64);
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// Renders the number in decimal, unless only another C literal can represent it.
pub(super) fn plain(kind: Kind, bits: u64) -> String {
    let value = kind.to_real(bits);
    if kind.is_float() && !value.is_finite() {
        return literal::c_literal(kind, bits);
    }
    match kind {
        Kind::F32 => format!("{}f", literal::decimal(kind, bits)),
        Kind::U64 => format!("{bits}ULL"),
        Kind::U32 => format!("{bits}U"),
        Kind::I64 if bits == 1 << 63 => literal::c_literal(kind, bits),
        Kind::I32 if bits as u32 == 1 << 31 => literal::c_literal(kind, bits),
        _ => literal::decimal(kind, bits),
    }
}

/// Reads up to 8 bytes at a place in little-endian order; 0 if they are outside `bytes`.
pub(super) fn bits(bytes: &[u8], at: usize, size: usize) -> u64 {
    let mut word = [0; 8];
    if let Some(part) = bytes.get(at..at + size.min(8)) {
        word[..part.len()].copy_from_slice(part);
    }
    u64::from_le_bytes(word)
}

/// Reads `n` bits, at most 64, beginning at bit `from`.
pub(super) fn bit_field(bytes: &[u8], from: usize, n: usize) -> u64 {
    (0..n.min(64)).fold(0, |value, i| {
        let bit = bytes.get((from + i) / 8).map_or(0, |byte| byte >> ((from + i) % 8) & 1);
        value | u64::from(bit) << i
    })
}
