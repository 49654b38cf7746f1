//! `penfuzz solve`: models of formulas, which a solver checks as well, and inputs that are not formulas.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;

use crate::support::{Dir, Run, fixture, skip};

fn formula(name: &str) -> PathBuf {
    fixture("formulas").join(name)
}

/// Returns the object that `--json` prints.
fn answer(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", run.stdout))
}

/// Returns the first of these solvers that is installed.
fn solver() -> Option<PathBuf> {
    let path = std::env::var_os("PENFUZZ_SOLVERS").or_else(|| std::env::var_os("PATH"))?;
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = ["z3", "cvc5"].into_iter().flat_map(|name| directories.iter().map(move |d| d.join(name)));
    let found = all.into_iter().find(|program| program.is_file());
    if found.is_none() {
        skip("models", "z3 and cvc5 are not installed");
    }
    found
}

/// Returns the text of the file, with its declarations replaced by the definitions of the model.
fn with_model(text: &str, model: &str) -> String {
    let declarations: Vec<&str> = text.lines().filter(|l| l.starts_with("(declare-")).collect();
    let definitions = model.trim().strip_prefix("(model").and_then(|m| m.strip_suffix(')')).expect("a model");
    let rest = text.lines().filter(|l| !declarations.contains(l) && !l.starts_with("(get-"));
    let (logic, rest): (Vec<&str>, Vec<&str>) = rest.partition(|l| l.starts_with("(set-logic"));
    format!("{}\n{definitions}\n{}\n", logic.join("\n"), rest.join("\n"))
}

#[test]
fn models_satisfy_the_formula_for_a_solver_too() {
    let solver = solver();
    for name in ["sine.smt2", "bits.smt2", "zeros.smt2"] {
        let dir = Dir::new();
        let run = dir.penfuzz("solve").arg(formula(name)).exits(0);
        let model = run.stdout.strip_prefix("sat\n").unwrap_or_else(|| panic!("{name}: {}", run.stdout));
        let Some(solver) = &solver else { continue };
        let question = with_model(&fs::read_to_string(formula(name)).unwrap(), model);
        let file = dir.file("question.smt2", &question);
        let said = dir.other(Command::new(solver).arg(file));
        assert_eq!(said.trim(), "sat", "{name} with {model}");
    }
}

#[test]
fn the_seed_decides_what_is_found() {
    let dir = Dir::new();
    let model = |seed: u32| {
        let run = dir.penfuzz("solve").arg(formula("bits.smt2")).args(&format!("--seed {seed} --json")).exits(0);
        let found = answer(&run);
        assert_eq!((&found["answer"], &found["method"]), (&"sat".into(), &"search".into()));
        found["model"].to_string()
    };
    assert_eq!(model(1), model(1));
    assert!((2..8).any(|seed| model(seed) != model(1)), "another seed, another model");
}

#[test]
fn all_inputs_are_tried_where_they_are_few() {
    let dir = Dir::new();
    let found = answer(&dir.penfuzz("solve").arg(formula("no_square.smt2")).args("--json --max-evals 1000").exits(0));
    assert_eq!((&found["answer"], &found["method"]), (&"unsat".into(), &"exhaustion".into()));
    assert!(found["evaluations"].as_u64() >= Some(1 << 16), "{found}");
    let only_search = "--no-exhaust --no-prove --max-evals 1000";
    let run = dir.penfuzz("solve").arg(formula("no_square.smt2")).args(only_search).exits(0);
    assert_eq!(run.stdout, "unknown\n");
}

#[test]
fn unsat_needs_two_solvers() {
    let dir = Dir::new();
    let ask = |more: &str| dir.penfuzz("solve").arg(formula("monotone.smt2")).args(&format!("--max-evals 2000 {more}"));
    assert_eq!(ask("--no-prove").exits(0).stdout, "unknown\n", "a search proves nothing");
    let Some(solver) = solver() else { return };
    let directory = dir.path("one");
    fs::create_dir_all(&directory).unwrap();
    std::os::unix::fs::symlink(&solver, directory.join(solver.file_name().unwrap())).unwrap();
    let one = ask("--solver-time 60s").env("PENFUZZ_SOLVERS", &directory).exits(0);
    assert_eq!(one.stdout, "unknown\n");
    one.says("no second solver agrees");
    let both = solver.parent().unwrap();
    if both.join("z3").is_file() && both.join("cvc5").is_file() {
        assert_eq!(ask("--solver-time 60s").env("PENFUZZ_SOLVERS", both).exits(0).stdout, "unsat\n");
        let by_default = ask("--max-time 60s --json").env("PENFUZZ_SOLVERS", both).exits(0);
        let found = answer(&by_default);
        assert_eq!((&found["answer"], &found["method"]), (&"unsat".into(), &"solvers".into()), "without an option");
    }
}

