//! The formats in which the emitted tests can be written (`--test-format`). A format is one file here and one line in [`FORMATS`].
//!
//! All formats write the same [cases](super::cases) and accept the same values: floats are compared by their bits or within
//! [`Report::ulp`], and a NaN equals every NaN. Integers go through the framework's own assertions. For floats and structures no
//! framework has these rules, so that `differences.c` finds the difference, and the framework reports it.

mod catch2;
mod check;
mod cmocka;
mod common;
mod googletest;
mod plain;
mod unity;

#[cfg(test)]
pub(super) use plain::{CHILDREN, HELPERS};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cases::{Case, Ending};
use crate::report::model::Report;

/// Every format; the first is the default.
pub static FORMATS: [&Format; 6] =
    [&plain::FORMAT, &googletest::FORMAT, &catch2::FORMAT, &unity::FORMAT, &cmocka::FORMAT, &check::FORMAT];

/// A format.
#[derive(Debug)]
pub struct Format {
    /// Name on the command line and in reports.
    pub name: &'static str,
    /// What it is, for the command line.
    pub help: &'static str,
    /// Must the program be C++?
    pub is_cxx: bool,
    /// How the program is built with the framework.
    pub library: Library,
    /// Writes the text of the program.
    pub program: fn(&Report, &[Case]) -> String,
}

/// How a program is built with a framework.
#[derive(Debug, Default)]
pub struct Library {
    /// Words for a shell that compiles the program.
    pub options: &'static str,
    /// A C file of the framework to compile with it, as a word for a shell.
    pub source: &'static str,
    /// Words for a shell that links it.
    pub libs: &'static str,
    /// Lines of `CMakeLists.txt` before the program.
    pub cmake: &'static str,
    /// What `CMake` links.
    pub cmake_libs: &'static str,
    /// Lines of `meson.build` before the program; they define `test_framework`, a dependency.
    pub meson: &'static str,
}

impl Format {
    /// Is it the one that needs no framework?
    #[must_use]
    pub fn is_plain(&self) -> bool {
        std::ptr::eq(self, &raw const plain::FORMAT)
    }
}

/// The format of a report's tests.
#[derive(Debug, Clone, Copy)]
pub struct TestFormat(&'static Format);

impl TestFormat {
    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|f| f.name == name).map(|f| Self(f))
    }

    /// The format.
    #[must_use]
    pub fn get(self) -> &'static Format {
        self.0
    }

    /// Is it the default?
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.0.is_plain()
    }
}

impl Default for TestFormat {
    fn default() -> Self {
        Self(FORMATS[0])
    }
}

impl PartialEq for TestFormat {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for TestFormat {}

impl Serialize for TestFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name)
    }
}

/// A name that is none, in a report of another version or of a stranger, is the default. (A suite file is checked by [`known`].)
impl<'de> Deserialize<'de> for TestFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Ok(Self::named(&name).unwrap_or_default())
    }
}

/// The format that a suite file names.
///
/// # Errors
/// There is none of this name; the message has the names that there are.
pub fn known<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TestFormat>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let all = FORMATS.map(|f| f.name).join(", ");
    let unknown = || serde::de::Error::custom(format!("there is no test format {name:?}, only {all}"));
    TestFormat::named(&name).map(Some).ok_or_else(unknown)
}

/// Does a call happen in a child process?
pub(super) fn has_children(cases: &[Case]) -> bool {
    cases.iter().any(|c| c.own_process || c.ending != Ending::Return)
}

/// The file that lets gcov count in children. The plain program has all it needs.
pub(super) const COUNTS_FILE: &str = "penfuzz_counts.c";

/// Its text, in a format that needs it.
pub(super) fn counts(report: &Report, cases: &[Case]) -> Option<&'static str> {
    (!report.test_format.is_plain() && has_children(cases)).then_some(include_str!("counts.c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_found_by_its_name() {
        for format in FORMATS {
            let found = TestFormat::named(format.name).unwrap();
            assert!(std::ptr::eq(found.get(), format));
            let json = serde_json::to_string(&found).unwrap();
            assert_eq!(serde_json::from_str::<TestFormat>(&json).unwrap(), found);
        }
        assert!(TestFormat::named("junit").is_none());
        assert!(serde_json::from_str::<TestFormat>("\"junit\"").unwrap().is_plain());
        let strict = known(serde_json::Value::from("junit")).unwrap_err().to_string();
        assert!(strict.contains("junit") && strict.contains("googletest"), "{strict}");
        assert!(TestFormat::default().is_plain());
    }
}
