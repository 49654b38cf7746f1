//! Real libraries: the Fdlibm suite, compared with gcov; GSL and other projects built by pen-cc; and the plugin
//! example.
//!
//! Sources are installed by package name into ignored directories; see `harnesses/`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

#[path = "libraries/builds.rs"]
mod builds;
#[path = "libraries/claims.rs"]
mod claims;
#[path = "libraries/hard.rs"]
mod hard;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace exists")
}

/// The directory of the built programs.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_penfuzz")).parent().expect("a program lies in a directory").to_path_buf()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?} cannot be started: {e}"));
    let status = output.status.code();
    assert!(
        matches!(status, Some(0 | 3)),
        "{command:?} ended with {status:?}\n--- stdout\n{}\n--- stderr\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn penfuzz() -> Command {
    Command::new(env!("CARGO_BIN_EXE_penfuzz"))
}

/// gcov's totals of the 40 functions, by name in the suite.
fn expected_branches() -> BTreeMap<String, u64> {
    let text = fs::read_to_string(root().join("harnesses/fdlibm/expected-branches.tsv"))
        .expect("the table is in the repository");
    text.lines()
        .skip(1)
        .map(|line| {
            let (name, count) = line.split_once('\t').expect("two columns");
            (name.to_owned(), count.trim().parse().expect("a count"))
        })
        .collect()
}

/// One run serves several expectations, because it is the longest of all tests.
#[test]
fn fdlibm_has_gcovs_branches_and_is_covered() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let output = run(penfuzz()
        .arg("suite")
        .arg(root().join("harnesses/fdlibm/suite.toml"))
        .args(["--max-evals", "100000", "--seed", "1", "--referee", "gcov", "--json", "--quiet", "-o"])
        .arg(out.path()));
    let suite: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let targets = suite["targets"].as_array().expect("targets");
    let expected = expected_branches();
    assert_eq!(targets.len(), 40, "the paper's Table 2 has 40 functions");
    for t in targets {
        let name = t["name"].as_str().expect("a name");
        let (own, gcov) = (&t["branches"], &t["referee"]);
        assert_eq!(own["total"].as_u64(), expected.get(name).copied(), "{name}: sites are gcov's branches");
        assert_eq!(own["total"], gcov["total"], "{name}: the referee counts the same function");
        assert_eq!(own["covered"], gcov["covered"], "{name}: gcov confirms what we say is covered");
    }
    let mean = suite["mean_coverage"].as_f64().expect("a mean");
    assert!(mean >= 96.5, "mean coverage by gcov is {mean:.2} %, expected at least 96.5 %");
}

/// The committed suite must be the one that the recipe generates, and must work: bits of doubles, integer parameters,
/// values behind pointers.
#[test]
fn musl_is_generated_and_covered() {
    let harness = root().join("harnesses/musl");
    run(penfuzz().args(["generate", "--check"]).arg(harness.join("recipe.toml")));
    let out = tempfile::tempdir().expect("a temporary directory");
    let output = run(penfuzz()
        .arg("suite")
        .arg(harness.join("suite.toml"))
        .args(["--only", "hypotf,scalbn,frexp,modf,fmax", "--max-evals", "20000", "--seed", "1"])
        .args(["--referee", "gcov", "--json", "--quiet", "-o"])
        .arg(out.path()));
    let suite: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let targets = suite["targets"].as_array().expect("targets");
    assert_eq!(targets.len(), 5, "those of the names: {suite}");
    for t in targets {
        let (own, gcov) = (&t["branches"], &t["referee"]);
        assert_eq!(
            (&own["covered"], &own["total"]),
            (&gcov["covered"], &gcov["total"]),
            "gcov agrees on {}",
            t["name"]
        );
        assert_eq!(own["covered"], own["total"], "every branch of {} can be taken", t["name"]);
    }
}

/// GSL configures and builds with `CC=pen-cc`, passes its own checks, and a function of it can be fuzzed. This takes
/// five minutes; a small project is built by `autotools` in every run.
#[test]
#[ignore = "nightly"]
fn gsl_builds_with_pen_cc_and_can_be_fuzzed() {
    let harness = root().join("harnesses/gsl");
    run(Command::new(harness.join("build.sh"))
        .args(["--check", "poly", "--check", "specfunc"])
        .env("PEN_CC", programs().join("pen-cc")));
    let out = tempfile::tempdir().expect("a temporary directory");
    let output = run(penfuzz()
        .arg(harness.join("src-build-static/gsl.pen"))
        .args(["--function", "gsl_poly_solve_quadratic", "--max-evals", "200000", "--json", "-q", "-o"])
        .arg(out.path().join("out")));
    let report: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let (covered, total) = (&report["branches"]["covered"], &report["branches"]["total"]);
    assert_eq!((covered, total.as_u64()), (total, Some(14)), "every branch of gsl_poly_solve_quadratic can be taken");
    // A program of a user that links the library's functions that it needs.
    let program = out.path().join("program");
    fs::write(program.with_extension("c"), SOLVES).expect("the directory can be written");
    let build = harness.join("src-build-static");
    run(Command::new(programs().join("pen-cc"))
        .arg(program.with_extension("c"))
        .args([build.join(".libs/libgsl.a"), build.join("cblas/.libs/libgslcblas.a")])
        .arg("-lm")
        .arg("-o")
        .arg(&program));
    builds::function_is_tested(&program, "gsl_poly_solve_quadratic", 14);
}

const SOLVES: &str = "int gsl_poly_solve_quadratic(double a, double b, double c, double *x0, double *x1);
int main(void)
{
  double x0 = 0, x1 = 0;
  return gsl_poly_solve_quadratic(1, -3, 2, &x0, &x1) == 2 ? 0 : 1;
}
";

#[test]
fn the_plugin_example_covers_a_function_with_stock_parts() {
    let output =
        run(Command::new(programs().join("examples/plugin")).arg(root().join("harnesses/quickstart/triangle.c")));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("classify_triangle: 30 of 30 branches covered"), "{text}");
    let lines = fs::read_to_string(root().join("fuzzer/engine/examples/plugin.rs"))
        .expect("the example's source")
        .lines()
        .count();
    assert!(lines < 120, "the example has {lines} lines, it should stay below 120");
}

#[test]
fn the_harness_example_adds_the_stage_to_a_stock_fuzzer_with_an_edge_map() {
    let fixture = root().join("tests/fixtures/fuzzer_harness.c");
    let output = run(Command::new(programs().join("examples/harness")).arg(fixture).arg("20000"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // One branch is taken only by the input that crashes.
    assert!(text.starts_with("5 of 6 branches covered") && text.contains("1 crashes"), "{text}");
    // The edge map of libafl_targets alone must keep inputs as well, which shows that SanCov counts.
    let fixture = root().join("tests/fixtures/fuzzer_harness.c");
    let output = run(Command::new(programs().join("examples/harness")).arg(fixture).args(["2000", "map"]));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let kept =
        text.split(", ").find_map(|part| part.strip_suffix(" inputs kept")).and_then(|n| n.parse::<usize>().ok());
    assert!(kept.is_some_and(|n| n >= 2), "{text}");
}

#[test]
fn the_goal_example_finds_an_input_that_runs_a_line() {
    let quadratic = root().join("harnesses/quickstart/quadratic.c");
    let output = run(Command::new(programs().join("examples/goal")).arg(quadratic).args(["quadratic_roots", "38"]));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("quadratic_roots["), "{text}");
}
