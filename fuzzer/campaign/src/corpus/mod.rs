//! Tools for what campaigns leave: [`cmin`] chooses the few inputs that suffice, [`merge`] makes one campaign of several,
//! [`tmin`] makes one input simple, [`triage`] groups crashes and hangs by their places.
//!
//! Inputs are read by [`directory`], and evaluated anew by a [`ReplaySession`](penfuzz_directory::replay::session::ReplaySession): in child processes, so that an input that ends
//! its process gives a result like any other.

pub mod cmin;
pub mod directory;
pub mod merge;
pub mod tmin;
pub mod triage;
