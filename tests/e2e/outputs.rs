//! The files of a campaign, read by the tools for which they are written.

use std::{path::Path, process::Command};

use penfuzz_report::Report;
use serde_json::Value;

use crate::support::{Dir, fixture, is_covered, quickstart};

fn count(report: &Value, key: &str) -> u64 {
    report["branches"][key].as_u64().unwrap_or_else(|| panic!("branches.{key} is a number"))
}

#[test]
fn the_counts_of_report_json_are_those_of_its_sites() {
    for (target, status) in
        [(fixture("unreachable_in_loop.c"), 0), (fixture("segv.c"), 3), (quickstart("day_of_year.c"), 0)]
    {
        let dir = Dir::new();
        let run = dir.fuzz(&target, "--max-evals 100000").exits(status);
        let report: Value = serde_json::from_slice(&dir.files("out")["report.json"]).expect("report.json is JSON");
        let branches: Vec<&Value> = report["sites"]
            .as_array()
            .expect("sites is a list")
            .iter()
            .flat_map(|s| s["branches"].as_array().expect("branches is a list"))
            .collect();
        let status = |wanted: &[&str]| {
            branches.iter().filter(|b| wanted.contains(&b["status"].as_str().unwrap_or_default())).count() as u64
        };
        run.expect(report["schema"] == 1, "schema 1");
        run.expect(count(&report, "total") == branches.len() as u64, "branches.total");
        run.expect(count(&report, "covered") == status(&["covered", "saturated"]), "branches.covered");
        let by_crash_only = count(&report, "covered_by_crash_only");
        run.expect(by_crash_only == status(&["covered_by_crash"]), "branches.covered_by_crash_only");
        run.expect(count(&report, "given_up") == status(&["given_up"]), "branches.given_up");
        run.expect(
            count(&report, "covered") + by_crash_only + status(&["given_up", "uncovered"]) == count(&report, "total"),
            "a status each",
        );
    }
}

#[test]
fn a_branch_is_covered_within_the_evaluations_of_the_campaign_although_processes_are_replaced() {
    let dir = Dir::new();
    let source = "#include <signal.h>
int f(double x, double y) {
    int n = 0;
    if (x > 3.0 && x < 4.0) raise(SIGKILL);
    if (y > 7.0) n++;
    if (y == 1234.5) n++;
    if (x == 4321.5) n++;
    if (x + y == 99.25) n++;
    return n;
}
";
    dir.file("killed.c", source);
    // Finds of a process that died are evaluated again by the next process.
    for seed in 1..=3 {
        let run = dir.penfuzz(&format!("killed.c --max-evals 3000 --seed {seed} -o out{seed}")).exits(3);
        let report = dir.report(&format!("out{seed}"));
        let at: Vec<u64> = report.sites.iter().flat_map(|s| &s.branches).filter_map(|b| b.covered_at).collect();
        run.expect(at.len() == 11, &format!("11 of 12 branches are covered, the other one by crashes only: {at:?}"));
        run.expect(at.iter().all(|at| *at <= report.evaluations), &format!("{at:?} of {}", report.evaluations));
    }
}

/// An evaluation with many loop iterations uses many units of the search budget, but counts as one evaluation.
#[test]
fn evaluations_of_branches_add_up_to_at_most_those_of_the_campaign() {
    let dir = Dir::new();
    let source = "int turns(double x, int n) {
    double sum = 0;
    for (int i = 0; i < n && i < 2000; i++) sum += x * i;
    if (sum * 0 != 0 && sum == sum && sum != sum + 1) return 1;
    if (x * x == 3.0) return 2;
    return 0;
}
";
    dir.file("turns.c", source);
    let run = dir.fuzz("turns.c", "--max-evals 20000").exits(0);
    let report = dir.report("out");
    let made: Vec<u64> = report.sites.iter().flat_map(|s| &s.branches).map(|b| b.evaluations).collect();
    run.expect(made.iter().sum::<u64>() <= report.evaluations, &format!("{made:?} of {}", report.evaluations));
    run.expect(made.iter().any(|n| *n > 1000), &format!("most evaluations are for a branch: {made:?}"));
    let before = report.evaluations;
    dir.until_unlocked("out");
    let again = dir.fuzz("turns.c", "--max-evals 40000").exits(0);
    let report = dir.report("out");
    let now: Vec<u64> = report.sites.iter().flat_map(|s| &s.branches).map(|b| b.evaluations).collect();
    again.expect(report.evaluations > before && now.iter().sum::<u64>() <= report.evaluations, &format!("{now:?}"));
    again.expect(now.iter().zip(&made).all(|(now, made)| now >= made), &format!("{now:?} after {made:?}"));
}

