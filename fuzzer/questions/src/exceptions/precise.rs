//! Computes a recorded run again in high precision, with an exponent range that no operation leaves.
//!
//! The record of an operation has its operands and its result, but not where the operands came from. If an operand
//! equals the result of an earlier operation bit for bit, or except for its sign, it is taken to be that result. Any
//! other operand is an argument or a constant, and exact. If several results are equal (all infinities are alike, and
//! all zeros), the operand is the last of them that no operation has used yet; the last operand is resolved first. So
//! the parts of a formula combine as on a stack, and most results are used once. If all of them have been used, it is
//! the last one. Operations that are not recorded do no harm, such as copying a sign, or storing a value in memory. If
//! code modifies the words of a value, as old libraries of elementary functions do, the computation restarts from the
//! double at that point.

use std::collections::HashMap;

use penfuzz_abi::{Traced, operation as op, operation_flag};
use penfuzz_mutators::view::Kind;
use rug::{Float, ops::Pow};

use super::job;

/// Bits of the significands: enough for the result of a thousand operations on doubles without cancellation, with some
/// reserve.
const PRECISION: u32 = 256;

/// For operands beyond 2^±4096, MPFR takes too long to compute periodic functions, remainders and similar functions.
const LARGEST_EXPONENT: u32 = 4096;

/// Maximum number of stored values for the same double, such as an infinity.
const MAX_VALUES_PER_DOUBLE: usize = 16;

const SIGN: u64 = 1 << 63;

/// Stores the high-precision values of the doubles that operations produced.
#[derive(Debug, Default)]
pub struct Machine {
    known: HashMap<u64, Vec<ComputedValue>>,
}

#[derive(Debug)]
struct ComputedValue {
    value: Float,
    is_taken: bool,
}

impl Machine {
    /// Computes one recorded operation. Returns its value, or `None` if the operation is not supported: then its result
    /// as a double counts as exact.
    pub fn step(&mut self, step: &Traced) -> Option<Float> {
        let operation = step.what & 0xff;
        if operation == op::TO_SIGNED || operation == op::TO_UNSIGNED {
            return None;
        }
        let operands = self.operands(operation, step);
        let value = compute(operation, operands, step);
        self.keep(step.result, value.clone().unwrap_or_else(|| exact(step.result)));
        value
    }

    /// Takes the value of the operation that produced the double with these bits; `None` if none did.
    pub fn take(&mut self, bits: u64) -> Option<Float> {
        let is_negated = !self.known.contains_key(&bits);
        let all = self.known.get_mut(&if is_negated { bits ^ SIGN } else { bits })?;
        let i = all.iter().rposition(|g| !g.is_taken).unwrap_or(all.len() - 1);
        all[i].is_taken = true;
        let value = all[i].value.clone();
        Some(if is_negated { -value } else { value })
    }

    fn keep(&mut self, bits: u64, value: Float) {
        let all = self.known.entry(bits).or_default();
        if f64::from_bits(bits).is_normal() {
            // Values of the same normal double differ only by rounding, so the last one is enough.
            all.clear();
        } else if all.len() == MAX_VALUES_PER_DOUBLE {
            all.remove(0);
        }
        all.push(ComputedValue { value, is_taken: false });
    }

    /// The operands that are floats. Others are 0.
    fn operands(&mut self, operation: u32, step: &Traced) -> [Float; 3] {
        let mut all = [0; 3].map(exact);
        for (i, _) in job::operands_of(operation).iter().enumerate().rev().filter(|(_, k)| **k == Kind::F64) {
            let bits = step.operands[i];
            let is_constant = step.what & operation_flag::CONSTANT << i != 0;
            all[i] = if is_constant { None } else { self.take(bits) }.unwrap_or_else(|| exact(bits));
        }
        all
    }
}

