//! How the test program gets at the function under test, and in which language it is therefore written.
//!
//! | access | when | the types of the signature |
//! | --- | --- | --- |
//! | [`Access::Header`] | one of the source's own headers declares it ([`Header`](penfuzz_report::Header)) | the header's |
//! | [`Access::Prototype`] | C itself has all its types, and it is no C++ function | C's own |
//! | the same | there is no source to include, and structures can be [declared again](super::mirror) | C's own, and mirrors |
//! | [`Access::Source`] | it is `static`, variables are its inputs, or only the source shows its types, its namespace or its overloads | the source's |
//! | [`Access::Wrapper`] | the same, of a C function, when the program is C++: C sources need not be C++ | C's own |

use std::path::Path;

use penfuzz_report::{
    c_text::{identifier, is_cxx, is_header},
    model::Report,
};

use super::{by_symbol::must_include, formats, globals, is_byte_harness, prototype};

/// How the program gets at the function under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It has a prototype of its own.
    Prototype,
    /// It includes a header of the project.
    Header,
    /// It includes the source file, which therefore must not be linked with it.
    Source,
    /// It calls a function of another file, in C, which includes the source file.
    Wrapper,
}

impl Access {
    /// For the program of this report.
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

/// Is the program C++ and the source not?
fn wraps(report: &Report) -> bool {
    formats::format_of(report).is_cxx && !has_cxx_source(report)
}

/// The program includes the source file of the function under test, which therefore must not be linked with it.
#[must_use]
pub fn includes_source(report: &Report) -> bool {
    Access::of(report) == Access::Source
}

/// Has the function a name that C cannot spell?
pub(super) fn is_cxx_function(report: &Report) -> bool {
    report.signature.symbol.starts_with("_Z") && !is_byte_harness(report)
}

/// Does a test end by a C++ exception? Only a program in C++ can catch it.
pub(super) fn has_throws(report: &Report) -> bool {
    report.tests.iter().any(|t| t.throws.is_some())
}

/// Is the source file of the function C++?
fn has_cxx_source(report: &Report) -> bool {
    let file = Path::new(report.signature.source());
    is_cxx(file) || is_header(file) && report.signature.symbol.starts_with("_Z")
}

/// Is the program C++?
pub(super) fn is_cxx_program(report: &Report) -> bool {
    formats::format_of(report).is_cxx
        || match Access::of(report) {
            Access::Source => has_cxx_source(report),
            // A header that a source in C++ includes may be in C++ itself, and the types have the names of C++.
            Access::Header => is_cxx_function(report) || has_cxx_source(report) || has_throws(report),
            Access::Prototype => report.is_program() && has_throws(report),
            Access::Wrapper => false,
        }
}

/// Does the program see the types of the signature by their names?
pub(super) fn has_types(report: &Report) -> bool {
    matches!(Access::of(report), Access::Source | Access::Header)
}

/// A file that is part of the program: its name, and its text.
pub type File = (String, String);

/// Its name begins with `test_` and the name of the function.
pub(super) fn stem(report: &Report) -> String {
    format!("test_{}", identifier(&report.function))
}

/// The program's file name: `test_FUNCTION.c`, or `.cpp` when it is C++.
#[must_use]
pub fn file_name(report: &Report) -> String {
    format!("{}.{}", stem(report), if is_cxx_program(report) { "cpp" } else { "c" })
}

/// The file of [`Access::Wrapper`].
pub(super) fn wrapper_name(report: &Report) -> String {
    format!("{}_wrapper.c", stem(report))
}

/// The name of the function there.
pub(super) fn wrapper_function(report: &Report) -> String {
    format!("tested_{}", identifier(&report.function))
}

/// The files of the tests of this function in every format: what an earlier run in another format has left is removed.
#[must_use]
pub fn possible_files(report: &Report) -> Vec<String> {
    let stem = stem(report);
    vec![format!("{stem}.c"), format!("{stem}.cpp"), wrapper_name(report), formats::COUNTS_FILE.to_owned()]
}
