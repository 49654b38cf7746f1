//! The output directory: errors that were found are kept, and the next run continues from them.

use std::{fs, path::Path};

use serde_json::Value;

use super::{accuracy, json, own};
use crate::support::{Dir, Run};

fn read(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn into_out<'a>(dir: &'a Dir, reference: &str, arguments: &[&str], status: i32) -> Run<'a> {
    let options = [&["--reference", reference, "--json", "-o", "out"], arguments].concat();
    accuracy(dir, "cubic", &options, status)
}

fn worst(answer: &Value) -> f64 {
    answer["worst"]["ulp"].as_f64().expect("there is a worst")
}

#[test]
fn a_search_goes_on_where_it_ended() {
    let (dir, wide) = (Dir::new(), own("cubic_wide"));
    let first = json(&into_out(&dir, &wide, &["--max-evals", "150000"], 0));
    let second = into_out(&dir, &wide, &["--max-evals", "50000"], 0);
    let answer = json(&second);
    second.expect(answer["evaluations"] == 200_000, "those of both runs");
    second.expect(worst(&answer) >= worst(&first), "what was found stays found");
    let progress = |answer: &Value| answer["progress"].as_array().expect("a list").clone();
    second.expect(progress(&answer).starts_with(&progress(&first)), "and when it was found");
    second.expect(answer["parts"].as_array().expect("a list").len() > 1000, "the map");
    second.expect(read(&dir.path("out/report.json")) == Some(answer), "the report is there, too");

    let page = fs::read_to_string(dir.path("out/report.html")).expect("there is a page");
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let page = roxmltree::Document::parse_with_options(&page, options).expect("it is well-formed");
    let bars = page.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "rect"))).count();
    second.expect(bars > 1000, &format!("the plot is in the page: {bars} bars"));

    let again = Dir::new();
    into_out(&again, &wide, &["--max-evals", "150000"], 0);
    let same = into_out(&again, &wide, &["--max-evals", "50000"], 0);
    same.expect(json(&same)["worst"] == second_of(&dir)["worst"], "the same by the same seed and the same runs");
}

fn second_of(dir: &Dir) -> Value {
    read(&dir.path("out/report.json")).expect("there is a report")
}

#[test]
fn finds_survive_a_kill() {
    let (dir, wide) = (Dir::new(), own("cubic_wide"));
    let target = crate::support::fixture("accuracy.c");
    let command = dir.penfuzz("accuracy").arg(target).args("-f cubic -o out --max-time 60s --reference").arg(&wide);
    let mut running = command.start();
    let run = dir.path("out/seed-0/run.json");
    let kept = || read(&run).and_then(|run| run["answer"]["found"].as_array()?.last().cloned());
    running.until("something is kept", || kept().is_some());
    let known = kept().expect("it is there");
    running.signal_group(libc::SIGKILL);
    running.wait();
    let next = into_out(&dir, &wide, &["--max-evals", "1"], 0);
    let answer = json(&next);
    let found = known["compared"]["Ulps"].as_f64().expect("an error");
    next.expect(worst(&answer) >= found, &format!("{found} was found"));
    next.expect(answer["evaluations"].as_u64() > Some(1), "the evaluations up to there are counted");
}

#[test]
fn runs_with_several_seeds_make_one_report() {
    let (dir, wide) = (Dir::new(), own("cubic_wide"));
    let target = crate::support::fixture("accuracy.c");
    let start = |seed: &str| {
        let command = dir.penfuzz("accuracy").arg(&target).args("-f cubic -o out --max-time 60s --seed").arg(seed);
        command.arg("--reference").arg(&wide).start()
    };
    let mut running = ["3", "7"].map(start);
    for (process, seed) in running.iter_mut().zip(["3", "7"]) {
        process.until("it searches", || dir.path(format!("out/seed-{seed}/run.json")).exists());
    }
    into_out(&dir, &wide, &["--seed", "7", "--max-evals", "9"], 1).says("give another --seed or another -o");
    for process in &running {
        process.signal(libc::SIGINT);
    }
    let worsts = running.map(|process| {
        let run = process.wait();
        run.expect(run.status.success(), "an interrupted search reports");
        run
    });
    let third = into_out(&dir, &wide, &["--seed", "1", "--max-evals", "1000"], 0);
    let answer = json(&third);
    third.expect(answer["seeds"] == serde_json::json!([1, 3, 7]), "all seeds");
    let of = |seed: &str| {
        let run = read(&dir.path(format!("out/seed-{seed}/run.json"))).expect("a run");
        run["answer"]["found"].as_array().and_then(|f| f.last()?["compared"]["Ulps"].as_f64()).expect("an error")
    };
    let most = of("3").max(of("7"));
    third.expect(worst(&answer) >= most, &format!("{most} is the worst of these: {}", worsts.len()));
}

