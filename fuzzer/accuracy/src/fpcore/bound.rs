//! Upper bounds of the error of a core, by interval arithmetic with branch and bound: the part of the box of `:pre`
//! with the worst bound is halved repeatedly. The bounds hold for each input, so the true worst error lies between the
//! largest error that the search found and the bound.
//!
//! The exact value and the computed value are propagated through the expression together ([`pair`]). An operation
//! passes on the errors of its operands and adds its own: that of a rounding to nearest, or for a function of the
//! mathematics library an assumed one (`MAX_ULP_OF_OTHERS`). This is not a first-order estimate: products of errors are
//! included.

use std::collections::BinaryHeap;

use rug::Float;

use super::{Core, Expr, Precision, bounds};
use crate::{
    Bound,
    enclosure::{
        self, Domains,
        interval::{self, Interval, NoEnclosure, sum},
        pair::{self, BITS, Pair, Paired},
    },
    specification::operators,
};

/// Maximum number of parts of the box.
const PARTS: usize = 4000;
/// Functions with an assumed error of at most one unit in the last place; all others have at most
/// [`MAX_ULP_OF_OTHERS`].
const CLOSE: [&str; 13] =
    ["exp", "exp2", "log", "log2", "log10", "pow", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"];
/// Assumed maximum error of other functions of the library, in units in the last place.
const MAX_ULP_OF_OTHERS: f64 = 4.0;

/// Computes bounds of the error over the box of `:pre`.
///
/// # Errors
/// The reason why there are none.
pub fn bound(core: &Core) -> Result<Bound, String> {
    if core.ideal() != &core.body {
        return Err("it has a :spec, whose distance from the core is not bounded".to_owned());
    }
    let body = operators::normal(&core.body).ok_or("it has conditions or loops")?;
    if is_mixed(&core.body, core.precision) || core.arguments.iter().any(|(_, p)| *p != core.precision) {
        return Err("it has several precisions".to_owned());
    }
    let ends = |(name, _): &(String, Precision)| {
        let (low, high) = bounds(core, name);
        low.zip(high).ok_or_else(|| format!(":pre has no bounds of {name}"))
    };
    let whole = core.arguments.iter().map(ends).collect::<Result<Domains, _>>()?;
    let search = Search { precision: core.precision, core, body: &body, whole };
    let [absolute, ulp] = [false, true].map(|in_ulps| search.worst(in_ulps));
    match absolute {
        Some(absolute) => Ok(Bound { absolute, ulp }),
        None => Err("a value may be undefined, infinite, or have no enclosure".to_owned()),
    }
}

/// Returns whether a part of the expression is in another precision.
fn is_mixed(expr: &Expr, precision: Precision) -> bool {
    let any = |all: &[Expr]| all.iter().any(|e| is_mixed(e, precision));
    match expr {
        Expr::Number(_) | Expr::Constant(_) | Expr::Variable(_) => false,
        Expr::In(own, body) => *own != precision || is_mixed(body, precision),
        Expr::Cast(body) => is_mixed(body, precision),
        Expr::Apply(_, args) => any(args),
        Expr::If(parts) => any(&parts[..]),
        Expr::Let(_, bindings, body) => {
            bindings.iter().any(|(_, e)| is_mixed(e, precision)) || is_mixed(body, precision)
        }
        Expr::While(..) => true,
    }
}

struct Search<'a> {
    core: &'a Core,
    precision: Precision,
    body: &'a Expr,
    whole: Domains,
}

