//! Enumerates the mutants of a specification, always in the same order (Jeangoudoux, Darulova and Lauter, *Interval
//! constraint-based mutation testing of numerical specifications*, ISSTA 2021).

use super::Specification;
use crate::fpcore::Expr;

/// Relative changes of a real constant, in multiples of the accuracy ε.
const CONSTANT_CHANGES: [f64; 2] = [10.0, -10.0];
/// Extension of a domain at one bound, relative to its width.
const MOVED: f64 = 0.1;

/// Functions of one argument, which replace each other.
const UNARY: [&str; 15] =
    ["-", "fabs", "sqrt", "cbrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"];
/// Operations on two numbers, which replace each other.
const BINARY: [&str; 6] = ["+", "-", "*", "/", "fmin", "fmax"];

/// A kind of mutants: the mutation operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A larger tolerance.
    Accuracy,
    /// A larger domain of a variable.
    Bounds,
    /// Another constant.
    Constant,
    /// Another variable.
    Variable,
    /// Another function of one argument.
    Unary,
    /// Another operation on two numbers.
    Binary,
    /// A function or an operation inserted at a variable.
    Add,
    /// A variable deleted from an operation.
    Delete,
}

impl Class {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::Accuracy,
        Self::Bounds,
        Self::Constant,
        Self::Variable,
        Self::Unary,
        Self::Binary,
        Self::Add,
        Self::Delete,
    ];

    /// The name of the kind in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Bounds => "bounds",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::Unary => "unary",
            Self::Binary => "binary",
            Self::Add => "add",
            Self::Delete => "delete",
        }
    }
}

/// The change of a mutant.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The tolerance is 10^i times as large.
    Accuracy(i32),
    /// The domain of this argument is extended by this range.
    Bound(usize, f64, f64),
    /// Another expression.
    Body(Expr),
}

/// A mutant.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutant {
    /// Its kind.
    pub class: Class,
    /// The change as text.
    pub text: String,
    /// The change.
    pub change: Change,
}

/// Returns the normal form of an expression: sums and products of several numbers become operations on two, and
/// annotations of precision are removed, because a specification is about real numbers. `None` if the expression has
/// conditions or loops.
#[must_use]
pub fn normal(expr: &Expr) -> Option<Expr> {
    Some(match expr {
        Expr::Number(_) | Expr::Constant(_) | Expr::Variable(_) => expr.clone(),
        Expr::In(_, body) | Expr::Cast(body) => normal(body)?,
        Expr::Let(one_by_one, bindings, body) => {
            let bound = bindings.iter().map(|(n, e)| Some((n.clone(), normal(e)?))).collect::<Option<_>>()?;
            Expr::Let(*one_by_one, bound, Box::new(normal(body)?))
        }
        Expr::Apply(op, args) => {
            let args = args.iter().map(normal).collect::<Option<Vec<_>>>()?;
            if args.len() < 3 || op == "fma" {
                return Some(Expr::Apply(op.clone(), args));
            }
            args.into_iter().reduce(|a, b| Expr::Apply(op.clone(), vec![a, b]))?
        }
        Expr::If(_) | Expr::While(..) => return None,
    })
}

/// Returns all mutants of a specification.
#[must_use]
pub fn mutants(specification: &Specification) -> Vec<Mutant> {
    let Specification { variables, body, accuracy, .. } = specification;
    let mutant = |class, text: String, change| Mutant { class, text, change };
    let mut all = Vec::new();
    for i in 1..=8 {
        all.push(mutant(Class::Accuracy, format!("accuracy times 1e{i}"), Change::Accuracy(i)));
    }
    for (n, (name, low, high)) in variables.iter().enumerate() {
        let part = (high - low) * MOVED;
        all.push(mutant(Class::Bounds, format!("lower bound of {name}"), Change::Bound(n, low - part, *low)));
        all.push(mutant(Class::Bounds, format!("upper bound of {name}"), Change::Bound(n, *high, high + part)));
    }
    for place in 0..size(body) {
        let Some(node) = at(body, place) else { continue };
        for (class, other) in others(node, variables, *accuracy) {
            let text = format!("{} → {}", text_of(node), text_of(&other));
            all.push(mutant(class, text, Change::Body(with(body, place, &other))));
        }
    }
    all.sort_by_key(|m| m.class);
    all
}

fn apply(op: &str, args: &[&Expr]) -> Expr {
    Expr::Apply(op.to_owned(), args.iter().map(|a| (*a).clone()).collect())
}

