//! What penfuzz claims on real libraries is what gcov counts on the tests that it emits, and these tests build and pass.

use std::process::Command;

use crate::{penfuzz, root, run};

/// Functions that are drawn of each library. `harnesses/lib/claims.py` without a draw checks all.
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
