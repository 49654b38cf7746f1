//! Tools for the results of campaigns: [`cmin`] selects a small set of inputs, [`merge`] merges several campaigns into
//! one, [`tmin`] simplifies one input, [`triage`] groups crashes and hangs by their places.
//!
//! The module [`directory`] reads the inputs, and a
//! [`ReplaySession`](penfuzz_directory::replay::session::ReplaySession) evaluates them again: in child processes, so
//! that an input that ends its process gives a result like any other.

pub mod cmin;
pub mod directory;
pub mod merge;
pub mod tmin;
pub mod triage;
