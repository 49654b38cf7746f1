//! What makes an input wanted, as data: a metric, the value of `r` before a run, and one action byte per branch (Mathematical
//! Execution's researcher layer). A new objective is a new file here.

mod aim;
mod approach;
pub mod path;
mod pens;
mod record;

use penfuzz_cc::abi::action;

use crate::{executor::PenEvaluator, saturation::Saturation};

pub use aim::Aim;
pub use approach::Approach;
pub use path::Path;
pub use pens::Pens;
pub use record::Record;

/// A table of pen actions and `r0`.
pub trait Goal {
    /// One of [`penfuzz_cc::abi::metric`].
    fn metric(&self) -> u32;

    /// `r` before each run, in the metric's representation.
    fn r0(&self) -> u64;

    /// The action byte of a branch: bits of [`action`] but NEAR and ARMED, which follow from the others.
    fn action(&self, saturation: &Saturation, branch: usize) -> u8;

    /// Writes the table to the target.
    fn arm<V: PenEvaluator>(&self, evaluator: &mut V, saturation: &Saturation) {
        evaluator.set_metric(self.metric(), self.r0());
        evaluator.arm(|b| self.action(saturation, b));
    }
}

/// [`action::RECORD`] for a goal that no returning input has taken.
fn record_if_new(saturation: &Saturation, branch: usize) -> u8 {
    let new = saturation.is_goal(branch) && (!saturation.is_covered(branch) || saturation.is_covered_by_crash(branch));
    if new { action::RECORD } else { 0 }
}
