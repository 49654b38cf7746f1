//! Arguments that are fixed to one value: the search varies the other arguments only.

use super::{bits, json};
use crate::support::Dir;

const SCALED: &str = "double scaled(double x, double s, int k) { return k == 3 ? x / 3 * s + 1 : 1e9; }
long double wide(double x, double s, int k) { return k == 3 ? (long double)x / 3 * s + 1 : 1e9; }
";

#[test]
fn a_function_of_one_argument_that_varies_is_searched_as_one() {
    let dir = Dir::new();
    dir.file("f.c", SCALED);
    let search = |domains: &str| {
        let command = dir.penfuzz("accuracy f.c -f scaled --reference f.c:wide --max-evals 100000 --json --arg x:1..2");
        json(&command.args(domains).exits(0))
    };
    let held = search("--arg s:0.75..0.75 --arg k:3..3");
    let args = &held["worst"]["args"];
    assert!(bits(&args[1]) == 0.75f64.to_bits() && bits(&args[2]) == 3, "they have their values: {args}");
    assert!(held["sources"]["operations"].as_array().is_some_and(|all| all.len() == 3), "{}", held["sources"]);
    assert!(held["parts"].as_array().is_some_and(|parts| parts.len() > 1), "a map of one argument");
    let several = search("--arg s:0.5..1 --arg k:3..3");
    assert!(several["sources"].is_null() && several["parts"] == serde_json::json!([]), "two vary: {several}");
}

#[test]
fn all_arguments_reach_the_exact_reference() {
    let dir = Dir::new();
    dir.file("f.c", "double power(double x, double y) { return y == -1.5 ? 1 / (x * __builtin_sqrt(x)) : 0; }\n");
    let command = dir.penfuzz("accuracy f.c -f power --reference mpfr:pow --arg x:1..1.1 --arg y:-1.5..-1.5 --lib -lm");
    let answer = json(&command.args("--max-evals 200000 --json").exits(0));
    // A square root, a product and a quotient; the exact value is a power with that exponent.
    let ulp = answer["worst"]["ulp"].as_f64().expect("there is a worst");
    assert!((1.0..2.5).contains(&ulp), "{}", answer["worst"]);
    let of = answer["sources"]["error"].as_f64().expect("it is known where it comes from").abs();
    assert!((of - ulp).abs() < 1e-3, "by the same exact value: {of}, {ulp}");
}

/// The error comes from the product, which the exponential after it magnifies.
#[test]
fn calls_of_the_library_are_operations_of_the_report() {
    let dir = Dir::new();
    let text = "#include <math.h>\ndouble f(double x) {\n  double y = x * 1.1;\n  return exp(-y * 3);\n}
long double wide(double x) { return expl(-(long double)x * 1.1 * 3); }\n";
    dir.file("f.c", text);
    let command =
        dir.penfuzz("accuracy f.c -f f --reference f.c:wide --arg x:20..30 --lib -lm --max-evals 200000 --json");
    let sources = &json(&command.exits(0))["sources"];
    let of = |i: usize, key: &str| sources["operations"][i][key].clone();
    let ulp = |i: usize| of(i, "ulp").as_f64().expect("a number").abs();
    assert!([0, 1].iter().all(|i| of(*i, "operation") == "*" && ulp(*i) > 10.0), "products of 30 and 99: {sources}");
    assert_eq!((of(0, "line"), of(1, "line")), (3.into(), 4.into()), "the first is tripled: {sources}");
    assert!(of(2, "operation") == "exp" && (0.01..=0.52 * 2.0).contains(&ulp(2)), "{sources}");
    // First-order derivatives neglect the squares of errors of 2^-46.
    let (error, rest) = (sources["error"].as_f64().expect("a number"), sources["rest"].as_f64().expect("a number"));
    assert!(error.abs() > 20.0 && rest.abs() < 0.02, "nothing else: {sources}");
}
