//! Terms of SMT-LIB. Equal terms are shared: they have the same number. The number of a term is larger than those of
//! its arguments.

use std::collections::HashMap;

use super::float::{Format, Rounding};

/// Maximum width of a bit vector.
pub const MAX_BITS: u32 = 128;

/// The sort of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sort {
    /// `Bool`
    Bool,
    /// `RoundingMode`
    Rounding,
    /// `(_ BitVec N)`, N from 1 to [`MAX_BITS`]
    Bits(u32),
    /// `(_ FloatingPoint E S)`
    Float(Format),
}

impl Sort {
    /// The sort in SMT-LIB.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Bool => "Bool".to_owned(),
            Self::Rounding => "RoundingMode".to_owned(),
            Self::Bits(width) => format!("(_ BitVec {width})"),
            Self::Float(Format { exponent, significand }) => format!("(_ FloatingPoint {exponent} {significand})"),
        }
    }

    /// Number of bits that can hold any value of the sort.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::Rounding => 3,
            Self::Bits(width) => width,
            Self::Float(format) => format.width(),
        }
    }
}

/// A value. Two values are equal if and only if SMT-LIB's `=` holds: zeros of different signs differ, and there is one
/// NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Value {
    /// A value of `Bool`.
    Bool(bool),
    /// A value of `RoundingMode`.
    Rounding(Rounding),
    /// A bit vector: its width, and its bits; bits above the width are 0.
    Bits(u32, u128),
    /// A float: its format, and its bits; NaN is [`Format::nan`].
    Float(Format, u128),
}

impl Value {
    /// Its sort.
    #[must_use]
    pub const fn sort(self) -> Sort {
        match self {
            Self::Bool(_) => Sort::Bool,
            Self::Rounding(_) => Sort::Rounding,
            Self::Bits(width, _) => Sort::Bits(width),
            Self::Float(format, _) => Sort::Float(format),
        }
    }

    /// The value of a sort with these bits. Bits above the width of the sort are ignored, and rounding modes are taken
    /// modulo 5.
    #[must_use]
    pub fn of_bits(sort: Sort, bits: u128) -> Self {
        let bits = bits & mask(sort.bits());
        match sort {
            Sort::Bool => Self::Bool(bits == 1),
            Sort::Rounding => Self::Rounding(Rounding::ALL[bits as usize % 5].0),
            Sort::Bits(width) => Self::Bits(width, bits),
            Sort::Float(format) => Self::Float(format, format.canonical(bits)),
        }
    }

    /// The value in SMT-LIB.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Rounding(mode) => {
                Rounding::ALL.iter().find(|m| m.0 == mode).map_or_else(String::new, |m| m.1.to_owned())
            }
            Self::Bits(width, bits) => binary(width, bits),
            Self::Float(format, bits) if format.is_nan(bits) => {
                format!("(_ NaN {} {})", format.exponent, format.significand)
            }
            Self::Float(format, bits) => {
                let fraction = format.significand - 1;
                let part = |width, shift| binary(width, bits >> shift & mask(width));
                format!(
                    "(fp {} {} {})",
                    part(1, format.width() - 1),
                    part(format.exponent, fraction),
                    part(fraction, 0)
                )
            }
        }
    }
}

fn binary(width: u32, bits: u128) -> String {
    format!("#b{bits:0width$b}", width = width as usize)
}

/// A mask of `width` ones, at most 128.
#[must_use]
pub const fn mask(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// The operation of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are the operations of SMT-LIB under their names")]
pub enum Op {
    Const(Value),
    /// A declared constant, by its number.
    Var(u32),
    Not,
    And,
    Or,
    Xor,
    /// Equality of two terms of the same sort.
    Eq,
    Ite,
    FpAbs,
    FpNeg,
    FpAdd,
    FpSub,
    FpMul,
    FpDiv,
    FpFma,
    FpSqrt,
    FpRem,
    FpRoundToIntegral,
    FpMin,
    FpMax,
    FpLeq,
    FpLt,
    FpEq,
    FpIs(Class),
    /// A float from the bits of its representation.
    FpOfBits,
    FpOfFloat,
    FpOfSigned,
    FpOfUnsigned,
    FpToUnsigned,
    FpToSigned,
    FpToBits,
    BvNot,
    BvNeg,
    BvAnd,
    BvOr,
    BvXor,
    BvAdd,
    BvSub,
    BvMul,
    BvUdiv,
    BvUrem,
    BvSdiv,
    BvSrem,
    BvSmod,
    BvShl,
    BvLshr,
    BvAshr,
    BvUlt,
    BvUle,
    BvSlt,
    BvSle,
    Concat,
    /// The bits from this one on, as many as the sort has.
    Extract(u32),
    /// Extension with zeros.
    Extend,
    SignExtend,
}

/// A class of floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are the classes of SMT-LIB under their names")]
pub enum Class {
    Normal,
    Subnormal,
    Zero,
    Infinite,
    NaN,
    Negative,
    Positive,
}

/// A term, identified by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(u32);

impl Term {
    /// Its index among all terms.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operation with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// The sort of the result.
    pub sort: Sort,
    /// The arguments; their numbers are smaller than that of the term.
    pub args: Vec<Term>,
}

/// A declared constant.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name as the file writes it, including bars.
    pub name: String,
    /// Its sort.
    pub sort: Sort,
}

