//! Conditions as people write them: the search covers each, with every seed, within few evaluations.

use std::path::Path;

use crate::support::{Dir, fixture, open_branches};

const SEEDS: u32 = 10;

/// Twice the number that the slowest function needs.
const EVALUATIONS: &str = "40000";

fn opens(file: &Path, functions: &[&str]) {
    let dir = Dir::new();
    for function in functions {
        for seed in 0..SEEDS {
            let out = format!("{function}-{seed}");
            dir.penfuzz("--quiet --max-evals")
                .arg(EVALUATIONS)
                .arg(file)
                .args("--function")
                .arg(function)
                .args("--seed")
                .arg(seed.to_string())
                .args("-o")
                .arg(&out)
                .exits(0);
            let open = open_branches(&dir.report(&out));
            assert!(
                open.is_empty(),
                "{function}, seed {seed}: every branch in {EVALUATIONS} evaluations, but not {open:?}"
            );
        }
    }
}

fn opens_in_c(functions: &[&str]) {
    opens(&fixture("written.c"), functions);
}

#[test]
fn masks() {
    opens_in_c(&["both_zero", "masked_value", "masked_wide", "masked_bits", "masked_clear", "masked_any"]);
    opens_in_c(&["masked_word", "masked_variable", "cleared"]);
}

#[test]
fn shifts_and_signs_of_words() {
    opens_in_c(&["exponent", "exponent_of_high", "exponent_signed", "negative_high", "sign_bit_of_high"]);
    opens_in_c(&["sign_shifted", "sign_arithmetic", "low_word", "shifted_left", "shifted_out"]);
}

#[test]
fn flags_computed_earlier() {
    opens_in_c(&["flag", "flag_gathered", "flag_both", "flag_in_memory", "flag_in_field"]);
}

#[test]
fn several_comparisons_at_once() {
    opens_in_c(&["all_of", "any_of", "none_of"]);
}

#[test]
fn switches() {
    opens_in_c(&["dense", "sparse", "ranges", "switch_on_class", "switch_on_exponent"]);
}

#[test]
fn wide_integers_and_mixed_floats() {
    opens_in_c(&["equal_wide", "equal_constant", "equal_unsigned", "single_double", "single_tenth", "rounded"]);
}

#[test]
fn results_of_called_functions() {
    opens_in_c(&["called", "called_exact", "called_not", "called_one", "called_range", "called_both", "called_value"]);
}

#[test]
fn smallest_largest_and_whole() {
    opens_in_c(&[
        "smallest",
        "largest",
        "magnitude",
        "magnitude_equal",
        "magnitude_int",
        "whole",
        "floored",
        "between",
    ]);
}

#[test]
fn classes_of_numbers() {
    opens_in_c(&["nan_by_self", "nan_by_macro", "infinite", "infinite_below", "finite_number", "normal_number"]);
    opens_in_c(&["negative_zero", "unordered", "greater", "subnormal", "nan_single", "infinite_single", "nan_quiet"]);
}

#[test]
fn words_fields_and_counts_of_bits() {
    opens_in_c(&["punned", "punned_above", "same_bits", "field", "ones", "all_ones", "trailing", "leading"]);
    opens_in_c(&["odd", "multiple", "power_of_two", "bytes_equal"]);
}

#[test]
fn cxx_spellings() {
    let functions = ["nan_std", "infinite_std", "finite_std", "sign_std", "clamped", "smaller_std", "limit", "truth"];
    opens(&fixture("written_cxx.cc"), &functions);
}

#[test]
fn builtin_expect_does_not_hide_conditions() {
    opens_in_c(&["unlikely_equal", "likely_both"]);
}

/// If flags of earlier evaluations stayed raised, exact divisions could not be observed.
#[test]
fn exception_flags_are_those_of_the_call() {
    let dir = Dir::new();
    dir.penfuzz("--quiet --max-evals 1000 --lib -lm -o out").arg(fixture("inexact.c")).exits(0);
    assert_eq!(open_branches(&dir.report("out")), Vec::<String>::new(), "both outcomes of the flag are met");
}

/// `i < n` is false at once, so `b != 5.0` is not evaluated.
#[test]
fn an_operand_that_was_not_looked_at_has_no_outcome() {
    let dir = Dir::new();
    let input = [0i32.to_le_bytes().as_slice(), 5.0f64.to_le_bytes().as_slice()].concat();
    let input = dir.file("input", input);
    let run = dir.penfuzz("replay --function counted").arg(fixture("loop_conditions.c")).arg(input).exits(0);
    let branches = run.stdout.lines().filter(|l| l.contains("loop_conditions.c:")).count();
    run.expect(branches == 1, "one branch, that of the first operand");
}

/// Without a time limit the search ends when all open branches are given up; with a limit it continues until then.
#[test]
fn remaining_time_is_spent_on_branches_given_up() {
    let dir = Dir::new();
    for (arguments, reason) in [("-o done", "saturated"), ("-o again --max-time 3s", "max-time")] {
        let run = dir.penfuzz("--quiet").arg(fixture("unreachable_in_loop.c")).args(arguments).exits(0);
        let report = dir.report(arguments.split(' ').nth(1).unwrap_or_default());
        run.expect(report.stop_reason == reason && report.branches.given_up > 0, reason);
    }
}
