//! What other users, other people's files, a hostile target and a closed pipe can do to penfuzz: docs/security.md lists
//! the threats and the tests here that show what holds them.

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
