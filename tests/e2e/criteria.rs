//! `--criterion`: lines, conditions and MC/DC; other tools count the same on the emitted tests.

use std::{path::Path, process::Command};

use penfuzz_report::{Report, decisions::Decision};

use crate::support::{Dir, fixture, line_of, skip};

/// Enough for each function of the fixture.
const EVALUATIONS: &str = "--max-evals 20000";

fn search(dir: &Dir, function: &str, criteria: &str, seed: u32) -> Report {
    let out = format!("{function}-{criteria}-{seed}").replace(',', "-");
    dir.penfuzz("--quiet --criterion")
        .arg(criteria)
        .arg(fixture("decisions.c"))
        .args(&format!("--function {function} --seed {seed} -o {out} {EVALUATIONS}"))
        .exits(0);
    dir.report(&out)
}

/// Returns for each decision the number of conditions that are shown, and of all conditions.
fn counts(report: &Report) -> Vec<(usize, usize)> {
    report.decisions.iter().map(|d| (d.shown(), d.conditions.len())).collect()
}

/// Whether the two vectors of a pair have different outcomes and differ, among the conditions that both evaluate, in
/// this one only.
fn is_pair(decision: &Decision, condition: usize) -> bool {
    let Some([a, b]) = decision.pair(&decision.conditions[condition]) else { return false };
    let differs = |(i, (x, y)): (usize, (u8, u8))| (x != y && x != b'-' && y != b'-').then_some(i);
    let differing: Vec<_> = a.values.bytes().zip(b.values.bytes()).enumerate().filter_map(differs).collect();
    a.outcome != b.outcome && differing == [condition] && !a.tests.is_empty() && !b.tests.is_empty()
}

#[test]
fn every_condition_of_each_kind_of_decision_is_shown() {
    let dir = Dir::new();
    let expected: [(&str, &[usize]); 10] = [
        ("mixed", &[3]),
        ("value", &[3, 2]),
        ("returned", &[2]),
        ("negated", &[3]),
        ("nested", &[2, 2]),
        ("ternary", &[2, 2, 2]),
        ("loops", &[3, 2, 2]),
        ("switched", &[2, 2, 2]),
        ("within", &[2, 2]),
        ("again", &[4]),
    ];
    for (function, conditions) in expected {
        for seed in 1..4 {
            let report = search(&dir, function, "mcdc", seed);
            let all: Vec<_> = conditions.iter().map(|n| (*n, *n)).collect();
            assert_eq!(counts(&report), all, "{function}, seed {seed}");
            for d in &report.decisions {
                assert!((0..d.conditions.len()).all(|c| is_pair(d, c)), "{function}, seed {seed}: {d:?}");
            }
            assert_eq!(report.branches.covered, report.branches.total, "{function}: branches are goals as well");
        }
    }
}

#[test]
fn infeasible_conditions_are_not_counted_as_covered() {
    let dir = Dir::new();
    let report = search(&dir, "coupled", "mcdc", 1);
    // x > 10 implies x > 5; and after the first return, x is at most 10.
    assert_eq!(counts(&report), [(1, 2), (1, 4)]);
    let report = search(&dir, "narrow", "mcdc", 1);
    assert_eq!(counts(&report), [(3, 4)], "the equalities are met; a - b == 5 contradicts the condition before");
}

#[test]
fn branches_alone_show_less_and_need_fewer_tests() {
    let dir = Dir::new();
    let (branches, all) = (search(&dir, "mixed", "branch", 1), search(&dir, "mixed", "branch,mcdc", 1));
    assert!(branches.decisions.is_empty() && branches.criteria.len() == 1, "{:?}", branches.criteria);
    assert_eq!((branches.tests.len(), all.tests.len()), (3, 4));
    let lines = search(&dir, "mixed", "line", 1);
    // `return 1` is on the line of its condition: one test executes all lines, but all statements need two.
    assert_eq!((lines.tests.len(), lines.criteria["line"].covered), (2, lines.criteria["line"].total));
}

/// The report of a search for all statements of a function in `statements.c`.
fn statements(dir: &Dir, function: &str) -> Report {
    let options = format!("-f {function} --criterion line --max-evals 20000 --no-prove");
    dir.fuzz(fixture("statements.c"), &options).exits(0);
    dir.report("out")
}

