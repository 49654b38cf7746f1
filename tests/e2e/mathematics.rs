//! The facts that proofs assume about the functions of the mathematics library.

use std::{collections::BTreeSet, process::Command};

use penfuzz_report::Report;

use crate::{
    prove::solvers,
    support::{Dir, fixture, line_of},
};

/// Runs a short search on the guards of `library.c`, then proves the open branches.
fn prove_guards(more: &str, solvers: &std::ffi::OsStr) -> Report {
    let dir = Dir::new();
    let options = format!("-f guards -o out --fresh --max-evals 3000 --no-exhaust --json {more}");
    let run = dir.penfuzz("prove").arg(fixture("library.c")).args(&options);
    let run = run.env("PENFUZZ_SOLVERS", solvers).exits(0);
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout))
}

/// Returns the guards of `library.c` after which a branch is proved infeasible.
fn proved_guards(report: &Report) -> Vec<u32> {
    let is_proved = |line: usize| report.proved().any(|p| p.site.line as usize == line && p.branch.outcome == "true");
    (1..=9).filter(|number| is_proved(line_of(&fixture("library.c"), &format!("GUARD({number},")))).collect()
}

#[test]
fn ranges_signs_and_special_values_of_library_functions_are_used() {
    let Some(solvers) = solvers() else { return };
    let report = prove_guards("", &solvers);
    assert_eq!(proved_guards(&report), (1..=9).collect::<Vec<_>>());
    let assumed: Vec<_> = report.proved().flat_map(|p| &p.proof.assumptions).collect();
    assert!(assumed.iter().any(|text| text.starts_with("exp is the function of the C library")), "{assumed:?}");
}

#[test]
#[ignore = "nightly"]
fn a_guard_that_a_library_function_fulfils_is_not_proved() {
    let Some(solvers) = solvers() else { return };
    for number in 1..=9 {
        let report = prove_guards(&format!("--cflag -DMUTATE={number}"), &solvers);
        let expected: Vec<_> = (1..=9).filter(|other| *other != number).collect();
        assert_eq!(proved_guards(&report), expected, "guard {number} is feasible");
    }
}

#[test]
#[ignore = "nightly"]
fn executions_of_library_functions_agree_with_the_translation() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    dir.fuzz(fixture("library.c"), "-f classes --fresh --max-evals 30000 --no-prove --quiet").exits(0);
    assert!(dir.report("out").branches.covered > 250, "{:?}", dir.report("out").branches);
    let check = dir.penfuzz("prove").args("out --check --solver-time 2s").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    check.expect(check.stdout.contains(" 0 contradictions"), "no contradiction");
}

/// A program that prints the results of the functions of `library.c` for special values: number, arguments and result
/// as bits.
const RESULTS: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
double result(int function, double x, double y);
static uint64_t bits(double v) { uint64_t u; memcpy(&u, &v, sizeof u); return u; }
int main(void) {
  double xs[] = {0, 0x1p-1074, 0x1p-1023, 1e-9, 0.5, 1 - 0x1p-53, 1, 1 + 0x1p-52, 2, 3,
                 710, 745.5, 1e5, 1e300, INFINITY, NAN};
  for (int f = 0; f < 29; f++)
    for (int i = 0; i < 32; i++)
      for (int k = 0; k < (f == 2 || f < 23 ? 1 : 10); k++) {
        double x = i % 2 ? -xs[i / 2] : xs[i / 2], ys[] = {0, -0.0, 1, -1, 0.5, 2, -3, INFINITY, -INFINITY, NAN};
        printf("%d %016lx %016lx %016lx\n", f, bits(x), bits(ys[k]), bits(result(f, x, ys[k])));
      }
}
"#;

/// The results of the C library must satisfy the facts that proofs assume. Facts that contradict each other, or a
/// result, would prove anything.
#[test]
fn library_facts_are_consistent_for_special_values() {
    let Some(solvers) = solvers() else { return };
    let Some(z3) = std::env::split_paths(&solvers).map(|d| d.join("z3")).find(|z3| z3.is_file()) else { return };
    let dir = Dir::new();
    let (program, main) = (dir.path("results"), dir.file("main.c", RESULTS));
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-w", "-fno-builtin", "-include", "math.h"]).arg(main).arg(fixture("library.c"));
    dir.other(compile.arg("-o").arg(&program).arg("-lm"));
    let results = dir.other(&mut Command::new(&program));
    let options = "-f never -o out --max-evals 3000 --no-exhaust --quiet";
    dir.penfuzz("prove").arg(fixture("library.c")).args(options).env("PENFUZZ_SOLVERS", &solvers).exits(0);
    let mut functions = BTreeSet::new();
    for text in dir.files("out/proofs").values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()) {
        let between = |from: &str, to: &str| Some(text.split_once(from)?.1.split_once(to)?.0.to_owned());
        let of_call = text.lines().find(|line| line.contains("; free: call of "));
        let Some((number, call)) = between("Bool (= v1 (_ bv", " 32)").zip(of_call) else { continue };
        let unknown = call.split(' ').nth(1).expect("a name");
        let (facts, _) = text.split_once("(assert site_").expect("a goal");
        let mut script = facts.to_owned();
        let of_function: Vec<Vec<&str>> = results.lines().map(|line| line.split(' ').collect()).collect();
        let of_function: Vec<_> = of_function.iter().filter(|of| of[0] == number).collect();
        for of in &of_function {
            script.push_str("(push 1)\n");
            for (name, bits) in [("arg1", of[1]), ("arg2", of[2]), (unknown, of[3])] {
                if facts.contains(&format!("(declare-fun {name} ")) {
                    script.extend(["(assert (= ", name, " #x", bits, "))\n"]);
                }
            }
            script.push_str("(check-sat)\n(pop 1)\n");
        }
        let answers = dir.other(Command::new(&z3).arg(dir.file("facts.smt2", &script)));
        let wrong = answers.lines().zip(&of_function).find(|(answer, _)| *answer != "sat");
        assert!(wrong.is_none() && answers.lines().count() == of_function.len(), "{call}: {wrong:?}");
        functions.insert(number);
    }
    assert_eq!(functions.len(), 29);
}

/// The same facts, written independently in C, must hold for the C library of this machine.
#[test]
fn library_facts_hold_for_this_c_library() {
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
