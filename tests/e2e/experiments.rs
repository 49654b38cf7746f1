//! Experiments: real tools on real targets, killed, resumed, and given impossible settings.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::support::{Dir, Penfuzz};

/// `gate` has a trivial branch; `word` has one that random values do not take.
const SOURCE: &str = "
int gate(double x) { if (x > 0) return 1; return 0; }
int word(int n, int m) { if (n == 0x12345678 && m == n + 1) return 1; return 0; }
int leaves(double x) { if (x > 2) __builtin_trap(); if (x < -2) for (;;) ; return x == 7; }
";

const SUITE: &str = "
name = \"small\"
sources = \".\"
[[target]]
name = \"gate\"
file = \"small.c\"
function = \"gate\"
[[target]]
name = \"word\"
file = \"small.c\"
function = \"word\"
[[target]]
name = \"leaves\"
file = \"small.c\"
function = \"leaves\"
";

fn suite() -> Dir {
    let dir = Dir::new();
    dir.file("small.c", SOURCE);
    dir.file("suite.toml", SUITE);
    dir
}

fn compare<'a>(dir: &'a Dir, arguments: &str) -> Penfuzz<'a> {
    let penfuzz = dir.penfuzz("compare suite.toml -o out").args(arguments);
    // Tests have their own cache directory; the other fuzzers are those that the user has installed.
    match peers() {
        Some(peers) => penfuzz.env("PENFUZZ_PEERS", peers),
        None => penfuzz,
    }
}

/// The directory into which `./setup --peers` installs the other fuzzers.
pub fn peers() -> Option<std::ffi::OsString> {
    std::env::var_os("PENFUZZ_PEERS").or_else(default_peers)
}

fn default_peers() -> Option<std::ffi::OsString> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(std::path::PathBuf::from)
        .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cache")))?;
    Some(cache.join("penfuzz/peers").into_os_string())
}

/// The rows of results.csv, each as a map from column names.
fn rows(dir: &Dir) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(dir.path("out/results.csv")).expect("results.csv");
    let mut lines = text.lines().map(|l| l.split(',').map(str::to_owned).collect::<Vec<_>>());
    let head = lines.next().expect("a line of names");
    lines.map(|row| head.iter().cloned().zip(row).collect()).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> u64 {
    row.get(column).and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("no number {column} in {row:?}"))
}

/// Contents of every `trial.json`, by path.
fn trials(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let entries = fs::read_dir(dir).map(|d| d.flatten().collect::<Vec<_>>()).unwrap_or_default();
    for path in entries.into_iter().map(|e| e.path()) {
        if path.is_dir() {
            all.extend(trials(&path));
        } else if path.ends_with("trial.json") {
            all.insert(path.display().to_string(), fs::read(&path).unwrap_or_default());
        }
    }
    all
}

#[test]
fn every_tool_takes_a_trivial_branch() {
    let dir = suite();
    let run = compare(&dir, "--only gate --tools all --trials 1 --budget 1s -q").exits(0);
    let text = fs::read_to_string(dir.path("out/experiment.json")).expect("experiment.json");
    let experiment: Value = serde_json::from_str(&text).expect("JSON");
    let tools = experiment["tools"].as_array().expect("tools");
    assert!(tools.len() >= 14, "{text}");
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        if let Some(why) = tool["skipped"].as_str() {
            // Tools that are not installed must be reported. Where all tools are required, none may be missing.
            run.says(&format!("{name} is skipped: {why}"));
            let excused = std::env::var_os("PENFUZZ_ALL_PEERS").is_none() || why.contains("no value profile");
            assert!(excused, "{name}: {why}");
            continue;
        }
        let row = rows(&dir).into_iter().find(|r| r["tool"] == name).unwrap_or_else(|| panic!("no row of {name}"));
        run.expect(number(&row, "covered") == 2 && number(&row, "total") == 2, &format!("2 of 2 branches by {row:?}"));
        run.expect(row["error"].is_empty(), &format!("no error in {row:?}"));
        // The seeds take one branch only, so the tool itself must have found the other.
        run.expect(number(&row, "inputs") >= 2, &format!("inputs in {row:?}"));
    }
}

/// A function that takes an array and reads memory of unknown size after a branch, and a function of numbers.
const ARRAY: &str = "
int sums(const double *a, int n, int at)
{
  double s = 0;
  for (int i = 0; i < n && i < 20; i++) s += a[i];
  if (at > 100000) s += a[at];
  if (s > 3) return 1;
  return 0;
}
int gate(double x) { if (x > 0) return 1; return 0; }
";

