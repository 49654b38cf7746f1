//! Standard input is an input of functions that read it, and the emitted tests feed it.

use crate::{
    outputs::gcov_agrees,
    support::{fixture, open_branches},
};

/// All branches but `unreachable` ones are covered, by tests with a text for standard input.
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
