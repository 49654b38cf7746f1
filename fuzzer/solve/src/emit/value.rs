//! Emits the C expression of each operation.

use penfuzz_mutators::view::Kind;
use penfuzz_report::literal;

use super::{
    Writer,
    distance::{Interval, interval},
    name,
};
use crate::{
    float::{Format, Rounding},
    term::{Node, Op, Sort, Term, Value, mask},
};

/// Integers of at most this many bits are exact as doubles.
const EXACT_BITS: u32 = 53;

/// The C type of a sort.
pub(super) fn c_type(sort: Sort) -> &'static str {
    match sort {
        Sort::Bool => "_Bool",
        Sort::Rounding => "int",
        Sort::Float(format) if format.width() == 64 => "double",
        Sort::Float(_) => "float",
        Sort::Bits(width) => unsigned(width),
    }
}

/// The unsigned type that holds a bit vector.
pub(super) const fn unsigned(width: u32) -> &'static str {
    if width > 64 { "wide" } else { "uint64_t" }
}

/// The macro that computes the position of a float in the order of all floats.
pub(super) const fn key(format: Format) -> &'static str {
    if format.width() == 64 { "KEY64" } else { "KEY32" }
}

/// A bit vector as a signed integer.
pub(super) fn signed(x: &str, width: u32) -> String {
    let (kind, all) = if width > 64 { ("signed_wide", 128) } else { ("int64_t", 64) };
    format!("SIGNED({kind}, {x}, {})", all - width)
}

/// The expression with the bits above the width set to 0.
pub(super) fn masked(text: &str, width: u32) -> String {
    match width {
        64 | 128 => text.to_owned(),
        _ => format!("({text}) & {}", number(mask(width), width)),
    }
}

/// A literal of a bit vector.
fn number(bits: u128, width: u32) -> String {
    if width > 64 {
        return format!("((wide){:#x}ULL << 64 | {:#x}ULL)", bits >> 64, bits & mask(64));
    }
    format!("{bits:#x}ULL")
}

/// The bits of a float in the C type that holds it: a double, or a float for smaller formats.
pub(super) fn held(format: Format, bits: u128) -> u64 {
    let to = if format.width() == 64 { format } else { Format::new(8, 24) };
    format.convert(Rounding::NearestEven, bits, to) as u64
}

fn literal(value: Value) -> String {
    match value {
        Value::Bool(value) => u8::from(value).to_string(),
        Value::Rounding(mode) => mode_number(mode).to_string(),
        Value::Bits(width, bits) => number(bits, width),
        Value::Float(format, bits) => {
            let kind = if format.width() == 64 { Kind::F64 } else { Kind::F32 };
            literal::c_literal(kind, held(format, bits))
        }
    }
}

fn mode_number(mode: Rounding) -> usize {
    Rounding::ALL.iter().position(|m| m.0 == mode).unwrap_or(0)
}

