//! Tests of the parser, its errors, and the definitions that equalities become.

use std::fmt::Write;

use crate::{
    eval,
    problem::Problem,
    script::{self, Script},
    term::{Sort, Value},
};

fn read(text: &str) -> Script {
    script::read(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Returns true if the formula, which has no variables, holds.
fn holds(formula: &str) -> bool {
    let script = read(&format!("(assert {formula})"));
    eval::holds(&script.terms, &script.asserted, &[])
}

#[test]
fn every_form_of_a_literal_is_a_value() {
    for formula in [
        "(= #xff #b11111111 (_ bv255 8))",
        "(= (fp #b0 #b01111111 #b00000000000000000000000) ((_ to_fp 8 24) RNE 1) ((_ to_fp 8 24) #x3f800000))",
        "(= ((_ to_fp 11 53) RNE 0.1) ((_ to_fp 11 53) #x3fb999999999999a))",
        "(= ((_ to_fp 11 53) RTZ (/ 1 10)) ((_ to_fp 11 53) #x3fb9999999999999))",
        "(= ((_ to_fp 8 24) RNE (- 1.5)) (fp.neg ((_ to_fp 8 24) roundTowardZero 1.5)))",
        "(= ((_ to_fp 8 24) RNE 1e-400) (_ +zero 8 24))",
        "(= ((_ to_fp 5 11) RNE 65520) (_ +oo 5 11))",
        "(= ((_ to_fp 5 11) RTN 65520) ((_ to_fp 5 11) #x7bff))",
        "(= ((_ to_fp 8 24) RNE #b1) ((_ to_fp 8 24) RNE (- 1)))",
        "(= ((_ to_fp_unsigned 8 24) RNE #b1) ((_ to_fp 8 24) RNE 1))",
    ] {
        assert!(holds(formula), "{formula}");
    }
}

#[test]
fn equality_is_not_that_of_c() {
    assert!(holds("(= (_ NaN 8 24) (fp #b1 #xff #b00000000000000000000001))"), "there is one NaN");
    assert!(!holds("(fp.eq (_ NaN 8 24) (_ NaN 8 24))"));
    assert!(!holds("(= (_ +zero 8 24) (_ -zero 8 24))"));
    assert!(holds("(fp.eq (_ +zero 8 24) (_ -zero 8 24))"));
    assert!(holds("(distinct #b00 #b01 #b10)") && !holds("(distinct #b00 #b01 #b00)"));
}

#[test]
fn names_have_the_scope_that_smt_lib_gives_them() {
    for text in [
        // The bindings of one `let` are not visible to each other.
        "(define-fun x () Bool true) (assert (let ((x false) (y x)) (and (not x) y)))",
        // The body of a function does not see bindings at the place of its use.
        "(define-fun g () Bool true) (define-fun f ((p Bool)) Bool (and p g)) (assert (let ((g false)) (f true)))",
        "(define-fun f ((p Bool) (q Bool)) Bool (=> p q)) (assert (not (f true false)))",
        "(assert (=> false true false)) (assert (xor true false))",
        "(define-sort Word () (_ BitVec 8)) (declare-const |a b| Word) (assert (= |a b| |a b|))",
        "(assert (! true :named it))",
        "(assert (= (bvsmod #xf9 #x03) #x02)) (assert (= ((_ rotate_left 1) #x81) #x03)) (assert (= (bvcomp #x1 #x1) \
         #b1))",
        "(assert (fp.isNaN (fp.min (_ NaN 5 11) (_ NaN 5 11)))) (assert (fp.gt (_ +oo 5 11) (_ -oo 5 11)))",
    ] {
        let script = read(text);
        let zeros: Vec<_> = script.terms.variables.iter().map(|v| Value::of_bits(v.sort, 0)).collect();
        assert!(eval::holds(&script.terms, &script.asserted, &zeros), "{text}");
    }
}

#[test]
fn unspecified_value_is_not_a_model() {
    assert!(!holds("(= (fp.min (_ +zero 8 24) (_ -zero 8 24)) (_ +zero 8 24))"));
    assert!(!holds("(= ((_ fp.to_ubv 8) RNE (_ NaN 8 24)) #x00)"));
    assert!(holds("(= ((_ fp.to_sbv 8) RNE (fp.neg ((_ to_fp 8 24) RNE 127.5))) #x80)"));
}

#[test]
fn unsupported_syntax_is_reported_with_its_line() {
    for (text, message) in [
        ("", "it contains no commands"),
        ("; nothing", "it contains no commands"),
        ("x", "line 1: `x` is not a command"),
        (
            "(set-logic QF_AX)",
            "line 1: the logic QF_AX is not supported: only QF_FP, QF_BVFP, QF_BV, and QF_ with LRA, NRA, LIA, NIA are",
        ),
        (
            "(declare-fun a () (Array (_ BitVec 8) (_ BitVec 8)))",
            "line 1: the sort (Array (…) (…)) is not supported: only Bool, RoundingMode, bit vectors, floats, Real \
             and Int are",
        ),
        (
            "(declare-const x Float128)",
            "line 1: (_ FloatingPoint 15 113) has no type in C: only Float16, Float32 and Float64 are supported",
        ),
        ("(declare-fun f (Bool) Bool)", "line 1: functions without a definition are not supported: only constants are"),
        ("\n(assert y)", "line 2: `y` is not declared"),
        ("(assert #x0)", "line 1: the asserted term is not a Bool"),
        ("(push 1)", "line 1: `push` is not supported: only one query per file is supported"),
        (
            "(assert (bvadd #x0 #x00))",
            "line 1: `(bvadd #x0 #x00)`: `bvadd` of (_ BitVec 4), (_ BitVec 8) is not supported",
        ),
        ("(assert (exists ((x Bool)) x))", "line 1: quantifiers are not supported"),
        ("(declare-const x Bool) (declare-const x Bool)", "line 1: x is declared already"),
        ("(check-sat)(check-sat)", "there is more than one (check-sat): only one query per file is supported"),
        ("(assert (= ((_ extract 8 0) #x00) #x0))", "line 1: `((…) #x00)` takes bits that are not there"),
        ("(define-fun f () Bool #b1)", "line 1: `#b1` is a (_ BitVec 1), not a Bool"),
    ] {
        assert_eq!(script::read(text).err().map(|e| e.to_string()).as_deref(), Some(message), "{text}");
    }
}

#[test]
fn deep_terms_are_read() {
    let deep = 15_000;
    let text = format!("(assert {}true{})", "(not ".repeat(deep), ")".repeat(deep));
    let read = std::thread::Builder::new().stack_size(super::super::STACK).spawn(move || script::read(&text).is_ok());
    assert!(read.unwrap().join().unwrap());
}

/// A macro that doubles at each use would have 2^60 parts after expansion.
#[test]
fn definitions_that_double_are_refused() {
    let mut text = "(define-fun f0 ((p Bool)) Bool p)".to_owned();
    for n in 1..60 {
        let _ = write!(text, "(define-fun f{n} ((p Bool)) Bool (f{0} (f{0} p)))", n - 1);
    }
    let error = script::read(&(text + "(assert (f59 true))")).err().map(|e| e.to_string());
    assert!(error.is_some_and(|e| e.contains("too large")));
}

#[test]
fn equalities_become_definitions() {
    let mut script = read(
        "(declare-const x Float32) (declare-const y Float32) (declare-const z Float32) (declare-const b Bool)
         (assert (and (= y (fp.add RNE x x)) (= (fp.mul RNE y y) z) (= b (fp.lt z x))))
         (assert (not b)) (assert (= x (fp.neg z)))",
    );
    let asserted = script.asserted.clone();
    let problem = Problem::new(&mut script.terms, &asserted);
    assert_eq!(problem.free, [0], "x defines the others, and is not defined by what depends on it");
    assert_eq!(problem.conjuncts.len(), 2, "the circle, and what b is");
    let one = Value::Float(super::random::SINGLE, 0x3f80_0000);
    let values = problem.complete(&script.terms, &[one]);
    assert_eq!(values[1], Value::Float(super::random::SINGLE, 0x4000_0000), "1 + 1");
    assert_eq!(script.terms.sort(asserted[0]), Sort::Bool);
}

#[test]
fn constants_decide() {
    for (text, is_refuted, left) in [
        ("(assert (fp.lt (_ +oo 8 24) (_ +zero 8 24)))", true, 0),
        ("(declare-const x Bool) (assert x) (assert (not x))", true, 0),
        ("(declare-const x Float32) (assert (= x (_ NaN 8 24))) (assert (fp.isNaN x))", false, 0),
        ("(assert (= (fp.min (_ +zero 8 24) (_ -zero 8 24)) (_ +zero 8 24)))", false, 1),
    ] {
        let mut script = read(text);
        let asserted = script.asserted.clone();
        let problem = Problem::new(&mut script.terms, &asserted);
        assert_eq!((problem.is_refuted, problem.conjuncts.len()), (is_refuted, left), "{text}");
    }
}

#[test]
fn parts_share_no_variables_and_sums_relate_several() {
    let mut script = read(
        "(declare-const a Float32) (declare-const b Float32) (declare-const c Float32) (declare-const d Float32)
         (define-fun e () Float32 (fp.add RNE a b))
         (assert (fp.eq e a)) (assert (fp.lt c d)) (assert (fp.lt a b)) (assert (fp.lt e b)) (assert (fp.isNormal a))",
    );
    let asserted = script.asserted.clone();
    let problem = Problem::new(&mut script.terms, &asserted);
    assert_eq!(problem.free, [0, 1, 2, 3]);
    let [equal, other, less, sum, normal] = [0, 1, 2, 3, 4].map(|n| asserted[n]);
    assert_eq!(problem.conjuncts, [normal, less, sum, equal, other], "by parts; simple ones first, equalities last");
    assert_eq!(problem.parts, [vec![0, 1], vec![0, 1], vec![0, 1], vec![0, 1], vec![2, 3]]);
    let summed = problem.summed(&mut script.terms).expect("two conditions relate a and b");
    assert_eq!((summed.conjuncts.len(), summed.parts.len()), (4, 4));
    assert_eq!([summed.conjuncts[0], summed.conjuncts[2], summed.conjuncts[3]], [normal, equal, other]);
    let both = script.terms.node(summed.conjuncts[1]).args[0];
    assert_eq!(script.terms.node(both).args, [less, sum]);
}
