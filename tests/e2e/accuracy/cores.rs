//! Cores of benchmarks against their values over the real numbers, with bounds.

use super::{bits, json};
use crate::support::{Dir, Penfuzz, Run, fixture};

fn core<'a>(dir: &'a Dir, arguments: &[&str], status: i32) -> Run<'a> {
    let run = dir.penfuzz("accuracy").arg(fixture("accuracy.fpcore"));
    arguments.iter().fold(run, Penfuzz::arg).exits(status)
}

#[test]
fn a_core_is_compared_with_its_value_over_the_reals() {
    let dir = Dir::new();
    let run = core(&dir, &["-f", "difference of square roots", "--max-evals", "200000", "--json"], 0);
    let answer = json(&run);
    let x = f64::from_bits(bits(&answer["worst"]["args"][0]));
    run.expect((1e8..=1e9).contains(&x), "roots of large numbers cancel most");
    // sqrt(1e9) has an ulp of 2^-38; the difference, 1.58e-5, one of 2^-68.
    let ulp = answer["worst"]["ulp"].as_f64().expect("there is a worst");
    run.expect((2e8..1.2e9).contains(&ulp), "2^30 ulps of the result are an ulp of the root");
    let most = answer["bound"]["absolute"].as_f64().expect("there is a bound");
    let found = answer["worst"]["absolute"].as_f64().expect("the error");
    run.expect((found..4.0 * found).contains(&most), "two roots that are wrong by half an ulp, and their arguments");
    let text = core(&dir, &["-f", "1", "--max-evals", "200000"], 0);
    text.expect(text.stdout.contains("no error is above"), "the bound");
}

#[test]
fn branches_and_loops_of_a_core_are_those_of_its_c_code() {
    let dir = Dir::new();
    let run = core(&dir, &["-f", "2", "--max-evals", "200000", "--json"], 0);
    let answer = json(&run);
    let both = answer["regions"].as_array().is_some_and(|r| r.len() >= 2);
    run.expect(both, "each side of the branch has a worst input");
    let of = |i: usize| f32::from_bits(bits(&answer["worst"]["args"][i]) as u32);
    run.expect(of(0) < of(1), "the precondition holds");
    let run = core(&dir, &["-f", "a loop", "--max-evals", "100000", "--json"], 0);
    let ulp = json(&run)["worst"]["ulp"].as_f64().expect("there is a worst");
    run.expect((1.0..12.0).contains(&ulp), "ten roundings of sums and of a quotient");
    run.expect(json(&run)["bound"].is_null(), "a loop has no bound");
}

/// The truncation error of a series is an error of the core, but not a rounding error.
#[test]
fn a_core_with_a_specification_is_compared_with_that() {
    let dir = Dir::new();
    let text = "(FPCore (x) :name \"series\" :pre (<= 0 x 1/2) :spec (exp x) (+ 1 (+ x (/ (* x x) 2))))";
    let file = dir.file("series.fpcore", text);
    for (unit, worst) in [("absolute", 0.5f64.exp() - 1.625), ("relative", 1.0 - 1.625 / 0.5f64.exp())] {
        let run = dir.penfuzz("accuracy").arg(&file).args("--max-evals 100000 --json --error").arg(unit).exits(0);
        let answer = json(&run);
        let found = answer["worst"][unit].as_f64().expect("there is a worst");
        run.expect((found - worst).abs() < 1e-12, &format!("{unit}: at 1/2 it is {worst}, found is {found}"));
        run.expect(answer["bound"].is_null(), "no bound of roundings holds");
        run.expect(answer["reference"].to_string().contains(":spec of"), "the report says so");
    }
}

#[test]
fn cores_that_cannot_be_compared_are_refused() {
    let dir = Dir::new();
    for (arguments, words) in [
        (&["-f", "a tensor"][..], "tensors"),
        (&["-f", "no such core"], "has no core `no such core`"),
        (&[], "has several cores; give one of them"),
    ] {
        let run = core(&dir, arguments, 1);
        run.expect(run.stderr.contains(words), words);
    }
    let broken = dir.file("broken.fpcore", "(FPCore (x) (+ x 1)");
    let run = dir.penfuzz("accuracy").arg(broken).exits(1);
    run.expect(run.stderr.contains("ends within a list"), "where the file is broken");
}

#[test]
fn a_plot_of_two_arguments_is_refused() {
    let dir = Dir::new();
    let run = core(&dir, &["-f", "2", "--plot", "error.svg"], 1);
    run.says("--plot needs a function of one argument; this one has 2");
    assert!(!dir.path("error.svg").exists());
}
