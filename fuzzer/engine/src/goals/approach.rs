//! Goal for one branch, with a slope from wherever the run left the way to it: the approach level of search-based
//! testing.
//!
//! If the run reaches the target's site, `r` is the target's distance. Otherwise `r` is the distance to the branch that
//! would have led on, above a level that counts the branches that are still missing. So there is a slope even if a
//! condition before the target, such as an equality, fails again at every step.
//!
//! J. Wegener, A. Baresel and H. Sthamer, *Evolutionary test environment for automatic structural testing*, Information
//! and Software Technology 43(14), 2001 ("approximation level").

use penfuzz_abi::{LEAD_BITS, action, metric};
use penfuzz_executor::PenEvaluator;

use super::{Aim, Goal, aim::WANTED, arm_open};
use crate::saturation::Saturation;

/// Lowest value of `r` if the target's site was not reached.
const NOT_REACHED: u64 = 1 << 63;

/// Levels above this one share one value. It is one less than the highest level that fits between [`LEAD_BITS`] and the
/// topmost bit.
const HIGHEST_LEVEL: u32 = (1 << (63 - LEAD_BITS)) - 2;

/// Aims at one branch by the approach level: the distance of the branch if its site is reached, else level and distance
/// of the branch that leads there.
///
/// # Example
/// `if (a) { if (b) … }`: the site of `a` has the branches 0 (true) and 1; that of `b`, which follows 0, has 2 and 3. A
/// run reaches the site of 3 if it takes 0.
/// ```
/// use penfuzz_abi::action;
/// use penfuzz_engine::{
///     goals::{Approach, Goal as _},
///     saturation::{BranchGraph, Saturation},
/// };
///
/// let saturation = Saturation::new(BranchGraph::two_way(2, &[(0, 1)]));
/// assert_eq!(saturation.leads(3), [(0, 0)], "branch 0 leads there, with no site between");
/// let goal = Approach::new(3, &saturation);
/// assert_ne!(goal.action(&saturation, 0) & action::LEAD, 0);
/// assert_ne!(goal.action(&saturation, 3) & action::WANT, 0);
/// ```
#[derive(Debug, Clone)]
pub struct Approach {
    target: usize,
    /// Branches that lead to the target, in ascending order, with the value of `r` at distance 0.
    leads: Vec<(usize, u64)>,
}

impl Approach {
    /// Creates the goal for the branch `target`.
    #[must_use]
    pub fn new(target: usize, saturation: &Saturation) -> Self {
        let base = |level: u32| NOT_REACHED | u64::from(level.min(HIGHEST_LEVEL)) << LEAD_BITS;
        let leads = saturation.leads(target).into_iter().map(|(b, level)| (b, base(level))).collect();
        Self { target, leads }
    }
}

impl Goal for Approach {
    fn metric(&self) -> u32 {
        metric::ULP
    }

    fn r0(&self) -> u64 {
        u64::MAX
    }

    fn action(&self, saturation: &Saturation, branch: usize) -> u8 {
        let lead = if self.leads.binary_search_by_key(&branch, |l| l.0).is_ok() { action::LEAD } else { 0 };
        Aim(Some(self.target)).action(saturation, branch) | lead
    }

    fn arm<V: PenEvaluator>(&self, evaluator: &mut V, saturation: &Saturation) {
        evaluator.set_metric(self.metric(), self.r0());
        evaluator.set_leads(self.leads.iter().copied());
        let leads = self.leads.iter().map(|l| (l.0, action::LEAD));
        let goal: Vec<_> = leads.chain([(self.target, WANTED)]).collect();
        arm_open(evaluator, saturation, &goal, true);
    }
}
