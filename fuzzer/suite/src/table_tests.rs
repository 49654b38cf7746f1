//! Tests of the table's text and figures.

use penfuzz_error::Error;
use penfuzz_report::Branches;

use super::*;
use crate::config::{Paper, TargetSpec};

fn target(name: &str) -> TargetSpec {
    TargetSpec {
        name: name.to_owned(),
        file: format!("{name}.c"),
        function: name.to_owned(),
        flags: Vec::new(),
        is_static: false,
        rounding: None,
        args: Vec::new(),
        assume: Vec::new(),
        calls: None,
        init: None,
        globals: Vec::new(),
        paper: None,
    }
}

fn row(name: &str, covered: usize, total: usize, referee: Option<(usize, usize)>) -> Row {
    let mut row = Row::finished(&target(name), &penfuzz_report::example::report());
    row.branches = Branches { total, covered, ..Branches::default() };
    row.crashes = 0;
    row.referee = referee.map(|(covered, total)| Referee {
        tool: "gcov".to_owned(),
        total,
        covered,
        criteria: GcovCriteria::default(),
    });
    row
}

#[test]
fn a_plain_table() {
    let rows = vec![row("acos", 12, 12, None), row("a_very_long_name", 3, 4, None)];
    insta::assert_snapshot!(SuiteReport::new("demo", rows, 1.5, false).table(), @"
    name              branches  covered       %  evaluations         time
    acos                    12       12   100.0         123k       0.25 s
    a_very_long_name         4        3    75.0         123k       0.25 s
    total                   16       15    93.8         247k       0.50 s
    demo: mean branch coverage 87.50 % over 2 functions, in 1.50 s
    ");
}

/// The column is present only if some target has such branches.
#[test]
fn branches_only_crashes_cover_have_a_column() {
    let mut rows = vec![row("acos", 12, 12, None), row("pow", 100, 114, None)];
    rows[1].branches.covered_by_crash_only = 3;
    insta::assert_snapshot!(SuiteReport::new("demo", rows, 1.5, false).table(), @"
    name      branches  covered       %  crash-only  evaluations         time
    acos            12       12   100.0           0         123k       0.25 s
    pow            114      100    87.7           3         123k       0.25 s
    total          126      112    88.9           3         247k       0.50 s
    demo: mean branch coverage 93.86 % over 2 functions, in 1.50 s
    ");
}

#[test]
fn a_table_with_everything() {
    let mut rows = vec![row("acos", 12, 12, Some((11, 12))), row("pow", 100, 114, None)];
    rows[0].paper = Some(Paper { branches: Some(12), coverme: Some(100.0), ..Paper::default() });
    rows[1].hangs = 2;
    rows.push(Row::failed(&target("bad"), &Error::new("bad.c:1: expected ;")));
    insta::assert_snapshot!(SuiteReport::new("demo", rows, 75.0, true).table(), @"
    name      branches  covered       %       gcov       %  evaluations         time  CoverMe  crashes  hangs
    acos            12       12   100.0      11/12    91.7         123k       0.25 s    100.0        0      0
    pow            114      100    87.7          -       -         123k       0.25 s                 0      2
    bad              0        0     0.0          -       -            0       0.00 s                 0      0
    total          126      112    88.9      11/12    91.7         247k       0.50 s                 0      2
    demo: mean branch coverage 59.80 % over 3 functions by gcov's count (62.57 % by our own), in 75.0 s; INTERRUPTED
    Published for CoverMe: mean 100.00 %
    FAILED  bad: bad.c:1: expected ;
    ");
}

#[test]
fn other_counts_of_the_referee_have_means() {
    let mut rows = vec![row("a", 1, 2, Some((1, 2))), row("b", 1, 2, Some((1, 2))), row("c", 1, 2, None)];
    for (row, covered) in rows.iter_mut().zip([10, 5]) {
        let some = Executed { total: 10, covered };
        // The second function has no calls.
        let calls = if covered == 10 { some } else { Executed::default() };
        row.referee.as_mut().unwrap().criteria = GcovCriteria { lines: some, conditions: some, calls };
    }
    let report = SuiteReport::new("demo", rows, 1.0, false);
    let expected = "Means of gcov's other counts: lines 75.00 % (2 functions), conditions 75.00 % (2 functions), \
                    calls 100.00 % (1 function)\n";
    assert!(report.table().contains(expected), "{}", report.table());
    assert_eq!(report.total_row().referee.unwrap().criteria.lines, Executed { total: 20, covered: 15 });
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["targets"][1]["referee"]["lines"], serde_json::json!({ "total": 10, "covered": 5 }));
}

#[test]
fn counts_of_an_older_file_are_read() {
    let text = r#"{ "tool": "gcov", "total": 4, "covered": 3 }"#;
    assert_eq!(serde_json::from_str::<Referee>(text).unwrap().criteria, GcovCriteria::default());
}

#[test]
fn the_mean_is_over_targets_and_a_failed_one_counts_as_nothing() {
    let rows = vec![
        row("a", 1, 1, Some((1, 2))),
        row("b", 0, 0, None),
        Row::failed(&target("c"), &Error::new("x")),
        row("d", 30, 40, None),
    ];
    let report = SuiteReport::new("demo", rows, 1.0, false);
    assert!((report.mean_coverage - (50.0 + 100.0 + 0.0 + 75.0) / 4.0).abs() < 1e-9);
    assert!((report.mean_coverage_own - (100.0 + 100.0 + 0.0 + 75.0) / 4.0).abs() < 1e-9);
    assert_eq!((report.totals.targets, report.totals.failed, report.totals.branches.covered), (4, 1, 31));
    let nothing = SuiteReport::new("demo", vec![], 0.0, true);
    assert!(nothing.mean_coverage.abs() < 1e-9 && nothing.table().contains("INTERRUPTED"));
}

#[test]
fn json_reads_back_and_has_the_promised_keys() {
    let report = SuiteReport::new("demo", vec![row("a", 1, 2, Some((1, 2)))], 1.0, false);
    let json = report.to_json();
    assert_eq!(serde_json::from_str::<SuiteReport>(&json).unwrap(), report);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let first = &value["targets"][0];
    assert_eq!(first["branches"]["covered"], 1);
    assert_eq!(first["referee"]["tool"], "gcov");
    assert!(first["paper"].is_null() && first["error"].is_null() && value["mean_coverage"].is_number());
}

#[test]
fn progress_is_one_line() {
    let mut finished = row("a", 1, 2, Some((1, 2)));
    finished.crashes = 1;
    assert_eq!(
        finished.progress(),
        "a: 1 of 2 branches (50.0 %), 123k evaluations in 0.25 s; gcov: 1 of 2; crashes: 1"
    );
    assert_eq!(Row::failed(&target("b"), &Error::new("no")).progress(), "b: FAILED: no");
}