/// All terms of a file.
#[derive(Debug, Default)]
pub struct Terms {
    nodes: Vec<Node>,
    known: HashMap<Node, Term>,
    /// The declared constants.
    pub variables: Vec<Variable>,
    /// Whether floats stand for `Real` and bit vectors for `Int` ([`super::reals`]).
    pub are_exact: bool,
}

impl Terms {
    /// The term of an operation. The caller has checked the sorts of the arguments.
    pub fn make(&mut self, op: Op, sort: Sort, args: &[Term]) -> Term {
        let node = Node { op, sort, args: args.to_vec() };
        if let Some(term) = self.known.get(&node) {
            return *term;
        }
        let term = Term(self.nodes.len() as u32);
        self.known.insert(node.clone(), term);
        self.nodes.push(node);
        term
    }

    /// The sort of a variable in SMT-LIB.
    #[must_use]
    pub fn sort_text(&self, variable: &Variable) -> String {
        match variable.sort {
            Sort::Float(_) if self.are_exact => "Real".to_owned(),
            Sort::Bits(_) if self.are_exact => "Int".to_owned(),
            sort => sort.text(),
        }
    }

    /// The term of a constant value.
    pub fn value(&mut self, value: Value) -> Term {
        self.make(Op::Const(value), value.sort(), &[])
    }

    /// The negation of a term. A double negation is removed.
    pub fn not(&mut self, term: Term) -> Term {
        match self.node(term) {
            Node { op: Op::Not, args, .. } => args[0],
            Node { op: Op::Const(Value::Bool(b)), .. } => self.value(Value::Bool(!b)),
            _ => self.make(Op::Not, Sort::Bool, &[term]),
        }
    }

    /// Declares a new constant.
    pub fn declare(&mut self, name: &str, sort: Sort) -> Term {
        let number = self.variables.len() as u32;
        self.variables.push(Variable { name: name.to_owned(), sort });
        self.make(Op::Var(number), sort, &[])
    }

    /// The operation of the term, and its arguments.
    #[must_use]
    pub fn node(&self, term: Term) -> &Node {
        &self.nodes[term.index()]
    }

    /// The sort of the term.
    #[must_use]
    pub fn sort(&self, term: Term) -> Sort {
        self.node(term).sort
    }

    /// The number of terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if there are no terms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The value of a constant term; `None` for other terms.
    #[must_use]
    pub fn constant(&self, term: Term) -> Option<Value> {
        if let Op::Const(value) = self.node(term).op { Some(value) } else { None }
    }

    /// The index of the variable, if the term is one.
    #[must_use]
    pub fn variable(&self, term: Term) -> Option<usize> {
        if let Op::Var(number) = self.node(term).op { Some(number as usize) } else { None }
    }

    /// The terms that `roots` depend on, each after the terms that it depends on. `definitions` has the terms of
    /// defined variables.
    ///
    /// # Panics
    /// Never, if the definitions are not circular.
    #[must_use]
    pub fn ordered(&self, roots: &[Term], definitions: &[Option<Term>]) -> Vec<Term> {
        let mut state = vec![Visit::New; self.len()];
        let mut order = Vec::new();
        let mut stack: Vec<Term> = roots.iter().rev().copied().collect();
        while let Some(term) = stack.last().copied() {
            match state[term.index()] {
                Visit::New => {
                    state[term.index()] = Visit::Open;
                    let definition = self.variable(term).and_then(|v| definitions.get(v).copied().flatten());
                    let needs = self.node(term).args.iter().copied().chain(definition);
                    stack.extend(needs.filter(|n| state[n.index()] == Visit::New));
                }
                Visit::Open => {
                    state[term.index()] = Visit::Done;
                    order.push(term);
                    stack.pop();
                }
                Visit::Done => {
                    stack.pop();
                }
            }
        }
        order
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}
