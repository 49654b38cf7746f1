//! Emits the branch distances of formulas other than single comparisons: `p` is the distance to true, `n` the distance
//! to false. Each intermediate result is a C constant, since the macros of the prelude evaluate their arguments several
//! times.

use super::{
    Writer, name,
    value::{self, held},
};
use crate::{
    float::Format,
    term::{Class, Node, Op, Sort, Term},
};

/// Two C expressions: the distance to true, and the distance to false.
type Pair = (String, String);

impl Writer<'_> {
    /// Declares the distances of a formula. Those of its parts are already declared.
    pub(super) fn distances(&mut self, term: Term) {
        let (to_true, to_false) = self.pair(term);
        let number = term.index();
        self.put(&format!("  const uint64_t p{number} = {to_true}, n{number} = {to_false};\n"));
    }

    /// Declares a constant with this value, and returns its name.
    fn step(&mut self, c_type: &str, value: &str) -> String {
        self.steps += 1;
        let name = format!("d{}", self.steps);
        self.put(&format!("  const {c_type} {name} = {value};\n"));
        name
    }

    fn pair(&mut self, term: Term) -> Pair {
        let node = self.terms.node(term);
        let p = |n: usize| format!("p{}", node.args[n].index());
        let n = |n: usize| format!("n{}", node.args[n].index());
        let is_of_bools = node.args.first().is_some_and(|a| self.terms.sort(*a) == Sort::Bool);
        let all = 0..node.args.len();
        match node.op {
            Op::Not => (n(0), p(0)),
            Op::And => (self.fold("SUM", all.clone().map(p)), self.fold("LEAST", all.map(n))),
            Op::Or => (self.fold("LEAST", all.clone().map(p)), self.fold("SUM", all.map(n))),
            Op::Xor => (self.either([p(0), n(1)], [n(0), p(1)]), self.either([p(0), p(1)], [n(0), n(1)])),
            Op::Eq if is_of_bools => (self.either([p(0), p(1)], [n(0), n(1)]), self.either([p(0), n(1)], [n(0), p(1)])),
            Op::Ite => (self.either([p(0), p(1)], [n(0), p(2)]), self.either([p(0), n(1)], [n(0), n(2)])),
            Op::Const(_) | Op::Var(_) => {
                let own = name(term);
                (format!("PICK({own}, 0, 1)"), format!("PICK({own}, 1, 0)"))
            }
            _ => self.leaf(node),
        }
    }

    fn fold(&mut self, of: &str, all: impl Iterator<Item = String>) -> String {
        all.reduce(|a, b| self.step("uint64_t", &format!("{of}({a}, {b})"))).unwrap_or_else(|| "0".to_owned())
    }

    /// The distance to fulfilling both conditions of one of the two pairs.
    fn either(&mut self, first: [String; 2], second: [String; 2]) -> String {
        let both = [first, second].map(|[a, b]| self.step("uint64_t", &format!("SUM({a}, {b})")));
        format!("LEAST({}, {})", both[0], both[1])
    }

    fn leaf(&mut self, node: &Node) -> Pair {
        let sort = self.terms.sort(node.args[0]);
        let kind = value::unsigned(sort.bits());
        let (mut a, mut b) = (name(node.args[0]), node.args.get(1).map(|b| name(*b)).unwrap_or_default());
        match (node.op, sort) {
            (Op::FpIs(class), Sort::Float(format)) => {
                let Interval { position, first, last } = interval(class, format, &a);
                let place = self.step("int64_t", &position);
                (format!("INSIDE({place}, {first}, {last})"), format!("OUTSIDE({place}, {first}, {last})"))
            }
            (Op::Eq, Sort::Float(format)) => {
                let [a, b] = [a, b].map(|x| self.step("int64_t", &format!("{}({x})", value::key(format))));
                (format!("TO_EQ(uint64_t, {a}, {b})"), format!("TO_NE({a}, {b})"))
            }
            (op, Sort::Float(format)) => self.of_values(op, format, &a, &b),
            (Op::Eq, _) => (format!("TO_EQ({kind}, {a}, {b})"), format!("TO_NE({a}, {b})")),
            (op, _) => {
                if matches!(op, Op::BvSlt | Op::BvSle) {
                    let c_type = if kind == "wide" { "signed_wide" } else { "int64_t" };
                    [a, b] = [a, b].map(|x| self.step(c_type, &value::signed(&x, sort.bits())));
                }
                of_order(matches!(op, Op::BvSle | Op::BvUle), kind, &a, &b)
            }
        }
    }

    /// The distances of a comparison by value: zeros are equal, and NaN is unordered.
    fn of_values(&mut self, op: Op, format: Format, a: &str, b: &str) -> Pair {
        let [x, y] = [a, b].map(|x| {
            let sum = self.step(value::c_type(Sort::Float(format)), &format!("{x} + 0"));
            self.step("int64_t", &format!("{}({sum})", value::key(format)))
        });
        let (to_true, to_false) = match op {
            Op::FpEq => (format!("TO_EQ(uint64_t, {x}, {y})"), format!("TO_NE({x}, {y})")),
            _ => of_order(op == Op::FpLeq, "uint64_t", &x, &y),
        };
        (format!("ORDERED({a}, {b}, {to_true})"), format!("UNORDERED({a}, {b}, {to_false})"))
    }
}

fn of_order(is_closed: bool, kind: &str, a: &str, b: &str) -> Pair {
    let (to, back) = if is_closed { ("TO_LE", "TO_LT") } else { ("TO_LT", "TO_LE") };
    (format!("{to}({kind}, {a}, {b})"), format!("{back}({kind}, {b}, {a})"))
}

/// A class of floats as an interval in the order of all floats, as C expressions.
pub(super) struct Interval {
    /// The position of the value.
    pub(super) position: String,
    /// The first position of the class.
    pub(super) first: String,
    /// The last position of the class.
    pub(super) last: String,
}

/// The interval of a class of floats, and the position of the value `x`.
pub(super) fn interval(class: Class, format: Format, x: &str) -> Interval {
    let key = value::key(format);
    let abs = if key == "KEY64" { "fabs" } else { "fabsf" };
    let place = |bits: u128| format!("{}LL", held(format, bits));
    let (normal, infinity) = (format.least_normal(), format.infinity());
    let (first, last) = match class {
        Class::Zero => (place(0), place(0)),
        Class::Subnormal => (place(1), place(normal - 1)),
        Class::Normal => (place(normal), place(infinity - 1)),
        Class::Infinite => (place(infinity), place(infinity)),
        Class::NaN => ("INT64_MAX".to_owned(), "INT64_MAX".to_owned()),
        Class::Negative => ("INT64_MIN".to_owned(), "-1LL".to_owned()),
        Class::Positive => (place(0), place(infinity)),
    };
    let is_signed = matches!(class, Class::Negative | Class::Positive);
    let position = if is_signed { format!("{key}({x})") } else { format!("{key}({abs}({x}))") };
    Interval { position, first, last }
}
