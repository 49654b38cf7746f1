//! Targets that damage their process by accident: they close standard input, use up descriptors, write next to arrays,
//! wait, or die while they are loaded. A campaign ends within its limit, and its report is true.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use penfuzz_report::Report;

use crate::{
    outputs::gcov_agrees,
    prove::solvers,
    support::{Dir, fixture, open_branches},
};

fn contained(name: &str) -> PathBuf {
    fixture("contained").join(name)
}

/// A campaign with a time limit must end soon after it, with a report, in which these branches are open.
fn ends(name: &str, arguments: &str, status: i32, open: &[&str]) -> Report {
    let dir = Dir::new();
    let begun = Instant::now();
    let run = dir.fuzz(contained(name), "--max-time 3s").args(arguments).exits(status);
    // Compiling the target and a loaded machine take some of this time.
    run.expect(begun.elapsed() < Duration::from_secs(20), &format!("an end in time, took {:?}", begun.elapsed()));
    let report = dir.report("out");
    let is = open_branches(&report);
    run.expect(is == open, &format!("open branches {open:?}, are {is:?}"));
    report
}

#[test]
fn a_target_that_closes_standard_input_is_covered() {
    let report = ends("close_input.c", "", 0, &[]);
    assert!(report.crashes.is_empty(), "no crash in a process of its own: {:?}", report.crashes);
}

#[test]
fn a_target_that_leaks_descriptors_is_covered() {
    let report = ends("leaks_files.c", "", 0, &["6 true"]);
    assert!(report.evaluations > 1000, "{} evaluations", report.evaluations);
}

#[test]
fn a_write_next_to_an_array_ends_no_worker() {
    let dir = Dir::new();
    let run = dir.fuzz(contained("wide_write.c"), "--no-prove --max-evals 200000").run();
    run.expect(matches!(run.status.code(), Some(0 | 3)), "a normal end");
    run.expect(!run.stderr.contains("was killed"), "no worker died");
    let report = dir.report("out");
    run.expect(report.evaluations_per_second > 10_000.0, &format!("{} per second", report.evaluations_per_second));
    run.expect(open_branches(&report) == ["8 true"], "every other branch is covered");
}

/// In a test program, the write would damage the function that calls the test.
#[test]
fn an_array_on_the_stack_that_overflows_is_a_crash() {
    let report = ends("overflow.c", "", 3, &[]);
    let [crash] = &report.crashes[..] else { panic!("one crash: {:?}", report.crashes) };
    assert!(crash.reason.contains("above its stack frame"), "{crash:?}");
    assert_eq!(report.branches.covered_by_crash_only, 1);
}

/// The descriptors of the campaign are not open for the target, as they are not in a test program.
#[test]
fn the_descriptors_of_a_campaign_are_closed_for_its_target() {
    let report = ends("descriptors.c", "", 0, &["6 false", "6 false", "7 true", "7 false"]);
    assert!(report.branches.covered > 0);
}

#[test]
fn a_wait_is_not_interrupted() {
    ends("naps.c", "--function naps", 0, &["7 true"]);
    gcov_agrees(&contained("naps.c"), "--function naps --max-time 2s", "naps");
}

#[test]
fn a_sleep_without_end_is_a_hang() {
    let report = ends("naps.c", "--function sleeps", 3, &[]);
    let [hang] = &report.hangs[..] else { panic!("one hang: {:?}", report.hangs) };
    assert_eq!(hang.args[0].decimal, "12345");
}

#[test]
fn a_target_that_protects_its_own_code_costs_no_claim() {
    let report = ends("own_code.c", "", 3, &[]);
    assert_eq!(report.branches.covered + report.branches.covered_by_crash_only, report.branches.total);
}

/// The optimizer must not remove the crash that a test program has.
#[test]
fn a_write_through_a_null_pointer_is_a_crash() {
    let report = ends("null_write.c", "", 3, &[]);
    let [crash] = &report.crashes[..] else { panic!("one crash: {:?}", report.crashes) };
    assert!(crash.reason.contains("address 0x0"), "{crash:?}");
}

/// The supervisor knows the directory before the target runs, and does not read it from text.
#[test]
fn a_directory_with_a_control_character_has_its_own_report() {
    let dir = Dir::new();
    let target = contained("null_write.c");
    let out = "a\u{1}b\nc";
    dir.penfuzz("").arg(&target).args("--max-evals 1000 --no-prove -o").arg(out).exits(3);
    assert!(dir.path(out).join("report.json").is_file(), "{}", fs::read_dir(dir.path("")).unwrap().count());
}

#[test]
fn finds_that_somebody_removes_are_written_again() {
    let dir = Dir::new();
    let target = fixture("unreachable_in_loop.c");
    let mut running = dir.fuzz(&target, "--search random --max-time 4s").start();
    running.until("an input", || dir.path("out/queue").is_dir() && !dir.files("out/queue").is_empty());
    for folder in ["out/queue", "out/pending"] {
        for file in dir.files(folder).keys() {
            fs::remove_file(dir.path(folder).join(file)).expect("a file of ours can be removed");
        }
    }
    running.wait();
    let report = dir.report("out");
    for test in &report.tests {
        assert!(dir.path("out").join(&test.file).is_file(), "{} is there", test.file);
    }
}

#[test]
fn a_file_that_dies_while_it_is_loaded_is_named() {
    let dir = Dir::new();
    let file = contained("dies_at_start.cc");
    dir.penfuzz("functions").arg(&file).exits(1).says("while it is loaded");
    fs::copy(&file, dir.path("dies.cc")).expect("a fixture can be copied");
    dir.file("lives.cc", "double g(double x) { return x > 2 ? 1 : 0; }\n");
    dir.file("recipe.toml", "name = \"s\"\nsources = \".\"\n\n[generate]\nfiles = [\"*.cc\"]\n");
    let run = dir.penfuzz("generate recipe.toml").run();
    run.says("dies.cc is left out");
    run.expect(run.stdout.contains("1 target"), "the other file is a target");
}

/// Solvers find neither a proof nor a model for this branch in the time of the campaign.
const UNDECIDED: &str = "double undecided(double x, double y, double z) {
  if (x * x * x + y * y * y == z * z * z && x * y * z == 1.7 && x > 1 && y > x && z * x / y > 1.3) return 1;
  return 0;
}
";

/// The limit is wall time of search, solvers and report together: 3 s, and 2 s more.
#[test]
fn a_time_limit_includes_the_solvers() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let file = dir.file("undecided.c", UNDECIDED);
    // Compiles the target, which is not part of the limit.
    dir.penfuzz("functions").arg(&file).exits(0);
    for command in ["", "prove"] {
        let begun = Instant::now();
        let run = dir.penfuzz(command).arg(&file).args(&format!("-o out{command} --max-time 3s"));
        let run = run.env("PENFUZZ_SOLVERS", &solvers).exits(0);
        let took = begun.elapsed();
        run.expect(took < Duration::from_secs(8), &format!("an end soon after the limit, took {took:?}"));
    }
}
