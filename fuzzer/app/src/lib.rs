//! The application behind the program `penfuzz`: campaigns, their output directories, reports and suites.
//!
//! | room | holds |
//! | --- | --- |
//! | [`process`] | child processes, process trees, signals, shared memory |
//! | [`files`] | how files are opened that somebody else may have put there |
//! | [`output`] | the output directory: durable files, lock, manifest, recovery, AFL++'s files |
//! | [`report`] | what a campaign found, as JSON, lcov, HTML, C tests and text |
//! | [`shrink`] | few tests with simple arguments |
//! | [`replay`] | inputs evaluated again, each in a process of its own |
//! | [`watch`] | a running campaign on the terminal, as JSON, for Prometheus |
//! | [`sync`] | finds of other fuzzers, imported while both run |
//! | [`campaign`] | supervisor, workers, and the cluster of several clients |
//! | [`corpus`] | `cmin`, `merge`, `tmin`, `triage` |
//! | [`reach`], [`exceptions`] | one input on request; floating-point exceptions |
//! | [`paths`] | criteria about the order of branches: paths, rounds of loops |
//! | [`accuracy`] | how wrong a numeric function can be, and where |
//! | `enclosure` | intervals of real values and of differences (feature `mpfr`) |
//! | [`prove`] | branches that no input takes: solvers prove them unreachable |
//! | [`solve`] | formulas of floats and bit vectors: models by search |
//! | [`suite`] | many functions, one table, gcov as referee |
//! | [`console`] | standard output and standard error |

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod accuracy;
pub mod campaign;
pub mod console;
pub mod context;
pub mod corpus;
#[cfg(feature = "mpfr")]
pub mod enclosure;
pub mod exceptions;
pub mod files;
pub mod mutation;
pub mod output;
pub mod paths;
pub mod process;
pub mod prove;
pub mod reach;
pub mod replay;
pub mod report;
pub mod shrink;
pub mod solve;
pub mod suite;
pub mod sync;
pub mod watch;

pub use penfuzz_engine::error;
