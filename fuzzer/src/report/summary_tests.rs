//! What users see, as snapshots.

use super::super::example;
use super::*;

#[test]
fn the_example_without_its_source() {
    insta::assert_snapshot!(text(&example::report(), Path::new("out/clamp")), @"
    clamp (clamp.c): 7 of 8 branches covered (87.5 %), 6 saturated, 1 given up
    123k evaluations in 0.25 s (494k/s), seed 1, stopped: saturated

    CRASH  SIGABRT in clamp (/src/clamp.c:8)
           clamp(0x1p+0, 0x7, &(double){0x0p+0});
           x = 1.0, n = 7, rest = 0.0  (crashes/id:000000,sig:06)

    Tests (3)
           x     n  rest  branches
        1  0.25  0  0.0          1
        2  1.0   0  0.0          3
        3  nan   0  0.0          4

    Not covered (1)
      /src/clamp.c:9:19  branch ==
          true: closest distance 8 by x = nan, n = 0, rest = 0.0, given up after 40 evaluations

    Files in out/clamp
      report.json               everything, for programs
      tests/test_clamp.c        the tests as a program; its first lines say how to build it
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
    let mut out = String::new();
    list_uncovered(&report, &mut out);
    assert!(out.contains("clamp.c:9:19  if (x != x && n == 8)\n"), "{out}");
    report.sites[3].line = 10;
    out.clear();
    list_uncovered(&report, &mut out);
    assert!(out.contains("  return 1; /* xxx") && out.contains("x…\n"), "{out}");
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
    assert!(text.contains("  and 20 more places in report.json\n"), "{text}");
}

#[test]
fn a_branch_without_a_distance_says_why() {
    let mut site = example::report().sites[3].clone();
    site.branches[0].best_distance = None;
    assert_eq!(explain(&site, &site.branches[0]), "true: reached, no distance, given up after 40 evaluations");
    site.branches[1].status = Status::Uncovered;
    assert_eq!(explain(&site, &site.branches[0]), "true: never reached, given up after 40 evaluations");
}

#[test]
fn numbers_have_three_digits() {
    let counts: Vec<_> = [0, 9999, 10_000, 99_949, 123_456, 999_999, 4_560_000, 12_000_000_000].map(count).into();
    assert_eq!(counts, ["0", "9999", "10.0k", "99.9k", "123k", "1000k", "4.56M", "12.0G"]);
    let times: Vec<_> = [0.25, 9.996, 12.34, 245.0, 7380.0].map(seconds).into();
    assert_eq!(times, ["0.25 s", "10.0 s", "12.3 s", "4 min 05 s", "2 h 03 min"]);
    assert_eq!((percent(7, 8), percent(0, 0)), ("87.5 %".to_owned(), "100.0 %".to_owned()));
}
