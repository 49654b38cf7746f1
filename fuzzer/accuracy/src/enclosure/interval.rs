//! Enclosures of real values, by interval arithmetic with MPFR's directed rounding.

use std::cmp::Ordering;

use rug::{Float, float::Round, ops::AssignRound};

use crate::{
    fpcore::{self, Expr},
    libm::{self, Value},
};

/// Reason why a value has no enclosure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEnclosure {
    /// The expression has no value, such as the root of a negative number, or a quotient by zero.
    Undefined,
    /// It is not known whether it has a value, or the operation is not supported.
    Unknown,
}

/// A closed interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: Float,
    /// The upper end.
    pub high: Float,
}

impl Interval {
    /// Returns the least magnitude of its numbers, rounded down.
    #[must_use]
    pub fn least_magnitude(&self) -> f64 {
        if self.low <= 0.0 && self.high >= 0.0 {
            return 0.0;
        }
        let least = self.low.clone().abs().min(&self.high.clone().abs());
        least.to_f64_round(Round::Down)
    }

    /// Returns the greatest magnitude of its numbers, rounded up.
    #[must_use]
    pub fn greatest_magnitude(&self) -> f64 {
        let most = self.low.clone().abs().max(&self.high.clone().abs());
        most.to_f64_round(Round::Up)
    }
}

/// An enclosure, or the reason why there is none.
pub type Enclosed = Result<Interval, NoEnclosure>;
type Scope = Vec<(String, Interval)>;

/// Encloses an expression, with this precision in bits.
///
/// # Errors
/// When it has no value, or no enclosure is known.
pub fn enclose(expr: &Expr, scope: &mut Scope, bits: u32) -> Enclosed {
    by(expr, scope, bits, operation)
}

/// Encloses the values of an expression at the points at which it has one: the operand of a root, a logarithm, an
/// arcsine or an arccosine is restricted to the domain of that function.
///
/// # Errors
/// As [`enclose`].
pub fn enclose_where_defined(expr: &Expr, scope: &mut Scope, bits: u32) -> Enclosed {
    by(expr, scope, bits, |op, args, bits| {
        let (least, greatest) = match op {
            "sqrt" | "log" => (0.0, f64::INFINITY),
            "asin" | "acos" => (-1.0, 1.0),
            _ => return operation(op, args, bits),
        };
        let [a] = args else { return operation(op, args, bits) };
        if a.low > greatest || a.high < least {
            return Err(NoEnclosure::Undefined);
        }
        let (low, high) = (Float::with_val(bits, least), Float::with_val(bits, greatest));
        operation(op, &[Interval { low: a.low.clone().max(&low), high: a.high.clone().min(&high) }], bits)
    })
}

/// Encloses an expression, with `apply` for its operations.
fn by(expr: &Expr, scope: &mut Scope, bits: u32, apply: fn(&str, &[Interval], u32) -> Enclosed) -> Enclosed {
    match expr {
        Expr::Number(text) => number(text, bits),
        Expr::Constant(name) => constant(name, bits),
        Expr::Variable(name) => {
            scope.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.clone()).ok_or(NoEnclosure::Unknown)
        }
        Expr::Let(one_by_one, bindings, body) => {
            let before = scope.len();
            let mut new = Vec::new();
            for (name, value) in bindings {
                let value = by(value, scope, bits, apply)?;
                if *one_by_one { scope.push((name.clone(), value)) } else { new.push((name.clone(), value)) }
            }
            scope.extend(new);
            let value = by(body, scope, bits, apply);
            scope.truncate(before);
            value
        }
        Expr::Apply(op, args) if args.len() == 2 && args[0] == args[1] => {
            let x = by(&args[0], scope, bits, apply)?;
            match op.as_str() {
                "*" => power(&x, &exactly(2.0, bits), bits),
                "-" => Ok(exactly(0.0, bits)),
                _ => apply(op, &[x.clone(), x], bits),
            }
        }
        Expr::Apply(op, args) => {
            let args = args.iter().map(|a| by(a, scope, bits, apply)).collect::<Result<Vec<_>, _>>()?;
            apply(op, &args, bits)
        }
        _ => Err(NoEnclosure::Unknown),
    }
}

/// Returns the interval of one number.
#[must_use]
pub fn exactly(x: f64, bits: u32) -> Interval {
    Interval { low: Float::with_val(bits.max(53), x), high: Float::with_val(bits.max(53), x) }
}

