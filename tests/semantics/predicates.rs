//! Every comparison predicate of LLVM, alone in a function, as a branch and as a select.

use std::fmt::Write as _;

use penfuzz_abi::{action, metric};
use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use penfuzz_mutators::distance::{Relation, exact_float, exact_integer, squared};

use crate::twin::{Arming, Twin, on_target_thread};

#[path = "sides.rs"]
mod sides;

/// In the order of `llvm::CmpInst::Predicate`, from 1 and from 32; 0 and 15 are the constants.
const FLOAT: [&str; 14] =
    ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "uno", "ueq", "ugt", "uge", "ult", "ule", "une"];
const INTEGER: [&str; 10] = ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    F32,
    F64,
    Integer(u32),
}

impl Operand {
    const ALL: [Self; 6] =
        [Self::F32, Self::F64, Self::Integer(8), Self::Integer(16), Self::Integer(32), Self::Integer(64)];

    fn name(self) -> String {
        match self {
            Self::F32 => "float".to_owned(),
            Self::F64 => "double".to_owned(),
            Self::Integer(bits) => format!("i{bits}"),
        }
    }

    fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
            Self::Integer(bits) => bits as usize / 8,
        }
    }

    fn predicates(self) -> &'static [&'static str] {
        if let Self::Integer(_) = self { &INTEGER } else { &FLOAT }
    }

    fn instruction(self) -> &'static str {
        if let Self::Integer(_) = self { "icmp" } else { "fcmp" }
    }

    /// Raw bits, sorted by value where there is an order (NaN last).
    fn values(self) -> Vec<u64> {
        match self {
            Self::F64 => doubles(),
            Self::F32 => floats(),
            Self::Integer(bits) => integers(bits),
        }
    }

    fn value(self, raw: u64, unsigned: bool) -> Value {
        match self {
            Self::F64 => Value::F64(f64::from_bits(raw)),
            Self::F32 => Value::F32(f32::from_bits(raw as u32)),
            Self::Integer(bits) if unsigned => Value::Integer(i128::from(raw & (u64::MAX >> (64 - bits)))),
            Self::Integer(bits) => Value::Integer(i128::from((raw << (64 - bits)) as i64 >> (64 - bits))),
        }
    }
}

fn doubles() -> Vec<u64> {
    let sizes = [
        0.0,
        5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        1e-160,
        1.0,
        1.0f64.next_up(),
        1.5,
        2.0,
        3.0,
        1e9,
        1e154,
        1e300,
        f64::MAX,
    ];
    let mut values: Vec<f64> = sizes.iter().flat_map(|v| [*v, -*v]).collect();
    values.extend([f64::MIN_POSITIVE.next_down(), f64::INFINITY, f64::NEG_INFINITY]);
    values.sort_by(f64::total_cmp);
    let nan = [0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0001, 0xfff0_0000_0000_0001, u64::MAX];
    values.iter().map(|v| v.to_bits()).chain(nan).collect()
}

fn floats() -> Vec<u64> {
    let sizes =
        [0.0, 1e-45, 1e-40, f32::MIN_POSITIVE, 1e-20, 1.0, 1.0f32.next_up(), 1.5, 2.0, 3.0, 1e9, 1e30, f32::MAX];
    let mut values: Vec<f32> = sizes.iter().flat_map(|v| [*v, -*v]).collect();
    values.extend([f32::MIN_POSITIVE.next_down(), f32::INFINITY, f32::NEG_INFINITY]);
    values.sort_by(f32::total_cmp);
    let nan = [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xff80_0001, 0xffff_ffff];
    values.iter().map(|v| u64::from(v.to_bits())).chain(nan).collect()
}

fn integers(bits: u32) -> Vec<u64> {
    let (min, max) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
    let mut values = vec![min, min + 1, min / 2, -7, -2, -1, 0, 1, 2, 3, 42, max / 2, max / 2 + 1, max - 1, max];
    if bits == 64 {
        // Different integers that round to the same double.
        values.extend([(1 << 53) + 1, 1 << 53, -(1 << 60), -(1 << 60) - 1]);
    }
    values.sort_unstable();
    values.dedup();
    values.iter().map(|v| *v as u64 & (u64::MAX >> (64 - bits))).collect()
}

