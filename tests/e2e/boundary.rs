//! `penfuzz boundary`: inputs with boundary values of comparisons.

use penfuzz_report::{Branch, BranchIndex, Report, Site, Status, boundary::Tally};

use crate::support::{Dir, fixture, line_of, workspace};

/// Enough for each of the small programs.
const EVALUATIONS: &str = "--max-evals 100000";

fn search(dir: &Dir, function: &str, seed: u32, arguments: &str) -> Report {
    let out = format!("{function}-{seed}");
    dir.penfuzz("boundary --quiet")
        .arg(fixture("boundaries.c"))
        .args("--function")
        .arg(function)
        .args("--seed")
        .arg(seed.to_string())
        .args("-o")
        .arg(&out)
        .args(arguments)
        .exits(0);
    dir.report(&out)
}

/// Returns the comparison on the line of the fixture that contains `text`.
fn comparison<'a>(report: &'a Report, text: &str) -> &'a Site {
    let line = line_of(&fixture("boundaries.c"), text);
    let found = report.sites.iter().find(|s| s.line as usize == line && s.kind == "comparison");
    found.unwrap_or_else(|| panic!("no comparison in line {line}: {:?}", report.sites))
}

fn side<'a>(site: &'a Site, outcome: &str) -> &'a Branch {
    site.branches.iter().find(|b| b.outcome == outcome).unwrap_or_else(|| panic!("{outcome} of {site:?}"))
}

fn argument(branch: &Branch) -> f64 {
    let input = branch.input.as_ref().expect("an input");
    input[0].decimal.parse().expect("a number")
}

fn is_met(branch: &Branch) -> bool {
    matches!(branch.status, Status::Saturated | Status::Covered)
}

#[test]
fn the_example_of_mathematical_execution_from_every_seed() {
    let dir = Dir::new();
    for seed in 0..20 {
        let report = search(&dir, "two_ifs", seed, EVALUATIONS);
        let first = comparison(&report, "if (x <= 1)");
        assert!(argument(side(first, "equal")).to_bits() == 1f64.to_bits(), "seed {seed}: x <= 1 is decided at 1");
        let second = side(comparison(&report, "if (y <= 4)"), "equal");
        let x = argument(second);
        assert!([0.0, -0.0, -4.0, 2.0].contains(&x), "seed {seed}: y <= 4 is decided at 0, -4 and 2, not {x}");
        assert_eq!(Tally::of(&report).exact, 2, "seed {seed}: both comparisons are met exactly");
    }
}

/// All inputs with equal operands, not one: 1 for the first condition; -3, 1 and 2 for the second one, and the double
/// below 1, whose sum with 1 is rounded to 2.
#[test]
fn all_boundary_inputs_of_the_example_from_every_seed() {
    let dir = Dir::new();
    let target = workspace().join("harnesses/goals/two_conditions.c");
    for seed in 0..5 {
        let out = format!("all-{seed}");
        let command = dir.penfuzz("boundary --quiet --function two_conditions").arg(&target);
        command.args(&format!("--seed {seed} -o {out} {EVALUATIONS}")).exits(0);
        let report = dir.report(&out);
        assert!(
            report.evaluations <= 101_000,
            "seed {seed}: the limit includes further inputs: {}",
            report.evaluations
        );
        let inputs = |text: &str| {
            let line = line_of(&target, text);
            let site = report.sites.iter().find(|s| s.line as usize == line).expect("the comparison");
            let equal = side(site, "equal");
            let further = equal.further.iter().map(|args| args[0].decimal.parse().expect("a number"));
            let mut all: Vec<f64> = further.chain([argument(equal)]).collect();
            all.sort_by(f64::total_cmp);
            all
        };
        assert_eq!(inputs("if (x <= 1)"), [1.0], "seed {seed}");
        assert_eq!(inputs("if (square <= 4)"), [-3.0, 1f64.next_down(), 1.0, 2.0], "seed {seed}");
        let tested: Vec<&str> = report.tests.iter().map(|t| t.args[0].decimal.as_str()).collect();
        assert!(["-3.0", "1.0", "2.0"].iter().all(|x| tested.contains(x)), "seed {seed}: {tested:?} are tested");
    }
}