#[test]
fn every_tool_makes_arrays_and_none_takes_a_branch_by_leaving_them() {
    let dir = Dir::new();
    dir.file("small.c", ARRAY);
    let target = |name: &str| format!("[[target]]\nname = \"{name}\"\nfile = \"small.c\"\nfunction = \"{name}\"\n");
    dir.file("suite.toml", format!("name = \"small\"\nsources = \".\"\n{}{}", target("gate"), target("sums")));
    compare(&dir, "--composite --tools penfuzz,structured,afl++,libfuzzer,honggfuzz --trials 1 --budget 1s -q")
        .exits(0);
    let rows = rows(&dir);
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["function"], "sums", "the other takes numbers only: {row:?}");
        // The branches on n, on 20, on 3, and one on 100000.
        let (covered, total) = (number(&row, "covered"), number(&row, "total"));
        assert!((5..=7).contains(&covered) && total == 8, "{row:?}");
        assert!(row["error"].is_empty(), "{row:?}");
    }
}

#[test]
fn the_seeds_alone_do_not_take_the_hard_branch() {
    let dir = suite();
    compare(&dir, "--only word --tools penfuzz,random --trials 2 --budget-evals 3000 -q").exits(0);
    for row in rows(&dir) {
        let expected = if row["tool"] == "penfuzz" { 4 } else { 1 };
        assert_eq!((number(&row, "covered"), number(&row, "total")), (expected, 4), "{row:?}");
        assert!(number(&row, "evaluations") <= 3100 + 4096, "{row:?}");
    }
}

#[test]
fn crashes_and_endless_loops_are_survived_by_all() {
    let dir = suite();
    compare(&dir, "--only leaves --tools penfuzz,random,libfuzzer --trials 1 --budget 500ms -q").exits(0);
    for row in rows(&dir) {
        assert!(row["error"].is_empty(), "{row:?}");
        assert!(number(&row, "covered") >= 2, "{row:?}");
    }
}

#[test]
fn a_killed_experiment_goes_on_and_counts_every_trial_once() {
    let dir = suite();
    let arguments = "--only gate,word --tools penfuzz,uniform --trials 10 --budget 100ms -q";
    let mut running = compare(&dir, arguments).start();
    let finished = || trials(&dir.path("out/trials"));
    running.until("some trials", || finished().len() >= 8);
    running.signal(libc::SIGKILL);
    running.wait();
    dir.until_unlocked("out");
    let before = finished();
    assert!(before.len() < 40, "it must be killed in the middle");
    compare(&dir, arguments).exits(0);
    let after = finished();
    assert_eq!(after.len(), 40);
    assert!(before.iter().all(|(path, text)| after.get(path) == Some(text)), "a finished trial was run again");
    let keys: std::collections::BTreeSet<_> =
        rows(&dir).iter().map(|r| (r["tool"].clone(), r["function"].clone(), r["trial"].clone())).collect();
    assert_eq!((rows(&dir).len(), keys.len()), (40, 40), "one row per trial");
    assert!(!dir.path("out/running").exists(), "nothing of the trials' own may be left");
}

