//! The same seed and the same number of evaluations give the same report, except for times.

use std::path::Path;

use serde_json::Value;

use crate::support::{Dir, fixture, quickstart};

/// The report without times.
fn timeless(dir: &Dir, out: &str) -> Value {
    let bytes = &dir.files(out)["report.json"];
    let mut report: Value = serde_json::from_slice(bytes).expect("report.json is JSON");
    let fields = report.as_object_mut().expect("a report is an object");
    for clock in ["seconds", "evaluations_per_second", "origin"] {
        fields.remove(clock).unwrap_or_else(|| panic!("a report has `{clock}`"));
    }
    mask(&mut report);
    report
}

/// Replaces `time:17` by `time:` in every file name.
fn mask(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((before, after)) = text.split_once(",time:") {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
                *text = format!("{before},time:{rest}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(fields) => fields.values_mut().for_each(mask),
        _ => {}
    }
}

fn repeats(target: &Path, search: &str) {
    let dir = Dir::new();
    for out in ["one", "two"] {
        dir.penfuzz("--seed 7 --max-evals 20000 --search").arg(search).arg(target).args("-o").arg(out).exits(0);
    }
    let (one, two) = (timeless(&dir, "one"), timeless(&dir, "two"));
    assert!(one == two, "--search {search}: two runs differ on {}\n{one:#}\n{two:#}", target.display());
}

fn repeats_on_both(search: &str) {
    repeats(&quickstart("quadratic.c"), search);
    repeats(&fixture("unreachable_in_loop.c"), search);
}

#[test]
fn targeted() {
    repeats_on_both("targeted");
}

#[test]
fn paper() {
    repeats_on_both("paper");
}

#[test]
fn paper_as_run() {
    repeats_on_both("paper-as-run");
}

#[test]
fn structured() {
    repeats_on_both("structured");
}

#[test]
fn random() {
    repeats_on_both("random");
}

#[test]
fn havoc() {
    repeats_on_both("havoc");
}

#[test]
fn another_seed_is_another_search() {
    let dir = Dir::new();
    for seed in ["1", "2"] {
        dir.penfuzz("--search random --max-evals 5000 --seed")
            .arg(seed)
            .arg(quickstart("day_of_year.c"))
            .args("-o")
            .arg(seed)
            .exits(0);
    }
    assert_ne!(dir.files("1/queue"), dir.files("2/queue"), "seeds 1 and 2 keep other inputs");
}

#[test]
fn other_constants_of_the_papers_algorithm_are_another_search() {
    let dir = Dir::new();
    let evaluations = |out: &str, options: &str| {
        let options = format!("--seed 3 --no-prove -o {out} --json {options}");
        let run = dir.penfuzz(&options).arg(quickstart("quadratic.c")).exits(0);
        let report: Value = serde_json::from_str(&run.stdout).expect("--json prints JSON");
        report["evaluations"].as_u64().expect("a count")
    };
    let run = evaluations("run", "--search paper-as-run --n-start 20");
    for (out, constant) in [("step", "--paper-step 1"), ("hot", "--paper-temperature 1e300"), ("iter", "--n-iter 2")] {
        assert_ne!(evaluations(out, &format!("--search paper-as-run --n-start 20 {constant}")), run, "{constant}");
    }
    assert!(evaluations("short", "--search paper-as-run --n-start 5") < run, "fewer start points");
    let written = evaluations("written", "--search paper --n-start 20");
    assert_ne!(evaluations("epsilon", "--search paper --n-start 20 --epsilon 5"), written);
    dir.penfuzz("--search paper --epsilon=-1").arg(quickstart("quadratic.c")).exits(2).says("at least 0");
}
