//! Goals: what makes an input wanted, as data. A goal has a metric, the value of `r` before a run, and one action byte
//! per branch (the researcher layer of Mathematical Execution). A new goal is a new file here.

mod aim;
mod approach;
pub mod path;
mod pens;
mod record;

use penfuzz_abi::action;

use crate::saturation::Saturation;
use penfuzz_executor::PenEvaluator;

pub use aim::Aim;
pub use approach::Approach;
pub use path::Path;
pub use pens::Pens;
pub use record::Record;

/// A table of pen actions and `r0`.
///
/// # Example
/// A goal that wants every input that takes one of some branches: `r` is the smallest of their distances.
/// `if (a) { if (b) … }`: the site of `a` has the branches 0 (true) and 1; that of `b`, which follows 0, has 2 and 3.
/// ```
/// use penfuzz_abi::{action, metric};
/// use penfuzz_engine::{
///     goals::Goal,
///     saturation::{BranchGraph, Saturation},
/// };
///
/// struct AnyOf(Vec<usize>);
///
/// impl Goal for AnyOf {
///     fn metric(&self) -> u32 {
///         metric::ULP
///     }
///
///     fn r0(&self) -> u64 {
///         u64::MAX // the distance if no site is passed
///     }
///
///     fn action(&self, _saturation: &Saturation, branch: usize) -> u8 {
///         if self.0.contains(&branch) { action::WANT | action::MIN } else { 0 }
///     }
/// }
///
/// let saturation = Saturation::new(BranchGraph::two_way(2, &[(0, 1)]));
/// let table: Vec<u8> = (0..4).map(|branch| AnyOf(vec![1, 2]).action(&saturation, branch)).collect();
/// assert_eq!(table, [0, action::WANT | action::MIN, action::WANT | action::MIN, 0]);
/// ```
pub trait Goal {
    /// The metric, one of [`penfuzz_abi::metric`].
    fn metric(&self) -> u32;

    /// The value of `r` before each run, in the representation of the metric.
    fn r0(&self) -> u64;

    /// The action byte of a branch: bits of [`action`] except NEAR and ARMED, which follow from the others.
    fn action(&self, saturation: &Saturation, branch: usize) -> u8;

    /// Writes the table to the target.
    fn arm<V: PenEvaluator>(&self, evaluator: &mut V, saturation: &Saturation) {
        evaluator.set_metric(self.metric(), self.r0());
        evaluator.arm(|b| self.action(saturation, b));
    }
}

/// Arms every open goal: it is recorded, and with `tracks` the closest input to it is saved. `goal` has branches with
/// additional actions. The cost does not depend on the number of open branches.
fn arm_open<V: PenEvaluator>(evaluator: &mut V, saturation: &Saturation, goal: &[(usize, u8)], tracks: bool) {
    evaluator.arm_changed(saturation.changes(), |b| open_action(saturation, b), goal, tracks);
}

/// Returns [`action::RECORD`] for a goal that no returning input has taken, with [`action::TRACK`] if no input at all
/// has taken it; 0 for a goal that was set aside.
fn open_action(saturation: &Saturation, branch: usize) -> u8 {
    let record = record_if_new(saturation, branch);
    record | if record != 0 && !saturation.is_covered(branch) { action::TRACK } else { 0 }
}

/// [`action::RECORD`] for a goal that no returning input has taken, unless it was set aside.
fn record_if_new(saturation: &Saturation, branch: usize) -> u8 {
    let new = saturation.is_goal(branch) && (!saturation.is_covered(branch) || saturation.is_covered_by_crash(branch));
    if new && !saturation.is_set_aside(branch) { action::RECORD } else { 0 }
}