/// x + 2 is 2 for all tiny x: these inputs are shown by the ends of their range, and leave room for the others.
#[test]
fn a_range_of_neighbouring_inputs_is_shown_by_its_ends() {
    let report = search(&Dir::new(), "two_ifs", 1, EVALUATIONS);
    let equal = side(comparison(&report, "if (y <= 4)"), "equal").clone();
    let mut all: Vec<f64> = equal.further.iter().map(|args| args[0].decimal.parse().expect("a number")).collect();
    all.push(argument(&equal));
    let (first, last) = (-(2f64.powi(-53)), 2f64.powi(-52));
    for x in [-4.0, first, last, 2.0] {
        assert!(all.contains(&x), "{x} is one of {all:?}");
    }
    assert!(all.len() <= 5 && all.iter().all(|x| [-4.0, 2.0].contains(x) || (first..=last).contains(x)), "{all:?}");
}

/// An argument on which the comparison does not depend makes no further inputs.
#[test]
fn arguments_that_do_not_matter_make_no_further_inputs() {
    let dir = Dir::new();
    let target =
        dir.file("f.c", "int f(double x, double y, int n) { if (x * x == 25) return 1; return n > 3 && y < 2; }\n");
    let search = |more: &str, out: &str| {
        dir.penfuzz("boundary --quiet").arg(&target).args(&format!("-o {out} {EVALUATIONS} {more}")).exits(0);
        let report = dir.report(out);
        let site = report.sites.iter().find(|s| s.predicate == "==").expect("x * x == 25").clone();
        side(&site, "equal").clone()
    };
    let equal = search("", "all");
    assert!([5.0, -5.0].contains(&argument(&equal)) && equal.further.len() == 1, "5 and -5: {equal:?}");
    assert_eq!(search("--inputs 1", "one").further.len(), 0, "one is enough");
    dir.penfuzz("boundary --inputs 0").arg(&target).exits(2);
}

/// A boundary value that is not met does not block control flow, so no condition waits for one.
#[test]
fn no_comparison_waits_for_another() {
    let dir = Dir::new();
    let source = "int f(int x) { if (x * x == 7) { if (x > 3) return 1; if (x < -3) return 2; } return 0; }\n";
    let target = dir.file("nested.c", source);
    dir.penfuzz("boundary --quiet -o out").arg(target).args(EVALUATIONS).exits(0);
    let report = dir.report("out");
    let nowhere = |s: &&Site| s.branches.iter().all(|b| b.best_distance.is_none());
    assert_eq!(report.sites.iter().filter(nowhere).count(), 2, "x * x is never 7: {:?}", report.sites);
    assert!(report.sites.iter().all(|s| s.waits_for.is_none()), "{:?}", report.sites);
}

#[test]
fn neighbours_tell_which_of_them_flips_the_outcome() {
    let report = search(&Dir::new(), "two_ifs", 1, EVALUATIONS);
    let first = comparison(&report, "if (x <= 1)");
    let at = |outcome| {
        let branch = side(first, outcome);
        (argument(branch), branch.met.as_ref().expect("operands").outcome.clone())
    };
    assert_eq!(at("below"), (1f64.next_down(), "true".to_owned()), "below");
    assert_eq!(at("equal"), (1.0, "true".to_owned()), "equal");
    assert_eq!(at("above"), (1f64.next_up(), "false".to_owned()), "above");
}

