//! Snapshots of the terminal text.

use std::fs;

use super::{
    super::{example, model::Status, source_hashes},
    *,
};

#[test]
fn the_example_without_its_source() {
    insta::assert_snapshot!(text(&example::report(), Path::new("out/clamp")), @"
    clamp (clamp.c): 6 of 8 branches covered (75.0 %); 1 covered only by inputs that crash; 1 not covered: \
    given up by the search
    123k evaluations in 0.25 s (494k/s), seed 1, stopped: every branch is covered or given up

    CRASH  SIGABRT in clamp (/src/clamp.c:8)
           clamp(1.0, 7, &(double){0.0});
           x = 1.0, n = 7, rest = 0.0  (crashes/id:000000,sig:06)

    Tests (3)
           x     n  rest  branches
        1  0.25  0  0.0          1
        2  1.0   0  0.0          3
        3  nan   0  0.0          4

    Not covered (1), closest first
      /src/clamp.c:9:19  true  branch ==
          closest 8 integers away at clamp(nan, 0, 0.0), 40 evaluations, given up
      Given up: the search spent its budget for this branch and found no input. That is no proof that none exists.

    Files in out/clamp
      report.html               a page for a browser
      report.json               the complete report, for programs
      tests/test_clamp.c        the test program; its first lines show how to build it
      coverage.lcov             for genhtml --branch-coverage
    ");
}

#[test]
fn source_lines_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("clamp.c");
    fs::write(&file, example::SOURCE.replace("return 1;", &format!("return 1; /* {} */", "x".repeat(90)))).unwrap();
    let mut report = example::report();
    for site in &mut report.sites {
        site.file = file.to_string_lossy().into_owned();
    }
    report.source_hashes = source_hashes(&report.sites);
    let mut out = String::new();
    list_uncovered(&report, &mut out);
    assert!(out.contains("clamp.c:9:19  true  if (x != x && n == 8)\n"), "{out}");
    report.sites[3].line = 10;
    out.clear();
    list_uncovered(&report, &mut out);
    assert!(out.contains("  true  return 1; /* xxx") && out.contains("x…\n"), "{out}");
}

#[test]
fn everything_covered_and_nothing_wrong_is_short() {
    let mut report = example::report();
    report.crashes.clear();
    report.sites[3].branches[0].status = Status::Saturated;
    let text = text(&report, Path::new("out"));
    assert!(!text.contains("CRASH") && !text.contains("Not covered"), "{text}");
}

#[test]
fn long_lists_are_cut() {
    let mut report = example::report();
    report.tests = vec![report.tests[0].clone(); 50];
    report.sites = vec![report.sites[3].clone(); 50];
    let text = text(&report, Path::new("out"));
    assert!(text.contains("  and 30 more in tests/test_clamp.c\n"), "{text}");
    assert!(text.contains("  and 40 more in report.json\n"), "{text}");
}

#[test]
fn the_closest_branch_comes_first() {
    let mut report = example::report();
    let mut nearer = report.sites[3].clone();
    nearer.line = 10;
    nearer.branches[0].best_distance = Some(1);
    nearer.distance_unit = "floats".to_owned();
    report.sites.push(nearer);
    let mut out = String::new();
    list_uncovered(&report, &mut out);
    let lines: Vec<&str> = out.lines().map(str::trim).collect();
    assert!(
        lines[2].starts_with("/src/clamp.c:10:19") && lines[3].starts_with("closest 1 float away at clamp("),
        "{out}"
    );
    assert!(lines[4].starts_with("/src/clamp.c:9:19"), "{out}");
}

#[test]
fn tests_without_a_process_are_counted() {
    let mut report = example::report();
    report.unconfirmed_tests = 2;
    let text = text(&report, Path::new("out"));
    assert!(text.contains("\n2 tests not repeated in a fresh process, because the system had no process"), "{text}");
}
