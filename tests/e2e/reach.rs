//! `penfuzz reach`: paths, lines, and its messages if there is no input.

use serde_json::Value;

use crate::support::{Dir, Run, fixture, line_of};

fn reach<'a>(dir: &'a Dir, function: &str, arguments: &[&str], status: i32) -> Run<'a> {
    let mut run = dir.penfuzz("reach").arg(fixture("paths.c")).arg("-f").arg(function);
    for a in arguments {
        run = run.arg(a);
    }
    run.exits(status)
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout))
}

fn at(text: &str) -> usize {
    line_of(&fixture("paths.c"), text)
}

/// The first argument of the answer, from its raw bits.
fn first_double(answer: &Value) -> f64 {
    let bits = answer["args"][0]["bits"].as_str().expect("arguments have bits");
    f64::from_bits(u64::from_str_radix(bits.trim_start_matches("0x"), 16).expect("bits are hex"))
}

/// ME, Fig. 3 to 5: each of the four paths of FOO can be taken; the path with `x <= 1` false and `y <= 4` true only for
/// 1 < x <= 2.
#[test]
fn every_path_of_the_paper_is_found_at_every_seed() {
    let (first, second) = (at("x <= 1.0"), at("y <= 4.0"));
    let inside = |x: f64, path: (bool, bool)| {
        let is_first = x <= 1.0;
        let moved = if is_first { x + 2.0 } else { x };
        (is_first, moved * moved <= 4.0) == path
    };
    let dir = Dir::new();
    for path in [(true, true), (true, false), (false, true), (false, false)] {
        let t = |b| if b { "T" } else { "F" };
        let spec = format!("{first}:{},{second}:{}", t(path.0), t(path.1));
        for seed in 1..=20 {
            let seed = seed.to_string();
            let run = reach(&dir, "FOO", &["--path", &spec, "--seed", &seed, "--json"], 0);
            let answer = json(&run);
            let x = first_double(&answer);
            run.expect(inside(x, path), &format!("{x} takes {spec}"));
            run.expect(answer["path"] == spec, "the recorded path is the requested one");
        }
    }
}

#[test]
fn a_loop_is_a_path_with_repetitions() {
    let (head, body) = (at("while (i < n)"), at("x > 0.5"));
    let bits = "TFTTFFTF";
    let spec: Vec<String> = bits.chars().map(|c| format!("{head}:T,{body}:{c}")).collect();
    let spec = format!("{},paths.c:{head}:F,$", spec.join(","));
    let dir = Dir::new();
    let answer = json(&reach(&dir, "loop", &["--path", &spec, "--json"], 0));
    assert_eq!(answer["passes"], 17, "eight rounds of two branches, and the end");
    assert_eq!(answer["args"][0]["decimal"], "8", "as many rounds as the path has");
}

#[test]
fn switches_and_columns_are_told() {
    let (switch, line) = (at("switch (k)"), at("case -3"));
    let dir = Dir::new();
    let answer = json(&reach(&dir, "choose", &["--path", &format!("{switch}:case 11"), "--json"], 0));
    assert!(["10", "11"].contains(&answer["args"][0]["decimal"].as_str().expect("decimals are text")), "{answer}");
    let spec = format!("{switch}:-3,{line}:T");
    reach(&dir, "choose", &["--path", &spec], 1).says("there are 2 conditionals; choose one of");
    reach(&dir, "choose", &["--path", &format!("{switch}:T")], 1).says("outcomes default, case -3, case 10");
}

#[test]
fn a_path_is_read_from_a_file_and_found_by_replay() {
    let dir = Dir::new();
    dir.file("seed", [2i32.to_le_bytes().as_slice(), &0.25f64.to_le_bytes()].concat());
    let replay = dir.penfuzz("replay").arg(fixture("paths.c")).args("seed -f loop --path").exits(0);
    let path = replay.stdout.lines().find_map(|l| l.trim().strip_prefix("path")).expect("replay prints a path");
    let path = path.trim_start_matches([' ', '=']);
    dir.file("spec", path.replace(',', "\n"));
    let answer = json(&reach(&dir, "loop", &["--path", "@spec", "--seed", "9", "--json"], 0));
    assert_eq!(answer["path"], path, "the requested path is taken");
}

