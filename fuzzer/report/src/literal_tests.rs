//! Tests that literals have the same bits after the C compiler has read them.

use std::{fs, process::Command};

use super::*;

/// Values that a conversion to text easily loses.
fn hard() -> Vec<(Kind, u64)> {
    let doubles: [u64; 16] = [
        0,
        0x8000_0000_0000_0000,
        1,
        0x8000_0000_0000_0001,
        0x000f_ffff_ffff_ffff,
        0x0010_0000_0000_0000,
        0x3ff0_0000_0000_0000,
        0x4008_0000_0000_0000,
        0x3fb9_9999_9999_999a,
        0x7fef_ffff_ffff_ffff,
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        0xfff8_0000_0000_0000,
        0x7ff8_0000_dead_beef,
        0xfff0_0000_0000_0001,
    ];
    let floats: [u32; 12] = [
        0,
        0x8000_0000,
        1,
        0x807f_ffff,
        0x0080_0000,
        0x3dcc_cccd,
        0x7f7f_ffff,
        0x7f80_0000,
        0xff80_0000,
        0xffc0_0000,
        0x7fc0_0123,
        0xff80_0007,
    ];
    let mut all: Vec<_> = doubles.into_iter().map(|b| (Kind::F64, b)).collect();
    all.extend(floats.into_iter().map(|b| (Kind::F32, u64::from(b))));
    for (kind, _) in ALL.into_iter().filter(|(k, _)| !matches!(k, Kind::F32 | Kind::F64 | Kind::Rounding)) {
        let width = 8 * kind.size();
        let ones = u64::MAX >> (64 - width);
        let edges = [0, 1, ones, ones >> 1, (ones >> 1) + 1, 0x7b & ones];
        all.extend(edges.map(|bits| (kind, if kind == Kind::Bool { bits & 1 } else { bits })));
    }
    all
}

fn c_type(kind: Kind) -> &'static str {
    match kind {
        Kind::F32 => "float",
        Kind::F64 => "double",
        Kind::I8 => "int8_t",
        Kind::I16 => "int16_t",
        Kind::I32 => "int32_t",
        Kind::I64 => "int64_t",
        Kind::U8 => "uint8_t",
        Kind::U16 => "uint16_t",
        Kind::U32 => "uint32_t",
        Kind::U64 => "uint64_t",
        Kind::Bool => "_Bool",
        Kind::Rounding => "int",
    }
}

#[test]
fn literals_come_back_from_the_compiler_with_the_same_bits() {
    let mut body = String::new();
    for (kind, bits) in hard() {
        let _ = writeln!(
            body,
            "{{ {} v = {}; uint64_t b = 0; memcpy(&b, &v, sizeof v); printf(\"0x%0*llx\\n\", (int)(2 * sizeof v), \
             (unsigned long long)b); }}",
            c_type(kind),
            c_literal(kind, bits)
        );
    }
    let program = format!(
        "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\nint main(void) {{\n{body}}}\n"
    );
    let dir = tempfile::tempdir().unwrap();
    let (source, binary) = (dir.path().join("t.c"), dir.path().join("t"));
    fs::write(&source, program).unwrap();
    let status = Command::new("gcc").args(["-Wall", "-Werror", "-o"]).arg(&binary).arg(&source).status().unwrap();
    assert!(status.success(), "the literals compile without a warning");
    let printed = String::from_utf8(Command::new(&binary).output().unwrap().stdout).unwrap();
    let expected: Vec<_> = hard().into_iter().map(|(kind, bits)| raw(kind, bits)).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn decimals_read_back_to_the_same_bits() {
    for (kind, bits) in hard() {
        let text = decimal(kind, bits);
        match kind {
            Kind::F64 if f64::from_bits(bits).is_nan() => assert!(text.ends_with("nan")),
            Kind::F64 => assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits, "{text}"),
            Kind::F32 if f32::from_bits(bits as u32).is_nan() => assert!(text.ends_with("nan")),
            Kind::F32 => assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits as u32, "{text}"),
            _ => assert!(text.parse::<i128>().is_ok(), "{text}"),
        }
    }
}

#[test]
fn spellings() {
    assert_eq!(c_literal(Kind::F64, 3.0_f64.to_bits()), "0x1.8p+1");
    assert_eq!(c_literal(Kind::F64, (-0.0_f64).to_bits()), "-0x0p+0");
    assert_eq!(c_literal(Kind::F64, 1), "0x0.0000000000001p-1022");
    assert_eq!(c_literal(Kind::F32, u64::from(0.5_f32.to_bits())), "0x1p-1f");
    assert_eq!(c_literal(Kind::F64, 0x7ff0_0000_0000_0005), "__builtin_nans(\"0x5\")");
    assert_eq!(c_literal(Kind::I8, 0xff), "-0x1");
    assert_eq!(decimal(Kind::I64, 1 << 63), "-9223372036854775808");
    assert_eq!(decimal(Kind::F64, 0.1_f64.to_bits()), "0.1");
    assert_eq!(decimal(Kind::F32, 0xffc0_0000), "-nan");
    assert_eq!(raw(Kind::I16, u64::MAX), "0xffff");
    assert_eq!(raw(Kind::U64, 7), "0x0000000000000007");
    assert_eq!(
        (c_literal(Kind::Rounding, 2), decimal(Kind::Rounding, 2)),
        ("0x2".to_owned(), "FE_DOWNWARD".to_owned())
    );
}

#[test]
fn bytes_are_an_initializer() {
    let arg = bytes("data", &[1, 0xff]);
    assert_eq!((arg.hex.as_str(), arg.bits.as_str(), arg.decimal.as_str()), ("{0x01, 0xff}", "0x01ff", "2 bytes"));
}

#[test]
fn kinds_have_names() {
    for (kind, name) in ALL {
        assert_eq!(kind_named(kind_name(kind)), Some(kind));
        assert_eq!(kind_name(kind), name);
    }
    assert_eq!(kind_named("void"), None);
}