impl Search<'_> {
    /// Returns a bound of the largest error in the box, by halving the part with the worst bound until there are
    /// [`PARTS`] parts. `None` if there is no bound.
    fn worst(&self, in_ulps: bool) -> Option<f64> {
        let mut parts = vec![self.whole.clone()];
        // Non-negative floats have the order of their bits.
        let mut worst = BinaryHeap::from([(self.error(&self.whole, in_ulps).to_bits(), 0)]);
        while let Some((error, number)) = worst.pop() {
            let halves = enclosure::halved(&parts[number], &self.whole).filter(|_| parts.len() < PARTS && error > 0);
            let Some(halves) = halves else {
                let error = f64::from_bits(error);
                return error.is_finite().then_some(error);
            };
            for half in halves {
                worst.push((self.error(&half, in_ulps).to_bits(), parts.len()));
                parts.push(half);
            }
        }
        None
    }

    /// Returns a bound of the error in a part of the box: infinite if there is none, 0 if the core has no value there.
    fn error(&self, part: &[(f64, f64)], in_ulps: bool) -> f64 {
        let names = self.core.arguments.iter().map(|(name, _)| name.clone());
        let values = part.iter().map(|ends| Pair::same(enclosure::between(*ends, BITS)));
        let mut scope: Vec<_> = names.zip(values).collect();
        match self.computed(self.body, &mut scope) {
            Ok(pair) => {
                let error = pair.difference.greatest_magnitude();
                let ulp = if in_ulps { 2.0 * self.half_ulp(pair.original.least_magnitude()) } else { 1.0 };
                // Rounded up, and never below 0.
                (error / ulp).next_up()
            }
            Err(_) if self.is_undefined(part) => 0.0,
            Err(_) => f64::INFINITY,
        }
    }

    fn is_undefined(&self, part: &[(f64, f64)]) -> bool {
        let names = self.core.arguments.iter().map(|(name, _)| name.clone());
        let mut scope: Vec<_> = names.zip(part.iter().map(|ends| enclosure::between(*ends, BITS))).collect();
        matches!(interval::enclose(self.body, &mut scope, BITS), Err(NoEnclosure::Undefined))
    }

    /// Encloses the exact and the computed value of an expression.
    fn computed(&self, expr: &Expr, scope: &mut Vec<(String, Pair)>) -> Paired {
        match expr {
            Expr::Variable(name) => {
                scope.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.clone()).ok_or(NoEnclosure::Unknown)
            }
            Expr::Number(_) | Expr::Constant(_) => {
                let value = interval::enclose(expr, &mut Vec::new(), BITS)?;
                let is_quotient = matches!(expr, Expr::Number(text) if text.contains('/'));
                // Both numbers are rounded, and then the quotient.
                let halves = if is_quotient { 3.0 } else { 1.0 };
                let halves = if self.is_exact(&value) { 0.0 } else { halves };
                self.rounded(Pair::same(value), halves)
            }
            Expr::Let(one_by_one, bindings, body) => {
                let before = scope.len();
                let mut new = Vec::new();
                for (name, value) in bindings {
                    let pair = self.computed(value, scope)?;
                    if *one_by_one { scope.push((name.clone(), pair)) } else { new.push((name.clone(), pair)) }
                }
                scope.extend(new);
                let pair = self.computed(body, scope);
                scope.truncate(before);
                pair
            }
            Expr::Apply(op, args) => {
                let pairs = args.iter().map(|a| self.computed(a, scope)).collect::<Result<Vec<_>, _>>()?;
                let halves = match (op.as_str(), pairs.len()) {
                    ("-" | "+", 1) | ("fabs" | "fmin" | "fmax", _) => 0.0,
                    ("+" | "-" | "*" | "/" | "sqrt" | "fma", _) => 1.0,
                    (op, _) if CLOSE.contains(&op) => 2.0,
                    _ => 2.0 * MAX_ULP_OF_OTHERS,
                };
                self.rounded(pair::applied(op, &pairs)?, halves)
            }
            _ => Err(NoEnclosure::Unknown),
        }
    }

    /// Adds a rounding error of at most `halves` half units in the last place.
    fn rounded(&self, pair: Pair, halves: f64) -> Paired {
        let most = pair.changed.greatest_magnitude();
        if halves == 0.0 || most == 0.0 {
            return Ok(pair);
        }
        let by = halves * self.half_ulp(most);
        if !(most + by).is_finite() || most + by > self.largest() {
            return Err(NoEnclosure::Unknown);
        }
        let error = enclosure::between((-by, by), BITS);
        let changed = sum(&pair.changed, &error, BITS)?;
        let difference = sum(&pair.difference, &error, BITS)?;
        Pair::of(pair.original, changed, Some(difference))
    }

    const fn digits(&self) -> i32 {
        match self.precision {
            Precision::Double => 53,
            Precision::Single => 24,
        }
    }

    const fn largest(&self) -> f64 {
        match self.precision {
            Precision::Double => f64::MAX,
            Precision::Single => f32::MAX as f64,
        }
    }

    /// Returns whether the interval is a single number of the precision.
    fn is_exact(&self, value: &Interval) -> bool {
        let digits = Float::with_val(self.digits().unsigned_abs(), &value.low);
        // Subnormal numbers have fewer digits, so they count as rounded.
        let is_normal = digits.is_zero() || digits.to_f64().abs() >= f64::from(f32::MIN_POSITIVE);
        is_normal && value.low == value.high && digits == value.low
    }

    /// Returns half a unit in the last place of a number, at least that of the least normal number. For `double` that
    /// would be no double, so the result is at least the smallest double, twice as much.
    fn half_ulp(&self, x: f64) -> f64 {
        let least = if matches!(self.precision, Precision::Double) { -1022 } else { -126 };
        let exponent = if x < f64::MIN_POSITIVE { -1022 } else { (x.to_bits() >> 52 & 0x7ff) as i32 - 1023 };
        power_of_two(exponent.max(least) - self.digits()).max(f64::from_bits(1))
    }
}

