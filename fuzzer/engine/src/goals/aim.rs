//! Goal for one branch: `r` is its distance. Every other uncovered goal is recorded, and the closest input to it is
//! saved.

use penfuzz_abi::{action, metric};
use penfuzz_executor::PenEvaluator;

use super::{Goal, arm_open, open_action};
use crate::saturation::Saturation;

/// The actions of the target branch.
pub(super) const WANTED: u8 = action::WANT | action::MIN;

/// The target branch. With `None`, the goal only records branches and saves the closest inputs.
#[derive(Debug, Clone, Copy)]
pub struct Aim(pub Option<usize>);

impl Goal for Aim {
    fn metric(&self) -> u32 {
        metric::ULP
    }

    /// The site of the target is not reached.
    fn r0(&self) -> u64 {
        u64::MAX
    }

    fn action(&self, saturation: &Saturation, branch: usize) -> u8 {
        open_action(saturation, branch) | if Some(branch) == self.0 { WANTED } else { 0 }
    }

    fn arm<V: PenEvaluator>(&self, evaluator: &mut V, saturation: &Saturation) {
        evaluator.set_metric(self.metric(), self.r0());
        let wanted = self.0.map(|b| (b, WANTED));
        arm_open(evaluator, saturation, wanted.as_slice(), true);
    }
}
