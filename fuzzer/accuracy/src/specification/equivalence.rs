//! Proves mutants of a specification equivalent, by interval arithmetic with branch and bound: parts of the box are
//! halved until each is decided.
//!
//! For a mutant of the expression, the difference `m(x) - f(x)` at the same point counts. Intervals of `f` and of `m`
//! alone would not show that it is small, so it is propagated through the expression ([`pair`]).

use std::collections::VecDeque;

use rug::float::Round;

use super::{
    Specification,
    operators::{Change, Mutant},
    search::OVERLAP,
};
use crate::{
    enclosure::{
        self,
        interval::{self, Interval, NoEnclosure, negative, product, sum},
        pair::{self, BITS, Pair, Paired},
    },
    fpcore::Expr,
};

/// Maximum number of parts of the box that are examined for one mutant.
const PARTS: usize = 4000;

/// Returns whether no point can kill the mutant; `false` if that is not known.
pub fn is_equivalent(specification: &Specification, mutant: &Mutant) -> bool {
    let first = tested(specification, mutant);
    if first.iter().any(|(low, high)| low > high) {
        return true;
    }
    let mut parts = VecDeque::from([first.clone()]);
    let mut examined = 0;
    while let Some(part) = parts.pop_front() {
        examined += 1;
        match cannot_kill(specification, mutant, &part) {
            Some(true) => {}
            Some(false) => return false,
            None if examined >= PARTS => return false,
            None => {
                let Some(halves) = enclosure::halved(&part, &first) else { return false };
                parts.extend(halves);
            }
        }
    }
    true
}

/// Returns the box of the points that can kill the mutant. For a larger domain, these lie outside of the domain of the
/// specification.
pub fn tested(specification: &Specification, mutant: &Mutant) -> enclosure::Domains {
    let mut domains: Vec<_> = specification.variables.iter().map(|(_, low, high)| (*low, *high)).collect();
    if let Change::Bound(n, low, high) = mutant.change {
        let (own_low, own_high) = domains[n];
        domains[n] = if high > own_high { (own_high.next_up(), high) } else { (low, own_low.next_down()) };
    }
    domains
}

/// Returns whether no point of this part can kill the mutant; `None` if the part is too large to decide.
fn cannot_kill(specification: &Specification, mutant: &Mutant, part: &[(f64, f64)]) -> Option<bool> {
    match excess(specification, mutant, part) {
        Excess::Of(most) if most <= 0.0 => Some(true),
        Excess::Of(_) => None,
        Excess::Everywhere => Some(false),
    }
}

/// By how much a mutant can differ from the specification beyond what is allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Excess {
    /// At most by this: no point can kill the mutant if it is not positive. Infinite if there is no bound.
    Of(f64),
    /// Every point of the part at which the specification has a value kills the mutant.
    Everywhere,
}

/// Returns by how much a mutant can differ at the points of a part.
pub fn excess(specification: &Specification, mutant: &Mutant, part: &[(f64, f64)]) -> Excess {
    const NONE: Excess = Excess::Of(0.0);
    const UNKNOWN: Excess = Excess::Of(f64::INFINITY);
    let names = specification.variables.iter().map(|(name, ..)| name.clone());
    let scope: Vec<_> = names.zip(part.iter().map(|ends| enclosure::between(*ends, BITS))).collect();
    let enclose =
        if let Change::Accuracy(_) = mutant.change { interval::enclose_where_defined } else { interval::enclose };
    let original = enclose(&specification.body, &mut scope.clone(), BITS);
    match (&mutant.change, original) {
        (Change::Body(body), _) if is_identity(&specification.body, body, &scope) => NONE,
        // A point without a value is no test.
        (_, Err(NoEnclosure::Undefined)) => NONE,
        (_, Err(NoEnclosure::Unknown)) => UNKNOWN,
        (Change::Bound(..), Ok(_)) => Excess::Everywhere,
        (Change::Accuracy(i), Ok(value)) => {
            let most = value.greatest_magnitude();
            let more = |magnitude: f64| magnitude * (10_f64.powi(*i) - 1.0);
            if more(value.least_magnitude()) > OVERLAP {
                return Excess::Everywhere;
            }
            if more(most) * (1.0 + 1e-12) <= OVERLAP {
                return NONE;
            }
            Excess::Of((more(most) - OVERLAP).max(f64::MIN_POSITIVE))
        }
        (Change::Body(body), Ok(_)) => {
            let mut scope: Vec<_> = scope.into_iter().map(|(name, value)| (name, Pair::same(value))).collect();
            let pair = match pair_of(&specification.body, body, &mut scope) {
                Ok(pair) => pair,
                Err(NoEnclosure::Undefined) => return Excess::Everywhere,
                Err(NoEnclosure::Unknown) => return UNKNOWN,
            };
            let difference = pair.difference.greatest_magnitude();
            let accuracy = specification.accuracy * (1.0 - 1e-12);
            let allowed = accuracy * (pair.original.least_magnitude() + pair.changed.least_magnitude());
            if pair.factor.is_some_and(|f| is_allowed(&f, accuracy)) {
                return NONE;
            }
            // The comparison, not the difference: it may be rounded to 0.
            if difference <= allowed { NONE } else { Excess::Of((difference - allowed).max(f64::MIN_POSITIVE)) }
        }
    }
}

