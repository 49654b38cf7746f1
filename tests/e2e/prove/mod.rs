//! `penfuzz prove`, and the proofs at the end of a campaign.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use penfuzz_report::{
    Report, Status,
    proof::{Proof, Verdict},
};

mod loops;

use crate::{
    outputs::build_line,
    support::{Dir, fixture, skip},
};

/// Returns the directories that contain the solvers of this machine, in the format of `PATH`; `None`, with a message,
/// if there are fewer than two solvers.
pub fn solvers() -> Option<std::ffi::OsString> {
    let own = std::env::var_os("PENFUZZ_SOLVERS").or_else(|| std::env::var_os("PATH"))?;
    let is_there = |name: &str| std::env::split_paths(&own).any(|directory| directory.join(name).is_file());
    if ["z3", "cvc5", "bitwuzla"].into_iter().filter(|name| is_there(name)).count() < 2 {
        skip("proofs", "z3 and cvc5 are not installed");
        return None;
    }
    Some(own)
}

/// Creates a directory with programs that replace the solvers.
pub fn stand_ins(dir: &Dir, programs: &[(&str, &str)]) -> PathBuf {
    let directory = dir.path("stand-ins");
    fs::create_dir_all(&directory).unwrap();
    for (name, answer) in programs {
        let path = directory.join(name);
        let text =
            format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{name} version 1.2.3'; exit 0; fi\n{answer}\n");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    directory
}

/// Runs a search so short that branches stay open, then proves.
fn prove(dir: &Dir, function: &str, more: &str, solvers: &Path) -> Report {
    let run = dir
        .penfuzz("prove")
        .arg(fixture("unreachable.c"))
        .args(&format!("-f {function} -o out --fresh --max-evals 300 --no-exhaust --json {more}"))
        .env("PENFUZZ_SOLVERS", solvers)
        .exits(0);
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout))
}

/// Returns the proofs of the branches that return from the line with this text.
fn proof_at<'a>(report: &'a Report, text: &str) -> Vec<(&'a str, Option<&'a Proof>, Status)> {
    let source = fs::read_to_string(fixture("unreachable.c")).unwrap();
    let line = source.lines().position(|l| l.contains(text)).expect("the fixture has the line") + 1;
    let sites = report.sites.iter().filter(|s| s.line as usize == line);
    sites.flat_map(|s| &s.branches).map(|b| (b.outcome.as_str(), b.proof.as_ref(), b.status)).collect()
}

fn proved(report: &Report, text: &str) -> usize {
    proof_at(report, text).iter().filter(|(_, _, status)| *status == Status::ProvedUnreachable).count()
}

/// Guards of the fixture: number, function, and a text of the line.
const GUARDS: [(u32, &str, &str); 8] = [
    (1, "integers", "GUARD(1"),
    (2, "integers", "GUARD(2"),
    (3, "integers", "switch (u"),
    (4, "integers", "GUARD(4"),
    (5, "floats", "GUARD(5"),
    (6, "floats", "GUARD(6"),
    (7, "floats", "GUARD(7"),
    (8, "floats", "GUARD(8"),
];

#[test]
fn unreachable_branches_are_proved_by_two_solvers() {
    let Some(solvers) = solvers() else { return };
    for function in ["integers", "floats"] {
        let dir = Dir::new();
        let report = prove(&dir, function, "", Path::new(&solvers));
        for (number, of, text) in GUARDS {
            if of == function {
                assert_eq!(proved(&report, text), 1, "guard {number}: {:?}", proof_at(&report, text));
            }
        }
        assert_eq!(report.branches.proved_unreachable, 4);
        let proofs = report.sites.iter().flat_map(|s| &s.branches).filter_map(|b| b.proof.as_ref());
        for proof in proofs.filter(|p| p.is_proved()) {
            let unsat: Vec<_> = proof.answers.iter().filter(|a| a.answer == "unsat").map(|a| &a.solver).collect();
            assert!(unsat.len() == 2 && unsat[0] != unsat[1], "{proof:?}");
            let evidence = fs::read_to_string(dir.path("out").join(&proof.file)).unwrap();
            for part in ["; unsat", "; Compiled with: ", "; MD5", "(set-logic QF_BVFP)", "(check-sat)"] {
                assert!(evidence.contains(part), "{part} is missing in {evidence}");
            }
        }
    }
}

#[test]
fn a_guard_that_is_weaker_loses_its_proof_and_no_other_does() {
    let Some(solvers) = solvers() else { return };
    for (mutated, function, _) in GUARDS {
        let dir = Dir::new();
        let report = prove(&dir, function, &format!("--cflag -DMUTATE={mutated}"), Path::new(&solvers));
        for (number, of, text) in GUARDS {
            if of == function {
                let expected = usize::from(number != mutated);
                assert_eq!(
                    proved(&report, text),
                    expected,
                    "guard {number} with {mutated}: {:?}",
                    proof_at(&report, text)
                );
            }
        }
    }
}

