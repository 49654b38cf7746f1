//! Functions of `<math.h>` against MPFR.

use super::accuracy;
use super::{bits, json};
use crate::support::Dir;

#[test]
fn errors_are_those_of_mpfr() {
    let dir = Dir::new();
    let args = ["--reference", "auto", "--arg", "x: -0.5..0.5", "--max-evals", "300000", "--json"];
    let run = accuracy(&dir, "my_sin", &args, 0);
    let answer = json(&run);
    run.expect(answer["reference"] == "mpfr:sin", "found out by the name");
    let worst = &answer["worst"];
    let x = f64::from_bits(bits(&worst["args"][0]));
    run.expect(x.abs() > 0.49, "the first term left out, x^11/11!, is largest at the ends");
    // The error is 1.22e-11 at 0.5; ulps of a sine from 0.25 to 0.5 are 2^-54.
    let ulp = worst["ulp"].as_f64().expect("there is a worst");
    run.expect((2.1e5..2.3e5).contains(&ulp), "1.22e-11 / 2^-54");
    let exact: f64 = worst["reference"]["exact"].as_str().and_then(|t| t.parse().ok()).expect("a decimal");
    run.expect((exact - x.sin()).abs() < 1e-15, "the exact value is the sine");
    run.expect(worst["result"] != worst["reference"]["rounded"], "which is not what the function returned");
}

#[test]
fn errno_is_that_of_the_standard() {
    let dir = Dir::new();
    let options = ["--reference", "mpfr:sqrt", "--errno", "--max-evals", "50000", "--json"];
    let run = accuracy(&dir, "root_with_errno", &options, 0);
    run.expect(json(&run)["wrong"].as_array().is_some_and(Vec::is_empty), "EDOM below 0, and nowhere else");
    let run = accuracy(&dir, "root_without_errno", &options, 0);
    let wrong = &json(&run)["wrong"][0];
    run.expect(wrong["errno"]["left"] == "0" && wrong["errno"]["expected"] == "EDOM", "EDOM below 0");
}

/// A function of C23 that the system's library may not have, and one of three arguments.
#[test]
fn functions_of_later_standards_and_of_three_arguments_are_known() {
    let dir = Dir::new();
    let args = ["--reference", "auto", "--arg", "x: 0.25..1", "--max-evals", "20000", "--json"];
    let run = accuracy(&dir, "my_sinpi", &args, 0);
    let answer = json(&run);
    run.expect(answer["reference"] == "mpfr:sinpi", "found out by the name");
    run.expect(bits(&answer["worst"]["args"][0]) == 1f64.to_bits(), "where the sine is 0");
    let args = ["--reference", "mpfr:fma", "--max-evals", "100000", "--json"];
    let run = accuracy(&dir, "product_and_sum", &args, 0);
    let ulp = json(&run)["worst"]["ulp"].as_f64().expect("there is a worst");
    run.expect(ulp > 1e6, "a sum that cancels leaves the rounding of the product");
}

/// The system's library has functions with an integer parameter. An order is small unless the user gives another range.
#[test]
fn functions_with_an_integer_argument_are_compared() {
    let dir = Dir::new();
    let of = |name: &str, options: &str| {
        let run = dir.penfuzz("accuracy libm.so.6 --max-evals 100000 --json -f").arg(name).args(options).exits(0);
        json(&run)
    };
    let bessel = of("jn", "");
    assert_eq!(bessel["reference"], "mpfr:jn");
    assert!(bessel["worst"]["ulp"].as_f64() > Some(100.0), "recurrences lose bits: {}", bessel["worst"]);
    let order = bits(&bessel["worst"]["args"][0]) as u32;
    assert!(order.cast_signed().abs() <= 127, "the order: {order:#x}");
    let given = of("jn", "--arg x0:200..200");
    assert_eq!(bits(&given["worst"]["args"][0]), 200, "what the user says");
    let scaled = of("ldexp", "");
    assert_eq!(scaled["worst"]["ulp"], 0.5, "rounded once, if the result is subnormal");
    let wrong = dir.penfuzz("accuracy libm.so.6 -f pow --reference mpfr:pown").exits(1);
    wrong.says("mpfr:pown takes (double, long long), and `double pow(double x0, double x1)` does not");
}
