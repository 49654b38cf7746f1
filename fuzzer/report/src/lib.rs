//! The files that a campaign writes for people and programs. Every format is one file here and a function of the same
//! [`Report`], so that all of them show the same figures:
//!
//! | file | written by | for |
//! | --- | --- | --- |
//! | `report.json` | [`json`] | programs; everything else can be derived from it |
//! | `coverage.lcov` | [`lcov`] | `genhtml`, editors, coverage services; of campaigns for branches only |
//! | `coverage.xml` | [`cobertura`] | continuous integration: GitLab, Jenkins, Azure; of campaigns for branches only |
//! | `report.html` | [`html`] | people with a browser, also while the campaign runs |
//! | `tests/test_FUNCTION.c` | `penfuzz-testgen` | a C compiler; gcov; the project's own tests (`--test-format`) |
//! | `--junit FILE` | [`junit`] | continuous integration: tests, crashes and hangs |
//! | `--sarif FILE` | [`sarif`] | GitHub's code scanning, editors: crashes, hangs, exceptions, unreached branches |
//! | (terminal) | [`summary`], [`boundary`], [`exceptions_text`] | people |
//!
//! Imports run one way: texts and pages import the parts they share (`terminal`, `uncovered`, `sources`, `files`),
//! these import the types (`model`, `exceptions`, `arg`), and all of them import [`format`](mod@format).

pub mod arg;
pub mod boundary;
mod branches;
pub mod c_text;
pub mod cobertura;
pub mod condition;
pub mod criterion;
pub mod criterion_goals;
pub mod decisions;
pub mod example;
pub mod exceptions;
pub mod exceptions_text;
pub mod exclusions;
pub mod extended;
mod extended_digits;
pub mod files;
pub mod finding;
pub mod format;
pub mod goal;
pub mod history;
pub mod html;
mod inconsistency;
pub mod json;
mod json_layout;
pub mod junit;
pub mod layout;
pub mod lcov;
pub mod literal;
pub mod model;
pub mod mutation;
pub mod origin;
pub mod proof;
pub mod requirements;
pub mod sarif;
mod signature;
pub mod source_root;
pub mod sources;
pub mod summary;
pub mod svg;
mod terminal;
pub mod test_check;
pub mod test_format;
mod uncovered;
pub mod words;

pub use arg::{
    ADDRESS, Arg, CALL, CallStart, GLOBAL, Global, Memory, Object, Operand, Place, RECEIVED, RESULT, RESULTS,
    ROUNDING_MODE, STANDARD_INPUT, STANDARD_INPUT_FILE, Set, TEXT, WRITTEN, calls_of,
};
pub use exceptions::{Exception, Exceptions, Find, ResultEvidence};
pub use files::TESTS;
pub use layout::Layout;
pub use model::*;
pub use sources::source_hashes;