/// Returns whether a number multiplied by any of these factors is within the accuracy: `|y' - y| <= ε (|y| + |y'|)`.
fn is_allowed(factor: &Interval, accuracy: f64) -> bool {
    let Ok(apart) = sum(factor, &interval::exactly(-1.0, BITS), BITS) else { return false };
    let least = factor.low.to_f64_round(Round::Down).min(1.0);
    apart.greatest_magnitude() <= accuracy * (1.0 + least)
}

/// Returns whether the changed node has the same value as before, also where the rest of the expression has none.
fn is_identity(original: &Expr, mutant: &Expr, scope: &[(String, Interval)]) -> bool {
    match (original, mutant) {
        (Expr::Apply(op, args), Expr::Apply(other, others)) if op == other && args.len() == others.len() => {
            let mut differ = args.iter().zip(others).filter(|(a, b)| a != b);
            differ.next().is_some_and(|(a, b)| is_identity(a, b, scope)) && differ.next().is_none()
        }
        (Expr::Let(_, bindings, body), Expr::Let(_, others, other)) if bindings.len() == others.len() => {
            let bound = bindings.iter().zip(others).map(|((_, a), (_, b))| (a, b));
            let mut differ = bound.chain([(&**body, &**other)]).filter(|(a, b)| a != b);
            // A binding may hide an argument of the same name.
            let is_bound = |name: &String| bindings.iter().any(|(n, _)| n == name);
            let scope: Vec<_> = scope.iter().filter(|(name, _)| !is_bound(name)).cloned().collect();
            differ.next().is_some_and(|(a, b)| is_identity(a, b, &scope)) && differ.next().is_none()
        }
        (_, Expr::Apply(op, args)) => match (op.as_str(), &args[..]) {
            ("fmin" | "fmax", [x, y]) => x == original && y == original,
            ("fabs", [x @ Expr::Variable(name)]) if x == original => {
                scope.iter().any(|(n, value)| n == name && value.low >= 0.0)
            }
            _ => false,
        },
        _ => false,
    }
}

type Scope = Vec<(String, Pair)>;

/// Returns the pair of an expression and its mutant, which differ in one node, over variables that may have changed,
/// too.
fn pair_of(original: &Expr, mutant: &Expr, scope: &mut Scope) -> Paired {
    match (original, mutant) {
        (Expr::Let(one_by_one, bindings, body), Expr::Let(_, others, other)) if bindings.len() == others.len() => {
            let before = scope.len();
            let mut new = Vec::new();
            for ((name, value), (_, other)) in bindings.iter().zip(others) {
                let pair = pair_of(value, other, scope)?;
                if *one_by_one { scope.push((name.clone(), pair)) } else { new.push((name.clone(), pair)) }
            }
            scope.extend(new);
            let pair = pair_of(body, other, scope);
            scope.truncate(before);
            pair
        }
        // A square is not negative.
        (Expr::Apply(op, args), Expr::Apply(other, others))
            if op == "*" && other == op && is_twice_the_same(args) && is_twice_the_same(others) =>
        {
            let two = Pair::same(interval::exactly(2.0, BITS));
            pair::applied("pow", &[pair_of(&args[0], &others[0], scope)?, two])
        }
        (Expr::Apply(op, args), Expr::Apply(other, others)) if op == other && args.len() == others.len() => {
            let pairs = args.iter().zip(others).map(|(a, b)| pair_of(a, b, scope)).collect::<Result<Vec<_>, _>>()?;
            pair::applied(op, &pairs)
        }
        _ if original == mutant => {
            if let Expr::Variable(name) = original {
                return scope.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.clone()).ok_or(NoEnclosure::Unknown);
            }
            interval::enclose(original, &mut Vec::new(), BITS).map(Pair::same)
        }
        _ => changed(original, mutant, scope),
    }
}

