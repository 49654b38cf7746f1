//! `penfuzz exceptions`: each kind of floating-point exception is found, reported and confirmed.

use std::{collections::BTreeSet, process::Command};

use penfuzz_report::{
    Exception, Exceptions, Find, ResultEvidence,
    exceptions::{Confirmed, places},
};

use crate::support::{Dir, Run, fixture, line_of, pen_cc};

fn search<'a>(dir: &'a Dir, function: &str, arguments: &str, status: i32) -> (Run<'a>, Exceptions) {
    let run = dir
        .penfuzz("exceptions")
        .arg(fixture("exceptions.c"))
        .args(&format!("-o out --seed 1 --max-evals 200000 --lib=-lm -f {function}"))
        .args(arguments)
        .exits(status);
    let found = dir.report("out").exceptions.expect("the report has the exceptions");
    (run, found)
}

/// Returns the finds as `text of the line: exception`.
fn found_at<'a>(finds: &'a [Find], text: &str) -> BTreeSet<&'a str> {
    let line = line_of(&fixture("exceptions.c"), text);
    finds.iter().filter(|f| f.line as usize == line).map(|f| f.exception.name()).collect()
}

#[test]
fn each_kind_is_found() {
    let dir = Dir::new();
    let (run, all) = search(&dir, "each", "", 0);
    let expect = |text: &str, kinds: &[&str]| {
        let found = found_at(&all.finds, text);
        run.expect(found == kinds.iter().copied().collect(), &format!("{kinds:?} at `{text}`, not {found:?}"));
    };
    expect("x * y;", &["overflow", "underflow"]);
    expect("x / y;", &["invalid", "divide-by-zero", "overflow", "underflow"]);
    expect("(int)(x * 0.5)", &["conversion", "underflow"]);
    expect("(unsigned char)y", &["conversion"]);
    expect("log(x);", &["invalid", "divide-by-zero"]);
    expect("sqrt(y)", &["invalid"]);
    expect("pow(x, y)", &["invalid", "divide-by-zero", "overflow", "underflow"]);
    run.expect(all.raising == places(all.finds.iter()), "each operation stands at a place of its own");
    run.expect(all.finds[0].exception == Exception::Invalid, "the worst first");
    run.expect(all.finds.iter().all(|f| !f.operands.is_empty() && f.times > 0), "operands of every find");
}

#[test]
fn each_find_is_confirmed_at_its_operation_without_optimization() {
    let dir = Dir::new();
    let (run, all) = search(&dir, "each", "--cflag=-O0", 0);
    for find in &all.finds {
        let by = find.confirmed.by;
        // The machine raises no flag for these.
        let is_silent = find.operation == "(unsigned char)" || find.exception == Exception::Subnormal;
        run.expect(by == Confirmed::Site || (is_silent && by == Confirmed::Value), &format!("{find:?} confirmed"));
    }
}

#[test]
fn each_find_is_confirmed_with_optimization() {
    let dir = Dir::new();
    let (run, all) = search(&dir, "each", "--cflag=-O2", 0);
    for find in &all.finds {
        // The optimizer gives the call after an inlined sqrt no line.
        let least = if find.operation == "sqrt" { Confirmed::Flag } else { Confirmed::Value };
        run.expect(find.confirmed.by <= least, &format!("{find:?} confirmed"));
    }
}

#[test]
fn guarded_code_has_none() {
    let dir = Dir::new();
    let (run, all) = search(&dir, "guarded", "", 0);
    run.expect(all.finds.is_empty() && all.operations > 4, "operations, and no find");
    run.expect(run.stdout.contains(": 0 exceptions at 0 of "), "the headline says so");
}

#[test]
fn a_result_that_hides_an_overflow_is_called_silent() {
    let dir = Dir::new();
    let (run, all) = search(&dir, "silent", "", 0);
    let overflow = all.finds.iter().find(|f| f.exception == Exception::Overflow && f.operation == "*");
    run.expect(overflow.is_some_and(|f| f.shown == ResultEvidence::Nowhere), "the overflow of y * y is not shown");
    run.expect(run.stdout.contains("SILENT"), "the summary says so");
}

#[test]
fn a_crash_on_the_way_is_told_with_the_exception() {
    let dir = Dir::new();
    let (run, all) = search(&dir, "crash", "", 3);
    let overflow = all.finds.iter().find(|f| f.exception == Exception::Overflow);
    run.expect(
        overflow.is_some_and(|f| matches!(&f.shown, ResultEvidence::Fault(why) if why == "SIGABRT")),
        "SIGABRT behind it",
    );
}

#[test]
fn a_status_shows_an_exception() {
    let dir = Dir::new();
    let (run, all) = search(&dir, "status", "", 0);
    let overflow = all.finds.iter().find(|f| f.exception == Exception::Overflow);
    run.expect(overflow.is_some_and(|f| f.shown == ResultEvidence::Status(16)), "status 16 with the overflow of exp");
}

