//! Many functions, one table: `penfuzz suite SUITE.toml`.
//!
//! ```text
//! suite.toml --config--> Suite --schedule--> one child process per target --> DIR/NAME/report.json
//!                                   |                                              |
//!                                   +----------- table <-------- referee (gcov) <--+
//! ```
//! Each target runs in a process of its own, so a target that ends its process costs one row and not the suite. `suite.json` and
//! the page `report.html` are written again after every target: when the suite is killed, the finished targets are in it.

pub mod child;
pub mod config;
pub mod exceptions;
mod files;
pub mod gcov;
pub mod generate;
pub mod object;
pub mod outcome;
pub mod page;
pub mod recipe;
pub mod referee;
mod schedule;
mod table;

pub use child::{Passed, run_child};
pub use config::{Paper, Suite, TargetSpec, keep_only, load};
pub use gcov::TakenBranch;
pub use generate::generate;
pub use outcome::{Row, SuiteReport, Totals};
pub use penfuzz_error::context::Result;
pub use referee::Referee;
pub use schedule::{FILE, Options, run, run_all};
