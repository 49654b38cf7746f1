//! Simplifies assertions to a problem for the search: conjuncts in which variables that an equality defines are
//! replaced.
//!
//! An asserted `(= x t)` is not a condition but a definition of `x`, unless `t` depends on `x`: `=` holds exactly
//! between identical values, also for zeros and NaN. This leaves fewer variables, and conditions with useful distances.

use super::{
    eval::{self, Choice},
    term::{Op, Sort, Term, Terms, Value},
};

/// The assertions as a problem for the search.
#[derive(Debug, Clone, Default)]
pub struct Problem {
    /// The conditions that must hold. Within a part, those that are not equalities come first.
    pub conjuncts: Vec<Term>,
    /// For each variable, the term that defines it.
    pub definitions: Vec<Option<Term>>,
    /// The variables to search for: those that conjuncts depend on and that no term defines.
    pub free: Vec<usize>,
    /// For each conjunct the part that it belongs to: the indices in `free` of the variables that it depends on,
    /// directly or through other conjuncts with shared variables. The conjuncts of a part are adjacent.
    pub parts: Vec<Vec<usize>>,
    /// True if a conjunct is false for all values.
    pub is_refuted: bool,
}

impl Problem {
    /// Makes the problem of these assertions.
    #[must_use]
    pub fn new(terms: &mut Terms, asserted: &[Term]) -> Self {
        let mut me = Self { definitions: vec![None; terms.variables.len()], ..Self::default() };
        let all = flatten(terms, asserted);
        for conjunct in all {
            if !me.defines(terms, conjunct) && !me.conjuncts.contains(&conjunct) {
                me.conjuncts.push(conjunct);
            }
        }
        me.drop_constants(terms);
        let order = terms.ordered(&me.conjuncts, &me.definitions);
        let variables = order.iter().filter_map(|t| terms.variable(*t));
        me.free = variables.filter(|v| me.definitions[*v].is_none()).collect();
        me.free.sort_unstable();
        me.sort(terms);
        me
    }

    /// Adds a conjunct as a definition, if it is one. Returns true if so.
    fn defines(&mut self, terms: &mut Terms, conjunct: Term) -> bool {
        let node = terms.node(conjunct);
        let (variable, value) = match node.op {
            Op::Var(number) => (number as usize, terms.value(Value::Bool(true))),
            Op::Not => match terms.variable(node.args[0]) {
                Some(variable) => (variable, terms.value(Value::Bool(false))),
                None => return false,
            },
            Op::Eq => {
                let sides = [(node.args[0], node.args[1]), (node.args[1], node.args[0])];
                let of = |(a, b): (Term, Term)| Some((terms.variable(a).filter(|v| self.is_new(terms, *v, b))?, b));
                let Some(found) = sides.into_iter().find_map(of) else { return false };
                found
            }
            _ => return false,
        };
        if self.definitions[variable].is_some() {
            return false;
        }
        self.definitions[variable] = Some(value);
        true
    }

    /// Returns true if the variable has no definition yet and `term` does not depend on it.
    fn is_new(&self, terms: &Terms, variable: usize, term: Term) -> bool {
        self.definitions[variable].is_none()
            && !terms.ordered(&[term], &self.definitions).iter().any(|t| terms.variable(*t) == Some(variable))
    }

    /// Evaluates and removes the conjuncts that depend on no free variable.
    fn drop_constants(&mut self, terms: &Terms) {
        let order = terms.ordered(&self.conjuncts, &self.definitions);
        let mut is_constant = vec![true; terms.len()];
        let mut is_unspecified = vec![false; terms.len()];
        for term in &order {
            let node = terms.node(*term);
            let definition = terms.variable(*term).map(|v| self.definitions[v]);
            let needs = node.args.iter().copied().chain(definition.flatten());
            let (all, any) = needs
                .fold((true, false), |(all, any), t| (all && is_constant[t.index()], any || is_unspecified[t.index()]));
            is_constant[term.index()] = all && definition != Some(None);
            is_unspecified[term.index()] = any || node.op.is_unspecified();
        }
        let zeros = self.complete(terms, &[]);
        let all = eval::values(terms, &order, &zeros, Choice::First);
        let truth = |t: &Term| all[t.index()] == Some(Value::Bool(true));
        let decided = |t: &Term| is_constant[t.index()] && !is_unspecified[t.index()];
        self.is_refuted = self.conjuncts.iter().any(|c| decided(c) && !truth(c));
        self.conjuncts.retain(|c| !decided(c));
    }

    /// Finds the parts, and sorts the conjuncts. Within a part, conditions that many inputs fulfil come first, because
    /// the search reaches a condition only if all conditions before it hold.
    fn sort(&mut self, terms: &Terms) {
        let mut part_of: Vec<usize> = (0..self.free.len()).collect();
        // Conjuncts without variables, but with a value that the theory leaves unspecified.
        let mut open = Vec::new();
        let mut keyed = Vec::new();
        for conjunct in &self.conjuncts {
            let order = terms.ordered(&[*conjunct], &self.definitions);
            let places = order.iter().filter_map(|t| self.free.binary_search(&terms.variable(*t)?).ok());
            let places: Vec<usize> = places.collect();
            let Some(first) = places.first().map(|p| part_of[*p]) else {
                open.push(*conjunct);
                continue;
            };
            let joined: Vec<usize> = places.iter().map(|p| part_of[*p]).collect();
            part_of.iter_mut().filter(|p| joined.contains(p)).for_each(|p| *p = first);
            keyed.push((places[0], is_equality(terms, *conjunct), order.len(), *conjunct));
        }
        keyed.sort_by_key(|(place, is_equality, size, _)| (part_of[*place], *is_equality, *size));
        self.conjuncts = keyed.iter().map(|k| k.3).collect();
        let members = |part| (0..part_of.len()).filter(|p| part_of[*p] == part).collect();
        self.parts = keyed.iter().map(|k| members(part_of[k.0])).collect();
        self.parts.resize(keyed.len() + open.len(), Vec::new());
        self.conjuncts.extend(open);
    }

