//! The value of a core over the real numbers, by MPFR with increasing precision.
//!
//! A value is accepted when it agrees with the value of twice the precision to [`AGREED`] bits. That is no proof
//! (interval arithmetic would be one), but an accepted value is wrong only if both are wrong in the same bits.

use rug::Float;

use super::{super::precise, Core, Expr, constants};

/// Number of bits in which two precisions must agree: an error in ulps of doubles is then known to 2^-67.
const AGREED: u32 = 120;
/// Bits of the first precision.
const FIRST: u32 = 192;
/// Bits of the last precision.
const LAST: u32 = 1 << 14;
/// Precision from which a zero is accepted: with less, a number of the size of the smallest double may be absorbed by
/// one of the size of the largest.
const ZERO: u32 = 2400;
/// Maximum number of loop iterations of one evaluation.
const FUEL: u32 = 1 << 20;

/// Returns the value at `args`; `None` if `:pre` does not hold, the precisions do not agree, or a loop does not end.
#[must_use]
pub fn value(core: &Core, args: &[f64]) -> Option<Float> {
    let mut precision = FIRST;
    let mut last = at(core, args, precision)?;
    while precision < LAST {
        precision *= 2;
        let next = at(core, args, precision)?;
        if agree(&last, &next) && (!next.is_zero() || precision >= ZERO) {
            return Some(next);
        }
        last = next;
    }
    None
}

fn agree(a: &Float, b: &Float) -> bool {
    if !a.is_normal() || !b.is_normal() {
        return a.is_nan() && b.is_nan() || a == b;
    }
    let difference = Float::with_val(64, a - b);
    difference.is_zero() || difference.get_exp().zip(b.get_exp()).is_some_and(|(d, e)| d < e - AGREED as i32)
}

fn at(core: &Core, args: &[f64], precision: u32) -> Option<Float> {
    let mut machine = Machine { precision, fuel: FUEL };
    let mut scope: Scope =
        core.arguments.iter().zip(args).map(|((n, _), x)| (n.clone(), Float::with_val(precision, *x))).collect();
    if let Some(pre) = &core.pre
        && !machine.holds(pre, &mut scope)?
    {
        return None;
    }
    machine.real(core.ideal(), &mut scope)
}

type Scope = Vec<(String, Float)>;

struct Machine {
    precision: u32,
    fuel: u32,
}

impl Machine {
    fn real(&mut self, expr: &Expr, scope: &mut Scope) -> Option<Float> {
        let p = self.precision;
        Some(match expr {
            Expr::Number(text) => number(text, p)?,
            Expr::Constant(name) => constants::value(name, p)?,
            Expr::Variable(name) => scope.iter().rev().find(|(n, _)| n == name)?.1.clone(),
            Expr::In(_, body) | Expr::Cast(body) => self.real(body, scope)?,
            Expr::If(parts) => {
                let [condition, yes, no] = &**parts;
                if self.holds(condition, scope)? { self.real(yes, scope)? } else { self.real(no, scope)? }
            }
            Expr::Let(one_by_one, bindings, body) => {
                let before = scope.len();
                self.bind(*one_by_one, bindings, scope)?;
                let value = self.real(body, scope)?;
                scope.truncate(before);
                value
            }
            Expr::While(one_by_one, condition, variables, body) => {
                let before = scope.len();
                self.repeat(*one_by_one, condition, variables, scope)?;
                let value = self.real(body, scope)?;
                scope.truncate(before);
                value
            }
            Expr::Apply(op, args) => {
                let args = args.iter().map(|a| self.real(a, scope)).collect::<Option<Vec<_>>>()?;
                operation(op, args)?
            }
        })
    }

    fn bind(&mut self, one_by_one: bool, bindings: &[(String, Expr)], scope: &mut Scope) -> Option<()> {
        let mut new = Vec::new();
        for (name, value) in bindings {
            let value = self.real(value, scope)?;
            if one_by_one { scope.push((name.clone(), value)) } else { new.push((name.clone(), value)) }
        }
        scope.extend(new);
        Some(())
    }

