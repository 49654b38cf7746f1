//! Threats by other users, foreign files, a hostile target and closed pipes. docs/security.md lists the threats, and
//! for each the tests in this module that show the protection.

mod directories;
mod farms;
mod files;
mod metrics;
mod targets;
mod terminal;
mod trust;