impl Writer<'_> {
    /// The operation of a term, applied to the constants of its arguments.
    pub(super) fn expression(&mut self, term: Term) -> String {
        let node = self.terms.node(term);
        let args: Vec<String> = node.args.iter().map(|a| name(*a)).collect();
        let of = |n: usize| args[n].as_str();
        match node.op {
            Op::Const(value) => literal(value),
            Op::Var(_) => String::new(),
            Op::Not => format!("!{}", of(0)),
            Op::And => args.join(" & "),
            Op::Or => args.join(" | "),
            Op::Xor => format!("{} ^ {}", of(0), of(1)),
            Op::Ite => format!("{} ? {} : {}", of(0), of(1), of(2)),
            Op::Eq => match self.terms.sort(node.args[0]) {
                Sort::Float(format) => format!("{0}({1}) == {0}({2})", key(format), of(0), of(1)),
                _ => format!("{} == {}", of(0), of(1)),
            },
            _ => match node.sort {
                Sort::Bool => self.predicate(node, &args),
                Sort::Float(format) => self.float(node, format, &args),
                _ => self.vector(node, &args),
            },
        }
    }

    fn predicate(&self, node: &Node, args: &[String]) -> String {
        let sort = self.terms.sort(node.args[0]);
        let (a, b) = (args[0].as_str(), args.get(1).map_or("", String::as_str));
        let width = sort.bits();
        match (node.op, sort) {
            (Op::FpLeq | Op::BvUle, _) => format!("{a} <= {b}"),
            (Op::FpLt | Op::BvUlt, _) => format!("{a} < {b}"),
            (Op::FpEq, _) => format!("{a} == {b}"),
            (Op::FpIs(class), Sort::Float(format)) => {
                let Interval { position, first, last } = interval(class, format, a);
                format!("{position} >= {first} & {position} <= {last}")
            }
            (Op::BvSlt, _) => format!("{} < {}", signed(a, width), signed(b, width)),
            _ => format!("{} <= {}", signed(a, width), signed(b, width)),
        }
    }

    /// The rounding mode of an operation, if it is constant.
    fn mode(&self, node: &Node) -> Option<Rounding> {
        match self.terms.constant(node.args[0]) {
            Some(Value::Rounding(mode)) => Some(mode),
            _ => None,
        }
    }

    fn float(&mut self, node: &Node, format: Format, args: &[String]) -> String {
        let of = |n: usize| args[n].as_str();
        let suffix = if format.width() == 64 { "" } else { "f" };
        match node.op {
            Op::FpAbs => format!("fabs{suffix}({})", of(0)),
            Op::FpNeg => format!("-{}", of(0)),
            Op::FpRem => format!("remainder{suffix}({}, {})", of(0), of(1)),
            Op::FpMin => format!("{1} != {1} || {0} <= {1} ? {0} : {1}", of(0), of(1)),
            Op::FpMax => format!("{1} != {1} || {0} >= {1} ? {0} : {1}", of(0), of(1)),
            Op::FpRoundToIntegral => format!("({}){}", c_type(node.sort), self.integral(node, of(0), of(1))),
            Op::FpOfBits => match format.width() {
                64 => format!("OF_BITS(double, uint64_t, {})", of(0)),
                32 => format!("OF_BITS(float, uint32_t, {})", of(0)),
                _ => format!("half_of_bits({})", of(0)),
            },
            Op::FpOfFloat | Op::FpOfSigned | Op::FpOfUnsigned => self.conversion(node, format, args),
            _ => self.arithmetic(node, format, args),
        }
    }

    fn integral(&self, node: &Node, mode: &str, x: &str) -> String {
        match self.mode(node) {
            Some(mode) => format!("{}({x})", ["nearbyint", "round", "ceil", "floor", "trunc"][mode_number(mode)]),
            None => format!("integral({mode}, {x})"),
        }
    }

    fn arithmetic(&mut self, node: &Node, format: Format, args: &[String]) -> String {
        let (kind, operator) = match node.op {
            Op::FpAdd => ("add", "+"),
            Op::FpSub => ("sub", "-"),
            Op::FpMul => ("mul", "*"),
            Op::FpDiv => ("div", "/"),
            Op::FpSqrt => ("sqrt", ""),
            _ => ("fma", ""),
        };
        let (of, mode) = (|n: usize| args[n].as_str(), self.mode(node));
        let is_half = format.width() == 16;
        if mode == Some(Rounding::NearestEven) || is_half {
            // Sums, products, quotients and roots of binary16 may be rounded to float first: rounding again gives the
            // correct result. fma needs more precision.
            self.is_exact &= mode == Some(Rounding::NearestEven) && !(is_half && kind == "fma");
            let suffix = if format.width() == 64 { "" } else { "f" };
            let plain = match kind {
                "sqrt" => format!("sqrt{suffix}({})", of(1)),
                "fma" if is_half => format!("(double){} * {} + {}", of(1), of(2), of(3)),
                "fma" => format!("fma{suffix}({}, {}, {})", of(1), of(2), of(3)),
                _ => format!("{} {operator} {}", of(1), of(2)),
            };
            return if is_half { format!("half_of({plain})") } else { plain };
        }
        self.is_exact &= mode.is_some_and(|m| m != Rounding::NearestAway);
        let unused = ["", ", 0", ", 0, 0"][4 - args.len()];
        format!("{kind}{}({}{unused})", format.width(), args.join(", "))
    }

    fn conversion(&mut self, node: &Node, format: Format, args: &[String]) -> String {
        let (sort, mode) = (self.terms.sort(node.args[1]), self.mode(node));
        let x = match (node.op, sort) {
            (Op::FpOfSigned, Sort::Bits(width)) => signed(&args[1], width),
            _ => args[1].clone(),
        };
        // True if the argument is exact as a double.
        let is_double = match sort {
            Sort::Bits(width) => width <= EXACT_BITS,
            _ => true,
        };
        let is_widened = matches!(sort, Sort::Float(from) if from.width() <= format.width());
        let is_nearest = mode == Some(Rounding::NearestEven);
        let is_free = is_widened || is_double && format.width() == 64;
        let is_directed = mode.is_some_and(|m| m != Rounding::NearestAway) && is_double && format.width() == 32;
        self.is_exact &= is_free || is_nearest && (is_double || format.width() > 16) || is_directed;
        match format.width() {
            64 => format!("(double){x}"),
            32 if is_nearest || is_widened || !is_double => format!("(float){x}"),
            32 => format!("narrow({}, {x}, 0, 0)", args[0]),
            _ => format!("half_of((double){x})"),
        }
    }

    fn vector(&self, node: &Node, args: &[String]) -> String {
        let width = node.sort.bits();
        let (of, kind) = (|n: usize| args[n].as_str(), unsigned(width));
        let text = match node.op {
            Op::BvNot => format!("~{}", of(0)),
            Op::BvNeg => format!("-{}", of(0)),
            Op::BvAnd => format!("{} & {}", of(0), of(1)),
            Op::BvOr => format!("{} | {}", of(0), of(1)),
            Op::BvXor => format!("{} ^ {}", of(0), of(1)),
            Op::BvAdd => format!("{} + {}", of(0), of(1)),
            Op::BvSub => format!("{} - {}", of(0), of(1)),
            Op::BvMul => format!("{} * {}", of(0), of(1)),
            Op::BvUdiv => format!("{1} ? {0} / {1} : ~({kind})0", of(0), of(1)),
            Op::BvUrem => format!("{1} ? {0} % {1} : {0}", of(0), of(1)),
            Op::BvSdiv | Op::BvSrem | Op::BvSmod => {
                let call = match node.op {
                    Op::BvSdiv => "quotient",
                    Op::BvSrem => "rest",
                    _ => "modulus",
                };
                let bits = if width > 64 { 128 } else { 64 };
                format!("{call}{bits}({}, {})", signed(of(0), width), signed(of(1), width))
            }
            Op::BvShl => format!("{1} < {width} ? {0} << {1} : 0", of(0), of(1)),
            Op::BvLshr => format!("{1} < {width} ? {0} >> {1} : 0", of(0), of(1)),
            Op::BvAshr => {
                let by = format!("{0} < {width} ? {0} : {1}", of(1), width - 1);
                format!("({kind})({} >> ({by}))", signed(of(0), width))
            }
            Op::Concat => format!("({kind}){} << {} | {}", of(0), self.terms.sort(node.args[1]).bits(), of(1)),
            Op::Extract(low) => format!("({kind})({} >> {low})", of(0)),
            Op::Extend => of(0).to_owned(),
            Op::SignExtend => format!("({kind}){}", signed(of(0), self.terms.sort(node.args[0]).bits())),
            Op::FpToBits => match width {
                64 => format!("{0} != {0} ? 0x7ff8000000000000ULL : BITS(double, uint64_t, {0})", of(0)),
                32 => format!("{0} != {0} ? 0x7fc00000U : BITS(float, uint32_t, {0})", of(0)),
                _ => format!("bits_of_half({})", of(0)),
            },
            Op::FpToUnsigned => format!("to_unsigned({}, {width})", self.integral(node, of(0), of(1))),
            _ => format!("to_signed({}, {width})", self.integral(node, of(0), of(1))),
        };
        masked(&text, width)
    }
}
