//! Outcomes have the meaning of the source: true is what llvm-cov counts as true, for each operand of each condition.
//!
//! For `if (!n)`, true means that n is 0. clang's code without coverage branches on n instead, with the destinations
//! exchanged.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    rc::Rc,
};

use penfuzz_abi::action;
use penfuzz_cc::Compile;
use penfuzz_executor::{
    Evaluator,
    evaluator::{EvaluationLimits, RunStatus},
};
use penfuzz_target::program::Target;
use serde_json::Value;

use crate::twin::{clang, on_target_thread};

/// For each conditional on a line, from left to right: whether true and whether false was taken.
type Outcomes = BTreeMap<u64, Vec<(bool, bool)>>;

/// The arguments of one run of every function.
const INPUTS: [[i32; 3]; 18] = [
    [0, 0, 0],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
    [1, 1, 0],
    [1, 0, 1],
    [0, 1, 1],
    [1, 1, 1],
    [0, 3, 0],
    [0, 3, 7],
    [2, 3, 4],
    [4, 3, 2],
    [-1, 2, 2],
    [3, -2, 1],
    [5, 5, -5],
    [0, 2, 3],
    [2, 2, 0],
    [-3, 0, 6],
];

/// Returns a program that calls every function once for each input, resets the counters before each input, and writes
/// them to a file with the input's number.
fn driver(functions: &[&str]) -> String {
    let mut text = "void __llvm_profile_reset_counters(void);\nint __llvm_profile_write_file(void);\n\
                    void __llvm_profile_set_filename(const char *);\n"
        .to_owned();
    for f in functions {
        writeln!(text, "int {f}(int, int, int);").expect("a String takes it");
    }
    text += "int main(void) {\n";
    for (i, [a, b, c]) in INPUTS.iter().enumerate() {
        writeln!(text, "  __llvm_profile_reset_counters();").expect("a String takes it");
        for f in functions {
            writeln!(text, "  {f}({a}, {b}, {c});").expect("a String takes it");
        }
        writeln!(text, "  __llvm_profile_set_filename(\"{i}.profraw\");\n  __llvm_profile_write_file();")
            .expect("a String takes it");
    }
    text + "  return 0;\n}\n"
}

fn run(command: &mut Command, directory: &Path) -> Vec<u8> {
    let output = command.current_dir(directory).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A program of the LLVM that pen-cc's clang belongs to.
fn tool(name: &str) -> PathBuf {
    let answer = Command::new(clang()).arg(format!("-print-prog-name={name}")).output().expect("clang runs");
    String::from_utf8_lossy(&answer.stdout).trim().into()
}

/// Returns llvm-cov's counts of each function, by input.
fn counted_by_llvm_cov(directory: &Path, source: &Path, functions: &[&str]) -> Vec<BTreeMap<String, Outcomes>> {
    fs::write(directory.join("driver.c"), driver(functions)).expect("the driver is written");
    run(Command::new(clang()).args(["-c", "driver.c"]), directory);
    let mut build = Command::new(clang());
    build.args(["--driver-mode=g++", "-O0", "-w", "-std=c++17", "-fprofile-instr-generate", "-fcoverage-mapping"]);
    if source.extension().is_some_and(|e| e == "c") {
        build = Command::new(clang());
        build.args(["-O0", "-w", "-fprofile-instr-generate", "-fcoverage-mapping"]);
    }
    run(build.arg(source).args(["driver.o", "-o", "counted"]), directory);
    run(&mut Command::new(directory.join("counted")), directory);
    let of_input = |i: usize| {
        let (raw, merged) = (format!("{i}.profraw"), format!("{i}.profdata"));
        run(Command::new(tool("llvm-profdata")).args(["merge", &raw, "-o", &merged]), directory);
        let text = run(
            Command::new(tool("llvm-cov")).args(["export", "counted", &format!("-instr-profile={merged}")]),
            directory,
        );
        let exported: Value = serde_json::from_slice(&text).expect("llvm-cov writes JSON");
        branches_of(&exported)
    };
    (0..INPUTS.len()).map(of_input).collect()
}

/// Returns the outcomes of the branch regions of each function. A region consists of line, column, the end (two
/// numbers), the counts of true and false, two file numbers, and the kind of the region.
fn branches_of(exported: &Value) -> BTreeMap<String, Outcomes> {
    let mut all = BTreeMap::new();
    for function in exported["data"][0]["functions"].as_array().expect("functions") {
        let mut regions: Vec<Vec<u64>> = function["branches"]
            .as_array()
            .expect("branches")
            .iter()
            .map(|r| r.as_array().expect("a region").iter().map(|n| n.as_u64().expect("a number")).collect())
            .collect();
        regions.sort();
        let mut outcomes = Outcomes::new();
        for r in regions {
            outcomes.entry(r[0]).or_default().push((r[4] > 0, r[5] > 0));
        }
        all.insert(function["name"].as_str().expect("a name").to_owned(), outcomes);
    }
    all
}

/// Returns the outcomes that the hooks record in one function, by input.
fn recorded(target: &Rc<Target>, name: &str) -> Vec<Outcomes> {
    let function = target.functions.iter().position(|f| f.name == name).expect("the function is instrumented");
    let sites = target.functions[function].sites.clone();
    let mut evaluator =
        Evaluator::new(Rc::clone(target), function, EvaluationLimits::default()).unwrap_or_else(|e| panic!("{e}"));
    evaluator.arm(|b| if target.sites[target.site_of(b)].is_conditional() { action::RECORD } else { 0 });
    let mut hits = Vec::new();
    let mut one = |input: &[i32; 3]| {
        let x: Vec<u8> = input.iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(evaluator.run(&x), RunStatus::Returned, "{name} of {input:?}");
        evaluator.take_hits(&mut hits);
        let mut outcomes = Outcomes::new();
        for site in target.sites[sites.clone()].iter().filter(|s| s.is_conditional()) {
            let is_hit =
                |outcome: usize| hits.contains(&u32::try_from(site.first_branch + outcome).expect("few branches"));
            outcomes.entry(u64::from(site.line)).or_default().push((is_hit(0), is_hit(1)));
        }
        outcomes
    };
    INPUTS.iter().map(&mut one).collect()
}

fn check(file: &str, text: &str, functions: &[&str]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = directory.path().join(file);
    fs::write(&source, text).expect("the source is written");
    let counted = counted_by_llvm_cov(directory.path(), &source, functions);
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let path = directory.path().join(format!("instrumented{level}"));
        let compiled = Compile::new(&path).source(&source).flag(level).flag("-w").flag("-shared").run();
        compiled.unwrap_or_else(|e| panic!("pen-cc: {e}"));
        let target = Rc::new(Target::load(&path).unwrap_or_else(|e| panic!("{e}")));
        for name in functions {
            for (i, ours) in recorded(&target, name).into_iter().enumerate() {
                let theirs = &counted[i][*name];
                assert_eq!(&ours, theirs, "{name} {level} of {:?}: left recorded, right llvm-cov's", INPUTS[i]);
            }
        }
    }
}

#[test]
fn outcomes_in_c_are_llvm_covs() {
    let functions = ["negation", "comparison", "operands", "chosen", "loops", "pointers", "truth", "stored"];
    on_target_thread(move || check("outcomes.c", include_str!("outcomes.c"), &functions));
}

#[test]
fn outcomes_in_cxx_are_llvm_covs() {
    on_target_thread(|| check("outcomes.cc", include_str!("outcomes.cc"), &["words", "objects", "references"]));
}
