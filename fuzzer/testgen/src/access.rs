//! Decides how the test program calls the function under test, and in which language the program is written.
//!
//! | access | when | the types of the signature |
//! | --- | --- | --- |
//! | [`Access::Header`] | one of the source's headers declares it ([`Header`](penfuzz_report::Header)) | the header's |
//! | [`Access::Prototype`] | C itself has all its types, and it is not a C++ function | C's own |
//! | the same | there is no source, and structures can be [declared again](super::mirror) | C's own, and mirrors |
//! | [`Access::Source`] | it is `static`, or has variables as inputs, or needs the source (see below) | the source's |
//! | [`Access::Wrapper`] | as [`Access::Source`], if the function is C and the program C++ | C's own |
//!
//! A function needs the source if only the source shows its types, its namespace or its overloads. A C++ program cannot
//! include a C source, because C code need not be valid C++.

use std::path::Path;

use penfuzz_report::{
    c_text::{identifier, is_cxx, is_header},
    model::Report,
};

use super::{by_symbol::must_include, formats, globals, is_byte_harness, prototype};

/// How the program accesses the function under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The program declares the function itself.
    Prototype,
    /// The program includes a header of the project.
    Header,
    /// The program includes the source file, which therefore must not be linked with it.
    Source,
    /// The program calls a function in another emitted file, in C, which includes the source file.
    Wrapper,
}

impl Access {
    /// The access for the program of this report.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        if report.is_program() {
            return Self::Prototype;
        }
        let is_static = report.signature.is_static || globals::has_any(report);
        if report.header.is_some() && !is_static && !is_byte_harness(report) {
            return Self::Header;
        }
        if is_cxx_function(report) || has_throws(report) || globals::has_any(report) {
            return if wraps(report) { Self::Wrapper } else { Self::Source };
        }
        if !must_include(report) || report.without_source && prototype::is_possible(report) {
            return Self::Prototype;
        }
        if wraps(report) { Self::Wrapper } else { Self::Source }
    }
}

/// Returns whether the program is C++ and the source is not.
fn wraps(report: &Report) -> bool {
    formats::format_of(report).is_cxx && !has_cxx_source(report)
}

/// Returns whether the program includes the source file of the function under test, which then must not be linked with
/// it.
#[must_use]
pub fn includes_source(report: &Report) -> bool {
    Access::of(report) == Access::Source
}

/// Returns whether the function has a mangled C++ name.
pub(super) fn is_cxx_function(report: &Report) -> bool {
    report.signature.symbol.starts_with("_Z") && !is_byte_harness(report)
}

/// Returns whether a test ends by a C++ exception, which only a C++ program can catch.
pub(super) fn has_throws(report: &Report) -> bool {
    report.tests.iter().any(|t| t.throws.is_some())
}

/// Returns whether the source file of the function is C++.
fn has_cxx_source(report: &Report) -> bool {
    let file = Path::new(report.signature.source());
    is_cxx(file) || is_header(file) && report.signature.symbol.starts_with("_Z")
}

/// Returns whether the program is C++.
pub(super) fn is_cxx_program(report: &Report) -> bool {
    formats::format_of(report).is_cxx
        || match Access::of(report) {
            Access::Source => has_cxx_source(report),
            // A header that a C++ source includes may be C++ itself, and the types have C++ names.
            Access::Header => is_cxx_function(report) || has_cxx_source(report) || has_throws(report),
            Access::Prototype => report.is_program() && has_throws(report),
            Access::Wrapper => false,
        }
}

/// Returns whether the program can name the types of the signature.
pub(super) fn has_types(report: &Report) -> bool {
    matches!(Access::of(report), Access::Source | Access::Header)
}

/// A file of the program: its name and its text.
pub type File = (String, String);

/// The stem of the file names: `test_` and the name of the function.
pub(super) fn stem(report: &Report) -> String {
    format!("test_{}", identifier(&report.function))
}

/// The program's file name: `test_FUNCTION.c`, or `.cpp` when it is C++.
#[must_use]
pub fn file_name(report: &Report) -> String {
    format!("{}.{}", stem(report), if is_cxx_program(report) { "cpp" } else { "c" })
}

/// The file name of the wrapper ([`Access::Wrapper`]).
pub(super) fn wrapper_name(report: &Report) -> String {
    format!("{}_wrapper.c", stem(report))
}

/// The name of the wrapper function.
pub(super) fn wrapper_function(report: &Report) -> String {
    format!("tested_{}", identifier(&report.function))
}

/// The file names that the tests of this function have in any format. An earlier run in another format may have left
/// some of them, which are removed.
#[must_use]
pub fn possible_files(report: &Report) -> Vec<String> {
    let stem = stem(report);
    let own = [format!("{stem}.c"), format!("{stem}.cpp"), wrapper_name(report), formats::COUNTS_FILE.to_owned()];
    own.into_iter().chain(formats::possible_support()).collect()
}
