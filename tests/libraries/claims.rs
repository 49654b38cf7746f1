//! Claims of penfuzz about real libraries: the covered branches are those that gcov counts on the emitted tests, which
//! build and pass; and the solvers' translation allows the behaviour of the tests.

use std::process::Command;

use crate::{penfuzz, root, run};

/// Number of functions that are drawn from each library. `harnesses/lib/claims.py` without a draw checks all.
const DRAWN: &str = "6";

#[test]
fn claims_are_what_gcov_counts() {
    let harnesses = root().join("harnesses");
    let suites = ["proj", "cjson", "erfa", "musl", "newlib", "gsl"].map(|name| harnesses.join(name).join("suite.toml"));
    let output = run(Command::new("python3")
        .arg("-B")
        .arg(harnesses.join("lib/claims.py"))
        .args(suites)
        .args(["--max-evals", "20000", "--seed", "1"])
        .env("PENFUZZ", penfuzz().get_program())
        .env("DRAW", DRAWN));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{table}");
    let rows: Vec<_> = table.lines().skip(1).filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(rows.len(), 6, "a row per library: {table}");
    for row in rows {
        let words: Vec<_> = row.split_whitespace().collect();
        assert_eq!(words[words.len() - 6..], [DRAWN, "of", DRAWN].repeat(2), "all build and all pass: {table}");
    }
}

/// Number of functions that are drawn from each library. `harnesses/lib/translation.py` without a draw checks all.
const TRANSLATED: &str = "2";

#[test]
#[ignore = "nightly"]
fn no_test_contradicts_the_translation_for_solvers() {
    let harnesses = root().join("harnesses");
    let suites = ["fdlibm", "newlib", "musl", "gsl"].map(|name| harnesses.join(name).join("suite.toml"));
    let output = run(Command::new("python3")
        .arg("-B")
        .arg(harnesses.join("lib/translation.py"))
        .args(suites)
        .args(["--solver-time", "2s"])
        .env("PENFUZZ", penfuzz().get_program())
        .env("DRAW", TRANSLATED));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers = |row: &str| row.split_whitespace().skip(2).map(|n| n.parse::<usize>().unwrap_or(0)).collect();
    let rows: Vec<Vec<usize>> = table.lines().skip(1).map(numbers).collect();
    assert_eq!(rows.len(), 8, "two rows per library, and no contradiction or failure below: {table}");
    for row in &rows {
        assert!(row[0] == 2 && row[1] > row[2] + row[3], "most of the branches and paths are possible: {table}");
        assert_eq!(row[4], 0, "{table}");
    }
}