/// Returns the replacements of a node.
fn others(node: &Expr, variables: &[(String, f64, f64)], accuracy: f64) -> Vec<(Class, Expr)> {
    let is_variable = |e: &Expr| matches!(e, Expr::Variable(v) if variables.iter().any(|(name, ..)| name == v));
    let scaled = |by: f64| (Class::Constant, apply("*", &[node, &Expr::Number((1.0 + by * accuracy).to_string())]));
    match node {
        Expr::Number(text) => match text.parse::<i64>() {
            Ok(n) => [n + 1, n - 1].map(|n| (Class::Constant, Expr::Number(n.to_string()))).into(),
            Err(_) => CONSTANT_CHANGES.map(scaled).into(),
        },
        Expr::Constant(_) => CONSTANT_CHANGES.map(scaled).into(),
        Expr::Variable(name) if is_variable(node) => {
            let other = variables.iter().filter(|(other, ..)| other != name);
            let mut all: Vec<_> = other.map(|(n, ..)| (Class::Variable, Expr::Variable(n.clone()))).collect();
            all.extend(BINARY.map(|op| (Class::Add, apply(op, &[node, node]))));
            all.extend(UNARY.map(|op| (Class::Add, apply(op, &[node]))));
            all
        }
        Expr::Apply(op, args) if args.len() == 1 => {
            let other = UNARY.iter().filter(|other| *other != op);
            other.map(|other| (Class::Unary, apply(other, &[&args[0]]))).collect()
        }
        Expr::Apply(op, args) if args.len() == 2 => {
            let other = BINARY.iter().filter(|other| *other != op);
            let mut all: Vec<_> = other.map(|o| (Class::Binary, apply(o, &[&args[0], &args[1]]))).collect();
            // The remaining operand must be an expression, not a variable or number.
            for (gone, left) in [(0, 1), (1, 0)] {
                if is_variable(&args[gone]) && matches!(args[left], Expr::Apply(..) | Expr::Let(..)) {
                    all.push((Class::Delete, args[left].clone()));
                }
            }
            all
        }
        _ => Vec::new(),
    }
}

/// Returns the operands of a node, in order.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Apply(_, args) => args.iter().collect(),
        Expr::Let(_, bindings, body) => bindings.iter().map(|(_, e)| e).chain([&**body]).collect(),
        _ => Vec::new(),
    }
}

/// Returns the number of nodes of an expression.
fn size(expr: &Expr) -> usize {
    1 + parts(expr).into_iter().map(size).sum::<usize>()
}

/// Returns the node with this number, in the order of the text.
fn at(expr: &Expr, mut place: usize) -> Option<&Expr> {
    if place == 0 {
        return Some(expr);
    }
    place -= 1;
    for part in parts(expr) {
        if place < size(part) {
            return at(part, place);
        }
        place -= size(part);
    }
    None
}

/// Returns the expression with the node of this number replaced.
fn with(expr: &Expr, place: usize, other: &Expr) -> Expr {
    if place == 0 {
        return other.clone();
    }
    let mut left = place - 1;
    let mut replace = |part: &Expr| {
        let here = left;
        let n = size(part);
        left = left.wrapping_sub(n);
        if here < n { with(part, here, other) } else { part.clone() }
    };
    match expr {
        Expr::Apply(op, args) => Expr::Apply(op.clone(), args.iter().map(replace).collect()),
        Expr::Let(one_by_one, bindings, body) => {
            let bound = bindings.iter().map(|(n, e)| (n.clone(), replace(e))).collect();
            Expr::Let(*one_by_one, bound, Box::new(replace(body)))
        }
        _ => expr.clone(),
    }
}

/// Returns the expression in the syntax of the specification.
fn text_of(expr: &Expr) -> String {
    match expr {
        Expr::Number(text) | Expr::Constant(text) | Expr::Variable(text) => text.clone(),
        Expr::Apply(op, args) => format!("({op} {})", args.iter().map(text_of).collect::<Vec<_>>().join(" ")),
        _ => "…".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fpcore::parsed;

    fn count(text: &str, variables: &[&str], class: Option<Class>) -> usize {
        let core = parsed(text).expect("a core");
        let all = mutants(&Specification {
            variables: variables.iter().map(|v| ((*v).to_owned(), 0.0, 1.0)).collect(),
            body: normal(&core.body).expect("a straight line"),
            ..Specification::default()
        });
        all.iter().filter(|m| class.is_none_or(|c| m.class == c)).count()
    }

    #[test]
    fn mutant_counts_match_publication() {
        assert_eq!(count("(FPCore (x y) (sin (* x y)))", &["x", "y"], None), 75);
        assert_eq!(count("(FPCore (z) (/ z (+ z 1)))", &["z"], None), 65);
    }

    #[test]
    fn sums_of_several_numbers_are_operations_on_two() {
        let text = "(FPCore (x y) (let ((t (+ x y 1.5))) (* t t)))";
        assert_eq!(count(text, &["x", "y"], Some(Class::Binary)), 15);
        assert_eq!(count(text, &["x", "y"], Some(Class::Constant)), 2);
        assert_eq!(count(text, &["x", "y"], Some(Class::Add)), 42, "t is no variable of the specification");
    }

    #[test]
    fn a_replaced_node_is_at_its_place() {
        let body = normal(&parsed("(FPCore (x) (- (* x 2) (sqrt x)))").expect("a core").body).expect("a straight line");
        let changed = with(&body, 3, &Expr::Number("7".to_owned()));
        assert_eq!(text_of(&changed), "(- (* x 7) (sqrt x))");
        assert_eq!(at(&body, 4).map(text_of).as_deref(), Some("(sqrt x)"));
        assert_eq!(at(&body, 6), None);
    }
}