fn finite(low: Float, high: Float) -> Enclosed {
    if low.is_finite() && high.is_finite() { Ok(Interval { low, high }) } else { Err(NoEnclosure::Unknown) }
}

fn number(text: &str, bits: u32) -> Enclosed {
    let parse = |text: &str| Float::parse(text).map_err(|_| NoEnclosure::Unknown);
    let of = |text: &str| {
        let (low, _) = Float::with_val_round(bits, parse(text)?, Round::Down);
        finite(low, Float::with_val_round(bits, parse(text)?, Round::Up).0)
    };
    match text.split_once('/') {
        Some((a, b)) => quotient(&of(a)?, &of(b)?, bits),
        None => of(text),
    }
}

/// Encloses a constant: its value with more bits, between its multiples by 1 ± 2^-(`bits` + 8).
fn constant(name: &str, bits: u32) -> Enclosed {
    let value = fpcore::constant(name, bits + 16).ok_or(NoEnclosure::Unknown)?;
    let error = Float::with_val(bits, &value >> (bits + 8)).abs();
    finite(down(bits, &value - &error), up(bits, &value + &error))
}

fn down<T>(bits: u32, value: T) -> Float
where
    Float: AssignRound<T, Round = Round, Ordering = Ordering>,
{
    Float::with_val_round(bits, value, Round::Down).0
}

fn up<T>(bits: u32, value: T) -> Float
where
    Float: AssignRound<T, Round = Round, Ordering = Ordering>,
{
    Float::with_val_round(bits, value, Round::Up).0
}

/// Encloses a sum.
///
/// # Errors
/// When it has no bounds.
pub fn sum(a: &Interval, b: &Interval, bits: u32) -> Enclosed {
    finite(down(bits, &a.low + &b.low), up(bits, &a.high + &b.high))
}

/// Returns the interval of the negated numbers.
#[must_use]
pub fn negative(a: &Interval) -> Interval {
    Interval { low: -a.high.clone(), high: -a.low.clone() }
}

/// Returns the smallest interval that contains all pairs of bounds.
fn hull(all: impl IntoIterator<Item = (Float, Float)>) -> Enclosed {
    let hull = all.into_iter().reduce(|(low, high), (l, h)| (low.min(&l), high.max(&h)));
    let (low, high) = hull.ok_or(NoEnclosure::Unknown)?;
    finite(low, high)
}

/// Encloses a product.
///
/// # Errors
/// When it has no bounds.
pub fn product(a: &Interval, b: &Interval, bits: u32) -> Enclosed {
    let pairs = [(&a.low, &b.low), (&a.low, &b.high), (&a.high, &b.low), (&a.high, &b.high)];
    hull(pairs.map(|(x, y)| (down(bits, x * y), up(bits, x * y))))
}

/// Encloses a quotient.
///
/// # Errors
/// When the divisor is zero, or may be.
pub fn quotient(a: &Interval, b: &Interval, bits: u32) -> Enclosed {
    if b.low.is_zero() && b.high.is_zero() {
        return Err(NoEnclosure::Undefined);
    }
    if b.low <= 0.0 && b.high >= 0.0 {
        return Err(NoEnclosure::Unknown);
    }
    let pairs = [(&a.low, &b.low), (&a.low, &b.high), (&a.high, &b.low), (&a.high, &b.high)];
    hull(pairs.map(|(x, y)| (down(bits, x / y), up(bits, x / y))))
}

/// Encloses a monotonically increasing function.
fn rising(a: &Interval, of: impl Fn(&mut Float, Round) -> Ordering) -> Enclosed {
    let (mut low, mut high) = (a.low.clone(), a.high.clone());
    of(&mut low, Round::Down);
    of(&mut high, Round::Up);
    finite(low, high)
}

/// Encloses a function that is defined from `least` to `greatest`, and monotonically increasing there.
fn rising_within(a: &Interval, (least, greatest): (f64, f64), of: impl Fn(&mut Float, Round) -> Ordering) -> Enclosed {
    if a.high < least || a.low > greatest {
        return Err(NoEnclosure::Undefined);
    }
    if a.low < least || a.high > greatest { Err(NoEnclosure::Unknown) } else { rising(a, of) }
}

