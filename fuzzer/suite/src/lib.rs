//! `penfuzz suite SUITE.toml`: fuzzes many functions and writes one table.
//!
//! ```text
//! suite.toml --config--> Suite --schedule--> one child process per target --> DIR/NAME/report.json
//!                                   |                                              |
//!                                   +----------- table <-------- referee (gcov) <--+
//! ```
//! Each target runs in its own process, so a target that ends its process costs one row, not the suite. `suite.json`
//! and the page `report.html` are rewritten after every target: if the suite is killed, they contain the finished
//! targets.

pub mod child;
pub mod config;
pub mod exceptions;
mod files;
pub mod gcov;
pub mod generate;
pub mod outcome;
pub mod page;
pub mod recipe;
pub mod referee;
mod schedule;
mod table;

pub use child::{ForwardedOptions, run_child};
pub use config::{Paper, Suite, TargetSpec, load, retain_matching};
pub use gcov::TakenBranch;
pub use generate::generate;
pub use outcome::{Row, SuiteReport, Totals};
pub use penfuzz_error::context::Result;
pub use referee::Referee;
pub use schedule::{FILE, Options, run, run_all};
