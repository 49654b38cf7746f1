//! The formats of emitted tests (`--test-format`). Each format is one file here and one line in [`FORMATS`].
//!
//! All formats write the same cases and accept the same values: floats are compared by their bits or
//! within [`Report::ulp`], and a NaN equals every NaN. Integers are compared by the framework's own assertions. No
//! framework has these rules for floats and structures, so `differences.c` finds the difference, and the framework
//! reports it.

mod catch2;
mod check;
mod cmocka;
mod common;
mod googletest;
mod plain;
mod support;
mod unity;

use penfuzz_report::{model::Report, test_format::TestFormat};
use support::Helpers;

use super::{
    access::File,
    cases::{Case, Ending},
};

/// Every format; the first is the default.
pub static FORMATS: [&Format; 6] =
    [&plain::FORMAT, &googletest::FORMAT, &catch2::FORMAT, &unity::FORMAT, &cmocka::FORMAT, &check::FORMAT];

/// A format of the emitted tests.
#[derive(Debug)]
pub struct Format {
    /// Its name on the command line and in reports.
    pub format: TestFormat,
    /// Description for the command line.
    pub help: &'static str,
    /// The program must be C++.
    pub is_cxx: bool,
    /// How the program is built with the framework.
    pub library: Library,
    /// The helpers of the program, in a header of their own.
    pub helpers: Helpers,
    /// Writes the text of the program.
    pub program: fn(&Report, &[Case]) -> String,
}

/// Options to build a program with a framework.
#[derive(Debug, Default)]
pub struct Library {
    /// Shell words for the compilation of the program.
    pub options: &'static str,
    /// A C file of the framework to compile with the program, as a shell word.
    pub source: &'static str,
    /// Shell words for the linking of the program.
    pub libs: &'static str,
    /// Lines of `CMakeLists.txt` before the program.
    pub cmake: &'static str,
    /// The `CMake` targets to link.
    pub cmake_libs: &'static str,
    /// Lines of `meson.build` before the program; they define the dependency `test_framework`.
    pub meson: &'static str,
}

/// The format that a report's tests are written in.
#[must_use]
pub fn format_of(report: &Report) -> &'static Format {
    FORMATS.iter().find(|f| f.format == report.test_format).unwrap_or(&FORMATS[0])
}

/// The header that the program includes.
pub(super) fn support(report: &Report) -> File {
    let format = format_of(report);
    (support::file(format.format), support::text(format))
}

/// The names of such headers.
pub(super) fn possible_support() -> impl Iterator<Item = String> {
    support::possible_files()
}

/// Returns whether a call runs in a child process.
pub(super) fn has_children(cases: &[Case]) -> bool {
    cases.iter().any(|c| c.own_process || c.ending != Ending::Return)
}

/// The functions that the arguments of a test may call.
pub(super) const VALUES: &str = concat!("#define PENFUZZ_ULP 0ULL\n", include_str!("../values.c"));

/// The file that lets gcov count in children. The plain program contains this code itself.
pub(super) const COUNTS_FILE: &str = "penfuzz_counts.c";

/// The text of [`COUNTS_FILE`]; `None` if the program does not need it.
pub(super) fn counts(report: &Report, cases: &[Case]) -> Option<&'static str> {
    (!report.test_format.is_plain() && has_children(cases)).then_some(include_str!("../counts.c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_format_can_be_written() {
        assert_eq!(FORMATS.map(|f| f.format), TestFormat::ALL);
    }
}
