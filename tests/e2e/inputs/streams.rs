//! Functions that read standard input: it is part of the input, and the emitted tests provide it.

use std::{path::Path, process::Command};

use penfuzz_report::{Arg, Report};

use super::callbacks::notices;
use crate::{
    outputs::gcov_agrees,
    support::{Dir, fixture, open_branches},
};

/// A campaign finds crashes, and its emitted tests expect them.
fn crashes_as_expected(target: &Path, arguments: &str) -> Report {
    let dir = Dir::new();
    dir.fuzz(target, arguments).exits(3);
    let report = dir.report("out");
    let program = report.test_program.clone().expect("the commands");
    dir.other(Command::new("sh").args(["-c", &format!("cd out && {} && ./{}", program.build, program.run)]));
    report
}

/// All branches except `unreachable` ones are covered, by tests that provide a text as standard input.
fn covers(function: &str, unreachable: usize) {
    let report =
        gcov_agrees(&fixture("standard_input.c"), &format!("-f {function} --max-evals 200000 --seed 1"), function);
    assert_eq!(open_branches(&report).len(), unreachable, "{function}: open are {:?}", open_branches(&report));
    assert!(report.tests.iter().all(|t| t.args.last().is_some_and(|a| a.name == "stdin")), "each test has a text");
}

#[test]
fn a_line_of_two_numbers_for_a_function_without_parameters() {
    covers("sum_of_line", 0);
}

#[test]
fn characters_up_to_the_end() {
    covers("words", 0);
}

#[test]
fn a_function_that_reads_nothing_has_no_text() {
    let report = gcov_agrees(&fixture("standard_input.c"), "-f plain --seed 1", "plain");
    assert!(report.tests.iter().all(|t| t.args.len() == 1), "only `x`");
}

/// A campaign covers all branches of a function of `nondet.c` except `unreachable` ones. Returns the report.
fn takes(function: &str, unreachable: usize) -> Report {
    let report = gcov_agrees(&fixture("nondet.c"), &format!("-f {function} --max-evals 200000 --seed 1"), function);
    assert_eq!(open_branches(&report).len(), unreachable, "{function}: open are {:?}", open_branches(&report));
    report
}

#[test]
fn results_of_the_environment_are_numbers_of_their_types() {
    let report = takes("sequence", 0);
    let all: Vec<_> = report.tests.iter().flat_map(|t| &t.args).collect();
    let is_eighth = |a: &&Arg| a.name.ends_with("_double") && a.decimal == "0.125";
    assert!(all.iter().any(is_eighth), "a double that is a constant of the program");
    let results = all.iter().filter(|a| a.name.ends_with("_int")).flat_map(|a| &a.memory);
    assert!(
        results.clone().all(|m| m.elements <= Some(6)),
        "no more than are taken: {:?}",
        results.collect::<Vec<_>>()
    );
}

#[test]
fn results_of_the_environment_beside_arguments() {
    let report = takes("beside", 0);
    let names: Vec<_> = report.tests[0].args.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["a", "__VERIFIER_nondet_bool", "__VERIFIER_nondet_uchar"]);
}

#[test]
fn an_assumption_of_the_environment_is_no_goal() {
    // `a == 0` contradicts the first assumption.
    let report = takes("assumed", 1);
    assert_eq!(report.branches.total, 4, "those of the two conditions");
    assert!(report.crashes.is_empty());
}

#[test]
fn errors_of_the_environment_are_crashes() {
    let report = crashes_as_expected(&fixture("nondet.c"), "-f wrong --max-evals 200000 --seed 1");
    let reasons: Vec<_> = report.crashes.iter().map(|c| c.reason.as_str()).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons.iter().all(|r| r.contains("SIGABRT")), "{reasons:?}");
}

/// A campaign on a whole program or on a function covers all branches except `unreachable` ones, and so do its tests by
/// gcov's count.
fn covers_all(file: &str, arguments: &str, symbol: &str, unreachable: usize) -> Report {
    let report = gcov_agrees(&fixture(file), &format!("{arguments} --max-evals 300000 --seed 1"), symbol);
    assert_eq!(open_branches(&report).len(), unreachable, "{symbol}: open are {:?}", open_branches(&report));
    report
}