#[test]
fn a_line_in_a_callee_is_executed() {
    let line = format!("paths.c:{}", at("deep inside"));
    let dir = Dir::new();
    let run = reach(&dir, "outer", &["--line", &line, "--json"], 0);
    let x = first_double(&json(&run));
    run.expect(x > 10.0 && (x * 3.0 - 36.75).abs() < f64::MIN_POSITIVE, "12.25 and nothing else gets there");
    let entry = format!("paths.c:{}", at("if (a > 10)"));
    let answer = json(&reach(&dir, "outer", &["--line", &entry, "--json"], 0));
    assert_eq!(answer["evaluations"], 1, "every input executes the first line");
}

#[test]
fn lines_that_cannot_be_executed_are_told() {
    let dir = Dir::new();
    let uncalled = format!("paths.c:{}", at("never called by outer"));
    reach(&dir, "outer", &["--line", &uncalled], 1).says("which the function under test does not call");
    reach(&dir, "outer", &["--line", "paths.c:2"], 1).says("the nearest lines with code are");
    reach(&dir, "outer", &["--line", "else.c:2"], 1).says("no code of a file else.c");
    reach(&dir, "outer", &["--line", "paths.c"], 1).says("is not FILE:N");
}

#[test]
fn an_infeasible_path_names_its_first_missing_step() {
    let (first, second) = (at("x > 50"), at("x > 49.5"));
    let spec = format!("*,{first}:T,*,{second}:T");
    let dir = Dir::new();
    let run = reach(&dir, "crashes", &["--path", &spec, "--max-evals", "3000"], 1);
    run.says(&format!("step 4 of 4, {second}:T, was not reached")).says("by crashes(");
    let spec = format!("{}:F,{first}:F,{second}:T", at("x > 100"));
    reach(&dir, "crashes", &["--path", &spec, "--seed", "3"], 0);
}

#[test]
fn a_step_that_never_follows_is_refused_at_once() {
    let (first, second) = (at("x <= 1.0"), at("y <= 4.0"));
    let dir = Dir::new();
    let spec = format!("{second}:T,{first}:T");
    reach(&dir, "FOO", &["--path", &spec], 1)
        .says(&format!("step 1 of the path, {second}:T, never follows the entry"))
        .says(&format!("comes {first}"));
}

#[test]
fn malformed_paths_are_refused() {
    let dir = Dir::new();
    for (spec, message) in [
        ("*", "every input takes it"),
        ("", "every input takes it"),
        ("5", "is not a step of a path"),
        ("1:T", "no conditional in scope is on line 1"),
        ("no.c:5:T", "no file in scope has this name"),
        ("5:T^0", "number of repetitions"),
        ("$,5:T", "follows `$`"),
        ("@none", "none cannot be read"),
    ] {
        reach(&dir, "FOO", &["--path", spec], 1).says(message);
    }
    dir.penfuzz("reach").arg(fixture("paths.c")).args("-f FOO").exits(2);
    reach(&dir, "FOO", &["--path", "5:T", "--search", "havoc"], 1).says("--search havoc");
}

#[test]
fn a_path_that_ends_in_a_crash_is_found_and_told() {
    let spec = format!("{}:F,{}:T", at("x > 100"), at("x > 50"));
    let dir = Dir::new();
    let run = reach(&dir, "crashes", &["--path", &spec], 3);
    run.expect(run.stdout.contains("SIGABRT"), "the crash is reported");
}

