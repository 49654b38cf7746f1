use super::*;

fn one(text: &str) -> Result<Core, String> {
    parsed(text)
}

#[test]
fn unsupported_features_are_named() {
    for (text, word) in [
        ("(FPCore ((A 3)) (ref A 1))", "tensors"),
        ("(FPCore (x) (array x x))", "tensors (`array`)"),
        ("(FPCore (x) :precision binary128 x)", "binary128"),
        ("(FPCore (x) (frobnicate x))", "`frobnicate`"),
        ("(FPCore (x) (+ x y))", "`y`"),
        ("(FPCore (x) (sin x x))", "`sin` with 2 arguments"),
        ("(FPCore (x) :spec (frobnicate x) x)", "(in :spec)"),
        ("(FPCore () 1)", "without arguments"),
        ("(FPCore (x) (+ x 1)", "ends within a list"),
        ("(+ 1 2)", "not a file of (FPCore"),
    ] {
        let why = one(text).expect_err(text);
        assert!(why.contains(word), "{text}: {why}");
    }
}

#[test]
fn a_precondition_becomes_domains() {
    let core = one("(FPCore (x y z) :pre (and (<= 0 x 3/2) (> y -0.5) (< x 9)) (+ x (* y z)))").expect("a core");
    assert_eq!(domains(&core, &[]), ["v_x: 0e0..1.5e0", "v_y: -5e-1..1.7976931348623157e308"]);
    let said = ["x: 0..1".to_owned()];
    assert_eq!(domains(&core, &said)[0], "v_x: 0..1", "the user's is taken");
}

#[test]
fn c_keeps_the_order_of_the_operations() {
    let core = one(
        "(FPCore (x) :name \"a*/b\" (let* ((z (* x x)) (y (- z 1/3))) (if (< x 0) (sqrt (- y)) (! :precision binary32 \
         (+ y z)))))",
    );
    let text = source(&core.expect("a core"));
    let expected = "/* a* /b */\n#include <math.h>\ndouble core(double v_x) {\n    double t1 = v_x * v_x;\n    \
                    double t2 = t1 - ((double)(1.0L / 3.0L));\n    int t3 = v_x < (0.0);\n    double t4;\n    \
                    if (t3) {\n        double t5 = -t2;\n        double t6 = sqrt(t5);\n        t4 = t6;\n    \
                    } else {\n        float t7 = t2 + t1;\n        t4 = t7;\n    }\n    return t4;\n}\n";
    assert_eq!(text, expected);
}

#[test]
fn values_are_those_over_the_reals() {
    let of = |text: &str, args: &[f64]| value(&one(text).expect("a core"), args).map(|v| v.to_f64());
    assert_eq!(of("(FPCore (x) (- (+ 1 x) 1))", &[1e-300]), Some(1e-300), "nothing is absorbed");
    assert_eq!(of("(FPCore (x) (while (< i 10) ((i 0 (+ i 1)) (s x (+ s i))) s))", &[0.5]), Some(45.5));
    assert_eq!(of("(FPCore (x) (while* (< i 3) ((i 0 (+ i 1)) (s x (+ s i))) s))", &[0.5]), Some(6.5));
    assert_eq!(of("(FPCore (x) :pre (< 0 x) x)", &[-1.0]), None, "outside of the precondition");
    assert_eq!(of("(FPCore (x) (if (and (< 0 x 2) (!= x 1)) (fma x x 1) (- x)))", &[1.5]), Some(3.25));
    assert_eq!(of("(FPCore (x) :spec (* 2 x) (+ x 1))", &[5.0]), Some(10.0), "the specification, not the body");
    assert_eq!(of("(FPCore (x) (* 1/10 x))", &[10.0]), Some(1.0), "a quotient is not rounded");
}