#[test]
fn nothing_of_a_tool_outlives_a_killed_experiment() {
    let dir = suite();
    let mut running = compare(&dir, "--only word --tools uniform --trials 50 --budget 20s -q").start();
    running.until("a trial", || dir.path("out/running/core0").exists());
    running.signal(libc::SIGKILL);
    running.wait();
    // Only the experiment holds the lock; a tool that still ran would write to out/running.
    dir.until_unlocked("out");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    let path = dir.path("out").display().to_string();
    let left = || {
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        entries
            .filter(|e| fs::read(e.path().join("cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains(&path)))
            .count()
    };
    while left() > 0 {
        assert!(std::time::Instant::now() < deadline, "{} processes of tools are left", left());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_keeps_what_is_done_and_writes_the_tables() {
    let dir = suite();
    let mut running = compare(&dir, "--only gate,word --tools penfuzz,uniform --trials 200 --budget 100ms -q").start();
    running.until("some trials", || trials(&dir.path("out/trials")).len() >= 4);
    running.signal_group(libc::SIGINT);
    let run = running.wait();
    run.expect(run.status.code() == Some(1), "exit status 1");
    run.says("resumes the rest");
    assert_eq!(rows(&dir).len(), trials(&dir.path("out/trials")).len());
}

#[test]
fn another_experiment_does_not_mix_with_the_one_that_is_there() {
    let dir = suite();
    compare(&dir, "--only gate --tools penfuzz --trials 1 --budget-evals 100 -q").exits(0);
    compare(&dir, "--only gate --tools penfuzz --trials 1 --budget-evals 200 -q").exits(1).says("another budget");
    // More trials of the same experiment are accepted.
    compare(&dir, "--only gate --tools penfuzz,random --trials 2 --budget-evals 100 -q").exits(0);
    assert_eq!(rows(&dir).len(), 4);
}

#[test]
fn impossible_wishes_are_told_in_one_sentence() {
    let dir = suite();
    compare(&dir, "--tools afl --trials 1").exits(1).says("there is no tool afl; tools are penfuzz,");
    compare(&dir, "--only nothing").exits(1).says("no target of that name");
    compare(&dir, "--tools penfuzz --cores 4000").exits(1).says("core 4000 cannot be used");
    compare(&dir, "--budget never").exits(2).says("is not a time");
    dir.penfuzz("compare missing.toml").exits(1).says("cannot read the suite missing.toml");
    dir.file("foreign/file", "x");
    dir.penfuzz("compare suite.toml -o foreign --tools penfuzz")
        .exits(1)
        .says("contains files that penfuzz did not write");
    dir.file("broken.c", "int gate(double x) {");
    dir.file("broken.toml", SUITE.replace("small.c", "broken.c"));
    dir.penfuzz("compare broken.toml -o out2 --tools penfuzz --only gate").exits(1).says("gate is left out");
}

#[test]
fn with_the_papers_protocol_the_others_get_ten_times_its_time() {
    let dir = suite();
    dir.file("suite.toml", format!("{SUITE}paper = {{ branches = 4, seconds = 1.5, rand = 25.0, coverme = 100.0 }}\n"));
    compare(&dir, "--only word,leaves --preset coverme --tools penfuzz-paper,uniform -q").exits(0);
    let seconds = |function: &str, tool: &str| {
        let row = rows(&dir).into_iter().find(|r| r["function"] == function && r["tool"] == tool);
        let row = row.unwrap_or_else(|| panic!("no row of {tool} on {function}"));
        row["cpu_seconds"].parse::<f64>().expect("seconds")
    };
    let ratio = seconds("word", "uniform") / seconds("word", "penfuzz-paper");
    // CPU time has a resolution of 10 ms; here it is 20 ms or more.
    assert!((8.0..20.0).contains(&ratio), "{ratio}");
    let table = fs::read_to_string(dir.path("out/table.md")).expect("table.md");
    assert!(table.contains("Comparison with published figures") && table.contains("1.5"), "{table}");
    assert!(table.contains("Lines, conditions, branches and calls"), "{table}");
    let summary = fs::read_to_string(dir.path("out/summary.json")).expect("summary.json");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let lines = summary["tools"][0]["lines"].as_f64().expect("the share of lines");
    assert!(lines > 0.0 && lines <= 100.0, "{lines}");
}

#[test]
fn the_reports_of_an_experiment_can_be_written_again() {
    let dir = suite();
    compare(&dir, "--only gate --tools penfuzz,random --trials 2 --budget-evals 100 -q").exits(0);
    let files = ["results.csv", "table.md", "index.html", "summary.json", "rerun.sh"];
    let before = dir.files("out");
    for file in files {
        fs::remove_file(dir.path("out").join(file)).expect("the report was there");
    }
    dir.penfuzz("report out").exits(0);
    let after = dir.files("out");
    assert!(files.iter().all(|f| before[*f] == after[*f]), "the same reports");
}

#[test]
fn an_experiment_can_be_repeated_by_its_script() {
    let dir = suite();
    compare(&dir, "--only gate --tools penfuzz --trials 2 --budget-evals 100 -q").exits(0);
    let mut script = std::process::Command::new(dir.path("out/rerun.sh"));
    script.arg("again").env("PENFUZZ", env!("CARGO_BIN_EXE_penfuzz"));
    dir.other(&mut script);
    assert!(dir.path("again/results.csv").exists(), "the script repeats the experiment");
}

#[test]
fn a_draw_is_the_same_for_the_same_seed() {
    let dir = suite();
    let drawn = |out: &str, seed: u32| {
        let arguments = format!(
            "compare suite.toml -o {out} --tools penfuzz --trials 1 --budget-evals 10 -q --draw 2 --draw-seed {seed}"
        );
        dir.penfuzz(&arguments).exits(0);
        let text = fs::read_to_string(dir.path(out).join("experiment.json")).expect("experiment.json");
        let experiment: Value = serde_json::from_str(&text).expect("JSON");
        let names = experiment["functions"].as_array().expect("functions").iter();
        names.map(|f| f["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let first = drawn("a", 1);
    assert_eq!(first.len(), 2);
    assert_eq!(first, drawn("b", 1));
    assert!((2..12).any(|seed| drawn(&format!("c{seed}"), seed) != first), "the seed must matter");
}