fn is_twice_the_same(args: &[Expr]) -> bool {
    matches!(args, [a, b] if a == b)
}

/// Returns the pair of a node and its replacement.
fn changed(original: &Expr, mutant: &Expr, scope: &mut Scope) -> Paired {
    let value = |expr: &Expr, scope: &mut Scope| pair_of(expr, expr, scope).map(|pair| pair.original);
    let (a, b) = (value(original, scope)?, value(mutant, scope)?);
    let Expr::Apply(op, args) = mutant else { return Pair::of(a, b, None) };
    let zero = || Some(interval::exactly(0.0, BITS));
    let known = match (op.as_str(), &args[..]) {
        ("-", [x]) if x == original => return Ok(Pair { is_negated: true, ..Pair::of(a, b, None)? }),
        ("fabs", [x]) if x == original && a.high <= 0.0 => {
            return Ok(Pair { is_negated: true, ..Pair::of(a, b, None)? });
        }
        ("fabs", [x]) if x == original && a.low >= 0.0 => zero(),
        // A subtraction became an addition, or the other way round.
        ("+" | "-", [_, y]) if matches!(original, Expr::Apply(was, of) if of == args && (was == "+" || was == "-")) => {
            let twice = product(&value(y, scope)?, &interval::exactly(2.0, BITS), BITS)?;
            Some(if op == "+" { twice } else { negative(&twice) })
        }
        // A division by one became a multiplication with one, or the other way round.
        ("*" | "/", [_, y]) if matches!(original, Expr::Apply(was, of) if of == args && (was == "*" || was == "/")) => {
            (value(y, scope)? == interval::exactly(1.0, BITS)).then(zero).flatten()
        }
        ("fmin" | "fmax", [x, y]) if x == original && y == original => zero(),
        ("fmin" | "fmax", [x, y]) => {
            let (x, y) = (value(x, scope)?, value(y, scope)?);
            let is_above = |x: &Interval, y: &Interval| if op == "fmax" { x.low >= y.high } else { x.high <= y.low };
            let one = interval::exactly(1.0, BITS);
            match original {
                Expr::Apply(was, of) if of == args => match was.as_str() {
                    "-" if is_above(&x, &y) => Some(y),
                    "+" if is_above(&x, &y) => Some(negative(&y)),
                    "*" if (y == one && is_above(&x, &y)) || (x == one && is_above(&y, &x)) => zero(),
                    _ => None,
                },
                _ => None,
            }
        }
        // A constant was changed by a factor of 1 ± 10·ε.
        ("*", [x, Expr::Number(_)]) if x == original => {
            let by = interval::enclose(&args[1], &mut Vec::new(), BITS)?;
            Some(product(&a, &sum(&by, &interval::exactly(-1.0, BITS), BITS)?, BITS)?)
        }
        _ => None,
    };
    Ok(Pair::of(a, b, known)?.with_factor(None))
}

#[cfg(test)]
mod tests {
    use super::{super::operators, *};
    use crate::fpcore::parsed;

    /// Returns how many of the mutants whose text begins with `change` are proved equivalent, and how many there are.
    fn proved(core: &str, change: &str) -> (usize, usize) {
        let specification = Specification::of(&parsed(core).expect("a core"), None).expect("a specification");
        let all = operators::mutants(&specification);
        let named: Vec<_> = all.iter().filter(|m| m.text.starts_with(change)).collect();
        (named.iter().filter(|m| is_equivalent(&specification, m)).count(), named.len())
    }