#[derive(Debug, Clone, Copy)]
enum Value {
    F32(f32),
    F64(f64),
    Integer(i128),
}

impl Value {
    fn is_nan(self) -> bool {
        match self {
            Self::F32(v) => v.is_nan(),
            Self::F64(v) => v.is_nan(),
            Self::Integer(_) => false,
        }
    }

    fn real(self) -> f64 {
        match self {
            Self::F32(v) => f64::from(v),
            Self::F64(v) => v,
            Self::Integer(v) => v as f64,
        }
    }

    /// The position on a line whose steps are the values of the type, both zeros at 0.
    fn position(self) -> i128 {
        match self {
            Self::F32(v) => i128::from(v.abs().to_bits()) * if v.is_sign_negative() { -1 } else { 1 },
            Self::F64(v) => i128::from(v.abs().to_bits()) * if v.is_sign_negative() { -1 } else { 1 },
            Self::Integer(v) => v,
        }
    }
}

/// One of the 24 predicates.
#[derive(Debug, Clone, Copy)]
struct Predicate {
    operand: Operand,
    index: usize,
}

impl Predicate {
    fn name(self) -> &'static str {
        self.operand.predicates()[self.index]
    }

    fn values(self, a: u64, b: u64) -> (Value, Value) {
        let unsigned = self.name().starts_with('u') && self.operand.instruction() == "icmp";
        (self.operand.value(a, unsigned), self.operand.value(b, unsigned))
    }

    /// The relation between numbers, `None` for `ord` and `uno`.
    fn relation(self) -> Option<Relation> {
        let name = self.name();
        Some(match &name[name.len() - 2..] {
            "eq" => Relation::Eq,
            "ne" => Relation::Ne,
            "gt" => Relation::Gt,
            "ge" => Relation::Ge,
            "lt" => Relation::Lt,
            "le" => Relation::Le,
            _ => return None,
        })
    }

    /// Returns the value of the comparison, by the definition in LLVM's language reference.
    fn holds(self, a: u64, b: u64) -> bool {
        let (a, b) = self.values(a, b);
        let unordered = a.is_nan() || b.is_nan();
        match (self.operand, self.name()) {
            (Operand::Integer(_), _) => self.relation().expect("integers have one").holds(&a.position(), &b.position()),
            (_, "ord") => !unordered,
            (_, "uno") => unordered,
            (_, name) if unordered => name.starts_with('u'),
            _ => self.relation().expect("the others have one").holds(&a.real(), &b.real()),
        }
    }

    /// Returns the reference distance to a side; `None` if there is none.
    fn distance(self, metric: u32, side: bool, a: u64, b: u64) -> Option<u64> {
        let (a, b) = self.values(a, b);
        if a.is_nan() || b.is_nan() {
            return None;
        }
        let relation = if side { self.relation()? } else { negated(self.relation()?) };
        if metric == metric::ULP {
            return Some(match (a, b) {
                (Value::F64(a), Value::F64(b)) => exact_float(relation, a, b),
                _ => exact_integer(relation, a.position(), b.position()),
            });
        }
        #[expect(clippy::float_cmp, reason = "whether they are the same double is the question")]
        let same_double = a.real() == b.real();
        if a.position() != b.position() && same_double {
            return None; // different integers, one double
        }
        Some(squared(relation, a.real(), b.real()).min(f64::MAX).to_bits())
    }
}

fn negated(relation: Relation) -> Relation {
    match relation {
        Relation::Eq => Relation::Ne,
        Relation::Ne => Relation::Eq,
        Relation::Lt => Relation::Ge,
        Relation::Ge => Relation::Lt,
        Relation::Gt => Relation::Le,
        Relation::Le => Relation::Gt,
    }
}

