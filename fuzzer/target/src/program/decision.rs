//! Decisions: expressions of `&&` and `||` with several conditions that branch, and the vectors of their evaluations.
//!
//! A *vector* describes one evaluation: the conditions that are evaluated, their values, and the outcome of the
//! decision. Vectors are numbered from 0 as defined in [`penfuzz_abi::Decision`].

use penfuzz_abi::{self as abi, decided};
use serde::{Deserialize, Serialize};

use super::{Site, Target};

/// The successor of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The condition with this number is evaluated.
    Condition(usize),
    /// The decision has this outcome.
    Outcome(bool),
}

impl Next {
    /// Converts a value of [`penfuzz_abi::Node::next_true`].
    #[must_use]
    pub fn new(next: u32) -> Self {
        if next >= decided::FALSE { Self::Outcome(next == decided::TRUE) } else { Self::Condition(next as usize) }
    }
}

/// One condition.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Its two-way site, as an index into [`super::Target::sites`].
    pub site: usize,
    /// The successor if it holds.
    pub if_true: Next,
    /// The successor if it does not hold.
    pub if_false: Next,
    /// Number of vectors from here if it holds.
    pub on_true: usize,
}

/// A decision, with its conditions in source order.
#[derive(Debug, Clone)]
pub struct Decision {
    /// At most 64.
    pub conditions: Vec<Condition>,
    /// Number of vectors.
    pub n_vectors: usize,
}

/// One evaluation of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Vector {
    /// Bit per condition: whether it is evaluated.
    pub evaluated: u64,
    /// Bit per condition: whether it is evaluated and holds.
    pub holds: u64,
    /// The outcome of the decision.
    pub outcome: bool,
}

impl Vector {
    /// The conditions that both vectors evaluate to different values, one bit each.
    #[must_use]
    pub const fn differing(&self, other: &Self) -> u64 {
        self.evaluated & other.evaluated & (self.holds ^ other.holds)
    }

    /// The condition for which the two vectors show an independent effect on the outcome. They do if the outcomes
    /// differ, and exactly one condition that both evaluate has different values. A condition that a vector does not
    /// evaluate is masked there. This is the rule of `llvm-cov`; Chilenski and Miller 1994; CAST-6 (masking of
    /// short-circuit operators).
    #[must_use]
    pub const fn shows(&self, other: &Self) -> Option<u32> {
        let differing = self.differing(other);
        if self.outcome != other.outcome && differing.is_power_of_two() {
            Some(differing.trailing_zeros())
        } else {
            None
        }
    }

    /// Returns `T`, `F` or `-` (not evaluated) for each of `n` conditions.
    #[must_use]
    pub fn text(&self, n: usize) -> String {
        let letter = |i: usize| match (self.evaluated >> i & 1, self.holds >> i & 1) {
            (0, _) => '-',
            (_, 0) => 'F',
            _ => 'T',
        };
        (0..n).map(letter).collect()
    }
}

impl Decision {
    /// Reads a decision from the tables of a target. The site of each condition is at first the number of the site's
    /// first branch; [`name_conditions`] replaces it.
    ///
    /// # Safety
    /// `record` must belong to a loaded file whose first action byte is `first_action`.
    pub(super) unsafe fn read(record: &abi::Decision, first_action: *const u8) -> Self {
        // SAFETY: by the contract of this function, an array with its length.
        let nodes = unsafe { core::slice::from_raw_parts(record.nodes, record.n_nodes as usize) };
        let condition = |n: &abi::Node| Condition {
            site: n.actions as usize - first_action as usize,
            if_true: Next::new(n.next_true),
            if_false: Next::new(n.next_false),
            on_true: n.on_true as usize,
        };
        Self { conditions: nodes.iter().map(condition).collect(), n_vectors: record.n_vectors as usize }
    }

    /// The conditions that vector `number` evaluates, in order, each with its value; and the outcome.
    #[must_use]
    pub fn steps(&self, number: usize) -> (Vec<(usize, bool)>, bool) {
        let (mut at, mut rest, mut steps) = (0, number, Vec::new());
        loop {
            let condition = &self.conditions[at];
            let holds = rest < condition.on_true;
            steps.push((at, holds));
            rest -= if holds { 0 } else { condition.on_true };
            match if holds { condition.if_true } else { condition.if_false } {
                Next::Condition(next) => at = next,
                Next::Outcome(outcome) => return (steps, outcome),
            }
        }
    }

    /// All vectors.
    #[must_use]
    pub fn vectors(&self) -> Vec<Vector> {
        let vector = |number| {
            let (steps, outcome) = self.steps(number);
            let bits = |all: bool| steps.iter().filter(|s| all || s.1).fold(0, |bits, s| bits | 1 << s.0);
            Vector { evaluated: bits(true), holds: bits(false), outcome }
        };
        (0..self.n_vectors).map(vector).collect()
    }
}

/// Replaces the branches in decisions by the numbers of their sites, and stores at each of these sites its decision.
/// The sites must be ordered by branch.
pub(super) fn name_conditions(sites: &mut [Site]) {
    for number in 0..sites.len() {
        let Some(mut decision) = sites[number].decision.take() else { continue };
        for condition in &mut decision.conditions {
            condition.site = sites.partition_point(|s| s.first_branch <= condition.site).saturating_sub(1);
            sites[condition.site].part_of = Some(number);
        }
        sites[number].decision = Some(decision);
    }
}

impl Target {
    /// Does the target have decisions? It needs `-fpen-decisions` and a decision of several conditions.
    #[must_use]
    pub fn has_decisions(&self) -> bool {
        self.sites.iter().any(|s| s.decision.is_some())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `(a && b) || c`
    pub fn mixed() -> Decision {
        use Next::{Condition as To, Outcome as Out};

        let condition = |if_true, if_false, on_true| Condition { site: 0, if_true, if_false, on_true };
        let conditions =
            vec![condition(To(1), To(2), 3), condition(Out(true), To(2), 1), condition(Out(true), Out(false), 1)];
        Decision { conditions, n_vectors: 5 }
    }

    #[test]
    fn vectors_are_numbered_by_what_does_not_hold() {
        let texts: Vec<_> = mixed().vectors().iter().map(|v| (v.text(3), v.outcome)).collect();
        let expected = [("TT-", true), ("TFT", true), ("TFF", false), ("F-T", true), ("F-F", false)];
        assert_eq!(texts, expected.map(|(text, outcome)| (text.to_owned(), outcome)));
    }

    #[test]
    fn a_pair_shows_the_one_condition_in_which_it_differs() {
        let v = mixed().vectors();
        assert_eq!(v[0].shows(&v[4]), Some(0), "b and c are masked in one of the two");
        assert_eq!(v[0].shows(&v[2]), Some(1));
        assert_eq!(v[3].shows(&v[4]), Some(2));
        assert_eq!(v[1].shows(&v[4]), None, "two conditions differ");
        assert_eq!(v[0].shows(&v[1]), None, "the outcome is the same");
    }
}