#[test]
fn a_subnormal_difference_is_a_class_of_its_own() {
    let dir = Dir::new();
    for function in ["difference", "difference_f"] {
        let (run, all) = search(&dir, function, "--fresh", 0);
        let found: Vec<_> = all.finds.iter().map(|f| (f.exception, f.confirmed.by)).collect();
        let expected = [(Exception::Overflow, Confirmed::Site), (Exception::Subnormal, Confirmed::Value)];
        run.expect(found == expected, &format!("{expected:?}, not {found:?}"));
        let folded = format!("\n1 subnormal sum in {function}, 0 not shown by the result");
        run.expect(run.stdout.contains(&folded), "one line for all");
        let all = dir.penfuzz("report out --json").exits(0);
        all.expect(all.stdout.contains("\"outcome\": \"subnormal\""), "the outcome of the site");
    }
}

#[test]
fn a_linked_target_without_operations_says_what_to_do() {
    let dir = Dir::new();
    dir.other(Command::new(pen_cc()).arg("-O2").arg(fixture("exceptions.c")).args(["-lm", "-o", "plain.pen"]));
    let run = dir.penfuzz("exceptions plain.pen -f each -o out").exits(1);
    run.says("plain.pen has no floating-point operations as sites; compile it with pen-cc -fpen-exceptions");
}

#[test]
fn a_report_written_again_keeps_the_finds() {
    let dir = Dir::new();
    let (_, all) = search(&dir, "silent", "", 0);
    let run = dir.penfuzz("report out").exits(0);
    run.expect(dir.report("out").exceptions == Some(all), "the same finds");
    run.expect(run.stdout.contains("OVERFLOW"), "and they are listed");
}

#[test]
fn several_clients_find_the_same_kinds() {
    let dir = Dir::new();
    let (run, all) = search(&dir, "each", "--cores 0", 0);
    let kinds: BTreeSet<_> = all.finds.iter().map(|f| f.exception).collect();
    run.expect(kinds.len() == 6, &format!("all six kinds, not {kinds:?}"));
}

#[test]
fn the_same_seed_gives_the_same_finds() {
    let dir = Dir::new();
    let (_, one) = search(&dir, "each", "", 0);
    let (run, two) = search(&dir, "each", "--fresh", 0);
    run.expect(one.finds == two.finds, "equal finds");
}

mod avoidable {
    use super::*;
    use crate::support::quickstart;

    /// Returns the finds of one exception at this operation.
    fn said<'a>(all: &'a Exceptions, exception: Exception, operation: &str) -> Vec<&'a Find> {
        all.finds.iter().filter(|f| f.exception == exception && f.operation == operation).collect()
    }

    #[test]
    fn a_product_that_a_quotient_brings_back_is_avoidable() {
        let dir = Dir::new();
        let run = dir
            .penfuzz("exceptions")
            .arg(quickstart("parallel.c"))
            .args("-o out --seed 1 --max-evals 200000 --underflow")
            .exits(0);
        let all = dir.report("out").exceptions.expect("the report has the exceptions");
        let [product] = said(&all, Exception::Overflow, "*")[..] else {
            panic!("one overflow of the product: {all:?}")
        };
        run.expect(product.avoidable == Some(true), &format!("{product:?} is avoidable"));
        // Whether the result underflows too depends on the arguments.
        let [tiny] = said(&all, Exception::Underflow, "*")[..] else { panic!("one underflow of the product: {all:?}") };
        run.expect(tiny.precise.is_some(), &format!("{tiny:?} is judged"));
        let [sum] = said(&all, Exception::Overflow, "+")[..] else { panic!("one overflow of the sum: {all:?}") };
        run.expect(sum.avoidable == Some(true), &format!("{sum:?} is avoidable: the result is below both arguments"));
        run.expect(run.stdout.contains("\n  avoidable: in high precision the result is "), "the text says so");
        run.expect(run.stdout.contains("avoidable: 2 of 2 overflow, "), "the text says so");
        run.expect(!run.stdout.contains("--features"), "no hint at what is there");
    }

    #[test]
    fn a_product_that_is_the_result_is_not() {
        let dir = Dir::new();
        let (run, all) = search(&dir, "square", "", 0);
        for exception in [Exception::Overflow, Exception::Underflow] {
            let [square] = said(&all, exception, "*")[..] else { panic!("one {exception:?} of the square: {all:?}") };
            run.expect(square.avoidable == Some(false), &format!("{square:?} is not avoidable"));
        }
        run.expect(run.stdout.contains("\n  not avoidable: in high precision the result is "), "the text says so");
    }

    #[test]
    fn the_range_of_a_float_counts_for_a_float() {
        let dir = Dir::new();
        let (run, all) = search(&dir, "scaled", "", 0);
        let [product] = said(&all, Exception::Overflow, "*")[..] else {
            panic!("one overflow of the product: {all:?}")
        };
        run.expect(product.avoidable == Some(true), &format!("{product:?} is avoidable"));
    }

    #[test]
    fn faulting_runs_are_not_judged_avoidable() {
        let dir = Dir::new();
        let (run, all) = search(&dir, "crash", "", 3);
        let [square] = said(&all, Exception::Overflow, "*")[..] else { panic!("one overflow of the square: {all:?}") };
        run.expect(square.avoidable.is_none() && square.precise.is_none(), "there is no result to compute");
    }
}