#[test]
fn the_payload_of_a_computed_nan_is_that_of_an_operand() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let report = prove(&dir, "payloads", "", Path::new(&solvers));
    assert_eq!(
        (proved(&report, "GUARD(9"), report.branches.proved_unreachable),
        (1, 1),
        "{:?}",
        proof_at(&report, "GUARD(9")
    );
    let report = prove(&dir, "payloads", "--cflag -DMUTATE=9", Path::new(&solvers));
    assert_eq!(report.branches.covered, report.branches.total, "{:?}", proof_at(&report, "GUARD(9"));
}

#[test]
fn undefined_overflow_is_no_proof_unless_it_wraps() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let report = prove(&dir, "overflow", "", Path::new(&solvers));
    assert_eq!(proved(&report, "n == INT_MAX"), 0, "the sum is undefined");
    let report = prove(&dir, "overflow", "--cflag -fwrapv", Path::new(&solvers));
    assert_eq!(proved(&report, "n == INT_MAX"), 1, "with -fwrapv it wraps");
}

#[test]
fn the_rounding_mode_is_that_of_the_call() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let report = prove(&dir, "mode", "", Path::new(&solvers));
    assert_eq!((report.branches.covered, proved(&report, "x > 1 && fegetround()")), (3, 1));
    let report = prove(&dir, "mode", "--rounding all", Path::new(&solvers));
    assert_eq!((report.branches.covered, proved(&report, "x > 1 && fegetround()")), (4, 0));
    let report = prove(&dir, "sets_mode", "", Path::new(&solvers));
    assert_eq!((report.branches.covered, proved(&report, "x > 1 && after")), (3, 0), "fesetround may do anything");
}

#[test]
fn two_pointers_may_be_one() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let report = prove(&dir, "alias", "", Path::new(&solvers));
    assert_eq!(report.branches.proved_unreachable, 0, "{:?}", proof_at(&report, "*p != 1"));
}

/// Few of 2^32 integers take the branch, and the branch distance does not lead to them.
#[test]
fn a_model_of_a_solver_is_run_and_covers_the_branch() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let report = prove(&dir, "scrambled", "", Path::new(&solvers));
    assert_eq!(report.branches.covered, report.branches.total, "{:?}", proof_at(&report, "2654435761u"));
    assert_eq!(report.stop_reason, "max-evals");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_bits_of_a_long_double_are_exact() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let source = "#include <stdint.h>
union bits { long double f; struct { uint64_t m; uint16_t se; } i; };
int f(long double x)
{
  union bits u = {x}, v = {x * 0.5L};
  int e = u.i.se & 0x7fff;
  if (e == 0 && x > 1) return 1; /* never */
  if (e == 0x3fff && u.i.m >> 63 && x < -2) return 2; /* never */
  if (e == 0x3fff && u.i.m >> 63 && x < -1.75L) return 3;
  u.i.se &= 0x7fff;
  if (u.f < 0) return 4; /* never */
  if ((v.i.se & 0x7fff) == 0x7fff && v.f == v.f && x - x == 0) return 5; /* never */
  if (!(x <= 3.25L) && e < 0x4000 && x == x) return 6; /* never */
  return 0;
}
";
    let file = dir.file("f.c", source);
    dir.penfuzz("prove").arg(file).args("-f f -o out --max-evals 20000").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    let report = dir.report("out");
    let proved = |line: usize| report.proved().filter(|p| p.site.line as usize == line).count();
    for (number, line) in source.lines().enumerate() {
        let expected = line.contains("never");
        assert_eq!(proved(number + 1) > 0, expected, "{line}: {:?}", report.sites);
    }
}

/// Only one of 2^64 significands takes the branch, and the branch distance does not lead to it.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_model_that_no_double_is_is_run_too() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let source = "#include <stdint.h>
union bits { long double f; struct { uint64_t m; uint16_t se; } i; };
int f(int n, long double x, int *out)
{
  union bits u = {x};
  if (u.i.m * 0x9e3779b97f4a7c15 == 0x0123456789abcdef && u.i.se == 0x7001 && n == 5) return *out = 1;
  return 0;
}
";
    let file = dir.file("f.c", source);
    let run = dir.penfuzz("prove").arg(file).args("-f f -o out --seed 1 --max-evals 20000");
    run.env("PENFUZZ_SOLVERS", &solvers).exits(0);
    let report = dir.report("out");
    assert_eq!(report.branches.covered, report.branches.total, "{:?}", report.sites);
    let run = dir.penfuzz("prove").args("out --check").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    run.expect(run.stdout.contains("0 without a query"), "the arguments of tests in queries");
}

