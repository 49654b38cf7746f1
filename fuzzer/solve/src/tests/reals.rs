//! Tests of formulas of `Real` and `Int`: the terms that they become have the exact value.

use crate::{
    exact::{self, Exact, Rational},
    script,
};

/// Whether the formula, which has no variables, holds in exact arithmetic.
fn holds(formula: &str) -> bool {
    let script = script::read(&format!("(set-logic QF_NIRA)(assert {formula})")).unwrap_or_else(|e| panic!("{e}"));
    exact::model(&script.terms, &script.asserted, &[], |_| None).is_some()
}

#[test]
fn constants_and_operations_are_not_rounded() {
    for formula in [
        "(= (+ 0.1 0.2) 0.3)",
        "(= (* 3 (/ 1 3)) 1)",
        "(= (- (/ 1.0 3) (/ 1 3.0)) 0)",
        "(= (- 123456789012345678901234567890.5 123456789012345678901234567890.0) (/ 1 2))",
        "(< 9007199254740992.0 9007199254740993)",
        "(distinct 0.1 (/ 1 10.0000000000000000001))",
        "(= (div (- 7) 2) (- 4))",
        "(= (div 7 (- 2)) (- 3))",
        "(= (mod (- 7) 2) (mod (- 7) (- 2)) 1)",
        "(= (to_int (- 0.5)) (- 1))",
        "(and (is_int 2.0) (not (is_int 2.5)) (= (abs (- 3)) 3) (= (to_real 3) 3.0))",
        "(= (ite (> 1 2) 1 0.5) 0.5)",
    ] {
        assert!(holds(formula), "{formula}");
    }
    for formula in [
        "(= 0.1 0.1000000000000000055511151231257827)",
        "(= (/ 1 0) (/ 1 0))",
        "(> 9007199254740992.0 9007199254740992)",
    ] {
        assert!(!holds(formula), "{formula}");
    }
}

#[test]
fn definitions_have_values_that_no_double_has() {
    let text = "(set-logic QF_LRA)(declare-const x Real)(declare-const y Real)(assert (= y (/ x 3)))(assert (> y 0))";
    let script = script::read(text).unwrap_or_else(|e| panic!("{e}"));
    let [y, _] = script.asserted[..] else { panic!("two assertions") };
    let third = script.terms.node(y).args[1];
    let one = |_| Some(Exact::Number(Rational::integer(1)));
    let model = exact::model(&script.terms, &script.asserted, &[None, Some(third)], one).expect("a model");
    assert_eq!(model[1].text(script.terms.variables[1].sort), "(/ 1.0 3.0)");
}