/// Encloses a function with values from -1 to 1 and a slope of at most 1.
fn wave(a: &Interval, bits: u32, of: impl Fn(&mut Float, Round) -> Ordering) -> Enclosed {
    let width = up(bits, &a.high - &a.low);
    let (mut low, mut high) = (a.low.clone(), a.low.clone());
    of(&mut low, Round::Down);
    of(&mut high, Round::Up);
    finite(
        down(bits, &low - &width).max(&Float::with_val(bits, -1)),
        up(bits, &high + &width).min(&Float::with_val(bits, 1)),
    )
}

fn magnitude(a: &Interval) -> Interval {
    if a.low >= 0.0 {
        return a.clone();
    }
    if a.high <= 0.0 {
        return negative(a);
    }
    let bits = a.low.prec();
    Interval { low: Float::with_val(bits, 0), high: a.high.clone().max(&-a.low.clone()) }
}

fn power(a: &Interval, b: &Interval, bits: u32) -> Enclosed {
    let whole = (b.low == b.high && b.low.is_integer()).then(|| b.low.to_f64()).filter(|n| n.abs() <= 64.0);
    if let Some(n) = whole {
        let base = if n % 2.0 == 0.0 { magnitude(a) } else { a.clone() };
        let all = (0..n.abs() as u32).try_fold(exactly(1.0, bits), |p, _| product(&p, &base, bits))?;
        return if n < 0.0 { quotient(&exactly(1.0, bits), &all, bits) } else { Ok(all) };
    }
    let log = operation("log", std::slice::from_ref(a), bits)?;
    operation("exp", &[product(&log, b, bits)?], bits)
}

/// Encloses an operation of `FPCore`, by its name.
///
/// # Errors
/// When it has no value for these operands, or no enclosure is known.
pub fn operation(op: &str, args: &[Interval], bits: u32) -> Enclosed {
    match (op, args) {
        ("-", [a]) => Ok(negative(a)),
        ("+", [a]) => Ok(a.clone()),
        ("+", [a, b]) => sum(a, b, bits),
        ("-", [a, b]) => sum(a, &negative(b), bits),
        ("*", [a, b]) => product(a, b, bits),
        ("/", [a, b]) => quotient(a, b, bits),
        ("fma", [a, b, c]) => sum(&product(a, b, bits)?, c, bits),
        ("fmin", [a, b]) => finite(a.low.clone().min(&b.low), a.high.clone().min(&b.high)),
        ("fmax", [a, b]) => finite(a.low.clone().max(&b.low), a.high.clone().max(&b.high)),
        ("hypot", [a, b]) => operation(
            "sqrt",
            &[sum(&power(a, &exactly(2.0, bits), bits)?, &power(b, &exactly(2.0, bits), bits)?, bits)?],
            bits,
        ),
        ("pow", [a, b]) => power(a, b, bits),
        ("fabs", [a]) => Ok(magnitude(a)),
        ("sin", [a]) => wave(a, bits, Float::sin_round),
        ("cos", [a]) => wave(a, bits, Float::cos_round),
        ("tan", [a]) => {
            let one = std::slice::from_ref(a);
            quotient(&operation("sin", one, bits)?, &operation("cos", one, bits)?, bits)
        }
        ("cosh", [a]) => rising(&magnitude(a), Float::cosh_round),
        ("acos", [a]) => rising_within(&negative(a), (-1.0, 1.0), |x, r| {
            *x = -x.clone();
            x.acos_round(r)
        }),
        ("log", [a]) if a.low <= 0.0 => Err(if a.high <= 0.0 { NoEnclosure::Undefined } else { NoEnclosure::Unknown }),
        (_, [a]) => {
            let domain = match op {
                "sqrt" => (0.0, f64::INFINITY),
                "asin" => (-1.0, 1.0),
                "acosh" => (1.0, f64::INFINITY),
                "log" | "exp" | "exp2" | "expm1" | "cbrt" | "atan" | "sinh" | "tanh" | "asinh" | "erf" => {
                    (f64::NEG_INFINITY, f64::INFINITY)
                }
                _ => return Err(NoEnclosure::Unknown),
            };
            match libm::find(op).map(|function| function.value) {
                Some(Value::One(value)) => rising_within(a, domain, value),
                _ => Err(NoEnclosure::Unknown),
            }
        }
        _ => Err(NoEnclosure::Unknown),
    }
}