fn module() -> String {
    let mut text = String::new();
    for operand in Operand::ALL {
        let (ty, instruction) = (operand.name(), operand.instruction());
        for p in operand.predicates() {
            write!(
                text,
                "define i32 @branch_{p}_{ty}({ty} %a, {ty} %b) {{\n  %c = {instruction} {p} {ty} %a, %b\n  \
                 br i1 %c, label %t, label %f\nt:\n  ret i32 1\nf:\n  ret i32 0\n}}\n\
                 define i32 @select_{p}_{ty}({ty} %a, {ty} %b) {{\n  %c = {instruction} {p} {ty} %a, %b\n  \
                 %r = select i1 %c, i32 1, i32 0\n  ret i32 %r\n}}\n"
            )
            .expect("a String takes it");
        }
    }
    text
}

/// One function of the module, under test.
struct Case<'a> {
    evaluator: &'a mut Evaluator,
    first: usize,
    predicate: Predicate,
    label: String,
}

impl Case<'_> {
    fn input(&self, a: u64, b: u64) -> Vec<u8> {
        let n = self.predicate.operand.size();
        [&a.to_le_bytes()[..n], &b.to_le_bytes()[..n]].concat()
    }

    fn result(&mut self, a: u64, b: u64) -> bool {
        let x = self.input(a, b);
        assert_eq!(self.evaluator.run(&x), RunStatus::Returned, "{}", self.label);
        self.evaluator.output()[0] as u32 == 1
    }

    fn at(&self, a: u64, b: u64) -> String {
        format!("{} at {:?}", self.label, self.predicate.values(a, b))
    }

    fn for_all_pairs(&mut self, mut check: impl FnMut(&mut Self, u64, u64)) {
        let values = self.predicate.operand.values();
        for a in &values {
            for b in &values {
                let (result, expected) = (self.result(*a, *b), self.predicate.holds(*a, *b));
                assert_eq!(result, expected, "{}: left instrumented, right reference", self.at(*a, *b));
                check(self, *a, *b);
            }
        }
    }

    fn unarmed(&mut self) {
        Arming::Unarmed.apply(self.evaluator);
        self.for_all_pairs(|me, a, b| {
            assert!(!me.evaluator.has_hits(), "{}: nothing is armed", me.at(a, b));
            assert_eq!(me.evaluator.r(), u64::MAX, "{}: nothing is armed", me.at(a, b));
        });
    }

    /// Checks the record of the comparison that runs write in the metric for boundary values, and that they write none
    /// otherwise.
    fn measured(&mut self, predicate: u8) {
        self.evaluator.set_metric(metric::ULP, u64::MAX);
        let first = self.first;
        self.evaluator.arm(|b| if b == first { action::WANT } else { 0 });
        for measures in [true, false] {
            self.evaluator.set_measuring(measures);
            self.for_all_pairs(|me, a, b| {
                let mut noted = Vec::new();
                me.evaluator.take_compared(|taken, other, pass| {
                    noted.push((taken, other, pass.predicate, pass.a, pass.b));
                });
                let bits = |value: Value| match value {
                    Value::Integer(i) => i as u64,
                    float => float.real().to_bits(),
                };
                let (left, right) = me.predicate.values(a, b);
                let taken = first + usize::from(!me.predicate.holds(a, b));
                let pass = (taken, 2 * first + 1 - taken, u32::from(predicate), bits(left), bits(right));
                if left.is_nan() || right.is_nan() {
                    assert_eq!(noted.len(), usize::from(measures), "{}: NaN has many bits", me.at(a, b));
                } else {
                    assert_eq!(noted, &[pass][..usize::from(measures)], "{}: what is noted", me.at(a, b));
                }
            });
        }
    }

    fn everything(&mut self, metric: u32) {
        Arming::Everything(metric).apply(self.evaluator);
        let mut hits = Vec::new();
        let branches = [self.first, self.first + 1];
        self.for_all_pairs(|me, a, b| {
            let taken = usize::from(!me.predicate.holds(a, b));
            me.evaluator.take_hits(&mut hits);
            assert_eq!(hits, [branches[taken] as u32], "{}: the recorded outcome", me.at(a, b));
            // Both branches are wanted, and the hook evaluates the branch that is not taken after the other.
            let r = me.evaluator.r();
            assert!(r > 0, "{}: distance to the side not taken", me.at(a, b));
            for branch in branches {
                me.evaluator.forget_closest(branch);
            }
            me.result(a, b);
            let x = me.input(a, b);
            assert_eq!(me.evaluator.closest(branches[1 - taken]), Some((r, &x[..])), "{}", me.at(a, b));
            assert_eq!(me.evaluator.closest(branches[taken]), None, "{}: taken, so not missed", me.at(a, b));
            me.evaluator.take_hits(&mut hits);
        });
    }

    fn wanting(&mut self, metric: u32, side: bool) {
        let wanted = self.first + usize::from(!side);
        self.evaluator.set_metric(metric, u64::MAX);
        self.evaluator.arm(|b| if b == wanted { action::WANT } else { 0 });
        let mut distances = Vec::new();
        self.for_all_pairs(|me, a, b| {
            let r = me.evaluator.r();
            let reached = me.predicate.holds(a, b) == side;
            assert_eq!(r == 0, reached, "{}: r is {r} for {side}", me.at(a, b));
            if let Some(d) = me.predicate.distance(metric, side, a, b) {
                assert_eq!(r, d, "{}: distance to {side} in metric {metric}, right the reference", me.at(a, b));
            }
            distances.push((a, b, r));
        });
        self.never_rises_on_approach(metric, side, &distances);
    }

    /// Moving `a` towards a fixed `b` must never increase the distance, as long as the side is not reached.
    fn never_rises_on_approach(&self, metric: u32, side: bool, distances: &[(u64, u64, u64)]) {
        if self.predicate.relation().is_none() {
            return;
        }
        for &(a, b, d) in distances.iter().filter(|(_, _, d)| *d > 0) {
            for &(nearer, other, less) in distances.iter().filter(|(_, other, d)| *other == b && *d > 0) {
                let ((a, b), (n, _)) = (self.predicate.values(a, b), self.predicate.values(nearer, other));
                if a.is_nan() || b.is_nan() || n.is_nan() {
                    continue;
                }
                let (a, b, n) = (a.position(), b.position(), n.position());
                if (b..=a).contains(&n) || (a..=b).contains(&n) {
                    assert!(less <= d, "{}: {a} to {n} at {b}: {d} to {less}, {side}, metric {metric}", self.label);
                }
            }
        }
    }
}

