//! Random values of every sort, and every operation with random arguments.

use libafl_bolts::rands::{Rand, StdRand};

use crate::{
    float::{Format, Rounding},
    term::{Class, Op, Sort, Value, mask},
};

/// A random value. Many are special, and many are close to each other, so that sums cancel and ties occur.
pub(super) fn value(rng: &mut StdRand, sort: Sort) -> Value {
    let bits = u128::from(rng.next()) << 64 | u128::from(rng.next());
    match sort {
        Sort::Float(format) => Value::Float(format, format.canonical(float(rng, format, bits))),
        Sort::Bits(width) => match rng.below_or_zero(4) {
            0 => Value::Bits(width, bits & 3 & mask(width)),
            1 => Value::Bits(width, mask(width) - (bits & 3).min(mask(width))),
            _ => Value::Bits(width, bits & mask(width)),
        },
        _ => Value::of_bits(sort, bits),
    }
}

fn float(rng: &mut StdRand, format: Format, bits: u128) -> u128 {
    let (fraction, sign) = (format.significand - 1, bits >> 127 == 1);
    let special = [0, 1, format.least_normal() - 1, format.least_normal(), format.infinity() - 1, format.infinity()];
    let one = ((1 << (format.exponent - 1)) - 1) << fraction;
    match rng.below_or_zero(8) {
        0 => format.signed(sign, special[rng.below_or_zero(special.len())]),
        1 => format.signed(sign, format.nan()),
        // Values around 1 with few significant bits: ties, halves, integers.
        2..=4 => {
            let exponent = (bits & 15) << fraction;
            let few = (bits >> 8 & 7) << (fraction - 3);
            format.signed(sign, one + exponent - (4 << fraction) + few)
        }
        5 => format.signed(sign, one + (bits & 3)),
        _ => bits & mask(format.width()),
    }
}

pub(super) const HALF: Format = Format::new(5, 11);
pub(super) const SINGLE: Format = Format::new(8, 24);
pub(super) const DOUBLE: Format = Format::new(11, 53);

/// An operation with its sorts; `head` is its head in SMT-LIB.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub head: String,
    pub op: Op,
    pub args: Vec<Sort>,
    pub sort: Sort,
}

/// All operations of floats, for each format. The rounding mode, if any, is the first argument.
pub(super) fn of_floats() -> Vec<Operation> {
    let mut all = Vec::new();
    for format in Format::ALL {
        let x = Sort::Float(format);
        let mut add = |head: &str, op, with_mode: bool, args: &[Sort], sort| {
            let mode = with_mode.then_some(Sort::Rounding);
            all.push(Operation {
                head: head.to_owned(),
                op,
                args: mode.into_iter().chain(args.iter().copied()).collect(),
                sort,
            });
        };
        for (name, op) in [("add", Op::FpAdd), ("sub", Op::FpSub), ("mul", Op::FpMul), ("div", Op::FpDiv)] {
            add(&format!("fp.{name}"), op, true, &[x, x], x);
        }
        add("fp.fma", Op::FpFma, true, &[x, x, x], x);
        add("fp.sqrt", Op::FpSqrt, true, &[x], x);
        add("fp.rem", Op::FpRem, false, &[x, x], x);
        add("fp.roundToIntegral", Op::FpRoundToIntegral, true, &[x], x);
        for (name, op) in [("abs", Op::FpAbs), ("neg", Op::FpNeg)] {
            add(&format!("fp.{name}"), op, false, &[x], x);
        }
        for (name, op) in [("min", Op::FpMin), ("max", Op::FpMax)] {
            add(&format!("fp.{name}"), op, false, &[x, x], x);
        }
        for (name, op) in [("leq", Op::FpLeq), ("lt", Op::FpLt), ("eq", Op::FpEq)] {
            add(&format!("fp.{name}"), op, false, &[x, x], Sort::Bool);
        }
        for (name, class) in [
            ("Normal", Class::Normal),
            ("Subnormal", Class::Subnormal),
            ("Zero", Class::Zero),
            ("Infinite", Class::Infinite),
            ("NaN", Class::NaN),
            ("Negative", Class::Negative),
            ("Positive", Class::Positive),
        ] {
            add(&format!("fp.is{name}"), Op::FpIs(class), false, &[x], Sort::Bool);
        }
        let to = format!("{} {}", format.exponent, format.significand);
        for from in Format::ALL {
            add(&format!("(_ to_fp {to})"), Op::FpOfFloat, true, &[Sort::Float(from)], x);
        }
        for width in [8, 32, 64, 100] {
            let v = Sort::Bits(width);
            add(&format!("(_ to_fp {to})"), Op::FpOfSigned, true, &[v], x);
            add(&format!("(_ to_fp_unsigned {to})"), Op::FpOfUnsigned, true, &[v], x);
            add(&format!("(_ fp.to_ubv {width})"), Op::FpToUnsigned, true, &[x], v);
            add(&format!("(_ fp.to_sbv {width})"), Op::FpToSigned, true, &[x], v);
        }
        add(&format!("(_ to_fp {to})"), Op::FpOfBits, false, &[Sort::Bits(format.width())], x);
        add("=", Op::Eq, false, &[x, x], Sort::Bool);
    }
    all
}

/// All operations of bit vectors, for several widths.
pub(super) fn of_vectors() -> Vec<Operation> {
    let mut all = Vec::new();
    for width in [1, 7, 8, 32, 64, 100, 128] {
        let v = Sort::Bits(width);
        let mut add = |head: &str, op, args: &[Sort], sort| {
            all.push(Operation { head: head.to_owned(), op, args: args.to_vec(), sort });
        };
        for (name, op) in [
            ("and", Op::BvAnd),
            ("or", Op::BvOr),
            ("xor", Op::BvXor),
            ("add", Op::BvAdd),
            ("sub", Op::BvSub),
            ("mul", Op::BvMul),
            ("udiv", Op::BvUdiv),
            ("urem", Op::BvUrem),
            ("sdiv", Op::BvSdiv),
            ("srem", Op::BvSrem),
            ("smod", Op::BvSmod),
            ("shl", Op::BvShl),
            ("lshr", Op::BvLshr),
            ("ashr", Op::BvAshr),
        ] {
            add(&format!("bv{name}"), op, &[v, v], v);
        }
        for (name, op) in [("not", Op::BvNot), ("neg", Op::BvNeg)] {
            add(&format!("bv{name}"), op, &[v], v);
        }
        for (name, op) in [("ult", Op::BvUlt), ("ule", Op::BvUle), ("slt", Op::BvSlt), ("sle", Op::BvSle)] {
            add(&format!("bv{name}"), op, &[v, v], Sort::Bool);
        }
        add("=", Op::Eq, &[v, v], Sort::Bool);
        if width <= 100 {
            let wider = Sort::Bits(width + 28);
            add("(_ zero_extend 28)", Op::Extend, &[v], wider);
            add("(_ sign_extend 28)", Op::SignExtend, &[v], wider);
            add("concat", Op::Concat, &[v, Sort::Bits(28)], wider);
        }
        if width > 4 {
            add(&format!("(_ extract {} 2)", width - 2), Op::Extract(2), &[v], Sort::Bits(width - 3));
        }
    }
    all
}

/// Returns true if the C code computes exactly in the mode of the first argument.
pub(super) fn is_directed_or_nearest(mode: Value) -> bool {
    mode != Value::Rounding(Rounding::NearestAway)
}