#[test]
fn a_directory_is_for_one_comparison() {
    let (dir, wide) = (Dir::new(), own("cubic_wide"));
    into_out(&dir, &wide, &["--max-evals", "1000"], 0);
    let other = own("same");
    into_out(&dir, &other, &["--max-evals", "1000"], 1).says("contains runs of a different comparison");
    into_out(&dir, &wide, &["--max-evals", "1000", "--arg", "x: 1..2"], 1).says("give another -o");
    let plot = dir.path("out/plot.svg");
    let plot = plot.to_str().expect("a path");
    into_out(&dir, &wide, &["--max-evals", "1000", "--plot", plot], 2).says("lies in the output directory");
    fs::create_dir(dir.path("foreign")).expect("it is new");
    dir.file("foreign/notes.txt", "precious");
    let into_foreign = ["--reference", &wide, "-o", "foreign"];
    accuracy(&dir, "cubic", &into_foreign, 1).says("contains files that penfuzz did not write");
    dir.file("file", "");
    accuracy(&dir, "cubic", &["--reference", &wide, "-o", "file"], 1).says("file");
    dir.file("out/seed-0/run.json", "{\"schema\":1,");
    into_out(&dir, &wide, &["--max-evals", "1000"], 0).says("is damaged and was renamed to");
}

/// Errors that were found in another version of the function are not reported for this one.
#[test]
fn a_function_that_has_changed_is_searched_anew() {
    let dir = Dir::new();
    let text = |factor: &str| {
        format!("double f(double x) {{ return x * {factor}; }}\ndouble same(double x) {{ return x; }}\n")
    };
    let search = |seed: &str| {
        let command = dir.penfuzz("accuracy f.c -f f --reference f.c:same --arg x:1..2 --json -o out --max-evals 2000");
        command.args("--seed").arg(seed).exits(0)
    };
    dir.file("f.c", text("(1 + 0x1p-40)"));
    for seed in ["0", "1"] {
        let run = search(seed);
        run.expect(worst(&json(&run)) > 4000.0, "4096 ulps of 1");
    }
    dir.file("f.c", text("1"));
    let run = search("0");
    let answer = json(&run);
    run.expect(answer["worst"].is_null(), &format!("it is exact now: {}", answer["worst"]));
    run.expect(answer["parts"] == serde_json::json!([]), "nothing of the old one is in the map");
    run.expect(answer["seeds"] == serde_json::json!([0]), "the other seed was on the old one");
    run.says("run --seed 1 again");
}

/// All floats are tried in several runs: no part is tried twice, and the last run recognizes the end.
#[test]
fn all_inputs_are_tried_in_several_runs() {
    let (dir, wide) = (Dir::new(), own("cubic_wide"));
    let all = u64::from(1.51f32.to_bits() - 1.5f32.to_bits() + 1);
    let part = |dir: &Dir, more: &[&str]| {
        json(&into_out(dir, &wide, &[&["--arg", "x: 1.5..1.51", "--exhaust"], more].concat(), 0))
    };
    let whole = Dir::new();
    let at_once = part(&whole, &[]);
    assert!(at_once["exhausted"] == all && at_once["tried"] == all, "{at_once}");
    let (mut tried, mut runs) = (0, 0);
    let last = loop {
        let answer = part(&dir, &["--max-evals", "30000"]);
        let now = answer["tried"].as_u64().expect("some are tried");
        assert!(now > tried && runs < 4, "{tried}, {now}");
        (tried, runs) = (now, runs + 1);
        if answer["exhausted"] == all {
            break answer;
        }
        assert!(answer["exhausted"].is_null() && now < all, "{answer}");
    };
    assert_eq!((tried, runs), (all, 3), "each is tried once");
    assert_eq!(last["worst"]["ulp"], at_once["worst"]["ulp"]);
    assert_eq!(last["parts"], at_once["parts"], "the map is that of one run");
    let again = part(&dir, &[]);
    assert!(again["evaluations"].as_u64() < last["evaluations"].as_u64().map(|n| n + 10_000), "nothing is left to try");
    assert_eq!(again["exhausted"], all);
    // A search in the same directory does not change the number of inputs already tried.
    let searched = json(&into_out(&dir, &wide, &["--arg", "x: 1.5..1.51", "--max-evals", "1000"], 0));
    assert_eq!(searched["exhausted"], all);
}

#[test]
fn all_inputs_are_tried_again_after_a_change() {
    let dir = Dir::new();
    let text = |more: &str| {
        format!("float f(float x) {{ return x * 3{more}; }}\ndouble same(float x) {{ return x * 3.0; }}\n")
    };
    let exhaust =
        || dir.penfuzz("accuracy f.c -f f --reference f.c:same --arg x:1..1.1 --exhaust --json -o out").exits(0);
    dir.file("f.c", text(""));
    let first = json(&exhaust());
    assert!(first["exhausted"].is_number());
    let point = super::bits(&first["worst"]["args"][0]);
    assert_ne!(point, u64::from(1.0625f32.to_bits()), "the change is elsewhere");
    dir.file("f.c", text(" + (x == 1.0625f ? 0.5f : 0)"));
    let run = exhaust();
    run.says("all inputs are tried again");
    run.expect(worst(&json(&run)) > 1e6, "the change is found");
}
