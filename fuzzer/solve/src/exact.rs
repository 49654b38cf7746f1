//! Evaluates formulas of `Real` and `Int` with exact rational numbers.
//!
//! The search for a model of such a formula is one in floats and 64-bit integers ([`super::reals`]). An input that the
//! C function accepts may still be none: a sum that is rounded may be equal to a number that the exact sum is not. So
//! only what holds here is a model. Where the standard leaves a value open (a division by 0), nothing holds.

use num_bigint::{BigInt, BigUint, Sign};

use super::term::{Node, Op, Sort, Term, Terms, Value};

/// A rational number: the numerator and the positive denominator have no common factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rational {
    numerator: BigInt,
    denominator: BigUint,
}

impl Rational {
    /// The quotient of two integers; `None` if the denominator is 0.
    #[must_use]
    pub fn new(numerator: BigInt, denominator: BigUint) -> Option<Self> {
        if denominator == BigUint::ZERO {
            return None;
        }
        let (mut a, mut b) = (numerator.magnitude().clone(), denominator.clone());
        while b != BigUint::ZERO {
            (a, b) = (b.clone(), a % b);
        }
        Some(Self { numerator: numerator / BigInt::from(a.clone()), denominator: denominator / a })
    }

    /// An integer.
    #[must_use]
    pub fn integer(value: impl Into<BigInt>) -> Self {
        Self { numerator: value.into(), denominator: BigUint::from(1u8) }
    }

    /// The value of a double; `None` for NaN and infinities.
    #[must_use]
    pub fn of_double(x: f64) -> Option<Self> {
        x.is_finite().then_some(())?;
        let bits = x.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let significand = BigInt::from(if exponent == 0 { fraction } else { fraction | 1 << 52 });
        let significand = if x < 0.0 { -significand } else { significand };
        let power = exponent.max(1) - 1075;
        if power >= 0 {
            return Some(Self::integer(significand << power));
        }
        Self::new(significand, BigUint::from(1u8) << -power)
    }

    fn sum(&self, other: &Self) -> Option<Self> {
        let (a, b) = (BigInt::from(self.denominator.clone()), BigInt::from(other.denominator.clone()));
        Self::new(&self.numerator * b + &other.numerator * a, &self.denominator * &other.denominator)
    }

    fn negated(&self) -> Self {
        Self { numerator: -&self.numerator, denominator: self.denominator.clone() }
    }

    fn product(&self, other: &Self) -> Option<Self> {
        Self::new(&self.numerator * &other.numerator, &self.denominator * &other.denominator)
    }

    fn quotient(&self, other: &Self) -> Option<Self> {
        let flipped = BigInt::from_biguint(other.numerator.sign(), other.denominator.clone());
        Self::new(&self.numerator * flipped, &self.denominator * other.numerator.magnitude())
    }

    fn is_less(&self, other: &Self) -> bool {
        let (a, b) = (BigInt::from(self.denominator.clone()), BigInt::from(other.denominator.clone()));
        &self.numerator * b < &other.numerator * a
    }

    /// The largest integer that is not larger.
    fn floor(&self) -> BigInt {
        let d = BigInt::from(self.denominator.clone());
        let rest = ((&self.numerator % &d) + &d) % &d;
        (&self.numerator - rest) / d
    }

    /// The value in SMT-LIB, as a `Real` or as an `Int`.
    #[must_use]
    pub fn text(&self, is_real: bool) -> String {
        let point = if is_real { ".0" } else { "" };
        let mut text = format!("{}{point}", self.numerator.magnitude());
        if self.denominator != BigUint::from(1u8) {
            text = format!("(/ {text} {}{point})", self.denominator);
        }
        if self.numerator.sign() == Sign::Minus { format!("(- {text})") } else { text }
    }
}

/// A value of a term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exact {
    /// Of a formula.
    Bool(bool),
    /// Of a `Real` or an `Int`.
    Number(Rational),
}

impl Exact {
    /// The value of a variable in an input; `None` for floats that are no numbers.
    #[must_use]
    pub fn of(value: Value) -> Option<Self> {
        Some(match value {
            Value::Bool(b) => Self::Bool(b),
            Value::Float(_, bits) => Self::Number(Rational::of_double(f64::from_bits(bits as u64))?),
            Value::Bits(_, bits) => Self::Number(Rational::integer((bits as u64).cast_signed())),
            Value::Rounding(_) => return None,
        })
    }

    /// The value in SMT-LIB.
    #[must_use]
    pub fn text(&self, sort: Sort) -> String {
        match self {
            Self::Bool(b) => b.to_string(),
            Self::Number(number) => number.text(matches!(sort, Sort::Float(_))),
        }
    }
}

/// The values of all variables, if all formulas hold with these values of the variables that no term defines.
#[must_use]
pub fn model(
    terms: &Terms,
    asserted: &[Term],
    definitions: &[Option<Term>],
    free: impl Fn(usize) -> Option<Exact>,
) -> Option<Vec<Exact>> {
    let zero = |v: usize| match terms.variables[v].sort {
        Sort::Bool => Exact::Bool(false),
        _ => Exact::Number(Rational::integer(0)),
    };
    let defined: Vec<Term> = definitions.iter().copied().flatten().collect();
    let roots: Vec<Term> = asserted.iter().copied().chain(defined).collect();
    let mut all: Vec<Option<Exact>> = vec![None; terms.len()];
    let mut variables: Vec<Exact> = (0..terms.variables.len()).map(zero).collect();
    for term in terms.ordered(&roots, definitions) {
        let node = terms.node(term);
        let value = if let Some(v) = terms.variable(term) {
            let value = match definitions.get(v).copied().flatten() {
                Some(definition) => all[definition.index()].clone()?,
                None => free(v)?,
            };
            variables[v] = value.clone();
            Some(value)
        } else {
            let args: Vec<_> = node.args.iter().map(|a| all[a.index()].as_ref()).collect();
            apply(node, &args)
        };
        all[term.index()] = value;
    }
    let holds = asserted.iter().all(|f| all[f.index()] == Some(Exact::Bool(true)));
    holds.then_some(variables)
}

