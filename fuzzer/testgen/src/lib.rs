//! `tests/test_FUNCTION.c`: a program that calls the function under test with the arguments of every emitted test, so
//! that a C compiler and gcov are enough to reproduce the coverage of a campaign.
//!
//! The program has one of several [formats]: `plain`, or that of a project's test framework.
//!
//! It includes the project's header that declares the function, if there is one. Otherwise it *declares* the function,
//! with the types of its definition where they are types of C itself, else with the fixed-width types of the same size.
//! If there is no other way to call the function, it *includes the source file* ([`includes_source`]); see `access.rs`.
//! The program is compiled with `-fno-builtin`, because a compiler would otherwise evaluate a call of a function such
//! as `pow` as the built-in one.
//!
//! A test whose arguments include a directed rounding mode calls the function in it and restores the default mode
//! before it prints anything.
//!
//! The program is a regression test: it expects the results of the campaign
//! ([`Test::result`](penfuzz_report::Test::result), [`Test::outputs`](penfuzz_report::Test::outputs),
//! [`Test::errno`](penfuzz_report::Test::errno)), right or wrong. Floats are compared by their bits, or within
//! [`Report::ulp`] floats of each other; a NaN equals every NaN. The exit status is 1 if an expectation fails.
//!
//! A test that ends the process by `exit` runs in a forked child, and the exit status of the child is checked. gcov
//! counts its branches: `exit` writes the counts itself, and the program defines an `_exit` that calls `__gcov_dump`.
//! That function must be linked explicitly (`-u`), because a weak reference takes nothing out of an archive. Inputs
//! that crash are expected failures: they run in a child as well, and must end by the same signal. gcov does not count
//! their branches: a process that dies of a signal writes no counts, and the counts of a function that is left in the
//! middle would make gcov infer wrong counts for other branches. So gcov's count is that of
//! [`Branches::covered`](penfuzz_report::Branches::covered), without the branches that only crashes cover.
//!
//! A test that ends by a C++ exception catches it and checks its type. The program is then a C++ program.
//!
//! A whole program keeps its `main`: the linker redirects the reference of the start code (`--wrap=main`), so that the
//! program begins with the tests, and these call the `main` of the source. Thus the source's `main` keeps its special
//! meaning in the language: without a `return` at its end it returns 0.
//!
//! Hangs are listed in a comment at the end and not called; so are crashes that end by no signal or depend on earlier
//! calls.

mod access;
mod by_symbol;
mod callbacks;
mod cases;
mod checks;
mod command;
#[cfg(test)]
mod edited_reports;
mod enumerations;
pub mod environment;
pub mod formats;
mod fragments;
mod globals;
mod memory;
mod mirror;
mod names;
mod plan;
mod prologue;
mod prototype;
mod result;
mod sequence;
mod streams;
mod table;
mod trial;

use std::fmt::Write;

use penfuzz_report::{
    c_text::{call, comment, decimals},
    literal::kind_named,
    model::{Finding, Report},
    words::Words,
};

pub use access::{Access, File, file_name, includes_source, possible_files};
pub use by_symbol::{must_include, symbol_name, symbol_prologue};
pub use command::{Objects, absolute_flags_from, build_with, commands, commands_by, defines_main, project_sources};
pub use plan::in_language;
pub use prologue::{c_type, cell_values, output};
pub use trial::trial;

/// The element type of a program's arguments.
pub const ARGUMENT: &str = "char *";

/// The entry point of libFuzzer-style targets. Its argument is a byte buffer.
const BYTE_HARNESS: &str = "LLVMFuzzerTestOneInput";

/// The text of the program. It needs the standard headers, and the headers of its format and of the function's project.
#[must_use]
pub fn program(report: &Report) -> String {
    (formats::format_of(report).program)(report, &cases::all(report))
}

/// The program, and the header of helpers that it includes.
#[must_use]
pub fn program_files(report: &Report) -> Vec<File> {
    vec![(file_name(report), program(report)), formats::support(report)]
}

