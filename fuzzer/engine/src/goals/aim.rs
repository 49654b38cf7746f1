//! One branch: `r` is its distance, while every other uncovered goal is recorded and its closest input saved.

use penfuzz_cc::abi::{action, metric};

use super::{Goal, record_if_new};
use crate::saturation::Saturation;

/// The target branch; `None` only records and remembers.
#[derive(Debug, Clone, Copy)]
pub struct Aim(pub Option<usize>);

impl Goal for Aim {
    fn metric(&self) -> u32 {
        metric::ULP
    }

    /// Not reached.
    fn r0(&self) -> u64 {
        u64::MAX
    }

    fn action(&self, saturation: &Saturation, branch: usize) -> u8 {
        let record = record_if_new(saturation, branch);
        let track = if record != 0 && !saturation.is_covered(branch) { action::TRACK } else { 0 };
        let want = if Some(branch) == self.0 { action::WANT | action::MIN } else { 0 };
        record | track | want
    }
}
