//! Names of the files of a report in the output directory. They are defined here and not in the modules that write the
//! files, because the terminal texts list all of them.

use std::{fmt::Write, path::Path};

use super::{c_text::identifier, model::Report};

/// The complete report, for programs.
pub const JSON: &str = "report.json";
/// A page for a browser.
pub const HTML: &str = "report.html";
/// Branch coverage for other tools; only in campaigns for branches.
pub const LCOV: &str = "coverage.lcov";
/// The same counts in the Cobertura format, for services that do not read lcov's.
pub const COBERTURA: &str = "coverage.xml";
/// The conditions of decisions with the tests that show them; only in campaigns for MC/DC.
pub const DECISIONS: &str = "decisions.csv";
/// Boundary values, exceptions, paths and loops with the tests that fulfil them; only with such a `--criterion`.
pub const CRITERIA: &str = "criteria.csv";
/// The required tags with their lines and tests; only with `--requirements`.
pub const REQUIREMENTS: &str = "requirements.csv";
/// The directory of the test program.
pub const TESTS: &str = "tests";

/// The test program, relative to the output directory: as the report names it, else by the rule for a program in C.
#[must_use]
pub fn test_program(report: &Report) -> String {
    let by_rule = || format!("{TESTS}/test_{}.c", identifier(&report.function));
    report.test_program.as_ref().map_or_else(by_rule, |program| program.file.clone())
}

/// Writes the last section of a text: the files in output directory `dir`, each with a description.
pub(super) fn list(dir: &Path, files: &[(&str, &str)], out: &mut String) {
    let _ = writeln!(out, "\nFiles in {}", dir.display());
    for (file, what) in files {
        let _ = writeln!(out, "  {file:<24}  {what}");
    }
}
