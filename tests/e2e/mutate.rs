//! `penfuzz mutate`: mutants are killed by tests, or live; the search kills more; and the printed numbers add up.

use std::process::Command;

use serde_json::Value;

use crate::{
    prove::solvers,
    support::{Dir, Run, fixture, pen_cc},
};

/// Runs the command without solvers; returns the JSON that it prints.
fn mutate<'a>(dir: &'a Dir, what: &str, arguments: &str, status: i32) -> (Run<'a>, Value) {
    mutate_with(dir, what, arguments, status, "".as_ref())
}

/// Like [`mutate`], with the solvers in these directories.
fn mutate_with<'a>(
    dir: &'a Dir,
    what: &str,
    arguments: &str,
    status: i32,
    solvers: &std::ffi::OsStr,
) -> (Run<'a>, Value) {
    let command = dir.penfuzz("mutate").arg(what).args("--seed 1 --json").args(arguments);
    let run = command.env("PENFUZZ_SOLVERS", solvers).exits(status);
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
    dir.other(Command::new("sh").arg("-c").arg(commands));
    let elements: Value =
        serde_json::from_slice(&std::fs::read(out.join("mutants.json")).expect("mutants.json")).expect("it is JSON");
    let file = elements["files"].as_object().and_then(|f| f.values().next()).expect("a file with mutants");
    let listed = file["mutants"].as_array().map_or(0, Vec::len) as u64;
    run.expect(listed == of("total"), "the viewer gets every mutant");
}

