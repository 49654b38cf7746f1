//! The files that a campaign writes for people and programs. Every format is one file here and a function of the same
//! [`Report`], so that all of them show the same figures:
//!
//! | file | written by | for |
//! | --- | --- | --- |
//! | `report.json` | [`json`] | programs; everything else can be derived from it |
//! | `coverage.lcov` | [`lcov`] | `genhtml`, editors, coverage services; of campaigns for branches only |
//! | `coverage.xml` | [`cobertura`] | continuous integration: GitLab, Jenkins, Azure; of campaigns for branches only |
//! | `report.html` | [`html`] | people with a browser, also while the campaign runs |
//! | `tests/test_FUNCTION.c` | [`unit_test`] | a C compiler; gcov; the project's own tests (`--test-format`) |
//! | `--junit FILE` | [`junit`] | continuous integration: tests, crashes and hangs |
//! | `--sarif FILE` | [`sarif`] | GitHub's code scanning, editors: crashes, hangs, exceptions, unreached branches |
//! | (terminal) | [`summary`], [`boundary`], [`exceptions_text`] | people |
//!
//! Imports run one way: texts and pages import the parts they share (`terminal`, `uncovered`, `sources`, `files`), these import
//! the types (`model`, `exceptions`, `arg`), and all of them import [`format`](mod@format).

mod arg;
pub mod boundary;
pub mod c_text;
pub mod cobertura;
pub mod criterion_goals;
pub mod decisions;
#[cfg(any(test, feature = "test-support"))]
pub mod example;
pub mod exceptions;
pub mod exceptions_text;
pub mod exclusions;
pub mod extended;
mod files;
pub mod format;
pub mod history;
pub mod html;
pub mod json;
pub mod junit;
mod layout;
pub mod lcov;
pub mod linked;
pub mod literal;
mod model;
pub mod mutation;
pub mod needed;
mod nonsense;
pub mod proof;
pub mod requirements;
pub mod sarif;
mod signature;
pub mod source_root;
mod sources;
pub mod summary;
pub mod svg;
mod terminal;
mod uncovered;
pub mod unit_test;
pub mod words;

use std::fs;
use std::io;
use std::path::Path;

use crate::{files::own, output::atomic};

pub use arg::{
    Arg, CALL, Called, GLOBAL, Global, Memory, Object, Operand, Place, RESULT, RESULTS, ROUNDING_MODE, STANDARD_INPUT,
    STANDARD_INPUT_FILE, Set, calls_of,
};
pub use exceptions::{Exception, Exceptions, Find, Shown};
pub use files::TESTS;
pub use layout::Layout;
pub use model::*;
pub use sources::source_hashes;

/// Writes every report of a campaign into its output directory, each file durably and as a whole. Creates the directories
/// when they are missing.
///
/// # Errors
/// Those of the file system, with the path and what was tried.
pub fn write_all(dir: &Path, report: &Report) -> io::Result<()> {
    let tests = dir.join(TESTS);
    fs::create_dir_all(dir)
        .and_then(|()| own::make_directory(&tests))
        .map_err(|e| io::Error::new(e.kind(), format!("cannot create {}: {e}", tests.display())))?;
    write_tests(&tests, report)?;
    if report.goals.include_branches() {
        atomic::write(&dir.join(files::LCOV), lcov::tracefile(report).as_bytes())?;
        let cobertura = cobertura::document(report, &source_root::SourceRoot::current());
        atomic::write(&dir.join(files::COBERTURA), cobertura.as_bytes())?;
    }
    if !report.decisions.is_empty() {
        atomic::write(&dir.join(files::DECISIONS), decisions::csv(report).as_bytes())?;
    }
    if !report.criterion_goals.is_empty() {
        atomic::write(&dir.join(files::CRITERIA), criterion_goals::csv(report).as_bytes())?;
    }
    if !report.requirements.is_empty() {
        atomic::write(&dir.join(files::REQUIREMENTS), requirements::csv(&report.requirements).as_bytes())?;
    }
    atomic::write(&dir.join(files::HTML), html::page(report, &history::read(dir)).as_bytes())?;
    // Last: a program that sees a new report.json finds the other files of the same state.
    atomic::write(&dir.join(files::JSON), json::to_string(report).as_bytes())
}

/// Writes the test program, in the directory `tests`, and removes what belongs to it in another format only.
///
/// # Errors
/// Those of the file system.
pub fn write_tests(tests: &Path, report: &Report) -> io::Result<()> {
    let files = unit_test::files(report);
    for (name, text) in &files {
        atomic::write(&tests.join(name), text.as_bytes())?;
    }
    for old in unit_test::possible_files(report) {
        if files.iter().all(|(name, _)| *name != old) {
            match fs::remove_file(tests.join(old)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_all_writes_every_file_and_can_be_repeated() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("new/out");
        for _ in 0..2 {
            write_all(&out, &example::report()).unwrap();
        }
        assert_eq!(json::read(&out.join("report.json")).unwrap(), example::report());
        for file in ["coverage.lcov", "coverage.xml", "report.html", "tests/test_clamp.c"] {
            assert!(out.join(file).is_file(), "{file} is missing");
        }
        assert_eq!(fs::read_dir(&out).unwrap().count(), 5, "no temporary file may be left");
    }
}
