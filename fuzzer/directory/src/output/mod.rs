//! The output directory of a campaign: its files, its lock, and how files are written and read.

pub mod afl_files;
pub mod directory;
pub mod fingerprint;
pub mod layout;
pub mod manifest;
pub mod merge_state;
#[cfg(test)]
mod old_campaign_tests;
pub mod preconditions;
#[cfg(test)]
pub(crate) mod props;
pub mod recovery;
pub mod reports;
pub mod state;
pub mod store;
pub mod trust;
