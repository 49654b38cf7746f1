//! `penfuzz mutate`: mutants are killed by tests, or live; the search kills more; and what is printed adds up.

use serde_json::Value;

use crate::support::{Dir, Run, fixture, pen_cc};

/// Runs the command; returns what it has printed.
fn mutate<'a>(dir: &'a Dir, what: &str, arguments: &str, status: i32) -> (Run<'a>, Value) {
    let run = dir.penfuzz("mutate").arg(what).args("--seed 1 --json").args(arguments).exits(status);
    let printed = serde_json::from_str(&run.stdout).expect("it prints JSON");
    (run, printed)
}

fn count(printed: &Value, key: &str) -> u64 {
    printed["mutants"][key].as_u64().unwrap_or_else(|| panic!("mutants.{key} is a number"))
}

fn source() -> String {
    fixture("mutants.c").display().to_string()
}

#[test]
fn the_search_kills_what_the_tests_of_branches_let_live() {
    let dir = Dir::new();
    let arguments = "-o out -f sum_to --lib=-lm --max-evals 20000 --search-time 4s";
    let (run, printed) = mutate(&dir, &source(), arguments, 0);
    let of = |key| count(&printed, key);
    run.expect(of("total") > 50, "mutants of many kinds");
    run.expect(of("killed_by_tests") > of("total") / 4, "the tests of branches kill some");
    run.expect(of("killed") > of("killed_by_tests"), "the search kills more");
    run.expect(of("killed") + of("proved_equivalent") + of("unknown") == of("total"), "the numbers add up");
    let live = printed["live"].as_array().map_or(0, Vec::len) as u64;
    run.expect(live == of("unknown"), "each unknown mutant is listed");
    let report = dir.report("out");
    let added = report.tests.iter().filter(|t| t.file.starts_with("killing/")).count();
    run.expect(added > 0, "killing inputs are among the tests");
    let program = report.test_program.expect("there is a test program");
    let out = dir.path("out");
    let commands = format!("cd out && {} && {}", program.build, program.run);
    dir.other(std::process::Command::new("sh").arg("-c").arg(commands));
    let elements: Value =
        serde_json::from_slice(&std::fs::read(out.join("mutants.json")).expect("mutants.json")).expect("it is JSON");
    let file = elements["files"].as_object().and_then(|f| f.values().next()).expect("a file with mutants");
    let listed = file["mutants"].as_array().map_or(0, Vec::len) as u64;
    run.expect(listed == of("total"), "the viewer gets every mutant");
}

#[test]
fn the_tests_of_a_finished_campaign_are_measured() {
    let dir = Dir::new();
    dir.fuzz(fixture("mutants.c"), "-f digits --max-evals 5000 --quiet").exits(0);
    let (run, first) = mutate(&dir, "out", "--no-search", 0);
    let (_, again) = mutate(&dir, "out", "--no-search", 0);
    run.expect(count(&first, "total") > 10, "mutants of integers");
    run.expect(first["mutants"] == again["mutants"], "the same mutants and verdicts each time");
    run.expect(count(&first, "killed") == count(&first, "killed_by_tests"), "nothing was searched for");
}

#[test]
fn a_score_below_the_limit_is_the_exit_status() {
    let dir = Dir::new();
    let arguments = "-o out -f digits --max-evals 5000 --no-search --fail-under-mutation 100";
    let (run, _) = mutate(&dir, &source(), arguments, 4);
    run.says("is below --fail-under-mutation 100");
}

#[test]
fn a_linked_target_needs_its_mutants_from_pen_cc() {
    let dir = Dir::new();
    let compile = |flags: &[&str], name: &str| {
        let file = dir.path(name);
        dir.other(
            std::process::Command::new(pen_cc()).args(flags).arg(fixture("mutants.c")).arg("-lm").arg("-o").arg(&file),
        );
        file.display().to_string()
    };
    let without = compile(&[], "without");
    let run = dir.penfuzz("mutate").arg(&without).args("-f digits -o none --max-evals 1000").exits(1);
    run.says("compile it with pen-cc -fpen-mutants");
    let with = compile(&["-fpen-mutants"], "with");
    let (run, printed) = mutate(&dir, &with, "-f digits -o some --max-evals 5000 --search-time 1s", 0);
    run.expect(count(&printed, "killed") > 0, "mutants are killed");
}
