//! Parses formulas of `Real` and `Int`. A `Real` becomes a double, an `Int` an integer of 64 bits: this is what the
//! search evaluates. The constants of the terms are exact, and [`super::exact`] evaluates the terms without rounding.

use num_bigint::{BigInt, BigUint};
use penfuzz_error::Error;

use super::{
    exact::{Exact, Rational},
    float::{Format, Rounding},
    literals::Real,
    script::Reader,
    sexp::{Exprs, Id, at},
    term::{Op, Sort, Term, Terms, Value},
};

/// The sort that stands for `Real`.
pub const REAL: Sort = Sort::Float(Format { exponent: 11, significand: 53 });
/// The sort that stands for `Int`.
pub const INT: Sort = Sort::Bits(64);
/// Bits of a digit of a large constant, which is a sum of products of exact numbers.
const DIGIT: u32 = 32;

impl Reader<'_> {
    /// A literal: an `Int` without a point, else a `Real`. `None` if the text is no number.
    pub(super) fn number(&mut self, id: Id, text: &str) -> Result<Option<Term>, Error> {
        let Some(real) = Real::of_text(text) else { return Ok(None) };
        if text.contains(['.', 'e', 'E']) || self.has_only_reals {
            return Ok(Some(self.real_constant(&real)));
        }
        let (_, value, _) = real.parts();
        let value = i64::try_from(value.clone()).map_err(|_| {
            at(self.exprs.line(id), format_args!("the integer {text} is not supported: it has more than 63 bits"))
        })?;
        Ok(Some(self.script.terms.value(integer(value))))
    }

    /// A real constant as a term whose exact value it is.
    fn real_constant(&mut self, real: &Real) -> Term {
        let (negative, numerator, denominator) = real.parts();
        let (mut term, one) = (self.whole(numerator), BigUint::from(1u8));
        if *denominator != one {
            let below = self.whole(denominator);
            term = self.rounded(Op::FpDiv, &[term, below]);
            let nearest = real.magnitude().to_float(REAL_FORMAT, Rounding::NearestEven);
            if let Value::Float(format, bits) = nearest
                && is_ratio(bits, numerator, denominator)
            {
                term = self.script.terms.value(Value::Float(format, bits));
            }
        }
        if negative { self.make(Op::FpNeg, REAL, &[term]) } else { term }
    }

    /// A whole number as a term of doubles.
    fn whole(&mut self, value: &BigUint) -> Term {
        if let Ok(small) = u64::try_from(value.clone())
            && small >> 53 == 0
        {
            return self.script.terms.value(double(small as f64));
        }
        let upper = self.whole(&(value >> DIGIT));
        let lower = self.whole(&(value % (BigUint::from(1u8) << DIGIT)));
        let scale = self.script.terms.value(double((1u64 << DIGIT) as f64));
        let scaled = self.rounded(Op::FpMul, &[upper, scale]);
        self.rounded(Op::FpAdd, &[scaled, lower])
    }

    /// An operation of doubles that the search rounds to the nearest.
    fn rounded(&mut self, op: Op, args: &[Term]) -> Term {
        let mode = self.script.terms.value(Value::Rounding(Rounding::NearestEven));
        let all: Vec<Term> = [mode].into_iter().chain(args.iter().copied()).collect();
        self.make(op, REAL, &all)
    }

    /// The term as one of this sort: an `Int` may be given where a `Real` is needed.
    pub(super) fn as_sort(&mut self, term: Term, sort: Sort) -> Term {
        if self.script.terms.sort(term) != INT || sort != REAL {
            return term;
        }
        if let Some(Value::Bits(_, bits)) = self.script.terms.constant(term) {
            let value = (bits as u64).cast_signed();
            let magnitude = self.whole(&BigUint::from(value.unsigned_abs()));
            return if value < 0 { self.make(Op::FpNeg, REAL, &[magnitude]) } else { magnitude };
        }
        self.rounded(Op::FpOfSigned, &[term])
    }

    /// Makes all numbers a `Real` if one of them is.
    fn alike(&mut self, args: &[Term]) -> Vec<Term> {
        let has_real = args.iter().any(|a| self.script.terms.sort(*a) == REAL);
        args.iter().map(|a| if has_real { self.as_sort(*a, REAL) } else { *a }).collect()
    }

    /// Equality of numbers. With a variable on one side it may be a definition.
    fn equal(&mut self, a: Term, b: Term) -> Term {
        let is_variable = |t: Term| self.script.terms.variable(t).is_some();
        let op = if self.script.terms.sort(a) == INT || is_variable(a) || is_variable(b) { Op::Eq } else { Op::FpEq };
        self.make(op, Sort::Bool, &[a, b])
    }

    /// Makes an operation of numbers; `None` if it is none of these.
    pub(super) fn arithmetic(&mut self, id: Id, name: &str, args: &[Term]) -> Result<Option<Term>, Error> {
        let is_number = |me: &Self, t: Term| matches!(me.script.terms.sort(t), REAL | INT);
        if let ("ite", [c, a, b]) = (name, args)
            && is_number(self, *a)
            && is_number(self, *b)
            && self.script.terms.sort(*c) == Sort::Bool
        {
            let both = self.alike(&[*a, *b]);
            let sort = self.script.terms.sort(both[0]);
            return Ok(Some(self.make(Op::Ite, sort, &[*c, both[0], both[1]])));
        }
        if args.is_empty() || !args.iter().all(|a| is_number(self, *a)) {
            return Ok(None);
        }
        let args = &if name == "/" { args.iter().map(|a| self.as_sort(*a, REAL)).collect() } else { self.alike(args) };
        let is_int = self.script.terms.sort(args[0]) == INT;
        let made = match (name, args.as_slice()) {
            ("-", [a]) => self.negated(*a),
            ("+" | "-" | "*" | "/", [first, rest @ ..]) if !rest.is_empty() => {
                let op = match (name, is_int) {
                    ("+", true) => Op::BvAdd,
                    ("-", true) => Op::BvSub,
                    ("*", true) => Op::BvMul,
                    ("+", false) => Op::FpAdd,
                    ("-", false) => Op::FpSub,
                    ("*", false) => Op::FpMul,
                    _ => Op::FpDiv,
                };
                rest.iter().fold(*first, |all, a| {
                    if is_int { self.make(op, INT, &[all, *a]) } else { self.rounded(op, &[all, *a]) }
                })
            }
            ("<=" | "<", [_, _, ..]) => self.chain(args, order(name == "<=", is_int)),
            (">=" | ">", [_, _, ..]) => {
                let backwards: Vec<_> = args.iter().rev().copied().collect();
                self.chain(&backwards, order(name == ">=", is_int))
            }
            ("=", [_, _, ..]) => {
                let pairs: Vec<_> = args.windows(2).map(|pair| self.equal(pair[0], pair[1])).collect();
                self.all(&pairs)
            }
            ("distinct", [_, _, ..]) => {
                let pairs = (0..args.len()).flat_map(|i| (i + 1..args.len()).map(move |j| (i, j)));
                let mut all = Vec::new();
                for (i, j) in pairs {
                    let equal = self.equal(args[i], args[j]);
                    all.push(self.script.terms.not(equal));
                }
                self.all(&all)
            }
            ("abs", [a]) if is_int => {
                let zero = self.script.terms.value(integer(0));
                let (is_negative, negated) = (self.make(Op::BvSlt, Sort::Bool, &[*a, zero]), self.negated(*a));
                self.make(Op::Ite, INT, &[is_negative, negated, *a])
            }
            ("div" | "mod", [a, b]) if is_int => self.divided(id, name == "mod", *a, *b)?,
            ("to_real", [a]) => self.as_sort(*a, REAL),
            ("to_int", [a]) => self.floor(*a),
            ("is_int", [a]) => {
                let whole = self.floor(*a);
                let whole = self.as_sort(whole, REAL);
                self.make(Op::FpEq, Sort::Bool, &[*a, whole])
            }
            _ => return Ok(None),
        };
        Ok(Some(made))
    }

    fn negated(&mut self, a: Term) -> Term {
        match self.script.terms.constant(a) {
            Some(Value::Bits(_, bits)) => {
                let value = (bits as u64).cast_signed().wrapping_neg();
                self.script.terms.value(integer(value))
            }
            _ if self.script.terms.sort(a) == INT => self.make(Op::BvNeg, INT, &[a]),
            _ => self.make(Op::FpNeg, REAL, &[a]),
        }
    }

    fn floor(&mut self, a: Term) -> Term {
        if self.script.terms.sort(a) == INT {
            return a;
        }
        let mode = self.script.terms.value(Value::Rounding(Rounding::Down));
        self.make(Op::FpToSigned, INT, &[mode, a])
    }

    /// `div` and `mod` by a constant. The rest is not negative, and the quotient is exact without it.
    fn divided(&mut self, id: Id, wants_rest: bool, a: Term, b: Term) -> Result<Term, Error> {
        let divisor = match self.script.terms.constant(b) {
            Some(Value::Bits(_, bits)) => (bits as u64).cast_signed(),
            _ => 0,
        };
        if divisor == 0 || divisor == i64::MIN {
            return Err(at(
                self.exprs.line(id),
                "`div` and `mod` are supported for divisors that are constants and not 0",
            ));
        }
        let positive = self.script.terms.value(integer(divisor.abs()));
        let rest = self.make(Op::BvSmod, INT, &[a, positive]);
        if wants_rest {
            return Ok(rest);
        }
        let multiple = self.make(Op::BvSub, INT, &[a, rest]);
        Ok(self.make(Op::BvSdiv, INT, &[multiple, b]))
    }
}

