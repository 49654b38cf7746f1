//! Emits a problem as a C function: one conditional per conjunct, in their order. The function returns at the first
//! that does not hold.
//!
//! Each term is a C constant, so shared terms are computed once. If a conjunct is a single comparison, this comparison
//! is the condition of the conditional, and the pen measures its operands. Otherwise the condition compares a
//! *distance* with 0, which the function computes by the usual rules: the sum for conjunctions, the minimum for
//! disjunctions (Mathematical Execution, Sect. 4.4.3; `XSat`).

mod distance;
mod value;

use std::fmt::Write;

use super::{
    problem::Problem,
    term::{Op, Sort, Term, Terms},
};

/// The name of the function.
pub const FUNCTION: &str = "formula";

/// An emitted C file.
#[derive(Debug)]
pub struct Emitted {
    /// Its text.
    pub text: String,
    /// The line of each conjunct's conditional, counted from 1.
    pub lines: Vec<u32>,
    /// True if the C code computes the same as SMT-LIB for all inputs. Some operations in rounding modes that hardware
    /// does not have are computed approximately; the search for models uses them nevertheless.
    pub is_exact: bool,
}

/// Writes a C file.
struct Writer<'a> {
    terms: &'a Terms,
    out: String,
    line: u32,
    /// Number of constants that hold parts of distances.
    steps: usize,
    is_exact: bool,
}

/// Emits the C function of a problem.
#[must_use]
pub fn emit(terms: &Terms, problem: &Problem) -> Emitted {
    let mut me = Writer { terms, out: String::new(), line: 1, steps: 0, is_exact: true };
    me.put(include_str!("prelude.h"));
    let parameters: Vec<String> = problem.free.iter().map(|v| parameter(terms, *v)).collect();
    me.put(&format!("int {FUNCTION}({}) {{\n", parameters.join(", ")));
    let order = terms.ordered(&problem.conjuncts, &problem.definitions);
    let measured = me.measured(problem);
    let mut lines = vec![0; problem.conjuncts.len()];
    for term in order {
        me.constant(term, problem);
        if measured[term.index()] {
            me.distances(term);
        }
        for place in problem.conjuncts.iter().enumerate().filter(|c| *c.1 == term).map(|c| c.0) {
            lines[place] = me.line;
            let condition = me.condition(term);
            me.put(&format!("  if ({condition}) {{}} else return {};\n", place + 1));
        }
    }
    me.put("  return 0;\n}\n");
    Emitted { text: me.out, lines, is_exact: me.is_exact }
}

/// The declaration of the parameters of a variable.
fn parameter(terms: &Terms, variable: usize) -> String {
    match terms.variables[variable].sort {
        // The search moves along the values in their order.
        Sort::Bits(64) if terms.are_exact => format!("int64_t x{variable}"),
        Sort::Bool => format!("_Bool x{variable}"),
        Sort::Rounding => format!("uint8_t x{variable}"),
        Sort::Float(format) => match format.width() {
            64 => format!("double x{variable}"),
            32 => format!("float x{variable}"),
            _ => format!("uint16_t x{variable}"),
        },
        Sort::Bits(65..) => format!("uint64_t x{variable}, uint64_t y{variable}"),
        Sort::Bits(width) => format!("uint{}_t x{variable}", width.next_power_of_two().max(8)),
    }
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.line += text.bytes().filter(|b| *b == b'\n').count() as u32;
        self.out.push_str(text);
    }

    /// The terms whose distances are needed: the formulas in conjuncts that are not single comparisons.
    fn measured(&self, problem: &Problem) -> Vec<bool> {
        let mut measured = vec![false; self.terms.len()];
        let mut stack: Vec<Term> =
            problem.conjuncts.iter().copied().filter(|c| self.comparison(*c).is_none()).collect();
        while let Some(term) = stack.pop() {
            if core::mem::replace(&mut measured[term.index()], true) {
                continue;
            }
            let node = self.terms.node(term);
            let definition = self.terms.variable(term).and_then(|v| problem.definitions[v]);
            let of_bools = node.args.iter().copied().filter(|a| self.terms.sort(*a) == Sort::Bool);
            stack.extend(of_bools.chain(definition));
        }
        measured
    }

    /// The condition of the conjunct's conditional.
    fn condition(&self, term: Term) -> String {
        self.comparison(term).unwrap_or_else(|| format!("p{} == 0", term.index()))
    }

    /// The conjunct as a single comparison in C; `None` if it is none.
    fn comparison(&self, term: Term) -> Option<String> {
        let node = self.terms.node(term);
        if node.op != Op::Not {
            return self.relation(term, false);
        }
        self.relation(node.args[0], true)
    }

    fn relation(&self, term: Term, is_negated: bool) -> Option<String> {
        let node = self.terms.node(term);
        let [a, b] = node.args.as_slice() else { return None };
        let (sort, x, y) = (self.terms.sort(*a), name(*a), name(*b));
        if sort.bits() > 64 {
            return None;
        }
        let not = if is_negated { "!" } else { "" };
        Some(match (node.op, sort) {
            (Op::FpLt | Op::BvUlt, _) => format!("{not}({x} < {y})"),
            (Op::FpLeq | Op::BvUle, _) => format!("{not}({x} <= {y})"),
            (Op::FpEq, _) | (Op::Eq, Sort::Bits(_)) => format!("{not}({x} == {y})"),
            (Op::Eq, Sort::Float(format)) => {
                let key = value::key(format);
                format!("{not}({key}({x}) == {key}({y}))")
            }
            (Op::BvSlt, Sort::Bits(width)) => {
                format!("{not}({} < {})", value::signed(&x, width), value::signed(&y, width))
            }
            (Op::BvSle, Sort::Bits(width)) => {
                format!("{not}({} <= {})", value::signed(&x, width), value::signed(&y, width))
            }
            _ => return None,
        })
    }

    /// Declares the constant of a term.
    fn constant(&mut self, term: Term, problem: &Problem) {
        let sort = self.terms.sort(term);
        let text = match self.terms.variable(term) {
            Some(variable) => match problem.definitions[variable] {
                Some(definition) => name(definition),
                None => input(variable, sort),
            },
            None => self.expression(term),
        };
        let mut line = String::new();
        let _ = writeln!(line, "  const {} {} = {text};", value::c_type(sort), name(term));
        self.put(&line);
    }
}

/// The name of the constant of a term.
fn name(term: Term) -> String {
    format!("t{}", term.index())
}

/// The value of a variable, computed from its parameters.
fn input(variable: usize, sort: Sort) -> String {
    match sort {
        Sort::Rounding => format!("x{variable} % 5"),
        Sort::Float(format) if format.width() == 16 => format!("HALF_INPUT(x{variable})"),
        Sort::Bits(width @ 65..) => value::masked(&format!("(wide)y{variable} << 64 | x{variable}"), width),
        Sort::Bits(width) => value::masked(&format!("x{variable}"), width),
        _ => format!("x{variable}"),
    }
}
