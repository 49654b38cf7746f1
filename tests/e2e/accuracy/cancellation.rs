//! Errors near points at which an intermediate difference cancels: few arguments of a large domain.

use super::{bits, json};
use crate::support::Dir;

/// Outside of a small part of the domain all functions are accurate to an ulp, and only the intermediate difference
/// guides the search to that part.
const TEXT: &str = "#include <math.h>
double hill(double x) { double d = x * x * x - 17; return 1.5 + exp(-1e12 * d * d) / 4; }
long double hill_wide(double x) { long double X = x, d = X * X * X - 17; return 1.5L + expl(-1e12L * d * d) / 4; }
double step(double x) { double d = exp(x) - 5; return 1.5 + d / (fabs(d) + 1e-9) / 4; }
long double step_wide(double x) { long double d = expl(x) - 5; return 1.5L + d / (fabsl(d) + 1e-9) / 4; }
double curve(double x, double y) { double d = x * y - 3; return 5 + tanh(1e9 * d); }
long double curve_wide(double x, double y) { long double X = x, Y = y, d = X * Y - 3; return 5 + tanhl(1e9L * d); }
";

#[test]
#[ignore = "nightly"]
fn an_error_beside_a_cancelling_difference_is_found_at_every_seed() {
    let dir = Dir::new();
    dir.file("c.c", TEXT);
    for (function, least) in [("hill", 1e6), ("step", 1e8), ("curve", 1e8)] {
        for seed in ["1", "2", "3"] {
            let command =
                dir.penfuzz("accuracy c.c --lib -lm --max-evals 2000000 --max-time 60s --json --seed").arg(seed);
            let reference = format!("c.c:{function}_wide");
            let run = command.arg("-f").arg(function).arg("--reference").arg(reference).exits(0);
            let ulp = json(&run)["worst"]["ulp"].as_f64().unwrap_or(0.0);
            run.expect(ulp > least, &format!("{function}: {ulp} of more than {least} ulps"));
        }
    }
}

#[test]
fn where_a_difference_of_two_arguments_cancels_is_a_curve() {
    let dir = Dir::new();
    dir.file("c.c", TEXT);
    let run = dir
        .penfuzz("accuracy c.c -f curve --reference c.c:curve_wide --lib -lm --max-evals 2000000 --max-time 60s --json")
        .exits(0);
    let answer = json(&run);
    let of = |i: usize| f64::from_bits(bits(&answer["worst"]["args"][i]));
    run.expect((of(0) * of(1) - 3.0).abs() < 1e-8, &format!("{} times {} is nearly 3", of(0), of(1)));
}
