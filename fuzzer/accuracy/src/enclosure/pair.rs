//! Two values at the same point, and their difference, which is propagated through an expression. It is zero where
//! nothing has changed, and each operation bounds it by the differences of its operands (the mean value theorem).
//! Intervals of both values alone would not show that it is small.

use super::interval::{self, Interval, NoEnclosure, negative, operation, product, quotient, sum};

/// Precision of enclosures, in bits.
pub const BITS: u32 = 128;

/// The value of an expression, its value after a change (another operand, or a rounded one), and their difference.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The original value.
    pub original: Interval,
    /// The changed value.
    pub changed: Interval,
    /// The changed value minus the original one, at the same point.
    pub difference: Interval,
    /// The changed value divided by the original one, at the same point, if known. It remains useful where values are
    /// small: a sum of numbers of one sign changes by at most the larger of their factors.
    pub factor: Option<Interval>,
    /// Whether the changed value is the negated original one.
    pub is_negated: bool,
}

/// A pair, or the reason why there is none.
pub type Paired = Result<Pair, NoEnclosure>;
impl Pair {
    /// Returns the pair of an unchanged value.
    #[must_use]
    pub fn same(value: Interval) -> Self {
        Self {
            changed: value.clone(),
            original: value,
            difference: interval::exactly(0.0, BITS),
            factor: Some(interval::exactly(1.0, BITS)),
            is_negated: false,
        }
    }

    /// Returns whether the value is unchanged.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.difference.low.is_zero() && self.difference.high.is_zero()
    }

    /// Builds a pair with a known difference, or else the one of the intervals.
    ///
    /// # Errors
    /// When a difference has no bounds.
    pub fn of(original: Interval, changed: Interval, known: Option<Interval>) -> Paired {
        let apart = sum(&changed, &negative(&original), BITS)?;
        let difference = known.map_or(apart.clone(), |known| intersection(&known, &apart));
        Ok(Self { original, changed, difference, factor: None, is_negated: false })
    }

    /// Sets the factor to the intersection of a known one and the one that follows from the difference, if the value is
    /// not zero.
    #[must_use]
    pub fn with_factor(mut self, known: Option<Interval>) -> Self {
        let share = quotient(&self.difference, &self.original, BITS);
        let other = share.and_then(|share| sum(&interval::exactly(1.0, BITS), &share, BITS)).ok();
        self.factor = match (known, other) {
            (Some(a), Some(b)) => Some(intersection(&a, &b)),
            (a, b) => a.or(b),
        };
        self
    }

    /// Returns the smallest interval that contains both values.
    fn hull(&self) -> Interval {
        hull(&self.original, &self.changed)
    }
}

/// Returns the smallest interval that contains both intervals.
fn hull(a: &Interval, b: &Interval) -> Interval {
    Interval { low: a.low.clone().min(&b.low), high: a.high.clone().max(&b.high) }
}

/// Returns the intersection of two enclosures of the same value.
fn intersection(a: &Interval, b: &Interval) -> Interval {
    Interval { low: a.low.clone().max(&b.low), high: a.high.clone().min(&b.high) }
}

/// Applies an operation to operands that may have changed.
///
/// # Errors
/// When it has no value or no enclosure.
pub fn applied(op: &str, pairs: &[Pair]) -> Paired {
    let originals: Vec<_> = pairs.iter().map(|p| p.original.clone()).collect();
    let original = operation(op, &originals, BITS)?;
    if pairs.iter().all(Pair::is_same) {
        return Ok(Pair::same(original));
    }
    let changeds: Vec<_> = pairs.iter().map(|p| p.changed.clone()).collect();
    let changed = operation(op, &changeds, BITS)?;
    match sign(op, pairs) {
        Some(1) => return Ok(Pair::same(original)),
        Some(_) => return Ok(Pair { is_negated: true, ..Pair::of(original, changed, None)? }),
        None => {}
    }
    // If no rule is known, or its terms have no bounds, only the intervals are known.
    let known = difference(op, pairs, &original).ok();
    let pair = Pair::of(original, changed, known)?;
    // If an operand has no factor, there is rarely a useful one, and computing it takes time.
    let has_factor = op == "exp" || pairs.iter().all(|p| p.factor.is_some());
    Ok(if has_factor { pair.with_factor(factor(op, pairs)) } else { pair })
}