fn compute(operation: u32, [a, b, c]: [Float; 3], step: &Traced) -> Option<Float> {
    let integer = |i: usize| step.operands[i] as i64;
    Some(match operation {
        op::ADD => a + b,
        op::SUBTRACT => a - b,
        op::MULTIPLY => a * b,
        op::DIVIDE => a / b,
        op::FMA => a * b + c,
        op::NEGATE => -a,
        op::ABS => a.abs(),
        op::NARROW => a,
        op::FROM_SIGNED => Float::with_val(PRECISION, integer(0)),
        op::FROM_UNSIGNED => Float::with_val(PRECISION, step.operands[0]),
        op::LDEXP | op::SCALBN | op::SCALBLN => a << shift(integer(1)),
        op::POW => a.pow(b),
        op::HYPOT => a.hypot(&b),
        op::ATAN2 => a.atan2(&b),
        op::FMOD => moderate(a)? % moderate(b)?,
        op::REMAINDER => moderate(a)?.remainder(&moderate(b)?),
        op::YN => moderate(b)?.yn(shift(integer(0))),
        op::LOGB => Float::with_val(PRECISION, a.get_exp()? - 1),
        _ => match cheap_function(operation) {
            Some(function) => function(a),
            None => costly_function(operation)?(moderate(a)?),
        },
    })
}

fn exact(bits: u64) -> Float {
    Float::with_val(PRECISION, f64::from_bits(bits))
}

/// Limits a shift to the range of `int`. Larger shifts leave the range of doubles anyway.
fn shift(n: i64) -> i32 {
    n.clamp(i64::from(i32::MIN / 2), i64::from(i32::MAX / 2)) as i32
}

fn moderate(x: Float) -> Option<Float> {
    x.get_exp().is_none_or(|e| e.unsigned_abs() <= LARGEST_EXPONENT).then_some(x)
}

type Function = fn(Float) -> Float;

/// Functions of one operand whose cost does not depend on its size.
fn cheap_function(operation: u32) -> Option<Function> {
    Some(match operation {
        op::SQRT => Float::sqrt,
        op::CBRT => Float::cbrt,
        op::EXP => Float::exp,
        op::EXP2 => Float::exp2,
        op::EXP10 => Float::exp10,
        op::EXPM1 => Float::exp_m1,
        op::LOG => Float::ln,
        op::LOG2 => Float::log2,
        op::LOG10 => Float::log10,
        op::LOG1P => Float::ln_1p,
        op::ASIN => Float::asin,
        op::ACOS => Float::acos,
        op::ATAN => Float::atan,
        op::SINH => Float::sinh,
        op::COSH => Float::cosh,
        op::TANH => Float::tanh,
        op::ASINH => Float::asinh,
        op::ACOSH => Float::acosh,
        op::ATANH => Float::atanh,
        op::ERF => Float::erf,
        op::ERFC => Float::erfc,
        op::FLOOR => Float::floor,
        op::CEIL => Float::ceil,
        op::ROUND_TO_ZERO => Float::trunc,
        op::ROUND => Float::round,
        op::RINT => Float::round_even,
        _ => return None,
    })
}

