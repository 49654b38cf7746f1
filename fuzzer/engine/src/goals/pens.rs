//! The pens of `CoverMe`, Definition 4.2. If no branch of a site is saturated, both are wanted (`r` is 0 whichever is
//! taken). If one is saturated, the other one is wanted. If both are saturated, `r` stays as it is.

use penfuzz_abi::{action, metric};

use super::{Goal, record_if_new};
use crate::saturation::Saturation;

/// The single representing function of the paper.
///
/// # Example
/// `if (a) { if (b) … }`: the site of `a` has the branches 0 (true) and 1; that of `b`, which follows 0, has 2 and 3.
/// ```
/// use penfuzz_abi::action;
/// use penfuzz_engine::{
///     goals::{Goal as _, Pens},
///     saturation::{BranchGraph, Saturation},
/// };
///
/// let mut saturation = Saturation::new(BranchGraph::two_way(2, &[(0, 1)]));
/// let wanted = |saturation: &Saturation| -> Vec<bool> {
///     (0..4).map(|branch| Pens.action(saturation, branch) & action::WANT != 0).collect()
/// };
///
/// assert_eq!(wanted(&saturation), [true; 4]);
/// saturation.cover(&[0, 2], false);
/// assert_eq!(wanted(&saturation), [true, true, false, true], "2 is saturated; 0 is not, because of 3");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Pens;

impl Goal for Pens {
    fn metric(&self) -> u32 {
        metric::SQUARED
    }

    /// 1 (Sect. 3.2, Step 2).
    fn r0(&self) -> u64 {
        1f64.to_bits()
    }

    fn action(&self, saturation: &Saturation, branch: usize) -> u8 {
        let want = if saturation.is_goal(branch) && !saturation.is_saturated(branch) { action::WANT } else { 0 };
        want | record_if_new(saturation, branch)
    }
}