#[test]
fn a_statement_behind_a_condition_on_its_line_is_counted() {
    for (function, total) in [("early", 4), ("parts", 8), ("loop", 8), ("cases", 6)] {
        let report = statements(&Dir::new(), function);
        let figures = report.criteria["statement"];
        assert_eq!((figures.covered, figures.total), (total, total), "{function}: statements executed, and all");
        assert!(report.uncovered_lines.is_empty(), "{function}: {:?}", report.uncovered_lines);
    }
    let report = statements(&Dir::new(), "dead");
    assert_eq!((report.criteria["line"].covered, report.criteria["line"].total), (5, 5), "lines, as in gcov");
    assert_eq!((report.criteria["statement"].covered, report.criteria["statement"].total), (5, 6), "statements");
    let line = line_of(&fixture("statements.c"), "n % 4 == 9") as u32;
    let open: Vec<_> = report.uncovered_lines.iter().map(|l| (l.line, l.column)).collect();
    assert_eq!(open, [(line, Some(19))], "`return 1` on the line of its condition");
}

/// The code regions of a function that the emitted tests do not execute, by llvm-cov: line and column.
fn regions_not_executed(dir: &Dir, function: &str) -> Vec<(u64, u64)> {
    let llvm = penfuzz_cc::LLVM_MAJOR;
    let build = dir.report("out").test_program.expect("a test program").build;
    let counting = format!("clang-{llvm} -fprofile-instr-generate -fcoverage-mapping ");
    let build = build.replace("gcc ", &counting);
    let program = dir.report("out").test_program.expect("a test program").run;
    let script = format!(
        "cd out && {build} && LLVM_PROFILE_FILE=raw {program} && llvm-profdata-{llvm} merge raw -o merged && \
         llvm-cov-{llvm} export -instr-profile=merged {program}"
    );
    let text = dir.other(Command::new("sh").args(["-c", &script]));
    let text = &text[text.find("{\"data\"").expect("llvm-cov writes JSON after the output of the tests")..];
    let exported: serde_json::Value = serde_json::from_str(text).expect("llvm-cov writes JSON");
    let functions = exported["data"][0]["functions"].as_array().expect("functions");
    let own = functions.iter().find(|f| f["name"] == function).expect("the function");
    let numbers = |region: &serde_json::Value| -> Vec<u64> {
        region.as_array().expect("a region").iter().filter_map(serde_json::Value::as_u64).collect()
    };
    let regions = own["regions"].as_array().expect("regions").iter().map(numbers);
    // Place of the begin and the end, count, two numbers of files, kind (0 is code).
    regions.filter(|r| r[7] == 0 && r[4] == 0).map(|r| (r[0], r[1])).collect()
}

#[test]
fn all_statements_are_all_regions_of_llvm_cov() {
    if !has_profile_runtime() {
        return;
    }
    for function in ["early", "parts", "loop", "cases"] {
        let dir = Dir::new();
        statements(&dir, function);
        assert_eq!(regions_not_executed(&dir, function), [], "{function}: regions that no test executes");
    }
    let dir = Dir::new();
    statements(&dir, "dead");
    let line = line_of(&fixture("statements.c"), "n % 4 == 9") as u64;
    assert_eq!(regions_not_executed(&dir, "dead"), [(line, 19)]);
}

#[test]
fn a_campaign_for_mcdc_is_resumed_as_one() {
    let dir = Dir::new();
    let first = search(&dir, "again", "mcdc", 1);
    let second = search(&dir, "again", "mcdc", 1);
    assert_eq!(counts(&first), counts(&second));
    assert!(second.evaluations >= first.evaluations, "{} and {}", first.evaluations, second.evaluations);
    let csv = String::from_utf8(dir.files("again-mcdc-1")["decisions.csv"].clone()).unwrap();
    assert_eq!(csv.lines().count(), 5, "a head and four conditions: {csv}");
    assert!(csv.lines().skip(1).all(|l| l.contains(",yes,")), "{csv}");
}

#[test]
fn all_paths_up_to_a_number_of_rounds_are_enumerated() {
    let dir = Dir::new();
    // After n iterations of the loop the last condition has both outcomes, unless n is 0.
    let source =
        "int f(int n, int x) {\n  int i = 0;\n  while (i < n) i++;\n  if (i * x > 10) return 1;\n  return 0;\n}\n";
    let target = dir.file("f.c", source);
    for (rounds, paths) in [(0, 1), (1, 3), (2, 5), (3, 7)] {
        let run = dir.penfuzz("reach --max-evals 3000 --all").arg(rounds.to_string()).arg(&target).exits(0);
        let last = run.stdout.lines().last().unwrap_or_default();
        assert!(
            last.contains(&format!("\"paths\":{paths},\"prefixes_not_found\":1,")),
            "{rounds} rounds: {}",
            run.stdout
        );
        assert!(last.contains("\"complete\":true"), "{last}");
    }
}