/// All files in the directory of the program: its text, the files that are compiled with it, and fragments for build
/// systems.
#[must_use]
pub fn files(report: &Report) -> Vec<File> {
    let mut files = program_files(report);
    files.extend(prologue::wrapper(report));
    let counts = formats::counts(report, &cases::all(report));
    files.extend(counts.map(|text| (formats::COUNTS_FILE.to_owned(), text.to_owned())));
    files.extend(fragments::all(report));
    files
}

/// Linker options, as gcc takes them, that keep gcov's counts of the plain program's children.
#[must_use]
pub fn coverage_options(report: &Report) -> &'static [&'static str] {
    let has_children = report.test_format.is_plain() && formats::has_children(&cases::all(report));
    if has_children { &["-Wl,-u,__gcov_dump,-u,__gcov_reset"] } else { &[] }
}

/// The comment at the head of the program.
fn head(report: &Report) -> String {
    if let Some(reference) = &report.expects {
        return head_of_reference(report, reference);
    }
    let (b, words) = (&report.branches, Words::of(report.goals));
    let crash_only = match b.covered_by_crash_only {
        0 => String::new(),
        n => format!(
            "\n * Only inputs that crash {} {n} more. {}gcov does not count them.",
            if report.goals.include_branches() { "cover" } else { words.done },
            if report.crashes.iter().any(cases::is_expected) {
                "They are at the end, as expected failures, and "
            } else {
                ""
            }
        ),
    };
    format!(
        "/* Tests of {} ({}:{}), emitted by {} (search {}, seed {}).\n * They {} {} of {} {}. Build, run and \
         see gcov's count:\n *\n *   {}\n *{crash_only}\n * These are regression tests of found values, not a \
         specification: they expect what the function did when\n * penfuzz ran it, right or wrong.\n */\n",
        comment(&report.function),
        comment(&report.signature.file),
        report.signature.line,
        comment(emitter(report)),
        comment(&report.search),
        report.seed,
        words.done,
        b.covered,
        b.total,
        words.goals,
        comment(&command::command_line(report)),
    )
}

/// The program that emits the tests, with its version.
fn emitter(report: &Report) -> &str {
    report.origin.as_ref().map_or("penfuzz", |origin| &origin.program)
}

/// The head comment of a program whose tests expect the values of a reference.
fn head_of_reference(report: &Report, reference: &str) -> String {
    let is_integer = kind_named(&report.signature.result_kind).is_some_and(|kind| !kind.is_float());
    let within = match report.ulp {
        0 => String::new(),
        // Of a status next to other results, all bits are expected.
        n if is_integer && report.tests.iter().all(|test| test.outputs.is_empty()) => format!(", within {n} of each"),
        n => format!(", within {n} floats of each"),
    };
    format!(
        "/* Tests of {} ({}:{}), emitted by penfuzz.\n * They expect the values of {}{within}. Build and run:\n *\n \
         *   {}\n */\n",
        comment(&report.function),
        comment(&report.signature.file),
        report.signature.line,
        comment(reference),
        comment(&command::plain_line(report)),
    )
}

/// Returns whether the function under test is an `LLVMFuzzerTestOneInput`.
#[must_use]
pub fn is_byte_harness(report: &Report) -> bool {
    report.function == BYTE_HARNESS
}

/// Comments on the crashes and hangs that no test expects.
fn not_called(report: &Report) -> String {
    let crashes: Vec<_> = report.crashes.iter().filter(|c| !cases::is_expected(c)).collect();
    let hangs: Vec<_> = report.hangs.iter().collect();
    listed(report, "Crashes", &crashes) + &listed(report, "Hangs", &hangs)
}

fn listed(report: &Report, title: &str, findings: &[&Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut out = format!("\n/* {title}, not called above:\n");
    for finding in findings {
        let depends = finding.dependence().map_or_else(String::new, |why| format!(", {why}"));
        let what = comment(&format!("{} in {} ({}){depends}", finding.reason, finding.place, finding.file));
        let call = comment(&call(report, &finding.args));
        let _ = writeln!(out, " *\n * {what}\n *   {call}; with {}", comment(&decimals(&finding.args)));
    }
    out.push_str(" */\n");
    out
}

#[cfg(test)]
#[path = "unit_test_tests.rs"]
mod tests;
