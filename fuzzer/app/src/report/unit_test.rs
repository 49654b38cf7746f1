//! `tests/test_FUNCTION.c`: a program that calls the function under test with the arguments of every emitted test,
//! so that a C compiler and gcov are enough to reproduce the coverage of a campaign.
//!
//! The program *declares* the function under a name of its own and binds that name to the symbol. Otherwise a compiler
//! would evaluate the call of a `pow` as the built-in one, or report a conflict with the declaration in `<math.h>`. Types are the fixed-width ones of the same size, so no header of the project is needed.
//!
//! It *includes the source file* instead ([`includes_source`]) when there is no other way to call the function: it
//! is `static`, or its result or a parameter has a type that only the project's own headers define.
//!
//! A test whose arguments include a directed rounding mode calls the function in it and restores the default one before
//! it prints anything.
//!
//! Inputs that crash or hang are listed in a comment at the end and not called.

mod calls;
mod command;
mod prologue;

use std::{fmt::Write, path::Path};

use super::{
    c_text::{call, comment, decimals, identifier, is_cxx},
    model::{Finding, Report},
    words::Words,
};

pub use command::defines_main;
pub use prologue::{c_type, cell_values, output, prologue, tested_name};

/// The entry point of libFuzzer-style targets; its one argument is a byte buffer.
const BYTE_HARNESS: &str = "LLVMFuzzerTestOneInput";

/// The program's file name: `test_FUNCTION.c`, or `.cpp` when it includes a C++ source.
#[must_use]
pub fn file_name(report: &Report) -> String {
    let extension = if includes_source(report) && is_cxx(Path::new(&report.signature.file)) { "cpp" } else { "c" };
    format!("test_{}.{extension}", identifier(&report.function))
}

/// The program includes the source file of the function under test, which therefore must not be linked with it.
#[must_use]
pub fn includes_source(report: &Report) -> bool {
    let signature = &report.signature;
    signature.is_static
        || c_type(&signature.result_kind, &signature.result).is_none() && !is_byte_harness(report)
        || signature.parameters.iter().any(|p| p.kind.is_empty()) && !is_byte_harness(report)
}

/// The text of the program. It needs the standard headers only (and the source file, see [`includes_source`]).
#[must_use]
pub fn program(report: &Report) -> String {
    let mut out = header(report);
    out.push_str(&prologue(report));
    out.push('\n');
    out.push_str(calls::HELPERS);
    out.push_str("\nint main(void)\n{\n");
    for (index, test) in report.tests.iter().enumerate() {
        out.push_str(&calls::block(report, index + 1, test));
    }
    if report.tests.is_empty() {
        out.push_str("  puts(\"no test was emitted\");\n");
    }
    out.push_str("  return 0;\n}\n");
    for (title, findings) in [("Crashes", &report.crashes), ("Hangs", &report.hangs)] {
        out.push_str(&not_called(report, title, findings));
    }
    out
}

fn header(report: &Report) -> String {
    let (b, words) = (&report.branches, Words::of(report.goals));
    format!(
        "/* Tests of {} ({}:{}), emitted by penfuzz (search {}, seed {}).\n * {} {} {} of {} {}. Build, run and \
         see gcov's count:\n *\n *   {}\n */\n",
        comment(&report.function),
        comment(&report.signature.file),
        report.signature.line,
        comment(&report.search),
        report.seed,
        if report.crashes.is_empty() { "They" } else { "They and the crashes at the end" },
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

fn not_called(report: &Report, title: &str, findings: &[Finding]) -> String {
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