/// Functions of one operand whose cost grows with its exponent.
fn costly_function(operation: u32) -> Option<Function> {
    Some(match operation {
        op::SIN => Float::sin,
        op::COS => Float::cos,
        op::TAN => Float::tan,
        op::TGAMMA => Float::gamma,
        op::LGAMMA => |x: Float| x.ln_abs_gamma().0,
        op::Y0 => Float::y0,
        op::Y1 => Float::y1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(what: u32, operands: [u64; 3], result: f64) -> Traced {
        Traced { actions: core::ptr::null(), operands, result: result.to_bits(), what, unused: 0 }
    }

    /// The result of one operation on these operands, as a double.
    fn gives(what: u32, operands: [f64; 3], result: f64) -> Option<f64> {
        Machine::default().step(&traced(what, operands.map(f64::to_bits), result)).map(|v| v.to_f64())
    }

    #[test]
    fn operations_are_distinguished_by_their_numbers() {
        for (what, operands, expected) in [
            (op::SUBTRACT, [5.0, 3.0, 0.0], 2.0),
            (op::DIVIDE, [5.0, 2.0, 0.0], 2.5),
            (op::FMA, [2.0, 3.0, 4.0], 10.0),
            (op::FMOD, [7.0, 4.0, 0.0], 3.0),
            (op::REMAINDER, [7.0, 4.0, 0.0], -1.0),
            (op::NEGATE, [7.0, 0.0, 0.0], -7.0),
            (op::ABS, [-7.0, 0.0, 0.0], 7.0),
            (op::POW, [2.0, 10.0, 0.0], 1024.0),
            (op::SQRT | operation_flag::SINGLE, [9.0, 0.0, 0.0], 3.0),
            (op::LOGB, [9.0, 0.0, 0.0], 3.0),
            (op::RINT, [2.5, 0.0, 0.0], 2.0),
            (op::ROUND, [2.5, 0.0, 0.0], 3.0),
            (op::COS, [0.0, 0.0, 0.0], 1.0),
        ] {
            assert_eq!(gives(what, operands, expected), Some(expected), "operation {what} of {operands:?}");
        }
    }

    #[test]
    fn integer_operands_are_integers() {
        let of = |what, operands| Machine::default().step(&traced(what, operands, 0.0)).map(|v| v.to_f64());
        assert_eq!(of(op::LDEXP, [3f64.to_bits(), -1i64 as u64, 0]), Some(1.5), "ldexp(3, -1)");
        assert_eq!(of(op::FROM_SIGNED, [-2i64 as u64, 0, 0]), Some(-2.0), "(double)-2");
        assert_eq!(of(op::FROM_UNSIGNED, [1 << 63, 0, 0]), Some(9_223_372_036_854_775_808.0), "(double)(1UL << 63)");
    }

    #[test]
    fn unsupported_operation_counts_as_exact() {
        let mut machine = Machine::default();
        assert!(machine.step(&traced(op::NEXTAFTER, [0, 1, 0], 5e-324)).is_none(), "nextafter is not computed");
        assert_eq!(machine.take(5e-324f64.to_bits()).map(|v| v.to_f64()), Some(5e-324));
    }

    #[test]
    fn an_integer_is_no_float_that_was_given() {
        let mut machine = Machine::default();
        machine.step(&Traced { result: 0, ..traced(op::TO_SIGNED, [0.5f64.to_bits(), 0, 0], 0.0) });
        assert!(machine.take(0).is_none(), "0 of a conversion is no 0.0");
    }

    #[test]
    fn a_constant_is_not_looked_up() {
        let mut machine = Machine::default();
        machine.step(&traced(op::MULTIPLY, [1e-300f64.to_bits(), 1e-300f64.to_bits(), 0], 0.0));
        let operands = [0, 1f64.to_bits(), 0];
        let of_constant = machine.step(&traced(op::ADD | operation_flag::CONSTANT, operands, 1.0));
        assert_eq!(of_constant, Some(exact(1f64.to_bits())), "0 + 1, and not the product");
        let of_product = machine.step(&traced(op::ADD | operation_flag::CONSTANT << 1, operands, 1.0));
        assert!(of_product.is_some_and(|v| v >= 1.0), "the product that became 0");
    }

    #[test]
    fn infinities_are_taken_as_from_a_stack() {
        let [large, larger] = [1e200, 1e300].map(f64::to_bits);
        let infinity = f64::INFINITY.to_bits();
        let mut machine = Machine::default();
        machine.step(&traced(op::MULTIPLY, [large, large, 0], f64::INFINITY));
        machine.step(&traced(op::MULTIPLY, [larger, larger, 0], f64::INFINITY));
        let quotient = machine.step(&traced(op::DIVIDE, [infinity, infinity, 0], f64::NAN)).expect("a quotient");
        assert!((quotient.to_f64() - 1e-200).abs() < 1e-210, "1e400 / 1e600 and not {quotient}");
        let power = machine.step(&traced(op::MULTIPLY, [infinity, large, 0], f64::INFINITY)).expect("a product");
        assert_eq!(format!("{power:.3e}"), "1.00e800", "when all are taken, the last");
    }

    #[test]
    fn a_huge_operand_of_a_periodic_function_is_left_alone() {
        let mut machine = Machine::default();
        machine.step(&traced(op::EXP, [1e300f64.to_bits(), 0, 0], f64::INFINITY));
        machine.step(&traced(op::EXP, [1e6f64.to_bits(), 0, 0], f64::INFINITY));
        let sine = machine.step(&traced(op::SIN, [f64::INFINITY.to_bits(), 0, 0], f64::NAN));
        assert!(sine.is_none(), "sin(exp(1e6)) is not computed");
    }
}