/// On a busy machine, starting a campaign takes longer than this limit.
#[test]
fn a_time_limit_is_one_of_search() {
    let dir = Dir::new();
    dir.file("equal.c", "int equal(double x) { return x * x == 3.0; }");
    let run = dir.fuzz("equal.c", "--max-time 20ms").exits(0);
    run.expect(dir.report("out").evaluations > 0, "evaluations");
}

#[test]
fn every_covered_branch_has_an_input_and_every_test_a_file() {
    let dir = Dir::new();
    let run = dir.fuzz(quickstart("triangle.c"), "").exits(0);
    let report = dir.report("out");
    run.expect(report.sites.iter().flat_map(|s| &s.branches).all(|b| is_covered(b) && b.input.is_some()), "inputs");
    for test in &report.tests {
        run.expect(dir.path("out").join(&test.file).is_file(), &format!("the file {}", test.file));
    }
}

/// Returns the command in the head of the test program, which must run without changes.
pub fn build_line(program: &str) -> String {
    let line = program.lines().find(|l| l.contains("--coverage")).expect("the header says how to build");
    line.trim_start_matches([' ', '*']).to_owned()
}

/// Returns the number of branches of the function with this symbol by gcov's count: taken at least once, and all.
pub fn gcov(dir: &Dir, symbol: &str) -> (usize, usize) {
    let text = dir.other(Command::new("sh").args(["-c", "cd out/tests && gcov -b -t *.gcda"]));
    let own = branch_lines(&text, symbol);
    (own.iter().filter(|l| is_taken(l)).count(), own.len())
}

/// Returns the lines of `gcov -b -t` about the branches of a function.
pub fn branch_lines<'a>(text: &'a str, symbol: &str) -> Vec<&'a str> {
    text.lines()
        .skip_while(|l| !l.starts_with(&format!("function {symbol} called")))
        .skip(1)
        .take_while(|l| !l.starts_with("function "))
        .filter(|l| l.starts_with("branch "))
        .collect()
}

/// Whether the line is about a branch that was taken.
pub fn is_taken(line: &str) -> bool {
    !line.contains("never executed") && !line.contains("taken 0%")
}

pub fn gcov_agrees(target: &Path, arguments: &str, symbol: &str) -> Report {
    let dir = Dir::new();
    dir.fuzz(target, arguments).exits(0);
    let report = dir.report("out");
    let programs = dir.files("out/tests");
    let (name, text) = programs.iter().find(|(name, _)| name.starts_with("test_")).expect("a test program");
    let line = build_line(&String::from_utf8_lossy(text));
    dir.other(Command::new("sh").args(["-c", &format!("cd out/tests && {line}")]));
    let (covered, total) = gcov(&dir, symbol);
    assert_eq!(
        (covered, total),
        (report.branches.covered, report.branches.total),
        "{name}: gcov's count and report.json's"
    );
    report
}

#[test]
fn gcov_counts_the_emitted_tests_alike_doubles() {
    gcov_agrees(&quickstart("triangle.c"), "", "classify_triangle");
}

#[test]
fn gcov_counts_the_emitted_tests_alike_integers_and_a_switch() {
    gcov_agrees(&quickstart("day_of_year.c"), "", "day_of_year");
}

#[test]
fn gcov_counts_the_emitted_tests_alike_every_width() {
    gcov_agrees(&fixture("ints.c"), "", "ints");
}

#[test]
fn gcov_counts_the_emitted_tests_alike_uncovered_branches() {
    gcov_agrees(&fixture("pointers.c"), "", "pointers");
}

#[test]
fn gcov_counts_the_emitted_tests_alike_static_function() {
    gcov_agrees(&fixture("static_only.c"), "-f clamp", "clamp");
}

#[test]
fn gcov_counts_the_emitted_tests_alike_overload() {
    gcov_agrees(&fixture("overload.cc"), "-f _Z4signd", "_Z4signd");
}

#[test]
fn lcov_agrees_with_the_report() {
    for target in [quickstart("triangle.c"), fixture("unreachable_in_loop.c")] {
        let dir = Dir::new();
        let run = dir.fuzz(&target, "").exits(0);
        let report = dir.report("out");
        let text = String::from_utf8(dir.files("out")["coverage.lcov"].clone()).expect("lcov is text");
        let sum = |key: &str| text.lines().filter_map(|l| l.strip_prefix(key)?.parse::<usize>().ok()).sum::<usize>();
        run.expect((sum("BRF:"), sum("BRH:")) == (report.branches.total, report.branches.covered), "BRF and BRH");
        let taken = text.lines().filter(|l| l.starts_with("BRDA:") && !l.ends_with(",0") && !l.ends_with(",-")).count();
        run.expect(taken == report.branches.covered, "one BRDA record with a count per covered branch");
        run.expect(text.contains(&format!("SF:{}", target.display())), "the source file");
    }
}