/// Like [`covers_all`], but without gcov's count, which counts additional branches for each call that may throw. All
/// results must hold.
fn complete(file: &str, arguments: &str) -> Report {
    let dir = Dir::new();
    let run = dir.fuzz(fixture(file), &format!("{arguments} --max-evals 300000 --seed 1")).exits(0);
    let report = dir.report("out");
    let open = open_branches(&report);
    run.expect(open.is_empty() && report.branches.total > 0, &format!("all branches, not {open:?}"));
    let program = report.test_program.clone().expect("the commands");
    dir.other(Command::new("sh").args(["-c", &format!("cd out && {} && ./{}", program.build, program.run)]));
    report
}

#[test]
fn a_program_gets_arguments_and_standard_input() {
    // `calls++ > 0` and `argv[argc]` are unreachable: state is restored, and the argument list is terminated.
    let report = covers_all("options.c", "", "main", 2);
    assert_eq!(report.function, "main", "the only function with branches");
    let seven = report.tests.iter().find(|t| t.ends.is_some()).expect("a test that ends by exit");
    assert!(seven.args[1].memory.iter().any(|m| m.value.contains("seven")), "{:?}", seven.args);
    assert!(report.tests.iter().any(|t| t.result.as_ref().is_some_and(|r| r.decimal == "5")), "a result of `main`");
}

#[test]
fn a_verification_task_is_a_program() {
    covers_all("task.c", "", "main", 0);
}

#[test]
fn a_program_in_cxx_reads_its_standard_input() {
    complete("program.cc", "");
}

#[test]
fn a_stream_has_a_text() {
    let report = covers_all("files.c", "-f key_of", "key_of", 0);
    assert!(report.tests.iter().any(|t| t.args[0].hex.contains("key=")), "{:?}", report.tests);
    // Reading what was written never fails.
    covers_all("files.c", "-f appended", "appended", 1);
}

#[test]
fn a_file_by_name_has_a_text_or_is_missing() {
    let report = covers_all("files.c", "-f load", "load", 0);
    let has =
        |text: &str| report.tests.iter().any(|t| t.args[0].hex.contains(text) || t.args[0].decimal.contains(text));
    assert!(has("magic") && has("/nonexistent/file"), "{:?}", report.tests);
    covers_all("files.c", "-f descriptor", "descriptor", 0);
    complete("file_streams.cc", "-f answer");
}

#[test]
fn a_file_that_the_user_names() {
    complete("files.c", "-f hidden --arg path:file[..64]");
    let dir = Dir::new();
    let refused = dir.fuzz(fixture("files.c"), "-f hidden --arg n:file[..9]").exits(2);
    refused.expect(refused.stderr.contains("`n` is not a file name"), "one line that says why");
}

#[test]
fn standard_input_without_its_stream() {
    covers_all("files.c", "-f raw", "raw", 0);
    covers_all("files.c", "-f lines", "lines", 0);
}

#[test]
fn functions_lists_streams_and_files() {
    let dir = Dir::new();
    let listed = |file: &str, function: &str| {
        let file = fixture(file);
        let run = dir.penfuzz("functions").arg(file).args(&format!("--function {function}")).run();
        run.stdout
    };
    for (file, function, text) in [
        ("files.c", "load", "file behind `path`: char[..257]"),
        ("files.c", "key_of", "stream `f`: char[..257]"),
        ("files.c", "raw", "standard input: char[..64]"),
        ("nondet.c", "beside", "results of __VERIFIER_nondet_uchar()"),
        ("options.c", "main", "argv[1]: char[..32]"),
    ] {
        let shown = listed(file, function);
        assert!(shown.contains(text), "{text} is not in\n{shown}");
    }
}

const WRITES: &str = "#include <stdio.h>
int put(FILE *f, int x)
{
  if (x > 3) return fprintf(f, \"%d;\", x);
  fputs(\"small\\n\", f);
  return fclose(f);
}
int save(const char *name, int x)
{
  FILE *f = fopen(name, \"w\");
  if (!f) return -1;
  fputs(x > 3 ? \"big\" : \"small\", f);
  return fclose(f);
}
";

#[test]
fn tests_notice_that_something_else_is_written() {
    for file in ["write.c", "write.cpp"] {
        notices(file, WRITES, "-f put", &[("\"%d;\"", "\"%d,\""), ("small\\n", "small\\r")]);
        notices(file, WRITES, "-f save", &[("\"big\"", "\"bug\""), (": \"small\"", ": \"smaller\"")]);
    }
}
