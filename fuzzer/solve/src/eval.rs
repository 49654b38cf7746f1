//! Evaluates terms by the definitions of SMT-LIB's theories. Models are checked with it, so it shares nothing with the
//! C code that the search runs.

use core::cmp::Ordering;

use super::{
    float::{Format, Rounding},
    term::{Class, Node, Op, Sort, Term, Terms, Value, mask},
};

/// What an operation returns where its theory leaves the value unspecified: `fp.min` and `fp.max` of zeros with
/// different signs, conversions of floats to bit vectors that cannot hold them, and the payload of NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The first argument; all bits zero; the canonical NaN.
    First,
    /// The second argument; all bits one; another NaN.
    Second,
}

/// Evaluates the terms in `order` (arguments before terms that use them) with these values of the variables. The result
/// is `None` for other terms.
///
/// # Panics
/// If a variable has no value, or an argument is missing in the order.
#[must_use]
pub fn values(terms: &Terms, order: &[Term], variables: &[Value], choice: Choice) -> Vec<Option<Value>> {
    let mut all: Vec<Option<Value>> = vec![None; terms.len()];
    let mut args = Vec::new();
    for term in order {
        let node = terms.node(*term);
        args.clear();
        args.extend(node.args.iter().map(|a| all[a.index()].expect("arguments come first")));
        all[term.index()] = Some(match node.op {
            Op::Var(number) => variables[number as usize],
            _ => apply(node, &args, choice),
        });
    }
    all
}

/// Returns true if all formulas hold for each choice of unspecified values.
#[must_use]
pub fn holds(terms: &Terms, formulas: &[Term], variables: &[Value]) -> bool {
    let order = terms.ordered(formulas, &[]);
    [Choice::First, Choice::Second].into_iter().all(|choice| {
        let all = values(terms, &order, variables, choice);
        formulas.iter().all(|f| all[f.index()] == Some(Value::Bool(true)))
    })
}

/// The result of an operation on these arguments.
#[must_use]
pub fn apply(node: &Node, args: &[Value], choice: Choice) -> Value {
    match node.op {
        Op::Const(value) => value,
        Op::Var(_) => unreachable!("variables have values of their own"),
        Op::Not => Value::Bool(!truth(args[0])),
        Op::And => Value::Bool(args.iter().all(|a| truth(*a))),
        Op::Or => Value::Bool(args.iter().any(|a| truth(*a))),
        Op::Xor => Value::Bool(truth(args[0]) != truth(args[1])),
        Op::Eq => Value::Bool(args[0] == args[1]),
        Op::Ite => args[if truth(args[0]) { 1 } else { 2 }],
        _ => match node.sort {
            Sort::Bool => Value::Bool(predicate(node.op, args)),
            Sort::Float(format) => Value::Float(format, float(node.op, format, args, choice)),
            Sort::Bits(width) => Value::Bits(width, vector(node.op, width, args, choice) & mask(width)),
            Sort::Rounding => unreachable!("no operation makes a rounding mode"),
        },
    }
}

fn truth(value: Value) -> bool {
    value == Value::Bool(true)
}

fn mode(value: Value) -> Rounding {
    if let Value::Rounding(mode) = value { mode } else { Rounding::NearestEven }
}

fn bits(value: Value) -> u128 {
    match value {
        Value::Bits(_, bits) | Value::Float(_, bits) => bits,
        Value::Bool(_) | Value::Rounding(_) => 0,
    }
}

fn width(value: Value) -> u32 {
    value.sort().bits()
}

/// The value of a bit vector as a signed integer.
fn signed(value: Value) -> i128 {
    let unused = 128 - width(value);
    (bits(value) << unused).cast_signed() >> unused
}

fn predicate(op: Op, args: &[Value]) -> bool {
    if let Value::Float(format, a) = args[0] {
        if let Op::FpIs(class) = op {
            return is(class, format, a);
        }
        let order = format.compare(a, bits(args[1]));
        return match op {
            Op::FpLeq => order.is_some_and(Ordering::is_le),
            Op::FpLt => order == Some(Ordering::Less),
            _ => order == Some(Ordering::Equal),
        };
    }
    match op {
        Op::BvUlt => bits(args[0]) < bits(args[1]),
        Op::BvUle => bits(args[0]) <= bits(args[1]),
        Op::BvSlt => signed(args[0]) < signed(args[1]),
        _ => signed(args[0]) <= signed(args[1]),
    }
}

fn is(class: Class, format: Format, a: u128) -> bool {
    let magnitude = format.magnitude(a);
    match class {
        Class::Zero => magnitude == 0,
        Class::Subnormal => magnitude > 0 && magnitude < format.least_normal(),
        Class::Normal => magnitude >= format.least_normal() && magnitude < format.infinity(),
        Class::Infinite => magnitude == format.infinity(),
        Class::NaN => format.is_nan(a),
        Class::Negative => !format.is_nan(a) && format.is_negative(a),
        Class::Positive => !format.is_nan(a) && !format.is_negative(a),
    }
}

