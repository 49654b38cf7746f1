//! Tools for what campaigns leave: [`cmin`] chooses the few inputs that suffice, [`merge`] makes one campaign of several,
//! [`tmin`] makes one input simple, [`triage`] tells crashes and hangs by their places.
//!
//! Inputs are read by [`directory`], and evaluated anew by a [`session`]: in child processes, so that whatever an input does to
//! its process is an answer and not the end.

pub mod cmin;
pub mod directory;
pub mod merge;
pub mod tmin;
pub mod triage;