#[test]
fn all_inputs_of_a_small_function_are_tried_if_solvers_prove_nothing() {
    let dir = Dir::new();
    let directory = stand_ins(&dir, &[("z3", "echo unknown"), ("cvc5", "echo unknown")]);
    let source = "int f(short n)
{
  unsigned h = (unsigned)n * 2654435761u;
  h = (h ^ h >> 15) * 2246822519u;
  h ^= h >> 13;
  if (h == 1) return 1;
  if ((h & 0xffff) > 0x10000) return 2;
  return 0;
}
";
    let file = dir.file("f.c", source);
    let prove = |more: &str| {
        dir.penfuzz("prove")
            .arg(&file)
            .args(&format!("-f f -o out --fresh --max-evals 100 {more}"))
            .env("PENFUZZ_SOLVERS", &directory)
            .exits(0)
    };
    prove("--no-exhaust");
    assert_eq!(dir.report("out").branches.proved_unreachable, 0, "no solver has an answer");
    let run = prove("");
    let report = dir.report("out");
    run.expect(report.branches.proved_unreachable == 2, &format!("all inputs are tried: {:?}", report.branches));
    run.expect(run.stdout.contains("proved unreachable by exhaustion"), "the verdict");
    let proof = report.proved().next().expect("a proof").proof;
    assert_eq!(
        (proof.verdict, proof.answers.last().unwrap().version.as_str()),
        (Verdict::ProvedByExhaustion, "of all 65536 inputs")
    );
    let evidence = fs::read_to_string(dir.path("out").join(&proof.file)).unwrap();
    assert!(evidence.contains("All 65536 inputs of f were evaluated") && evidence.contains("f.c:6:"), "{evidence}");

    // Exactly one number takes the branch, and the search has not found it.
    let hash = |n: i16| {
        let h = i32::from(n).cast_unsigned().wrapping_mul(2_654_435_761);
        let h = (h ^ h >> 15).wrapping_mul(2_246_822_519);
        h ^ h >> 13
    };
    fs::write(&file, source.replace("h == 1", &format!("h == {}u", hash(-12345)))).unwrap();
    prove("");
    let report = dir.report("out");
    assert_eq!((report.branches.proved_unreachable, report.branches.covered), (1, 3), "{:?}", report.sites);
}

/// Returns the verdicts on the branches of `overflow` that the search left open, with these programs in the place of
/// solvers.
fn verdicts(programs: &[(&str, &str)]) -> (Vec<Verdict>, Report) {
    let dir = Dir::new();
    let directory = stand_ins(&dir, programs);
    let report = prove(&dir, "overflow", "--solver-time 500ms", &directory);
    let proofs = report.sites.iter().flat_map(|s| &s.branches).filter_map(|b| b.proof.as_ref());
    let all: Vec<_> = proofs.map(|p| p.verdict).collect();
    assert!(!all.is_empty(), "the search leaves a branch open");
    (all, report)
}

#[test]
fn two_agreeing_solvers_are_believed_and_one_alone_is_not() {
    let (all, report) = verdicts(&[("z3", "echo unsat"), ("cvc5", "echo unsat")]);
    assert!(all.iter().all(|v| *v == Verdict::Proved), "{all:?}");
    assert_eq!(report.branches.proved_unreachable, all.len());
    let (all, report) = verdicts(&[("z3", "echo unsat")]);
    assert!(all.iter().all(|v| *v == Verdict::ProvedByOne), "{all:?}");
    assert_eq!(report.branches.proved_unreachable, 0);
}

#[test]
fn a_solver_that_hangs_crashes_talks_nonsense_or_disagrees_is_not_believed() {
    let failing = [
        ("sleep 100", "timeout"),
        ("kill -SEGV $$", "crashed with signal 11"),
        ("echo unsat; exit 1", "ended with"),
        ("echo maybe", "printed \"maybe\""),
        ("echo unsat; echo '(error)'", "printed \"(error)\" too"),
        ("yes unsat", "printed \"unsat\" too"),
        ("true", "printed nothing"),
    ];
    for (program, said) in failing {
        let (all, report) = verdicts(&[("z3", program), ("cvc5", "echo unsat")]);
        assert!(all.iter().all(|v| *v == Verdict::ProvedByOne), "{program}: {all:?}");
        assert_eq!(report.branches.proved_unreachable, 0, "{program}");
        let answers = report.sites.iter().flat_map(|s| &s.branches).filter_map(|b| b.proof.as_ref());
        for proof in answers {
            let answer = &proof.answers.iter().find(|a| a.solver == "z3").expect("z3 was asked").answer;
            assert!(answer.contains(said) || answer.contains("crashed with signal"), "{program}: {answer}");
        }
    }
    let (all, report) = verdicts(&[("z3", "echo unsat"), ("cvc5", "echo sat")]);
    assert!(all.iter().all(|v| *v == Verdict::Contradiction), "{all:?}");
    assert_eq!(report.branches.proved_unreachable, 0);
}

