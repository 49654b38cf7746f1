//! The units of errors: ulps, absolute, relative to the exact value.

use super::{accuracy, error_of_cubic, json, own};
use crate::support::Dir;

/// The largest error of `cubic` between 1.5 and 1.51 by some measure of the error in ulps and the exact value.
fn largest(measure: impl Fn(f64, f64) -> f64) -> f64 {
    let all = (1.5f32.to_bits()..=1.51f32.to_bits()).map(f32::from_bits);
    let one = |x: f32| {
        let wide = f64::from(x);
        measure(error_of_cubic(x), wide * wide * wide - wide)
    };
    all.map(one).fold(0.0, f64::max)
}

/// The unit in the last place of a float.
fn ulp(exact: f64) -> f64 {
    2f64.powi((exact.to_bits() >> 52) as i32 - 1023 - 23)
}

#[test]
fn the_largest_absolute_and_relative_errors_are_those_of_all_floats() {
    let dir = Dir::new();
    let reference = own("cubic_wide");
    let absolute = largest(|error, exact| error * ulp(exact));
    let relative = largest(|error, exact| error * ulp(exact) / exact);
    for (unit, worst) in [("absolute", absolute), ("relative", relative)] {
        for how in [&["--exhaust"][..], &["--max-evals", "2000000"]] {
            let args = [&["--reference", &reference, "--arg", "x: 1.5..1.51", "--error", unit, "--json"], how].concat();
            let run = accuracy(&dir, "cubic", &args, 0);
            let found = json(&run)["worst"][unit].as_f64().expect("there is a worst");
            run.expect((found - worst).abs() < 1e-6 * worst, &format!("{how:?}: {found} of {worst}"));
        }
        let text = accuracy(&dir, "cubic", &["--reference", &reference, "--max-evals", "1000", "--error", unit], 0);
        text.expect(text.stdout.contains(unit), "the unit");
    }
}

#[test]
fn a_relative_error_where_the_reference_is_0_is_infinite() {
    let dir = Dir::new();
    dir.file("f.c", "double zero(double x) { return x - x; }\ndouble f(double x) { return x > 1.5 ? 1e-300 : 0; }\n");
    let differ = |unit: &str| {
        dir.penfuzz("differ f.c:f f.c:zero --arg x:1..2 --max-evals 20000 --error").arg(unit).exits(0).stdout
    };
    assert!(differ("relative").contains("infinite relative"), "not a number");
    assert!(differ("absolute").contains("1.000000e-300 absolute"), "the difference itself");
}

#[test]
fn an_estimate_has_a_measure_of_its_own() {
    let dir = Dir::new();
    let reference = own("cubic_wide");
    let args = ["--reference", &reference, "--estimate", "err", "--error", "absolute"];
    accuracy(&dir, "cubic", &args, 1).says("leave --error out");
}
