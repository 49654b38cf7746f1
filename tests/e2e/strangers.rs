//! Threats by other users, foreign files, a hostile target and closed pipes. docs/security.md lists the threats, and
//! for each the tests in this module that show the protection.

#[path = "strangers/directories.rs"]
mod directories;
#[path = "strangers/farms.rs"]
mod farms;
#[path = "strangers/files.rs"]
mod files;
#[path = "strangers/metrics.rs"]
mod metrics;
#[path = "strangers/targets.rs"]
mod targets;
#[path = "strangers/terminal.rs"]
mod terminal;
#[path = "strangers/trust.rs"]
mod trust;
