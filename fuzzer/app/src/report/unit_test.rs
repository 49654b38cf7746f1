//! `tests/test_FUNCTION.c`: a program that calls the function under test with the arguments of every emitted test,
//! so that a C compiler and gcov are enough to reproduce the coverage of a campaign.
//!
//! The program *declares* the function with the types of its definition, where C itself has them, else with the fixed-width ones
//! of the same size; so no header of the project is needed. It is compiled with `-fno-builtin`, or a compiler would evaluate
//! the call of a `pow` as the built-in one.
//!
//! It *includes the source file* instead ([`includes_source`]) when there is no other way to call the function: it
//! is `static`, its result or a parameter has a type that only the project's own headers define, or it is a C++ function, whose
//! namespace, overload and references only the source shows.
//!
//! A test whose arguments include a directed rounding mode calls the function in it and restores the default one before
//! it prints anything.
//!
//! It is a regression test: it expects the results of the campaign ([`Test::result`], [`Test::outputs`], [`Test::errno`]), right or
//! wrong. Floats are compared by their bits, or within [`Report::ulp`] floats of each other; a NaN equals every NaN. The exit
//! status is 1 when an expectation fails.
//!
//! A test that ends the process by `exit` runs in a forked child, whose exit status is checked. gcov counts its branches:
//! `exit` writes the counts itself, and the program has an `_exit` that calls `__gcov_dump`, which must be linked explicitly
//! (`-u`), because a weak reference takes nothing out of an archive. Inputs that crash are expected failures: they run in a child,
//! too, and must end by the same signal. gcov does not count theirs: a process that dies of a signal writes no counts, and those
//! of a function that is left in the middle would make gcov infer wrong counts for other branches. So gcov's count is that of
//! [`Branches::covered`](super::Branches::covered), without what only crashes cover.
//!
//! A test that ends by a C++ exception catches it, and checks its type. Only a program that includes the source is one in C++.
//!
//! Hangs are listed in a comment at the end and not called, and so are crashes that end by no signal.

mod by_symbol;
mod calls;
mod command;
mod prologue;

use std::{fmt::Write, path::Path};

use super::{
    c_text::{call, comment, decimals, identifier, is_cxx, is_header},
    model::{Finding, Report},
    words::Words,
};

pub use by_symbol::{must_include, symbol_name, symbol_prologue};
pub use command::{absolute_flags_from, commands, defines_main};
pub use prologue::{c_type, cell_values, output, prologue};

/// The entry point of libFuzzer-style targets; its one argument is a byte buffer.
const BYTE_HARNESS: &str = "LLVMFuzzerTestOneInput";

/// The program's file name: `test_FUNCTION.c`, or `.cpp` when it includes a C++ source.
#[must_use]
pub fn file_name(report: &Report) -> String {
    let extension = if is_cxx_program(report) { "cpp" } else { "c" };
    format!("test_{}.{extension}", identifier(&report.function))
}

/// The program includes the source file of the function under test, which therefore must not be linked with it.
#[must_use]
pub fn includes_source(report: &Report) -> bool {
    must_include(report) || has_throws(report) || report.signature.symbol.starts_with("_Z") && !is_byte_harness(report)
}

fn is_cxx_program(report: &Report) -> bool {
    let file = Path::new(&report.signature.file);
    includes_source(report) && (is_cxx(file) || is_header(file) && report.signature.symbol.starts_with("_Z"))
}

/// The text of the program. It needs the standard headers only (and the source file, see [`includes_source`]).
#[must_use]
pub fn program(report: &Report) -> String {
    let mut out = header(report);
    out.push_str(&prologue(report));
    let _ = write!(out, "\n#define PENFUZZ_ULP {}ULL\n{}", report.ulp, calls::HELPERS);
    if has_children(report) {
        let _ = write!(out, "\n{}", calls::CHILDREN);
    }
    if has_exits(report) {
        out.push_str(calls::EXITS);
    }
    if has_throws(report) {
        out.push_str(calls::THROWS);
    }
    out.push_str("\nint main(void)\n{\n");
    for (index, test) in report.tests.iter().enumerate() {
        out.push_str(&calls::block(report, index + 1, test));
    }
    let failing = report.crashes.iter().filter(|c| calls::is_expected(c));
    for (index, finding) in failing.enumerate() {
        out.push_str(&calls::failing_block(report, report.tests.len() + index + 1, finding));
    }
    if report.tests.is_empty() {
        out.push_str("  puts(\"no test was emitted\");\n");
    }
    out.push_str("  if (penfuzz_failures) printf(\"%d checks FAILED\\n\", penfuzz_failures);\n");
    out.push_str("  return penfuzz_failures != 0;\n}\n");
    let others: Vec<_> = report.crashes.iter().filter(|c| !calls::is_expected(c)).collect();
    out.push_str(&not_called(report, "Crashes", &others));
    out.push_str(&not_called(report, "Hangs", &report.hangs.iter().collect::<Vec<_>>()));
    out
}

/// Does a test end the process by `exit`?
fn has_exits(report: &Report) -> bool {
    report.tests.iter().any(|t| t.ends.is_some())
}

/// Does the function keep values between two calls, so that each test needs a process of its own?
fn keeps_state(report: &Report) -> bool {
    !report.shared_state.is_empty() || report.tests_apart
}

/// Does a test end by a C++ exception? Only a program in C++ can catch it.
fn has_throws(report: &Report) -> bool {
    report.tests.iter().any(|t| t.throws.is_some())
}

/// Does a call happen in a child process?
fn has_children(report: &Report) -> bool {
    has_exits(report) || keeps_state(report) || report.crashes.iter().any(calls::is_expected)
}

/// Options of the linker, as gcc takes them, without which gcov loses what the program counts in children.
#[must_use]
pub fn coverage_options(report: &Report) -> &'static [&'static str] {
    if has_children(report) { &["-Wl,-u,__gcov_dump,-u,__gcov_reset"] } else { &[] }
}

fn header(report: &Report) -> String {
    let (b, words) = (&report.branches, Words::of(report.goals));
    let crash_only = match b.covered_by_crash_only {
        0 => String::new(),
        n => format!(
            "\n * Only inputs that crash {} {n} more. They are at the end, as expected failures, and gcov does not count them.",
            if report.goals.are_branches() { "cover" } else { words.done }
        ),
    };
    format!(
        "/* Tests of {} ({}:{}), emitted by penfuzz (search {}, seed {}).\n * They {} {} of {} {}. Build, run and \
         see gcov's count:\n *\n *   {}\n *{crash_only}\n * These are regression tests: they expect what the function did when \
         penfuzz ran it, right or wrong.\n */\n",
        comment(&report.function),
        comment(&report.signature.file),
        report.signature.line,
        comment(&report.search),
        report.seed,
        words.done,
        b.covered,
        b.total,
        words.goals,
        comment(&command::command_line(report)),
    )
}

/// Is the function under test an `LLVMFuzzerTestOneInput`?
#[must_use]
pub fn is_byte_harness(report: &Report) -> bool {
    report.function == BYTE_HARNESS
}

fn not_called(report: &Report, title: &str, findings: &[&Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut out = format!("\n/* {title}, not called above:\n");
    for finding in findings {
        let what = comment(&format!("{} in {} ({})", finding.reason, finding.place, finding.file));
        let call = comment(&call(report, &finding.args));
        let _ = writeln!(out, " *\n * {what}\n *   {call}; with {}", comment(&decimals(&finding.args)));
    }
    out.push_str(" */\n");
    out
}

#[cfg(test)]
#[path = "unit_test_tests.rs"]
mod tests;
