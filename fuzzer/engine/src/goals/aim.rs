//! Goal for one branch: `r` is its distance. Every other uncovered goal is recorded, and the closest input to it is
//! saved.

use penfuzz_abi::{action, metric};
use penfuzz_executor::PenEvaluator;

use super::{Goal, arm_open, open_action};
use crate::saturation::Saturation;

/// The actions of the target branch.
pub(super) const WANTED: u8 = action::WANT | action::MIN;

/// The target branch. With `None`, the goal only records branches and saves the closest inputs.
///
/// # Example
/// `if (a) { if (b) … }`: the site of `a` has the branches 0 (true) and 1; that of `b`, which follows 0, has 2 and 3.
/// ```
/// use penfuzz_abi::action;
/// use penfuzz_engine::{
///     goals::{Aim, Goal as _},
///     saturation::{BranchGraph, Saturation},
/// };
///
/// let mut saturation = Saturation::new(BranchGraph::two_way(2, &[(0, 1)]));
/// saturation.cover(&[1], false);
/// let aim = Aim(Some(3));
/// assert_ne!(aim.action(&saturation, 3) & action::WANT, 0, "the target");
/// assert_eq!(aim.action(&saturation, 0), action::RECORD | action::TRACK, "open: recorded, with its closest input");
/// assert_eq!(aim.action(&saturation, 1), 0, "covered");
/// ```
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