/// Returns 2 to a power; 0 if that is no double.
fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        -1022.. => f64::from_bits(((exponent + 1023) as u64) << 52),
        -1074.. => f64::from_bits(1 << (exponent + 1074)),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fpcore::parsed;

    fn of(core: &str) -> Result<Bound, String> {
        bound(&parsed(core).expect("a core"))
    }

    #[test]
    fn one_rounding_is_half_an_ulp() {
        let product = of("(FPCore (x y) :pre (and (<= 1 x 1.25) (<= 1 y 1.25)) (* x y))").expect("a bound");
        let ulp = product.ulp.expect("a bound in ulps");
        assert!((0.5..0.502).contains(&ulp), "{ulp}");
        assert!((1.11e-16..1.12e-16).contains(&product.absolute), "half an ulp of 1: {}", product.absolute);
        let exact = of("(FPCore (x) :pre (<= 1 x 2) (fabs (- x)))").expect("a bound");
        assert!(exact.absolute < 1e-300 && exact.ulp.is_some_and(|ulp| ulp < 1e-300));
    }

    #[test]
    fn errors_of_operands_are_passed_on() {
        // The sum has an error of at most half an ulp of 1, 2^-53, and its difference from 1 is exact.
        let cancels = of("(FPCore (x) :pre (<= 0 x 1/2) (- (+ 1 x) 1))").expect("a bound");
        assert!((1.11e-16..2.3e-16).contains(&cancels.absolute), "{}", cancels.absolute);
        let single = of("(FPCore (x) :precision binary32 :pre (<= 1 x 2) (* x x))").expect("a bound");
        assert!((2.3e-7..2.5e-7).contains(&single.absolute), "half an ulp of 2 to 4: {}", single.absolute);
    }

    #[test]
    fn without_a_bound_there_is_a_reason() {
        let why = |core: &str| of(core).expect_err("no bound");
        assert!(why("(FPCore (x) (* x x))").contains("no bounds of x"));
        assert!(why("(FPCore (x) :pre (<= 0 x 1) (if (< x 1/2) x (- x)))").contains("conditions"));
        assert!(why("(FPCore (x) :pre (<= 0 x 1) (! :precision binary32 (* x x)))").contains("precisions"));
        assert!(why("(FPCore (x) :pre (<= -1 x 1) (/ 1 x))").contains("undefined"));
        assert!(why("(FPCore (x) :pre (<= 1 x 1e200) (* x x))").contains("infinite"));
    }
}