    fn repeat(
        &mut self,
        one_by_one: bool,
        condition: &Expr,
        variables: &[(String, Expr, Expr)],
        scope: &mut Scope,
    ) -> Option<()> {
        let first: Vec<(String, Expr)> = variables.iter().map(|(n, f, _)| (n.clone(), f.clone())).collect();
        let place = scope.len();
        self.bind(one_by_one, &first, scope)?;
        while self.holds(condition, scope)? {
            self.fuel = self.fuel.checked_sub(1)?;
            let mut new = Vec::new();
            for (i, (_, _, next)) in variables.iter().enumerate() {
                let value = self.real(next, scope)?;
                if one_by_one { scope[place + i].1 = value } else { new.push(value) }
            }
            new.into_iter().enumerate().for_each(|(i, value)| scope[place + i].1 = value);
        }
        Some(())
    }

    fn holds(&mut self, expr: &Expr, scope: &mut Scope) -> Option<bool> {
        match expr {
            Expr::Constant(name) => Some(name == "TRUE"),
            Expr::If(parts) => {
                let [condition, yes, no] = &**parts;
                if self.holds(condition, scope)? { self.holds(yes, scope) } else { self.holds(no, scope) }
            }
            Expr::Let(one_by_one, bindings, body) => {
                let before = scope.len();
                self.bind(*one_by_one, bindings, scope)?;
                let holds = self.holds(body, scope);
                scope.truncate(before);
                holds
            }
            Expr::In(_, body) | Expr::Cast(body) => self.holds(body, scope),
            Expr::Apply(op, args) if matches!(op.as_str(), "and" | "or" | "not" | "=>") => {
                let all = args.iter().map(|a| self.holds(a, scope)).collect::<Option<Vec<_>>>()?;
                Some(match op.as_str() {
                    "and" => all.iter().all(|b| *b),
                    "or" => all.iter().any(|b| *b),
                    "not" => !all[0],
                    _ => !all[0] || all[1],
                })
            }
            Expr::Apply(op, args) => {
                let all = args.iter().map(|a| self.real(a, scope)).collect::<Option<Vec<_>>>()?;
                compare(op, &all)
            }
            _ => None,
        }
    }
}

fn compare(op: &str, all: &[Float]) -> Option<bool> {
    let chain = |holds: fn(&Float, &Float) -> bool| Some(all.windows(2).all(|w| holds(&w[0], &w[1])));
    match op {
        "<" => chain(|a, b| a < b),
        ">" => chain(|a, b| a > b),
        "<=" => chain(|a, b| a <= b),
        ">=" => chain(|a, b| a >= b),
        "==" => chain(|a, b| a == b),
        "!=" => Some((0..all.len()).all(|i| (0..i).all(|j| all[i] != all[j]))),
        "isfinite" => Some(all[0].is_finite()),
        "isinf" => Some(all[0].is_infinite()),
        "isnan" => Some(all[0].is_nan()),
        "signbit" => Some(all[0].is_sign_negative()),
        _ => None,
    }
}

fn number(text: &str, precision: u32) -> Option<Float> {
    if let Some((a, b)) = text.split_once('/') {
        return Some(
            Float::with_val(precision, Float::parse(a).ok()?) / Float::with_val(precision, Float::parse(b).ok()?),
        );
    }
    Some(Float::with_val(precision, Float::parse(text).ok()?))
}

fn operation(op: &str, mut args: Vec<Float>) -> Option<Float> {
    if op == "-" && args.len() == 1 {
        return args.pop().map(|x| -x);
    }
    match op {
        "+" => args.into_iter().reduce(|a, b| a + b),
        "-" => args.into_iter().reduce(|a, b| a - b),
        "*" => args.into_iter().reduce(|a, b| a * b),
        "/" => args.into_iter().reduce(|a, b| a / b),
        "fma" => {
            let [a, b, c] = <[Float; 3]>::try_from(args).ok()?;
            Some(a.mul_add(&b, &c))
        }
        "fmax" => args.into_iter().reduce(|a, b| a.max(&b)),
        "fmin" => args.into_iter().reduce(|a, b| a.min(&b)),
        "copysign" => args.into_iter().reduce(|a, b| a.copysign(&b)),
        "nearbyint" => args.pop().map(Float::round_even),
        _ => precise::apply(op, args).map(|(r, _)| r),
    }
}