/// Whether the name has the form `id:000000,time:17,execs:42,op:targeted`.
fn is_afl_name(name: &str) -> bool {
    let fields: Vec<_> = name.split(',').filter_map(|f| f.split_once(':')).collect();
    let is_number = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    matches!(fields[..], [("id", id), ("time", time), ("execs", execs), ("op", op)]
        if id.len() == 6 && is_number(id) && is_number(time) && is_number(execs) && !op.is_empty())
}

#[test]
fn names_are_those_of_afl() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("segv.c"), "").exits(3);
    for folder in ["queue", "pending", "crashes", "hangs"] {
        let names = dir.files(&format!("out/{folder}"));
        run.expect(names.keys().all(|n| is_afl_name(n)), &format!("AFL++ names in {folder}/: {:?}", names.keys()));
    }
    run.expect(dir.files("out/queue").keys().next().is_some_and(|n| n.starts_with("id:000000,")), "ids from 0");
}

#[test]
fn fuzzer_stats_has_the_keys_of_afl() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("segv.c"), "").exits(3);
    let text = String::from_utf8_lossy(&dir.files("out")["fuzzer_stats"]).into_owned();
    let value = |key: &str| {
        text.lines().filter_map(|l| l.split_once(':')).find(|(k, _)| k.trim() == key).map(|(_, v)| v.trim())
    };
    for key in [
        "start_time",
        "last_update",
        "run_time",
        "fuzzer_pid",
        "execs_per_sec",
        "bitmap_cvg",
        "afl_banner",
        "afl_version",
    ] {
        run.expect(value(key).is_some_and(|v| !v.is_empty()), &format!("`{key}` in fuzzer_stats"));
    }
    let report = dir.report("out");
    for (key, number) in [
        ("execs_done", report.evaluations),
        ("corpus_count", dir.files("out/queue").len() as u64),
        ("saved_crashes", 1),
        ("saved_hangs", 0),
        ("edges_found", report.branches.covered as u64),
        ("total_edges", report.branches.total as u64),
    ] {
        run.expect(value(key) == Some(number.to_string().as_str()), &format!("{key} {number}, is {:?}", value(key)));
    }
}

#[test]
fn plot_data_has_a_column_for_every_value() {
    let dir = Dir::new();
    let run = dir.fuzz(fixture("floats.c"), "").exits(0);
    let text = String::from_utf8_lossy(&dir.files("out")["plot_data"]).into_owned();
    let columns: Vec<usize> = text.lines().map(|l| l.split(',').count()).collect();
    run.expect(columns.len() >= 2 && columns.iter().all(|n| *n == 13), "a head and lines of 13 columns");
}

#[test]
fn replaying_the_queue_covers_what_the_report_says() {
    let dir = Dir::new();
    dir.fuzz(quickstart("triangle.c"), "").exits(0);
    let mut replay = dir.penfuzz("replay").arg(quickstart("triangle.c"));
    for name in dir.files("out/queue").keys() {
        replay = replay.arg(dir.path("out/queue").join(name));
    }
    let run = replay.exits(0);
    let mut seen: Vec<&str> = run.stdout.lines().filter(|l| l.contains(".c:")).map(str::trim).collect();
    seen.sort_unstable();
    seen.dedup();
    let distinct: std::collections::BTreeSet<_> = dir
        .report("out")
        .sites
        .iter()
        .flat_map(|s| s.branches.iter().map(move |b| format!("{}:{}:{}  {}", s.file, s.line, s.column, b.outcome)))
        .collect();
    run.expect(seen == distinct.iter().map(String::as_str).collect::<Vec<_>>(), "every branch at its place");
}

#[test]
fn report_writes_everything_again() {
    let dir = Dir::new();
    dir.fuzz(quickstart("triangle.c"), "").exits(0);
    let before = (dir.files("out"), dir.files("out/tests"));
    for file in ["coverage.lcov", "tests/test_classify_triangle.c"] {
        std::fs::remove_file(dir.path("out").join(file)).expect("a report can be removed");
    }
    dir.penfuzz("report out").exits(0);
    assert!(before == (dir.files("out"), dir.files("out/tests")), "the same files as before");
}