#[test]
fn endless_loops_on_the_way_are_survived() {
    let spec = format!("*,{}:T", at("x == 7.25"));
    let dir = Dir::new();
    let answer = json(&reach(&dir, "turns", &["--path", &spec, "--json"], 0));
    assert!((first_double(&answer) - 7.25).abs() < f64::MIN_POSITIVE, "the only input that takes it");
}

#[test]
fn the_found_input_is_written_with_a_program() {
    let spec = format!("{}:T", at("a > 10"));
    let dir = Dir::new();
    reach(&dir, "outer", &["--path", &spec, "-o", "out"], 0);
    let files = dir.files("out");
    assert_eq!(files["input"].len(), 8, "one double");
    dir.other(std::process::Command::new("cc").arg("-c").arg("out/test_outer.c"));
    dir.penfuzz("replay").arg(fixture("paths.c")).args("out/input -f outer").exits(0);
}

#[test]
fn one_seed_gives_one_answer() {
    let spec = format!("*,{}:T", at("x == 7.25"));
    let dir = Dir::new();
    let answer = || {
        let arguments = ["--path", &spec, "--max-evals", "100000", "--seed", "5", "--json"];
        let mut answer = json(&reach(&dir, "turns", &arguments, 0));
        answer["seconds"] = Value::Null;
        answer
    };
    assert_eq!(answer(), answer());
}

#[test]
fn the_conditionals_of_callees_are_steps_on_request() {
    let (entry, inside) = (at("if (a > 10)"), at("x * 3 == 36.75"));
    let spec = format!("{entry}:T,{inside}:T,$");
    let dir = Dir::new();
    let answer = json(&reach(&dir, "outer", &["--path", &spec, "--scope", "calls", "--json"], 0));
    assert!((first_double(&answer) - 12.25).abs() < f64::MIN_POSITIVE, "the only input that takes it: {answer}");
    assert_eq!(answer["path"], format!("{entry}:T,{inside}:T"), "the steps in both functions");
    reach(&dir, "outer", &["--path", &spec], 1).says(&format!("no conditional in scope is on line {inside}"));
}

#[test]
fn a_search_begins_with_given_files() {
    let dir = Dir::new();
    dir.file("seeds/a", 3f64.to_le_bytes());
    dir.file("seeds/b", 12.25f64.to_le_bytes());
    let line = format!("paths.c:{}", at("deep inside"));
    let answer = json(&reach(&dir, "outer", &["--line", &line, "-i", "seeds", "--json"], 0));
    assert!(answer["evaluations"].as_u64().is_some_and(|n| n <= 2), "one of two seeds does it: {answer}");
}

#[test]
fn a_search_begins_with_the_inputs_of_a_campaign() {
    let dir = Dir::new();
    dir.fuzz(fixture("paths.c"), "-q -f outer --scope calls --max-evals 100000").exits(0);
    let kept = dir.files("out/queue").len() as u64;
    let line = format!("paths.c:{}", at("deep inside"));
    let answer = json(&reach(&dir, "outer", &["--line", &line, "-i", "out", "--json"], 0));
    assert!(answer["evaluations"].as_u64().is_some_and(|n| n <= kept), "one of {kept} kept inputs does it: {answer}");
}

/// An input that ends the process also ends its evaluation, so it is not an answer; but it is reported.
#[test]
fn a_function_that_ends_the_process_is_told() {
    let dir = Dir::new();
    let file = dir.file(
        "dies.c",
        "#include <signal.h>
         #include <unistd.h>
         double dies(double x) {
           if (x > 50) kill(getpid(), SIGKILL);
           if (x > 49)
             return 1;
           return 0;
         }",
    );
    let (deadly, beside) = (line_of(&file, "x > 50"), line_of(&file, "x > 49"));
    let run = dir.penfuzz("reach dies.c --path").arg(format!("{deadly}:T")).exits(1);
    run.says("the function ended the process").says("what it did before that is not recorded");
    dir.penfuzz("reach dies.c --path").arg(format!("{deadly}:F,{beside}:T")).exits(0);
}