    #[test]
    fn equivalent_mutants_are_proved() {
        let core = "(FPCore (x y) :pre (and (<= 1 x 2) (<= -3 y 3)) (+ (* x x) (cos y)))";
        assert_eq!(proved(core, "x → (fabs x)"), (2, 2), "x is positive");
        assert_eq!(proved(core, "y → (fabs y)"), (1, 1), "the cosine is even");
        assert_eq!(proved(core, "y → (- y)"), (1, 1), "the cosine is even");
        assert_eq!(proved(core, "x → (fmin x x)"), (2, 2));
        assert_eq!(proved(core, "x → (- x)"), (0, 2), "x times -x");
        assert_eq!(proved(core, "accuracy times 1e"), (2, 8), "the greatest value is 5: 5e-10 · 999 is above 1e-7");
    }

    #[test]
    fn changed_operands_or_shadowed_names_are_not_proved() {
        // The replacement is no operation on the operands of the sum.
        let core = "(FPCore (v p q) :pre (and (<= 1 v 2) (<= 10 p 20) (<= 0 q 1e-12)) (+ v (fmax p q)))";
        assert_eq!(proved(core, "(+ v (fmax p q)) → (fmax p q)"), (0, 1));
        // Inside of `let`, x is negative.
        let core = "(FPCore (x) :pre (<= 1 x 2) (let ((x (- 0 x))) (+ x 7)))";
        assert_eq!(proved(core, "x → (fabs x)"), (1, 2));
    }

    #[test]
    fn a_small_difference_is_carried_through_the_expression() {
        let core = "(FPCore (x) :pre (<= 1 x 2) (+ (exp (* x 1e-3)) x))";
        assert_eq!(proved(core, "1e-3 → "), (2, 2), "a change of 1e-12 relative to 2");
        let core = "(FPCore (x) :pre (<= 1 x 2) (+ (exp (* x 1.5)) x))";
        assert_eq!(proved(core, "1.5 → "), (0, 2));
    }

    #[test]
    fn terms_of_one_sign_change_the_sum_by_no_larger_a_factor() {
        // The sum is about e^-200 at some points, where differences of intervals prove nothing.
        let core = "(FPCore (x y) :pre (and (<= 0 x 1) (<= 0 y 200)) (+ (exp (- (* x 1e-3) y)) (exp (- (* x x) y))))";
        assert_eq!(proved(core, "1e-3 → "), (2, 2));
        let opposite =
            "(FPCore (x y) :pre (and (<= 0 x 1) (<= 0 y 200)) (- (exp (- (* x 1e-3) y)) (exp (- (* x x) y))))";
        assert_eq!(proved(opposite, "1e-3 → "), (0, 2), "they cancel");
    }

    #[test]
    fn fmin_replaces_product_with_one() {
        let core = "(FPCore (x) :pre (<= -1 x 1) (* 1 (exp (- (* (- x 0.3) (- x 0.3))))))";
        assert_eq!(
            proved(core, "(* 1 (exp (- (* (- x 0.3) (- x 0.3))))) → (fmin "),
            (1, 1),
            "minus a square is not positive"
        );
        assert_eq!(proved(core, "(* 1 (exp (- (* (- x 0.3) (- x 0.3))))) → (fmax "), (0, 1));
    }

    #[test]
    fn a_product_with_one_is_the_quotient() {
        let core = "(FPCore (x y) :pre (and (<= -1 x 1) (<= 1 y 2)) (+ (* x 1) (/ x y)))";
        assert_eq!(proved(core, "(* x 1) → (/ x 1)"), (1, 1));
        assert_eq!(proved(core, "(/ x y) → (* x y)"), (0, 1));
    }

    #[test]
    fn accuracy_counts_where_the_root_has_a_value() {
        let core = "(FPCore (x) :pre (<= -1 x 4) (sqrt x))";
        assert_eq!(proved(core, "accuracy times 1e"), (2, 8), "2e-10 · 999 is above 1e-7");
        let large = "(FPCore (x) :pre (<= -1 x 1e6) (sqrt x))";
        assert_eq!(proved(large, "accuracy times 1e"), (0, 8));
    }

    #[test]
    fn a_larger_domain_without_values_is_proved() {
        let core = "(FPCore (x) :pre (<= 0 x 1) (sqrt x))";
        assert_eq!(proved(core, "lower bound"), (1, 1));
        assert_eq!(proved(core, "upper bound"), (0, 1));
    }
}