mod proved {
    use penfuzz_report::{Report, exceptions::ExceptionVerdict};

    use super::*;
    use crate::prove;

    /// Returns the report of a search in a function of `mean.c`, and what is printed; `None` without solvers.
    fn search(function: &str, arguments: &str) -> Option<(Report, String)> {
        let dir = Dir::new();
        let run = dir
            .penfuzz("exceptions")
            .arg(fixture("mean.c"))
            .args(&format!("-o out --seed 1 -f {function} {arguments}"))
            .env("PENFUZZ_SOLVERS", prove::solvers()?)
            .exits(0);
        Some((dir.report("out"), run.stdout.clone()))
    }

    /// Returns the number of proved sites, and of all sites that can raise the exception as far as the compiler knows.
    fn proved(report: &Report, exception: Exception) -> (usize, usize) {
        let counts = &report.exceptions.as_ref().expect("the report has the exceptions").counts;
        counts.iter().find(|c| c.exception == exception).map_or((0, 0), |c| (c.proved, c.sites))
    }

    #[test]
    fn the_operations_of_called_functions_are_free_for_the_operands_that_they_get() {
        let Some((report, text)) = search("mean", "--max-evals 30000 --max-time 60s") else { return };
        assert_eq!(proved(&report, Exception::Overflow), (3, 3), "{text}");
        assert!(text.contains("proved impossible: 3 of 3 overflow; "), "{text}");
        let context: Vec<_> = report.proved().map(|proved| proved.proof.within.as_str()).collect();
        assert!(context.contains(&"mean"), "a proof about the calls: {context:?}");
    }

    #[test]
    fn a_function_whose_exceptions_are_all_impossible_is_proved_free() {
        let Some((report, text)) = search("mean_of_lengths", "--max-evals 30000 --max-time 120s") else { return };
        assert_eq!(report.verdict, Some(ExceptionVerdict::FreeProved), "{text}");
        let operations = report.operations.expect("counts of operations");
        assert_eq!((operations.total, operations.found, operations.proved_free, operations.open), (5, 0, 5, 0));
        assert!(text.contains("\nfree of exceptions: proved\n"), "{text}");
        let Some((report, text)) = search("mean_of_lengths", "--max-evals 30000 --no-prove") else { return };
        assert_eq!(report.verdict, Some(ExceptionVerdict::FreeSearched), "{text}");
    }

    #[test]
    fn a_call_through_a_pointer_may_pass_any_operands() {
        let Some((report, text)) = search("mean_by_choice", "--max-evals 30000") else { return };
        // `halfway` is also called through the pointer, and its difference overflows for other operands.
        let line = line_of(&fixture("mean.c"), "(to - from)") as u32;
        let proofs: Vec<_> = report.sites.iter().filter(|s| s.line == line).flat_map(|s| &s.branches).collect();
        assert!(proofs.iter().filter_map(|b| b.proof.as_ref()).all(|p| p.within.is_empty()), "{text}");
        assert_eq!(proved(&report, Exception::Overflow).1, 4, "{text}");
    }

    #[test]
    fn a_recursive_function_has_no_context() {
        let Some((report, text)) = search("grown", "--max-evals 100") else { return };
        assert_eq!(proved(&report, Exception::Overflow), (0, 1), "the product of the 1024th activation: {text}");
    }

    #[test]
    fn without_a_time_limit_the_solvers_get_three_seconds() {
        let dir = Dir::new();
        let solvers = prove::stand_ins(&dir, &[("z3", "sleep 600"), ("cvc5", "sleep 600")]);
        dir.penfuzz("exceptions")
            .arg(fixture("mean.c"))
            .args("-o out --seed 1 -f mean_of_lengths --max-evals 100")
            .env("PENFUZZ_SOLVERS", &solvers)
            .exits(0);
        let report = dir.report("out");
        let proofs = report.sites.iter().flat_map(|site| &site.branches).filter_map(|branch| branch.proof.as_ref());
        // Without the time in which a solver waits for a processor.
        let seconds: f64 = proofs.flat_map(|proof| &proof.answers).map(|answer| answer.seconds).sum();
        assert!(seconds > 0.5, "they are asked: {seconds} s");
        assert!(seconds < 3.5, "a goal that they do not decide costs no more: {seconds} s");
    }
}