/// Returns the factor of an operation's result, if a rule is known.
fn factor(op: &str, pairs: &[Pair]) -> Option<Interval> {
    let is_positive = |p: &Pair| p.original.low > 0.0;
    match (op, pairs) {
        ("-", [a]) => a.factor.clone(),
        ("fabs" | "sqrt" | "cbrt", [a]) if a.factor.as_ref()?.low > 0.0 => {
            operation(op, std::slice::from_ref(a.factor.as_ref()?), BITS).ok()
        }
        ("exp", [a]) => operation("exp", std::slice::from_ref(&a.difference), BITS).ok(),
        ("*", [a, b]) => product(a.factor.as_ref()?, b.factor.as_ref()?, BITS).ok(),
        ("/", [a, b]) => quotient(a.factor.as_ref()?, b.factor.as_ref()?, BITS).ok(),
        ("pow", [a, b]) if b.is_same() && (is_whole(&b.original) || is_positive(a) && a.factor.as_ref()?.low > 0.0) => {
            operation("pow", &[a.factor.clone()?, b.original.clone()], BITS).ok()
        }
        ("+", [a, b]) if one_sign(&a.original, &b.original) => Some(hull(a.factor.as_ref()?, b.factor.as_ref()?)),
        ("-", [a, b]) if one_sign(&a.original, &negative(&b.original)) => {
            Some(hull(a.factor.as_ref()?, b.factor.as_ref()?))
        }
        _ => None,
    }
}

fn is_whole(a: &Interval) -> bool {
    a.low == a.high && a.low.is_integer()
}

/// Returns whether all numbers of both intervals are at least 0, or all at most 0.
fn one_sign(a: &Interval, b: &Interval) -> bool {
    (a.low >= 0.0 && b.low >= 0.0) || (a.high <= 0.0 && b.high <= 0.0)
}

/// Returns 1 if the result is unchanged although operands are negated, -1 if it is negated, too; `None` if neither is
/// known.
fn sign(op: &str, pairs: &[Pair]) -> Option<i32> {
    let signs = pairs.iter().map(|p| if p.is_same() { Some(1) } else { p.is_negated.then_some(-1) });
    let signs = signs.collect::<Option<Vec<_>>>()?;
    match (op, &signs[..]) {
        ("*" | "/", [a, b]) => Some(a * b),
        ("+" | "-", [-1, -1]) | ("-" | "sin" | "tan" | "asin" | "atan" | "sinh" | "tanh" | "cbrt", [-1]) => Some(-1),
        ("fabs" | "cos" | "cosh", [-1]) => Some(1),
        _ => None,
    }
}

/// Returns the difference of an operation's result.
fn difference(op: &str, pairs: &[Pair], original: &Interval) -> Result<Interval, NoEnclosure> {
    let times = |a: &Interval, b: &Interval| product(a, b, BITS);
    match (op, pairs) {
        ("-", [a]) => Ok(negative(&a.difference)),
        ("+", [a, b]) => sum(&a.difference, &b.difference, BITS),
        ("-", [a, b]) => sum(&a.difference, &negative(&b.difference), BITS),
        ("*", [a, b]) => sum(&times(&a.difference, &b.changed)?, &times(&a.original, &b.difference)?, BITS),
        ("/", [a, b]) => {
            let rest = sum(&a.difference, &negative(&times(original, &b.difference)?), BITS)?;
            quotient(&rest, &b.changed, BITS)
        }
        ("fma", [a, b, c]) => {
            let product = sum(&times(&a.difference, &b.changed)?, &times(&a.original, &b.difference)?, BITS)?;
            sum(&product, &c.difference, BITS)
        }
        ("fabs", [a]) => {
            let most = a.difference.low.clone().abs().max(&a.difference.high.clone().abs());
            Ok(Interval { low: -most.clone(), high: most })
        }
        ("fmin" | "fmax", [a, b]) => Ok(hull(&a.difference, &b.difference)),
        ("pow", [a, b]) if b.is_same() && b.original.low == b.original.high => {
            let less = sum(&b.original, &interval::exactly(-1.0, BITS), BITS)?;
            let slope = times(&b.original, &operation("pow", &[a.hull(), less], BITS)?)?;
            times(&slope, &a.difference)
        }
        (_, [a]) => times(&slope(op, &a.hull())?, &a.difference),
        _ => Err(NoEnclosure::Unknown),
    }
}

/// Returns the derivative of a function.
fn slope(op: &str, at: &Interval) -> Result<Interval, NoEnclosure> {
    let one = interval::exactly(1.0, BITS);
    let of = |op: &str, a: &Interval| operation(op, std::slice::from_ref(a), BITS);
    let square = |a: Interval| operation("pow", &[a, interval::exactly(2.0, BITS)], BITS);
    let inverse = |a: &Interval| quotient(&one, a, BITS);
    let less = |a: &Interval| sum(&one, &negative(a), BITS);
    match op {
        "exp" => of("exp", at),
        "log" => inverse(at),
        "sqrt" => inverse(&product(&interval::exactly(2.0, BITS), &of("sqrt", at)?, BITS)?),
        "sin" => of("cos", at),
        "cos" => Ok(negative(&of("sin", at)?)),
        "tan" => inverse(&square(of("cos", at)?)?),
        "atan" => inverse(&sum(&one, &square(at.clone())?, BITS)?),
        "asin" => inverse(&of("sqrt", &less(&square(at.clone())?)?)?),
        "acos" => Ok(negative(&slope("asin", at)?)),
        "sinh" => of("cosh", at),
        "cosh" => of("sinh", at),
        "tanh" => less(&square(of("tanh", at)?)?),
        _ => Err(NoEnclosure::Unknown),
    }
}