#[test]
fn a_criterion_is_for_branches() {
    let dir = Dir::new();
    dir.penfuzz("boundary --criterion mcdc --function mixed").arg(fixture("decisions.c")).exits(2);
}

#[test]
fn tests_are_traced_to_requirements() {
    let dir = Dir::new();
    let source = "int f(int x) {\n  if (x > 1000) // REQ-1\n    return 1; // REQ-2\n  /* REQ-3 */\n  \
                  if (x * x == 7)\n    return 2; // REQ-4\n  return 0;\n}\n";
    let (target, tags) =
        (dir.file("f.c", source), dir.file("tags.txt", "REQ-1 # speed\nREQ-2\nREQ-3\nREQ-4\n\nREQ-5\n"));
    let run = dir.penfuzz("-o out --max-evals 2000 --requirements").arg(&tags).arg(&target).exits(0);
    let report = dir.report("out");
    let found: Vec<_> = report.requirements.iter().map(|r| (r.tag.as_str(), r.places.len(), r.tests.len())).collect();
    assert_eq!(found, [("REQ-1", 1, 2), ("REQ-2", 1, 1), ("REQ-3", 1, 1), ("REQ-4", 1, 0), ("REQ-5", 0, 0)]);
    assert!(run.stdout.contains("requirements: 3 of 5 have tests"), "{}", run.stdout);
    assert!(
        run.stdout.contains("REQ-4 (no test executes its lines)") && run.stdout.contains("REQ-5 (no comment"),
        "{}",
        run.stdout
    );
    let csv = String::from_utf8(dir.files("out")["requirements.csv"].clone()).unwrap();
    assert!(csv.contains("REQ-4,") && csv.contains("REQ-5,,,"), "{csv}");
    dir.penfuzz("-o other --requirements nowhere.txt").arg(&target).exits(1);
}

/// Whether clang can count for llvm-cov here; if not, prints that a test is skipped.
fn has_profile_runtime() -> bool {
    let dir = Dir::new();
    let source = dir.file("probe.c", "int main(void) { return 0; }");
    let built = Command::new(format!("clang-{}", penfuzz_cc::LLVM_MAJOR))
        .args(["-fprofile-instr-generate", "-fcoverage-mapping", "-fcoverage-mcdc", "-o"])
        .arg(dir.path("probe"))
        .arg(&source)
        .output();
    let has_runtime = built.is_ok_and(|o| o.status.success());
    if !has_runtime {
        skip("the profile runtime of clang (package libclang-rt-N-dev)", "the tests are compared with llvm-cov");
    }
    has_runtime
}

/// gcov and llvm-cov on the emitted tests, built without hooks.
#[test]
fn other_tools_count_the_same() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harnesses/lib/criteria.py");
    let llvm = penfuzz_cc::LLVM_MAJOR;
    let clang = format!("clang-{llvm}");
    if !has_profile_runtime() {
        return;
    }
    let run = Command::new("python3")
        .arg(&script)
        .arg(fixture("decisions.c"))
        .args([
            "20000", "mixed", "value", "returned", "negated", "nested", "ternary", "loops", "switched", "again",
            "coupled", "narrow",
        ])
        .env("PENFUZZ", env!("CARGO_BIN_EXE_penfuzz"))
        .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
        .env("XDG_STATE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("state"))
        .envs([
            ("CLANG", clang),
            ("LLVM_COV", format!("llvm-cov-{llvm}")),
            ("LLVM_PROFDATA", format!("llvm-profdata-{llvm}")),
        ])
        .output();
    let run = match run {
        Ok(run) => run,
        Err(e) => return skip("the program python3 (package python3)", &e.to_string()),
    };
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{text}{}", String::from_utf8_lossy(&run.stderr));
    assert!(text.contains("; 0 differences"), "{text}");
    // The same conditions, and the same number of conditions shown.
    let sum = text.lines().last().unwrap_or_default();
    let figures: Vec<_> = sum.split_whitespace().filter(|w| w.contains('/')).map(|w| w.trim_end_matches(';')).collect();
    assert_eq!(figures[3], figures[4], "outcomes of conditions: {text}");
    assert_eq!(figures[6], figures[7], "MC/DC: {text}");
}