#[test]
fn unmet_boundary_values_have_their_nearest_gap() {
    let dir = Dir::new();
    let report = search(&dir, "unmet", 1, "");
    assert_eq!(report.stop_reason, "saturated", "it ends by itself");
    let single = comparison(&report, "if (x < 0.1)");
    // A step between neighbouring floats counts as 2^29 doubles.
    let gap = side(single, "equal").best_distance.expect("reached");
    let (below, above) = (f64::from(0.1f32.next_down()), f64::from(0.1f32));
    let nearest = [below, above].map(|x| x.to_bits().abs_diff(0.1f64.to_bits())).into_iter().min();
    assert_eq!(Some(gap), nearest, "the float next to 0.1");
    let square = comparison(&report, "if (y * y < 0)");
    assert!(is_met(side(square, "equal")) && is_met(side(square, "above")), "a square is 0 or the smallest number");
    assert_eq!(side(square, "below").status, Status::GivenUp, "no square is below 0");
}

#[test]
fn summary_lists_unreached_comparisons() {
    let dir = Dir::new();
    let run = dir.penfuzz("boundary --function unreached -o out").arg(fixture("boundaries.c")).exits(0);
    let line = format!("boundaries.c:{}:", line_of(&fixture("boundaries.c"), "if (x == 3)"));
    let shown = run.stdout.lines().skip_while(|l| !l.contains(&line)).skip(1).take(3);
    run.expect(
        shown.clone().count() == 3 && shown.clone().all(|l| l.ends_with("not reached")),
        "three are not reached",
    );
    run.expect(
        run.stdout.starts_with("unreached (") && run.stdout.contains("2 comparisons: 0 met exactly, 2 not"),
        "headline",
    );
}

#[test]
fn integers_are_met_by_units() {
    let report = search(&Dir::new(), "integers", 1, "");
    let first = comparison(&report, "if (n > 0)");
    assert_eq!(first.branches.len(), 2, "nothing is below an unsigned 0: {first:?}");
    assert!(first.branches.iter().all(is_met), "0 and 1 are met: {first:?}");
    let second = comparison(&report, "if (k * 2 == 10)");
    assert!(is_met(side(second, "equal")), "5 is met: {second:?}");
    assert_eq!(second.branches.len(), 1, "an even number is neither 9 nor 11: {second:?}");
}

#[test]
fn every_pass_of_a_loop_counts() {
    let report = search(&Dir::new(), "in_loop", 1, EVALUATIONS);
    let equal = side(comparison(&report, "if (t == x)"), "equal");
    assert!((0.0..10.0).contains(&argument(equal)) && argument(equal).fract() == 0.0, "0 to 9: {equal:?}");
}

#[test]
fn json_is_the_report_and_tests_meet_what_was_met() {
    let dir = Dir::new();
    let run = dir.penfuzz("boundary --json --function two_ifs -o out").arg(fixture("boundaries.c")).exits(0);
    let file = dir.files("out").remove("report.json").expect("report.json");
    run.expect(run.stdout.as_bytes() == file, "standard output is report.json");
    let report = dir.report("out");
    for (i, site) in report.sites.iter().enumerate() {
        for (j, branch) in site.branches.iter().enumerate().filter(|(_, b)| is_met(b)) {
            let is_in_test = report.tests.iter().any(|t| t.covers.contains(&BranchIndex { site: i, branch: j }));
            assert!(is_in_test, "{} of line {} is met by a test", branch.outcome, site.line);
        }
    }
    assert!(dir.path("out/tests/test_two_ifs.c").is_file(), "the tests are emitted");
}

#[test]
fn a_search_for_branches_cannot_be_taken_up_as_one_for_boundaries() {
    let dir = Dir::new();
    dir.penfuzz("--quiet --function two_ifs --max-evals 1000 -o out").arg(fixture("boundaries.c")).exits(0);
    let run = dir.penfuzz("boundary --quiet --function two_ifs -o out").arg(fixture("boundaries.c")).exits(1);
    run.expect(run.stderr.contains("--fresh"), "it says what to do");
}

#[test]
fn a_missing_target_is_named() {
    let dir = Dir::new();
    let run = dir.penfuzz("boundary nowhere.c").exits(1);
    run.expect(run.stderr.contains("nowhere.c"), "which file");
}

#[test]
fn no_target_is_unusable_arguments() {
    Dir::new().penfuzz("boundary").exits(2);
}
