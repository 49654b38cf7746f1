//! Proofs and models that involve the memory behind pointers.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use penfuzz_report::Report;

use crate::{
    prove::solvers,
    support::{Dir, fixture},
};

/// Runs `penfuzz prove` with a number of evaluations at which the search leaves branches open.
fn prove(dir: &Dir, function: &str, evaluations: u32, solvers: &std::ffi::OsStr) -> Report {
    let run = dir.penfuzz("prove").arg(fixture("behind_pointers.c"));
    run.args(&format!("-f {function} -o out --seed 1 --max-evals {evaluations} --no-exhaust"))
        .env("PENFUZZ_SOLVERS", solvers)
        .exits(0);
    dir.report("out")
}

#[test]
fn values_behind_pointers_are_in_models() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let report = prove(&dir, "few", 20_000, &solvers);
    assert_eq!(report.branches.covered, report.branches.total, "{:?}", report.sites);
}

#[test]
fn a_store_changes_what_it_may_overlap_and_nothing_else() {
    let Some(solvers) = solvers() else { return };
    let source = fs::read_to_string(fixture("behind_pointers.c")).unwrap();
    for function in ["fields", "two", "chain", "joined", "put", "inside", "element"] {
        let dir = Dir::new();
        let report = prove(&dir, function, 300, &solvers);
        let lines = report.sites.iter().map(|site| site.line).collect::<std::collections::BTreeSet<_>>();
        for line in lines {
            let text = source.lines().nth(line as usize - 1).unwrap();
            let proved = report.proved().filter(|p| p.site.line == line).count();
            if text.contains("never") {
                assert!(proved > 0, "{function}: {text}: {:?}", report.sites);
            } else {
                assert_eq!(proved, 0, "{function}: {text}");
            }
        }
    }
}

/// Checks the lines with `may` in the fixture.
#[test]
fn two_pointers_to_one_place_take_the_branches_that_are_not_proved() {
    let dir = Dir::new();
    let program = dir.path("calls");
    let mut compiler = Command::new("cc");
    compiler.args(["-O0", "-fno-strict-aliasing", "-DCALLS", "-o"]).args([&program, &fixture("behind_pointers.c")]);
    assert!(compiler.status().expect("cc").success());
    let status = Command::new(Path::new(&program)).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0), "the number of the call that returns something else");
}
