//! Proofs about loops, by loop invariants.

use std::{fs, process::Command};

use penfuzz_report::{ProvedBranch, Report};

use super::{solvers, stand_ins};
use crate::support::{Dir, fixture, line_of};

/// Functions of `loops.c`, and texts of lines with an infeasible branch.
const LOOPS: [(u32, &str, &str); 4] =
    [(1, "counted", "GUARD(1"), (2, "counted", "GUARD(2"), (3, "summed", "if (sum < 0)"), (4, "nested", "GUARD(4")];

fn prove_loops(dir: &Dir, function: &str, more: &str, solvers: &std::ffi::OsStr) -> Report {
    dir.penfuzz("prove")
        .arg(fixture("loops.c"))
        .args(&format!("-f {function} -o out --fresh --max-evals 300 --no-exhaust {more}"))
        .env("PENFUZZ_SOLVERS", solvers)
        .exits(0);
    dir.report("out")
}

fn proved_in_loops(report: &Report, text: &str) -> usize {
    let line = line_of(&fixture("loops.c"), text);
    report.proved().filter(|p| p.site.line as usize == line).count()
}

#[test]
fn loop_invariants_are_found_and_proved_in_a_file_of_their_own() {
    let Some(solvers) = solvers() else { return };
    for (number, function, text) in LOOPS {
        let dir = Dir::new();
        let report = prove_loops(&dir, function, "", &solvers);
        assert_eq!(proved_in_loops(&report, text), 1, "guard {number}: {:?}", report.sites);
        let of_loops: Vec<_> = report.proved().filter(|p| !p.proof.invariants.is_empty()).collect();
        assert!(!of_loops.is_empty(), "a proof has invariants");
        for ProvedBranch { proof, .. } in of_loops {
            let evidence = fs::read_to_string(dir.path("out").join(&proof.file)).unwrap();
            assert!(evidence.contains("; invariant: "), "{evidence}");
        }
        let proofs = dir.files("out/proofs");
        let of_invariants: Vec<_> = proofs.keys().filter(|name| name.ends_with(".invariants.smt2")).collect();
        assert!(!of_invariants.is_empty(), "{:?}", proofs.keys());
        let z3 = std::env::split_paths(&solvers).map(|d| d.join("z3")).find(|z3| z3.is_file());
        for (name, z3) in of_invariants.into_iter().zip(z3.iter().cycle()) {
            let file = dir.path("out/proofs").join(name);
            let answers = dir.other(Command::new(z3).arg(file));
            let mut lines = answers.lines();
            assert!(lines.clone().count() > 0 && lines.all(|line| line == "unsat"), "{answers}");
        }
    }
}

#[test]
fn a_wrong_invariant_is_refused_and_the_branch_is_not_proved() {
    let Some(solvers) = solvers() else { return };
    for (number, function, text) in LOOPS {
        let dir = Dir::new();
        let report = prove_loops(&dir, function, &format!("--cflag -DMUTATE={number}"), &solvers);
        assert_eq!(proved_in_loops(&report, text), 0, "guard {number} is feasible: {:?}", report.sites);
    }
    // Two candidates that hold only as long as the other one does; one of them is false at the loop's entry.
    for (function, text) in [("swapped", "a < 0 &&"), ("dead", "all + i == 0 &&")] {
        let dir = Dir::new();
        let report = prove_loops(&dir, function, "", &solvers);
        let line = line_of(&fixture("loops.c"), text);
        let taken = report.proved().filter(|p| p.site.line as usize == line && p.branch.outcome == "true");
        assert_eq!(taken.count(), 0, "{function}: {:?}", report.sites);
    }
}

#[test]
fn solvers_without_an_answer_about_invariants_are_not_asked_about_each_of_them() {
    let dir = Dir::new();
    let each = |text: &dyn Fn(u32) -> String, between: &str| (0..20).map(text).collect::<Vec<_>>().join(between);
    let source = format!(
        "int f(unsigned n, unsigned u) {{\nunsigned k, {};\nfor (k = 0; k < n; k++) {{ {} }}\n\
        if (({}) * 2654435761u == u * 40503u + 77) return 1;\nreturn 0;\n}}\n",
        each(&|i| format!("x{i} = u"), ", "),
        each(&|i| format!("x{i} ^= k * {};", 2 * i + 3), " "),
        each(&|i| format!("x{i}"), " + "),
    );
    let file = dir.file("f.c", &source);
    let log = dir.path("asked");
    let answer = format!(
        "case \"$1\" in *.invariants.smt2) echo . >> '{}'; while :; do :; done;; esac; echo unknown",
        log.display()
    );
    let solvers = stand_ins(&dir, &[("z3", &answer), ("cvc5", "echo unknown")]);
    dir.penfuzz("prove")
        .arg(file)
        .args("-f f -o out --max-evals 300 --no-exhaust --solver-time 200ms --prove-time 60s")
        .env("PENFUZZ_SOLVERS", &solvers)
        .exits(0);
    // Two sets, base and step, of some 60 candidates each; the time suffices for 16 separate queries.
    let asked = fs::read_to_string(log).unwrap().lines().count();
    assert!((3..25).contains(&asked), "{asked} queries");
}