/// The formula that a variable of this sort is a finite double: an infinity is no real number.
pub(super) fn is_finite(terms: &mut Terms, variable: Term) -> Term {
    let most = terms.value(double(f64::MAX));
    let magnitude = terms.make(Op::FpAbs, REAL, &[variable]);
    terms.make(Op::FpLeq, Sort::Bool, &[magnitude, most])
}

/// The format of doubles.
const REAL_FORMAT: Format = Format { exponent: 11, significand: 53 };

fn order(is_closed: bool, is_int: bool) -> Op {
    match (is_closed, is_int) {
        (true, true) => Op::BvSle,
        (false, true) => Op::BvSlt,
        (true, false) => Op::FpLeq,
        (false, false) => Op::FpLt,
    }
}

fn integer(value: i64) -> Value {
    Value::Bits(64, u128::from(value.cast_unsigned()))
}

fn double(value: f64) -> Value {
    Value::Float(REAL_FORMAT, u128::from(value.to_bits()))
}

/// Whether a double is exactly this ratio.
fn is_ratio(bits: u128, numerator: &BigUint, denominator: &BigUint) -> bool {
    let found = Rational::of_double(f64::from_bits(bits as u64));
    found.is_some() && found == Rational::new(numerator.clone().into(), denominator.clone())
}

/// The value that a solver prints for a variable: `5`, `(- 0.5)`, `(/ 1 3)`, `true`. `None` for an algebraic number.
pub(super) fn value(exprs: &Exprs, id: Id) -> Option<Exact> {
    match exprs.atom(id) {
        Some("true") => return Some(Exact::Bool(true)),
        Some("false") => return Some(Exact::Bool(false)),
        _ => {}
    }
    let real = Real::read(exprs, id)?;
    let (negative, numerator, denominator) = real.parts();
    let numerator = BigInt::from(numerator.clone());
    Some(Exact::Number(Rational::new(if negative { -numerator } else { numerator }, denominator.clone())?))
}