#[test]
fn the_distance_to_infection_leads_the_search_further() {
    let dir = Dir::new();
    let search = |function: &str, distances: &str| {
        dir.fuzz(fixture("distances.c"), &format!("-f {function} --max-evals 2000 --quiet --seed 1 --fresh")).exits(0);
        let arguments = format!("--search-time 60s --search-evals 20000 --no-prove --distances {distances}");
        mutate(&dir, "out", &arguments, 0)
    };
    let lives = |printed: &Value, change: &str| changes(printed, "live").iter().any(|c| c == change);
    let change = "1000003 → 1000004 in n > 1000003";
    let (run, printed) = search("one_number", "reach");
    run.expect(lives(&printed, change), "by chance the one number is not found");
    run.expect(printed["search_seconds"].as_f64() < Some(50.0), "the search ends when its runs are made");
    let (run, printed) = search("one_number", "infection");
    run.expect(!lives(&printed, change), "the distance to infection leads there");
    let (run, infection) = search("absorbs", "infection");
    let (_, propagation) = search("absorbs", "propagation");
    run.expect(
        count(&propagation, "killed") >= count(&infection, "killed"),
        "with the distance of propagation it kills no less",
    );
    let run = dir.penfuzz("mutate").arg("out").args("--distances nothing");
    run.exits(2).says("[possible values: reach, infection, propagation]");
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

/// Returns the changes of the mutants in a list of a report.
fn changes(printed: &Value, list: &str) -> Vec<String> {
    let all = printed[list].as_array().expect("a list of mutants").iter();
    all.map(|m| m["change"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn unkillable_mutants_are_proved_equivalent() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let source = fixture("equivalent.c").display().to_string();
    let arguments = "-o out -f small --max-evals 5000 --search-time 1s --proof-time 60s --solver-time 10s";
    let (run, printed) = mutate_with(&dir, &source, arguments, 0, &solvers);
    let equivalent = changes(&printed, "equivalent");
    // One mutant that no input infects, and one that inputs infect: its sum differs, but the condition has the same
    // value.
    for end in [" > 0 → (1.0000000000000001E+300 + x) >= 0", " one ulp up"] {
        run.expect(equivalent.iter().any(|c| c.ends_with(end)), &format!("{end} is equivalent"));
    }
    run.expect(count(&printed, "unknown") == 0, "each mutant is killed or equivalent");
    for mutant in printed["equivalent"].as_array().expect("a list") {
        let file = mutant["proof"].as_str().expect("a file");
        let text = std::fs::read_to_string(dir.path("out").join(file)).expect("the file of the proof");
        run.expect(text.matches(": unsat in ").count() == 2, "two solvers have found that");
        run.expect(text.ends_with("(check-sat)\n"), "any solver can be asked again");
    }
}

#[test]
fn a_mutant_that_differs_for_one_number_is_killed_by_the_model() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let source = fixture("equivalent.c").display().to_string();
    let (_, without) = mutate(&dir, &source, "-o out -f keyed --max-evals 5000 --search-time 1s --no-prove", 0);
    let (run, printed) = mutate_with(&dir, "out", "--search-time 1s --proof-time 60s --solver-time 10s", 0, &solvers);
    run.expect(!changes(&printed, "live").iter().any(|c| c.contains(" 41 → ")), "all are killed");
    run.expect(!changes(&printed, "equivalent").iter().any(|c| c.contains(" 41 → ")), "none is equivalent");
    run.expect(count(&without, "killed") < count(&printed, "killed"), "no search finds the number");
}

/// Facts about the result of a library function are stated for the original arguments. For the arguments of a mutant
/// they would be contradictory.
#[test]
fn a_mutant_of_the_argument_of_a_library_function_is_not_proved_equivalent() {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let source = fixture("equivalent.c").display().to_string();
    let arguments = "-o out -f logged --max-evals 3000 --search-time 1s --proof-time 60s";
    let (run, printed) = mutate_with(&dir, &source, arguments, 0, &solvers);
    let (equivalent, live) = (changes(&printed, "equivalent"), changes(&printed, "live"));
    for change in ["x * 2.5 → -(x * 2.5)", "l → x in l != l"] {
        run.expect(!equivalent.iter().any(|c| c == change), &format!("{change} differs for one number"));
        run.expect(!live.iter().any(|c| c == change), &format!("{change} is killed by a model"));
    }
    run.expect(count(&printed, "proved_equivalent") > 0, "others are proved: the logarithm is a number there");
}

/// For mutants of a function of which one input is known: solvers' verdicts must agree with the mutants that a search
/// kills.
fn compare(name: &str, function: &str, least: usize) {
    let Some(solvers) = solvers() else { return };
    let dir = Dir::new();
    let source = fixture(name).display().to_string();
    dir.fuzz(&source, &format!("-f {function} --lib=-lm --max-evals 5000 --quiet")).exits(0);
    let one = dir.path("one");
    std::fs::create_dir(&one).expect("a directory");
    std::fs::write(one.join("zeros"), [0; 32]).expect("an input");
    let arguments = format!("--tests {} --no-search --proof-time 15s --solver-time 2s", one.display());
    let (_, proved) = mutate_with(&dir, "out", &arguments, 0, &solvers);
    let (run, _) = mutate(&dir, "out", "--search-time 5s --no-prove", 0);
    let elements = std::fs::read(dir.path("out").join("mutants.json")).expect("mutants.json");
    let elements: Value = serde_json::from_slice(&elements).expect("it is JSON");
    let files = elements["files"].as_object().expect("files");
    let all = files.values().flat_map(|f| f["mutants"].as_array().expect("mutants"));
    let is_killed = |m: &&Value| m["status"] == "Killed" || m["status"] == "Timeout";
    let place = |line: &Value, column: &Value, change: &Value| (line.clone(), column.clone(), change.clone());
    let killed: Vec<_> = all
        .filter(is_killed)
        .map(|m| place(&m["location"]["start"]["line"], &m["location"]["start"]["column"], &m["replacement"]))
        .collect();
    run.expect(killed.len() > 20, "the search kills many");
    let equivalent = proved["equivalent"].as_array().expect("a list");
    run.expect(equivalent.len() >= least, "some are proved");
    for m in equivalent {
        let wrong = killed.contains(&place(&m["line"], &m["column"], &m["change"]));
        run.expect(!wrong, &format!("proved equivalent, and killed: {m}"));
    }
}

#[test]
#[ignore = "nightly"]
fn no_mutant_that_is_proved_equivalent_is_killed() {
    compare("mutants.c", "sum_to", 0);
    compare("equivalent.c", "small", 1);
    compare("equivalent.c", "stepped", 1);
}

#[test]
fn a_linked_target_needs_its_mutants_from_pen_cc() {
    let dir = Dir::new();
    let compile = |flags: &[&str], name: &str| {
        let file = dir.path(name);
        dir.other(Command::new(pen_cc()).args(flags).arg(fixture("mutants.c")).arg("-lm").arg("-o").arg(&file));
        file.display().to_string()
    };
    let without = compile(&[], "without");
    let run = dir.penfuzz("mutate").arg(&without).args("-f digits -o none --max-evals 1000").exits(1);
    run.says("compile it with pen-cc -fpen-mutants");
    let with = compile(&["-fpen-mutants"], "with");
    let (run, printed) = mutate(&dir, &with, "-f digits -o some --max-evals 5000 --search-time 1s", 0);
    run.expect(count(&printed, "killed") > 0, "mutants are killed");
}

#[test]
fn tests_of_a_specification_kill_its_mutants() {
    let dir = Dir::new();
    dir.file("specs.fpcore", SPECIFICATIONS);
    let run = dir.penfuzz("mutate").args("specs.fpcore --seed 1 --json");
    let run = run.exits(0);
    let again = dir.penfuzz("mutate").args("specs.fpcore --seed 1 --json").exits(0);
    let read = |text: &str| -> Vec<Value> {
        let printed: Value = serde_json::from_str(text).expect("it prints JSON");
        let mut all = printed["specifications"].as_array().expect("a list").clone();
        for specification in &mut all {
            specification["seconds"] = Value::Null;
        }
        all
    };
    let all = read(&run.stdout);
    run.expect(all == read(&again.stdout), "the same tests each time");
    run.says("looped has conditions or loops");
    run.expect(all.len() == 2, "what has no loop is a specification");
    for answer in &all {
        let of = |key: &str| answer["mutants"][key].as_u64().expect("a number");
        run.expect(of("killed") < of("total"), "small values are allowed a larger error");
        let length = |key: &str| answer[key].as_array().expect("a list").len() as u64;
        run.expect(length("equivalent") == of("proved_equivalent"), "each equivalent mutant is listed");
        run.expect(length("below_threshold") == of("below_threshold"), "each mutant below the threshold is listed");
        let unkillable = length("equivalent") + length("below_threshold");
        run.expect(length("live") + of("killed") + unkillable == of("total"), "each live mutant is listed");
    }
    // The absolute value of a number >= 0 is the number itself.
    let equivalent = &all[1]["equivalent"].to_string();
    run.expect(equivalent.contains("z → (fabs z)"), "an equivalent mutant is proved");
}

const SPECIFICATIONS: &str = "(FPCore (x y) :name \"wave\" :pre (and (<= 1/10 x 10) (<= -5 y 5)) (sin (* x y)))
(FPCore (x) :name \"looped\" :pre (<= 0 x 1) (while (< i 3) ([i 0 (+ i 1)]) x))
(FPCore (z) :name \"share\" :pre (<= 0 z 999) (/ z (+ z 1)))
";

/// A correct implementation of the two specifications, with one fault for each class of mutants that an implementation
/// can have.
const IMPLEMENTATIONS: &str = "#include <math.h>
#ifndef FAULT
#define FAULT 0
#endif
double wave(double x, double y) {
  switch (FAULT) {
    case 1: return sin(x * y) * (1 + 1e-6); /* accuracy */
    case 2: return sin(x * x);              /* variable */
    case 3: return cos(x * y);              /* unary */
    case 4: return sin(x + y);              /* binary */
    case 5: return sin(fabs(x) * exp(y));   /* add */
    case 6: return sin(x);                  /* delete */
  }
  return sin(x * y);
}
double share(double z) {
  if (FAULT == 7) return z / (z + 2); /* constant */
  if (FAULT == 8) return z / (z + 1); /* bounds: a value outside of the domain */
  return z < 0 || z > 999 ? NAN : z / (z + 1);
}
";

/// The emitted programs accept a correct implementation and reject one with a fault of each class, which they name.
#[test]
fn emitted_tests_of_a_specification_check_an_implementation() {
    let dir = Dir::new();
    dir.file("specs.fpcore", SPECIFICATIONS);
    dir.file("implementations.c", IMPLEMENTATIONS);
    dir.penfuzz("mutate").args("specs.fpcore -o out").exits(0);
    let fails = |name: &str, flags: &str| {
        let line = format!(
            "cc -Wall -Wextra -Werror {flags} -c out/tests/test_{name}.c -o t.o && \
             cc {flags} t.o implementations.c -lm -o t && ./t"
        );
        let done = Command::new("sh").args(["-c", &line]).current_dir(dir.path("")).output().expect("sh can be run");
        assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
        (!done.status.success()).then(|| String::from_utf8_lossy(&done.stdout).into_owned())
    };
    assert_eq!(fails("wave", ""), None, "a correct function passes");
    assert_eq!(fails("share", "-DOUTSIDE=1"), None, "so does one that returns NaN outside of its domain");
    for fault in 1..=6 {
        assert!(fails("wave", &format!("-DFAULT={fault}")).is_some(), "the tests notice fault {fault}");
    }
    assert!(fails("wave", "-DFAULT=3").is_some_and(|text| text.contains("as if (sin (* x y)) -> (cos (* x y))")));
    assert!(fails("share", "-DFAULT=7").is_some_and(|text| text.contains("as if 1 -> 2")));
    assert_eq!(fails("share", "-DFAULT=8"), None, "a value outside of the domain is allowed by default");
    assert!(fails("share", "-DFAULT=8 -DOUTSIDE=1").is_some_and(|text| text.contains("outside of the domain")));
}

#[test]
fn the_accuracy_of_a_specification_is_an_input() {
    let dir = Dir::new();
    dir.file("coarse.fpcore", "(FPCore (x) :name \"coarse\" :accuracy 1e-3 :pre (<= 1 x 2) (exp (* x 1.5)))");
    let killed = |options: &str| {
        let run = dir.penfuzz("mutate").args(&format!("coarse.fpcore --json {options}")).exits(0);
        let printed: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
        let spec = printed["specifications"][0].clone();
        (spec["accuracy"].as_f64().expect("a number"), spec["mutants"]["below_threshold"].as_u64().expect("a number"))
    };
    assert_eq!(killed("").0.to_bits(), 1e-3_f64.to_bits());
    assert_eq!(killed("--accuracy 1e-6").0.to_bits(), 1e-6_f64.to_bits());
    assert!(killed("").1 > 0, "a small value allows no error above the threshold");
    dir.penfuzz("mutate").args("coarse.fpcore --accuracy 2").exits(1).says("must be between 0 and 0.01");
}

/// With the zeros that simplify an input most, the tests kill 40 %.
#[test]
fn the_inputs_of_tests_with_structures_are_those_of_the_emitted_program() {
    let dir = Dir::new();
    let source = "#include <math.h>
struct orbit { double a, e, n, epoch; };
double distance(const struct orbit *o, double t)
{
  if (o->n == 0) return o->a * (1 - o->e);
  return o->a * sqrt(1 - o->e * o->e) / (1 + o->e * cos(o->n * (t - o->epoch)));
}
";
    dir.file("orbit.c", source);
    let (run, printed) = mutate(&dir, "orbit.c", "-o out --no-search --max-evals 20000", 0);
    let (killed, all) = (count(&printed, "killed_by_tests"), count(&printed, "total"));
    run.expect(10 * killed > 8 * all, &format!("{killed} of {all} mutants"));
    let report = dir.report("out");
    assert!(report.tests.iter().all(|test| test.input.is_some()), "the inputs are in the report");
}
