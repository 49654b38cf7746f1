//! `--rounding all`: the rounding mode is an additional argument, in the search, in every report and in replays.

use penfuzz_report::Report;

use crate::{
    outputs::gcov_agrees,
    support::{Dir, fixture, open_branches},
};

/// Returns the C names of the rounding modes of a report's tests.
fn modes(report: &Report) -> Vec<String> {
    report.tests.iter().map(|t| t.args.last().expect("a mode").decimal.clone()).collect()
}

#[test]
fn branches_of_directed_modes_are_taken() {
    let dir = Dir::new();
    let target = fixture("rounding.c");
    let nearest = dir.fuzz(&target, "").exits(0);
    let open = dir.report("out").branches;
    nearest.expect(open.covered == open.total - 3, "three branches that the default mode cannot take");
    let all = dir.fuzz(&target, "--rounding all --fresh").exits(0);
    let report = dir.report("out");
    all.expect(open_branches(&report).is_empty(), "every branch covered");
    all.expect(modes(&report).contains(&"FE_UPWARD".to_owned()), "a test that rounds upward");
    all.expect(all.stdout.contains("  rounding  ") && all.stdout.contains("FE_UPWARD"), "a column with the modes");
    all.expect(!nearest.stdout.contains("FE_"), "no such column without the option");
    for test in &report.tests {
        let mode = test.args.last().expect("a mode");
        all.expect(mode.name == "rounding" && mode.type_name == "rounding mode", "the mode named in report.json");
        all.expect(mode.hex.len() == 3 && mode.decimal.starts_with("FE_"), "its number and its name");
    }
}

#[test]
fn gcov_counts_the_emitted_tests_alike() {
    gcov_agrees(&fixture("rounding.c"), "--rounding all", "rounding");
}

#[test]
fn emitted_tests_set_the_mode_only_where_it_is_directed() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("rounding.c"), "--rounding all").exits(0);
    let program = String::from_utf8_lossy(&dir.files("out/tests")["test_rounding.c"]).into_owned();
    let calls = |text: &str| program.lines().filter(|l| l.trim_start().starts_with(text)).count();
    let directed = modes(&dir.report("out")).iter().filter(|m| *m != "FE_TONEAREST").count();
    run.expect(directed > 0, "a test in a directed mode");
    run.expect(calls("fesetround(FE_TONEAREST);") == directed, "the default mode restored once for each");
    run.expect(calls("fesetround(") == 2 * directed, "no mode set elsewhere");
    let plain = dir.fuzz(fixture("rounding.c"), "--fresh").exits(0);
    let program = String::from_utf8_lossy(&dir.files("out/tests")["test_rounding.c"]).into_owned();
    plain.expect(!program.contains("fenv.h"), "nothing of it without the option");
}

#[test]
fn flags_that_the_caller_has_raised_are_an_input_too() {
    let dir = Dir::new();
    let target = fixture("flags_raised.c");
    dir.fuzz(&target, "--lib -lm").exits(0);
    let open = open_branches(&dir.report("out"));
    assert_eq!(open.len(), 4, "what needs a flag that was raised before the call: {open:?}");
    let report = gcov_agrees(&target, "--lib -lm --rounding all", "flags_raised");
    assert!(open_branches(&report).is_empty(), "every branch is covered");
    let found = modes(&report);
    assert!(found.iter().any(|m| m.ends_with(", flags raised")), "{found:?}");
    assert!(found.iter().any(|m| !m.ends_with("raised")), "{found:?}");
    // A function that does not read exception flags is called without raised flags.
    dir.fuzz(fixture("rounding.c"), "--rounding all --fresh").exits(0);
    let found = modes(&dir.report("out"));
    assert!(found.iter().all(|m| !m.contains("raised")), "{found:?}");
}

#[test]
fn replay_raises_the_flags() {
    let dir = Dir::new();
    let with = |mode: u8| 4.5_f64.to_le_bytes().into_iter().chain([mode]).collect::<Vec<u8>>();
    for (mode, shown, returned) in [(0, "0x0   (FE_TONEAREST)", 0), (6, "0x6   (FE_DOWNWARD, flags raised)", 5)] {
        let input = dir.file(&format!("input{mode}"), with(mode));
        let run =
            dir.penfuzz("replay").arg(fixture("flags_raised.c")).arg(&input).args("--lib -lm --rounding all").exits(0);
        run.expect(run.stdout.contains(&format!("rounding     = {shown}")), "the environment");
        run.expect(run.stdout.contains(&format!("returned     = {returned:#x} ")), "what it returns");
    }
}

#[test]
fn replay_shows_the_mode() {
    let dir = Dir::new();
    let tiny: Vec<u8> = 1e-20_f64.to_le_bytes().into_iter().chain([1]).collect();
    let input = dir.file("input", tiny);
    let replay = || dir.penfuzz("replay").arg(fixture("rounding.c")).arg(&input);
    let run = replay().args("--rounding all").exits(0);
    run.expect(run.stdout.contains("rounding     = 0x1   (FE_UPWARD)"), "the mode");
    run.expect(run.stdout.contains("returned     = 0x1   (1)"), "1 + 1e-20 is not 1 upward");
    let run = replay().exits(0);
    run.expect(run.stdout.contains("returned     = 0x0   (0)"), "1 + 1e-20 is 1 to nearest");
    run.says("the last byte of").says("give --rounding all");
}

#[test]
fn a_campaign_goes_on_under_the_same_rounding_only() {
    let dir = Dir::new();
    let target = fixture("rounding.c");
    dir.fuzz(&target, "--rounding all").exits(0);
    let report = dir.report("out");
    dir.fuzz(&target, "").exits(1).says("out holds a campaign with --rounding all; give that option again");
    let run = dir.fuzz(&target, "--rounding all").exits(0);
    run.expect(dir.report("out").branches == report.branches, "the same counts of branches");
    dir.fuzz(&target, "--fresh").exits(0);
    dir.fuzz(&target, "--rounding all").exits(1).says("out holds a campaign without --rounding all");
}

#[test]
fn seeds_without_a_mode_are_to_nearest() {
    let dir = Dir::new();
    dir.file("seeds/a", 0.5_f64.to_le_bytes());
    dir.fuzz(fixture("rounding.c"), "--rounding all -i seeds --search random --max-evals 1").exits(0);
    let modes = modes(&dir.report("out"));
    assert!(modes.contains(&"FE_TONEAREST".to_owned()), "the seed in its mode: {modes:?}");
}

#[test]
fn a_harness_of_bytes_has_no_room_for_a_mode() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("fuzzer_harness.c"), "--rounding all -f LLVMFuzzerTestOneInput").exits(1);
    run.says("`LLVMFuzzerTestOneInput` takes bytes").says("remove --rounding");
    run.expect(run.stderr.lines().count() == 1, "one line on standard error");
}

#[test]
fn one_seed_gives_one_report() {
    let report = || {
        let dir = Dir::new();
        dir.fuzz(fixture("rounding.c"), "--rounding all --seed 7 --max-evals 20000").exits(0);
        let mut report = dir.report("out");
        (report.seconds, report.evaluations_per_second) = (0.0, 0.0);
        (
            report.tests.into_iter().map(|t| t.args).collect::<Vec<_>>(),
            report.branches,
            report.evaluations,
            report.sites,
        )
    };
    assert!(report() == report(), "the same tests, counts and sites");
}
