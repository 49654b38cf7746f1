//! Campaigns that call solvers when they make no progress.

use std::time::{Duration, Instant};

use penfuzz_report::{Report, proof::Verdict};

use crate::{
    prove::{solvers, stand_ins},
    support::{Dir, fixture, line_of},
};

/// Runs a campaign of at most a minute; returns the report and the time it took.
fn fuzz(dir: &Dir, function: &str, solvers: &std::ffi::OsStr) -> (Report, Duration) {
    let began = Instant::now();
    dir.fuzz(fixture("unreachable.c"), &format!("-f {function} --max-time 60s"))
        .env("PENFUZZ_SOLVERS", solvers)
        .exits(0);
    (dir.report("out"), began.elapsed())
}

#[test]
fn a_campaign_ends_when_the_rest_is_proved() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let (report, time) = fuzz(&dir, "floats", &solvers);
    assert_eq!(report.branches.proved_unreachable, 4);
    assert_eq!(report.branches.covered, report.branches.reachable(), "{:?}", report.branches);
    assert_eq!(report.stop_reason, "saturated");
    assert!(report.seconds < 55.0 && time < Duration::from_secs(59), "{} s of search, {time:?}", report.seconds);
    // `penfuzz prove` tries all open branches again, and proves the same four.
    let again = dir.penfuzz("prove out").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    again.expect(again.stdout.contains("12 of 12 reachable branches covered, 4 proved unreachable"), "the totals");
}

/// Resumes the same campaign for at most five seconds, without a solver.
fn resumed(dir: &Dir) -> Report {
    let nowhere = stand_ins(dir, &[]);
    dir.fuzz(fixture("unreachable.c"), "-f floats --max-time 5s").env("PENFUZZ_SOLVERS", nowhere).exits(0);
    dir.report("out")
}

#[test]
fn resumed_campaign_keeps_its_proofs() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let (before, _) = fuzz(&dir, "floats", &solvers);
    let after = resumed(&dir);
    assert_eq!(after.branches.proved_unreachable, 4);
    assert_eq!(after.stop_reason, "saturated", "nothing is left to search for");
    let proofs = |report: &Report| report.proved().map(|p| p.proof.clone()).collect::<Vec<_>>();
    assert_eq!(proofs(&after), proofs(&before));
    // Without its query file, a proof does not count.
    let file = before.proved().map(|p| p.proof.file.clone()).next().unwrap();
    std::fs::remove_file(dir.path("out").join(file)).unwrap();
    let less = resumed(&dir);
    assert_eq!((less.branches.proved_unreachable, less.stop_reason.as_str()), (3, "max-time"));
}

/// Code with the same lines and conditions but other constants continues the same campaign.
#[test]
fn proofs_of_other_code_are_ignored() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let target = dir.file("square.c", "int square(double x) {\n  return x * x < LIMIT ? 1 : 0;\n}\n");
    let fuzz = |limit: &str, more: &str| {
        dir.fuzz(&target, &format!("-f square --cflag=-DLIMIT={limit} {more}"))
            .env("PENFUZZ_SOLVERS", &solvers)
            .exits(0);
        dir.report("out").branches
    };
    assert_eq!(fuzz("0.0", "--max-time 60s").proved_unreachable, 1);
    let other = fuzz("-1e-300*1e-300", "--max-time 60s");
    assert_eq!((other.covered, other.proved_unreachable), (1, 1), "proved again");
    let reachable = fuzz("1e-9", "--max-time 60s");
    assert_eq!((reachable.covered, reachable.proved_unreachable), (2, 0));
}

#[test]
fn a_campaign_goes_on_from_the_model_of_a_solver() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let (report, time) = fuzz(&dir, "scrambled", &solvers);
    assert_eq!(report.branches.covered, report.branches.total, "{:?}", report.branches);
    assert_eq!(report.stop_reason, "saturated");
    assert!(time < Duration::from_secs(59), "{time:?}");
}

#[test]
fn a_farm_tries_the_models_of_solvers_at_its_end() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    dir.fuzz(fixture("unreachable.c"), "-f scrambled --cores 0-1 --max-time 6s")
        .env("PENFUZZ_SOLVERS", &solvers)
        .exits(0);
    let report = dir.report("out");
    assert_eq!(report.branches.covered, report.branches.total, "{:?}", report.branches);
}

#[test]
fn a_campaign_goes_on_until_its_end_when_solvers_know_nothing() {
    for answer in ["echo unknown", "exec sleep 1000"] {
        let dir = Dir::new();
        let solvers = stand_ins(&dir, &[("z3", answer), ("cvc5", answer)]);
        dir.fuzz(fixture("unreachable.c"), "-f floats --max-time 5s").env("PENFUZZ_SOLVERS", &solvers).exits(0);
        let report = dir.report("out");
        assert_eq!((report.branches.covered, report.branches.total), (12, 16), "{answer}");
        assert_eq!(report.branches.proved_unreachable, 0);
        assert_eq!(report.stop_reason, "max-time", "{answer}");
        assert!(report.branches.given_up <= 4);
    }
}

#[test]
fn a_solver_that_had_no_answer_in_time_is_asked_again() {
    let dir = Dir::new();
    let seen = dir.path("seen");
    let second = format!("if [ -e '{0}' ]; then echo unsat; else touch '{0}'; echo unknown; fi", seen.display());
    let solvers = stand_ins(&dir, &[("z3", "echo unsat"), ("cvc5", &second)]);
    let target = dir.file("square.c", "int square(double x) {\n  return x * x < 0.0 ? 1 : 0;\n}\n");
    dir.fuzz(&target, "-f square --max-time 60s").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    let report = dir.report("out");
    assert_eq!((report.branches.covered, report.branches.proved_unreachable), (1, 1), "{:?}", report.sites);
    assert!(
        report.stop_reason == "saturated" && report.seconds < 55.0,
        "{} after {} s",
        report.stop_reason,
        report.seconds
    );
}

/// Runs a search so short that the branch after the loop stays open, then proves.
fn after_loop(dir: &Dir, function: &str, solvers: &std::ffi::OsStr) -> Report {
    let run = dir
        .penfuzz("prove")
        .arg(fixture("rounds.c"))
        .args(&format!("-f {function} -o {function} --max-evals 60 --no-exhaust --json"))
        .env("PENFUZZ_SOLVERS", solvers)
        .exits(0);
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout))
}

#[test]
fn models_of_branches_behind_loops_come_from_their_first_rounds() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    for function in ["hash", "rows"] {
        let report = after_loop(&dir, function, &solvers);
        assert_eq!(report.branches.covered, report.branches.total, "{function}: {:?}", report.sites);
    }
}

/// The branch is taken after 23 iterations of the loop, but never after few: the latter must not count as a proof.
#[test]
fn bounded_loops_are_no_proof() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let report = after_loop(&dir, "long_loop", &solvers);
    let line = line_of(&fixture("rounds.c"), "i == 23");
    let sites = report.sites.iter().filter(|s| s.line as usize == line);
    let open: Vec<_> = sites.flat_map(|s| &s.branches).filter(|b| b.status.is_untaken()).collect();
    assert!(!open.is_empty(), "the search has not found the hash: {:?}", report.branches);
    for branch in open {
        let verdict = branch.proof.as_ref().map(|p| p.verdict);
        assert!(matches!(verdict, Some(Verdict::SatisfiableIfFree | Verdict::Undecided)), "{branch:?}");
    }
    assert_eq!(report.branches.proved_unreachable, 0);
}
