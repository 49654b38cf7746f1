//! What proofs state of the functions of the mathematics library.

use std::process::Command;

use penfuzz_app::report::Report;

use crate::{
    prove::solvers,
    support::{Dir, fixture, line_of},
};

/// Searches the guards of `library.c` a little, and proves what is left.
fn prove_guards(more: &str, solvers: &std::ffi::OsStr) -> Report {
    let dir = Dir::new();
    let options = format!("-f guards -o out --fresh --max-evals 3000 --no-exhaust --json {more}");
    let run = dir.penfuzz("prove").arg(fixture("library.c")).args(&options);
    let run = run.env("PENFUZZ_SOLVERS", solvers).exits(0);
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout))
}

/// The guards of `library.c` behind which a branch is proved.
fn proved_guards(report: &Report) -> Vec<u32> {
    let is_proved = |line: usize| report.proved().any(|(site, b, _)| site.line as usize == line && b.outcome == "true");
    (1..=9).filter(|number| is_proved(line_of(&fixture("library.c"), &format!("GUARD({number},")))).collect()
}

#[test]
fn ranges_signs_and_special_values_of_library_functions_are_used() {
    let Some(solvers) = solvers() else { return };
    let report = prove_guards("", &solvers);
    assert_eq!(proved_guards(&report), (1..=9).collect::<Vec<_>>());
    let assumed: Vec<_> = report.proved().flat_map(|(_, _, proof)| &proof.assumptions).collect();
    assert!(assumed.iter().any(|text| text.starts_with("exp is the function of the C library")), "{assumed:?}");
}

#[test]
fn a_guard_that_a_library_function_fulfils_is_not_proved() {
    let Some(solvers) = solvers() else { return };
    for number in 1..=9 {
        let report = prove_guards(&format!("--cflag -DMUTATE={number}"), &solvers);
        let expected: Vec<_> = (1..=9).filter(|other| *other != number).collect();
        assert_eq!(proved_guards(&report), expected, "guard {number} is feasible");
    }
}

#[test]
fn what_tests_show_of_library_functions_is_possible() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    dir.fuzz(fixture("library.c"), "-f classes --fresh --max-evals 30000 --no-prove --quiet").exits(0);
    assert!(dir.report("out").branches.covered > 250, "{:?}", dir.report("out").branches);
    let check = dir.penfuzz("prove").args("out --check --solver-time 2s").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    check.expect(check.stdout.contains(" 0 contradictions"), "no contradiction");
}

/// The facts are stated a second time in C, and hold for the C library of this machine.
#[test]
fn what_is_stated_of_library_functions_holds_here() {
    let dir = Dir::new();
    let mut types = vec!["-DT=double -DSUFFIX=", "-DT=float -DSUFFIX=f"];
    if cfg!(target_arch = "x86_64") {
        types.push("-DSUFFIX=l");
    }
    for of_type in types {
        let program = dir.path("facts");
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-w", "-fno-builtin", "-DCOUNT=200000"]).args(of_type.split(' '));
        if of_type == "-DSUFFIX=l" {
            compile.arg("-DT=long double");
        }
        dir.other(compile.arg(fixture("library_facts.c")).arg("-o").arg(&program).arg("-lm"));
        let said = dir.other(&mut Command::new(&program));
        assert_eq!(said, "0 failures\n", "{of_type}");
    }
}