/// The result of an operation; `None` if it is unspecified.
fn apply(node: &Node, args: &[Option<&Exact>]) -> Option<Exact> {
    let truth = |n: usize| match args[n] {
        Some(Exact::Bool(b)) => Some(*b),
        _ => None,
    };
    let number = |n: usize| match args[n] {
        Some(Exact::Number(x)) => Some(x),
        _ => None,
    };
    let decided = |by: bool| {
        let all: Vec<Option<bool>> = (0..args.len()).map(truth).collect();
        if all.contains(&Some(by)) { Some(by) } else { all.iter().all(Option::is_some).then_some(!by) }
    };
    Some(match node.op {
        Op::Const(value) => return Exact::of(value),
        Op::Not => Exact::Bool(!truth(0)?),
        Op::And => Exact::Bool(decided(false)?),
        Op::Or => Exact::Bool(decided(true)?),
        Op::Xor => Exact::Bool(truth(0)? != truth(1)?),
        Op::Eq | Op::FpEq => Exact::Bool(args[0]? == args[1]?),
        Op::Ite => return args[if truth(0)? { 1 } else { 2 }].cloned(),
        Op::FpLeq | Op::BvSle => Exact::Bool(!number(1)?.is_less(number(0)?)),
        Op::FpLt | Op::BvSlt => Exact::Bool(number(0)?.is_less(number(1)?)),
        // Operations of floats have a rounding mode first.
        Op::FpAdd => Exact::Number(number(1)?.sum(number(2)?)?),
        Op::FpSub => Exact::Number(number(1)?.sum(&number(2)?.negated())?),
        Op::FpMul => Exact::Number(number(1)?.product(number(2)?)?),
        Op::FpDiv => Exact::Number(number(1)?.quotient(number(2)?)?),
        Op::FpNeg | Op::BvNeg => Exact::Number(number(0)?.negated()),
        Op::BvAdd => Exact::Number(number(0)?.sum(number(1)?)?),
        Op::BvSub => Exact::Number(number(0)?.sum(&number(1)?.negated())?),
        Op::BvMul => Exact::Number(number(0)?.product(number(1)?)?),
        // Only with a positive constant as the divisor: the rest is not negative.
        Op::BvSmod => {
            let (a, b) = (number(0)?, number(1)?);
            let whole = Rational::integer(a.quotient(b)?.floor());
            Exact::Number(a.sum(&whole.product(b)?.negated())?)
        }
        // Only of a multiple of the divisor.
        Op::BvSdiv => Exact::Number(number(0)?.quotient(number(1)?)?),
        Op::FpOfSigned => Exact::Number(number(1)?.clone()),
        Op::FpToSigned => Exact::Number(Rational::integer(number(1)?.floor())),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(a: i64, b: u64) -> Rational {
        Rational::new(BigInt::from(a), BigUint::from(b)).expect("b is not 0")
    }

    #[test]
    fn doubles_are_rational_numbers() {
        assert_eq!(Rational::of_double(-0.75), Some(ratio(-3, 4)));
        assert_eq!(Rational::of_double(-0.0), Some(ratio(0, 1)));
        assert_ne!(Rational::of_double(0.1), Some(ratio(1, 10)), "0.1 is rounded");
        let smallest = Rational::of_double(f64::from_bits(1)).expect("a number");
        assert_eq!(smallest.denominator, BigUint::from(1u8) << 1074);
        assert_eq!(Rational::of_double(2f64.powi(70)), Some(Rational::integer(BigInt::from(1) << 70)));
        assert_eq!((Rational::of_double(f64::NAN), Rational::of_double(f64::INFINITY)), (None, None));
    }

    #[test]
    fn arithmetic_is_exact() {
        let (tenth, fifth) = (ratio(1, 10), ratio(1, 5));
        assert_eq!(tenth.sum(&fifth), Some(ratio(3, 10)), "0.1 + 0.2 is 0.3");
        assert_eq!(ratio(-1, 3).product(&ratio(3, 1)), Some(ratio(-1, 1)));
        assert_eq!(ratio(1, 3).quotient(&ratio(-2, 3)), Some(ratio(-1, 2)));
        assert_eq!(ratio(1, 3).quotient(&ratio(0, 1)), None, "a division by 0 has no value");
        assert!(ratio(-1, 2).is_less(&ratio(-1, 3)) && !ratio(1, 2).is_less(&ratio(2, 4)));
        assert_eq!([ratio(-1, 2), ratio(7, 2), ratio(-4, 2)].map(|x| x.floor()), [-1, 3, -2].map(BigInt::from));
    }

    #[test]
    fn values_are_written_as_smt_lib_reads_them() {
        assert_eq!(ratio(-6, 4).text(true), "(- (/ 3.0 2.0))");
        assert_eq!(ratio(5, 1).text(true), "5.0");
        assert_eq!(ratio(-5, 1).text(false), "(- 5)");
    }
}
