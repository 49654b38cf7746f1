//! Processes, signals, files, locks and terminal output: what penfuzz needs of the operating system.
//!
//! | module | contents |
//! | --- | --- |
//! | [`process`] | child processes, process trees, signals, shared memory |
//! | [`files`] | files that somebody else may have put there, durable files, locks |
//! | [`console`] | standard output and standard error |

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod console;
pub mod files;
pub mod process;