fn check_all(level: &'static str) -> usize {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let twin = Twin::of_text(directory.path(), "predicates.ll", &module(), level);
    let mut checked = 0;
    for operand in Operand::ALL {
        for (index, p) in operand.predicates().iter().enumerate() {
            for form in ["branch", "select"] {
                let name = format!("{form}_{p}_{}", operand.name());
                let function = twin.index_of(&name);
                let sites = &twin.target.sites[twin.target.functions[function].sites.clone()];
                let [site, comparison] = sites else { panic!("{name} has one site, and its comparison") };
                let expected = index as u8 + if operand.instruction() == "icmp" { 32 } else { 1 };
                assert_eq!(site.predicate, expected, "{name}: the predicate in the site table");
                let mut case = Case {
                    evaluator: &mut twin.evaluator(function),
                    first: site.first_branch,
                    predicate: Predicate { operand, index },
                    label: format!("{name} {level}"),
                };
                case.unarmed();
                case.sides(comparison);
                case.measured(expected);
                for metric in [metric::ULP, metric::SQUARED] {
                    case.everything(metric);
                    case.wanting(metric, true);
                    case.wanting(metric, false);
                }
                checked += 1;
            }
        }
    }
    checked
}

/// 14 on 2 types and 10 on 4, each as branch and as select.
const FORMS: usize = 2 * (14 * 2 + 10 * 4);

#[test]
fn every_predicate_is_right_without_optimization() {
    assert_eq!(on_target_thread(|| check_all("-O0")), FORMS);
}

#[test]
fn every_predicate_is_right_with_optimization() {
    assert_eq!(on_target_thread(|| check_all("-O2")), FORMS);
}