#[test]
fn without_a_solver_a_campaign_is_as_before() {
    let dir = Dir::new();
    let none = dir.path("none");
    fs::create_dir(&none).unwrap();
    let fuzz = |more: &str| {
        dir.fuzz(fixture("unreachable.c"), &format!("-f overflow --fresh --max-evals 300 {more}"))
            .env("PENFUZZ_SOLVERS", &none)
            .exits(0)
    };
    let run = fuzz("");
    assert_eq!(run.stderr.matches("no solver").count(), 1, "{}", run.stderr);
    assert!(!dir.path("out/proofs").exists());
    let run = fuzz("--no-prove");
    assert!(!run.stderr.contains("no solver"), "{}", run.stderr);
    dir.penfuzz("prove out").env("PENFUZZ_SOLVERS", &none).exits(1).says("no solver was found");
}

#[test]
fn a_campaign_ends_with_proofs_and_its_directory_can_be_proved_again() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let fuzz = |more: &str| {
        dir.fuzz(fixture("unreachable.c"), &format!("-f floats --fresh --max-evals 20000 {more}"))
            .env("PENFUZZ_SOLVERS", &solvers)
            .exits(0)
    };
    fuzz("--no-prove");
    assert_eq!(dir.report("out").branches.proved_unreachable, 0);
    let again = dir.penfuzz("prove out").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    again.expect(again.stdout.contains("12 of 12 reachable branches covered, 4 proved unreachable"), "the totals");
    let report = dir.report("out");
    assert_eq!(report.branches.proved_unreachable, 4);
    assert_eq!(report.branches.covered, report.branches.reachable(), "{:?}", report.branches);
    // The end of a campaign has less time, so on a busy machine some proofs may be missing.
    let run = fuzz("");
    run.expect(run.stdout.contains(" reachable branches covered ("), "proofs at the end of the campaign");
    // The translation must allow each branch that a test takes.
    let run = dir.penfuzz("prove out --check").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    run.expect(run.stdout.contains(" 0 unknown, 0 without a query, 0 contradictions"), "no contradiction");
}

/// Returns the number of branches of `guarded.c` that lcov counts on the emitted tests: all, and taken.
fn counted_by_lcov(dir: &Dir) -> (usize, usize) {
    let programs = dir.files("out/tests");
    let build = build_line(&String::from_utf8_lossy(&programs["test_guarded.c"]));
    let count = "lcov --quiet --capture --directory . --rc lcov_branch_coverage=1 -o all.info";
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && rm -f *.gc* && {build} && {count}")]));
    let all = fs::read_to_string(dir.path("out/tests/all.info")).expect("what lcov has counted");
    let branches: Vec<_> = all.lines().filter(|line| line.starts_with("BRDA:")).collect();
    (branches.len(), branches.iter().filter(|line| !line.ends_with(",0") && !line.ends_with(",-")).count())
}

#[test]
fn a_patch_excludes_proved_branches_from_the_counts_of_lcov() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let source = "int guarded(double x, int n)
{
    double y = x * x;
    int low = n & 7;
    if (y < 0) /* never */
        return 1;
    if (n > 5) return 2;
    if (low > 7) return 3;
    return 0;
}
";
    dir.file("guarded.c", source);
    let run = dir.penfuzz("prove guarded.c -o out --max-evals 2000").env("PENFUZZ_SOLVERS", &solvers).exits(0);
    run.expect(dir.report("out").branches.proved_unreachable == 2, "two proofs");
    assert_eq!(counted_by_lcov(&dir), (6, 4));
    let page = String::from_utf8_lossy(&dir.files("out")["report.html"]).into_owned();
    run.expect(page.contains("Proved unreachable (2)") && page.contains("proofs/"), "the page lists the proofs");

    let patch = dir.penfuzz("prove out --exclusions lcov").env("PENFUZZ_SOLVERS", &solvers).exits(0).stdout;
    dir.file("exclusions.patch", &patch);
    dir.other(Command::new("patch").args(["-p0", "-i", "exclusions.patch"]));
    let now = fs::read_to_string(dir.path("guarded.c")).unwrap();
    let query = dir.report("out").proved().next().expect("a proof").proof.file.clone();
    assert!(
        now.lines().nth(4).unwrap().ends_with(&format!("/* never */ /* LCOV_EXCL_BR_LINE: out/{query} */")),
        "{now}"
    );
    assert_eq!(counted_by_lcov(&dir), (2, 2), "{now}");
}