    /// Makes a variant of the problem. In each part, a single conjunct replaces the conjuncts that are not equalities
    /// and depend on several variables; its distance is the sum of theirs. This helps if each of them can be fulfilled
    /// only at the cost of others. Returns `None` if the variant would be the same problem.
    #[must_use]
    pub fn summed(&self, terms: &mut Terms) -> Option<Self> {
        let mut me = Self { conjuncts: Vec::new(), parts: Vec::new(), ..self.clone() };
        let all: Vec<_> = self.conjuncts.iter().copied().zip(&self.parts).collect();
        for group in all.chunk_by(|a, b| a.1 == b.1) {
            let related =
                group.iter().map(|c| c.0).filter(|c| !is_equality(terms, *c) && self.has_several_variables(terms, *c));
            let related: Vec<Term> = related.collect();
            let mut own: Vec<Term> = group.iter().map(|c| c.0).collect();
            if related.len() > 1 {
                own.retain(|c| !related.contains(c));
                let all = terms.make(Op::And, Sort::Bool, &related);
                // A disjunction of one term keeps the conjunction together as a single conjunct.
                let sum = terms.make(Op::Or, Sort::Bool, &[all]);
                let place = own.iter().position(|c| is_equality(terms, *c)).unwrap_or(own.len());
                own.insert(place, sum);
            }
            me.parts.extend(own.iter().map(|_| group[0].1.clone()));
            me.conjuncts.extend(own);
        }
        (me.conjuncts != self.conjuncts).then_some(me)
    }

    /// Returns true if the conjunct depends on several free variables.
    fn has_several_variables(&self, terms: &Terms, conjunct: Term) -> bool {
        let order = terms.ordered(&[conjunct], &self.definitions);
        order.iter().filter(|t| terms.variable(**t).is_some_and(|v| self.definitions[v].is_none())).count() > 1
    }

    /// The values of all variables, from those of the free variables in their order. Free variables without a value are
    /// zero.
    #[must_use]
    pub fn complete(&self, terms: &Terms, free: &[Value]) -> Vec<Value> {
        let zero = |v: &super::term::Variable| Value::of_bits(v.sort, 0);
        let mut values: Vec<Value> = terms.variables.iter().map(zero).collect();
        for (variable, value) in self.free.iter().zip(free) {
            values[*variable] = *value;
        }
        let defined: Vec<Term> = self.definitions.iter().copied().flatten().collect();
        let mut all: Vec<Option<Value>> = vec![None; terms.len()];
        let mut args = Vec::new();
        for term in terms.ordered(&defined, &self.definitions) {
            let node = terms.node(term);
            args.clear();
            args.extend(node.args.iter().filter_map(|a| all[a.index()]));
            let value = match terms.variable(term) {
                None => eval::apply(node, &args, Choice::First),
                Some(variable) => {
                    let defined = self.definitions[variable].and_then(|d| all[d.index()]);
                    values[variable] = defined.unwrap_or(values[variable]);
                    values[variable]
                }
            };
            all[term.index()] = Some(value);
        }
        for (variable, definition) in self.definitions.iter().enumerate() {
            if let Some(value) = definition.and_then(|d| all[d.index()]) {
                values[variable] = value;
            }
        }
        values
    }

    /// Number of bits of all inputs together.
    #[must_use]
    pub fn input_bits(&self, terms: &Terms) -> u32 {
        self.free.iter().map(|v| terms.variables[*v].sort.bits()).sum()
    }
}

fn is_equality(terms: &Terms, conjunct: Term) -> bool {
    matches!(terms.node(conjunct).op, Op::Eq | Op::FpEq)
}

impl Op {
    /// Returns true if its theory leaves the result unspecified for some arguments.
    #[must_use]
    pub const fn is_unspecified(self) -> bool {
        matches!(self, Self::FpMin | Self::FpMax | Self::FpToSigned | Self::FpToUnsigned | Self::FpToBits)
    }
}

/// Splits conjunctions into their parts, in order and without duplicates.
fn flatten(terms: &mut Terms, asserted: &[Term]) -> Vec<Term> {
    let mut stack: Vec<Term> = asserted.iter().rev().copied().collect();
    let (mut all, mut seen) = (Vec::new(), std::collections::HashSet::new());
    while let Some(term) = stack.pop() {
        if !seen.insert(term) {
            continue;
        }
        let node = terms.node(term).clone();
        let inner = (node.op == Op::Not).then(|| terms.node(node.args[0]).clone());
        match (node.op, inner) {
            (Op::And, _) => stack.extend(node.args.iter().rev()),
            (_, Some(inner)) if inner.op == Op::Or => {
                for arg in inner.args.iter().rev() {
                    stack.push(terms.not(*arg));
                }
            }
            // An equality with a truth value is a condition on the other side.
            (Op::Eq, _) if terms.sort(node.args[0]) == Sort::Bool => match bool_side(terms, &node.args) {
                Some((other, true)) => stack.push(other),
                Some((other, false)) => stack.push(terms.not(other)),
                None => all.push(term),
            },
            _ => all.push(term),
        }
    }
    all
}

/// If one side of an equality is a constant truth value, the other side and that constant.
fn bool_side(terms: &Terms, args: &[Term]) -> Option<(Term, bool)> {
    [(args[0], args[1]), (args[1], args[0])].into_iter().find_map(|(a, b)| match terms.constant(b) {
        Some(Value::Bool(value)) => Some((a, value)),
        _ => None,
    })
}