/// A solver's model is checked, and rejected if it does not satisfy the formula.
#[test]
fn a_solver_that_lies_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new();
    let values = "echo '((x (_ +zero 8 24)) (y (_ +zero 8 24)))'";
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 'z3 1.2' && exit\necho sat\ncase $1 in *values*) {values};; esac\n"
    );
    dir.file("solvers/z3", &script);
    fs::set_permissions(dir.path("solvers/z3"), fs::Permissions::from_mode(0o755)).unwrap();
    let run = dir
        .penfuzz("solve")
        .arg(formula("monotone.smt2"))
        .args("--max-evals 2000")
        .env("PENFUZZ_SOLVERS", dir.path("solvers"))
        .exits(0);
    assert_eq!(run.stdout, "unknown\n");
    run.says("its model does not satisfy the formula");
}

#[test]
fn models_of_reals_are_exact_and_say_how_they_were_found() {
    let dir = Dir::new();
    let solver = solver();
    for seed in 0..5 {
        let run = dir.penfuzz("solve --no-prove").arg(formula("reals.smt2")).args(&format!("--seed {seed}")).exits(0);
        let model =
            run.stdout.strip_prefix("sat\n; searched in 64-bit floats and integers; the model was checked with");
        let model = model.unwrap_or_else(|| panic!("seed {seed}: {}", run.stdout));
        let (_, model) = model.split_once('\n').expect("a line");
        run.expect(model.contains("() Real (") && model.contains("() Int "), "the sorts of the file");
        let Some(solver) = &solver else { continue };
        let question = with_model(&fs::read_to_string(formula("reals.smt2")).unwrap(), model);
        let file = dir.file("question.smt2", &question);
        assert_eq!(dir.other(Command::new(solver).arg(file)).trim(), "sat", "seed {seed}: {model}");
    }
}

/// Floats accept what exact numbers do not, and the other way round. Neither is an answer.
#[test]
fn rounding_decides_no_formula_of_reals() {
    let dir = Dir::new();
    let search = |name: &str, more: &str| {
        let arguments = format!("--max-time 2s {more}");
        dir.penfuzz("solve").arg(formula(name)).args(&arguments).exits(0).stdout.clone()
    };
    let said = search("tenths.smt2", "--no-prove");
    assert!(said.starts_with("sat\n; checked with exact") && said.contains("() Real (/ 1.0 10.0)"), "{said}");
    let said = search("absorbed.smt2", "--no-prove");
    assert!(said.starts_with("unknown\n; searched in 64-bit floats"), "{said}");
    let run = dir.penfuzz("solve --json --no-prove --max-time 2s").arg(formula("absorbed.smt2")).exits(0);
    assert!(answer(&run)["rejected"].as_u64() > Some(0), "doubles beyond 2^53 are found and rejected");
    let Some(solver) = solver() else { return };
    let both = solver.parent().unwrap();
    if both.join("z3").is_file() && both.join("cvc5").is_file() {
        let run = dir.penfuzz("solve --max-time 20s").arg(formula("absorbed.smt2"));
        assert_eq!(run.env("PENFUZZ_SOLVERS", both).exits(0).stdout.trim(), "unsat");
    }
}

#[test]
fn a_status_that_a_model_contradicts_is_an_error() {
    let dir = Dir::new();
    let text = fs::read_to_string(formula("sine.smt2")).unwrap().replace(":status sat", ":status unsat");
    dir.file("wrong.smt2", &text);
    let run = dir.penfuzz("solve").arg("wrong.smt2").arg(formula("zeros.smt2")).exits(1);
    run.says("wrong.smt2: its :status is unsat, and the answer is sat");
    assert_eq!(run.stdout.matches("sat\n(model").count(), 2, "the model is printed, and the other file is solved");
}

#[test]
fn malformed_formulas_are_refused_in_one_sentence() {
    let dir = Dir::new();
    dir.file("directory/a", "");
    for (name, text, message) in [
        ("missing.smt2", None, "missing.smt2 cannot be read"),
        ("directory", None, "directory cannot be read: it is a directory"),
        ("empty.smt2", Some(""), "empty.smt2: it contains no commands"),
        ("open.smt2", Some("(set-logic QF_FP)\n(assert (and true"), "open.smt2: line 2: the `(` has no `)`"),
        ("lra.smt2", Some("(set-logic QF_ALIA)"), "lra.smt2: line 1: the logic QF_ALIA is not supported"),
        (
            "mixed.smt2",
            Some("(declare-const x Real)\n(declare-const y Float32)"),
            "mixed.smt2: line 2: Real and Int together with floats",
        ),
        (
            "div.smt2",
            Some("(declare-const x Int)\n(assert (= (div 7 x) 2))"),
            "div.smt2: line 2: `div` and `mod` are supported for divisors that are constants",
        ),
        (
            "array.smt2",
            Some("(declare-fun a () (Array (_ BitVec 8) (_ BitVec 8)))"),
            "array.smt2: line 1: the sort (Array (…) (…)) is not supported",
        ),
        ("quad.smt2", Some("(declare-const q Float128)"), "has no type in C"),
    ] {
        if let Some(text) = text {
            dir.file(name, text);
        }
        let run = dir.penfuzz("solve").arg(name).exits(1);
        run.expect(run.stdout.is_empty() && run.stderr.lines().count() == 1, "one line on standard error");
        run.says(message);
    }
    dir.penfuzz("solve").exits(2).says("FILE");
}