fn float(op: Op, format: Format, args: &[Value], choice: Choice) -> u128 {
    let bit = |n: usize| bits(args[n]);
    match op {
        Op::FpAbs => format.abs(bit(0)),
        Op::FpNeg => format.neg(bit(0)),
        Op::FpAdd => format.add(mode(args[0]), bit(1), bit(2)),
        Op::FpSub => format.add(mode(args[0]), bit(1), format.neg(bit(2))),
        Op::FpMul => format.mul(mode(args[0]), bit(1), bit(2)),
        Op::FpDiv => format.div(mode(args[0]), bit(1), bit(2)),
        Op::FpFma => format.fma(mode(args[0]), bit(1), bit(2), bit(3)),
        Op::FpSqrt => format.sqrt(mode(args[0]), bit(1)),
        Op::FpRem => format.rem(bit(0), bit(1)),
        Op::FpRoundToIntegral => format.to_integral(mode(args[0]), bit(1)),
        Op::FpMin => extreme(format, bit(0), bit(1), Ordering::Less, choice),
        Op::FpMax => extreme(format, bit(0), bit(1), Ordering::Greater, choice),
        Op::FpOfBits => format.canonical(bit(0)),
        Op::FpOfFloat => {
            let Value::Float(from, a) = args[1] else { return format.nan() };
            from.convert(mode(args[0]), a, format)
        }
        Op::FpOfSigned => {
            let value = signed(args[1]);
            format.of_integer(mode(args[0]), value < 0, value.unsigned_abs())
        }
        _ => format.of_integer(mode(args[0]), false, bit(1)),
    }
}

/// The smaller or the larger value; NaN only if both are NaN.
fn extreme(format: Format, a: u128, b: u128, wanted: Ordering, choice: Choice) -> u128 {
    match format.compare(a, b) {
        None if format.is_nan(a) => b,
        None => a,
        Some(Ordering::Equal) if choice == Choice::First => a,
        Some(Ordering::Equal) => b,
        Some(order) if order == wanted => a,
        Some(_) => b,
    }
}

fn vector(op: Op, width_of_result: u32, args: &[Value], choice: Choice) -> u128 {
    let bit = |n: usize| bits(args[n]);
    match op {
        Op::BvNot => !bit(0),
        Op::BvNeg => bit(0).wrapping_neg(),
        Op::BvAnd => bit(0) & bit(1),
        Op::BvOr => bit(0) | bit(1),
        Op::BvXor => bit(0) ^ bit(1),
        Op::BvAdd => bit(0).wrapping_add(bit(1)),
        Op::BvSub => bit(0).wrapping_sub(bit(1)),
        Op::BvMul => bit(0).wrapping_mul(bit(1)),
        Op::BvUdiv => bit(0).checked_div(bit(1)).unwrap_or(u128::MAX),
        Op::BvUrem => bit(0).checked_rem(bit(1)).unwrap_or(bit(0)),
        Op::BvSdiv | Op::BvSrem | Op::BvSmod => divide(op, width_of_result, signed(args[0]), signed(args[1])),
        Op::BvShl => shift(bit(1)).map_or(0, |n| bit(0).checked_shl(n).unwrap_or(0)),
        Op::BvLshr => shift(bit(1)).map_or(0, |n| bit(0).checked_shr(n).unwrap_or(0)),
        Op::BvAshr => (signed(args[0]) >> shift(bit(1)).unwrap_or(127).min(127)).cast_unsigned(),
        Op::Concat => bit(0) << width(args[1]) | bit(1),
        Op::Extract(low) => bit(0) >> low,
        Op::Extend => bit(0),
        Op::SignExtend => signed(args[0]).cast_unsigned(),
        Op::FpToBits => to_bits(args[0], choice),
        Op::FpToUnsigned | Op::FpToSigned => {
            let integer = to_integer(op == Op::FpToSigned, width_of_result, args);
            integer.unwrap_or(if choice == Choice::First { 0 } else { u128::MAX })
        }
        _ => unreachable!("{op:?} makes no bit vector"),
    }
}

/// Signed division, defined by unsigned division. The result of a division by 0 is 1 or -1 for `bvsdiv`, and the first
/// argument otherwise.
fn divide(op: Op, width: u32, a: i128, b: i128) -> u128 {
    let (x, y) = (a.unsigned_abs() & mask(width), b.unsigned_abs() & mask(width));
    let quotient = x.checked_div(y).unwrap_or(u128::MAX);
    let rest = x.checked_rem(y).unwrap_or(x);
    let with_sign = |negative: bool, value: u128| if negative { value.wrapping_neg() } else { value };
    match op {
        Op::BvSdiv => with_sign((a < 0) != (b < 0), quotient),
        Op::BvSrem => with_sign(a < 0, rest),
        _ if rest == 0 => 0,
        // The result of `bvsmod` has the sign of the second argument.
        _ if (a < 0) == (b < 0) || b == 0 => with_sign(a < 0, rest),
        _ => with_sign(a < 0, rest).wrapping_add(b.cast_unsigned()),
    }
}

fn shift(by: u128) -> Option<u32> {
    u32::try_from(by).ok()
}

fn to_bits(value: Value, choice: Choice) -> u128 {
    match value {
        // The payload of NaN is unspecified.
        Value::Float(format, a) if format.is_nan(a) && choice == Choice::Second => a | 1,
        other => bits(other),
    }
}

/// Converts a float to an integer; `None` if the integer does not fit.
fn to_integer(is_signed: bool, width: u32, args: &[Value]) -> Option<u128> {
    let Value::Float(format, a) = args[1] else { return None };
    let (negative, magnitude) = format.to_integer(mode(args[0]), a)?;
    let most = match (is_signed, negative) {
        (false, false) => mask(width),
        (false, true) => 0,
        (true, false) => mask(width - 1),
        (true, true) => 1 << (width - 1),
    };
    let value = if negative { magnitude.wrapping_neg() } else { magnitude };
    (magnitude <= most).then_some(value)
}
