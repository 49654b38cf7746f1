//! What was spent on each branch, and which one is next: rising budgets in turn, until a branch is given up.

use libafl_bolts::impl_serdeany;
use serde::{Deserialize, Serialize};

use crate::saturation::Saturation;

/// Evaluations on one branch before it is given up.
pub const GIVE_UP_AFTER: u64 = 600_000;

/// Evaluations of the first attempt at a branch; each further one gets twice as many.
const FIRST_ATTEMPT: u64 = 128;

/// Largest attempt: a short turn, so that finds are saved soon.
const LARGEST_ATTEMPT: u64 = 16_384;

/// Evaluations spent per branch; metadata of the LibAFL state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Per branch.
    pub evaluations: Vec<u64>,
    /// Attempts per branch.
    pub attempts: Vec<u32>,
    /// Evaluations while no branch could be aimed at, because no site was reached.
    pub exploring: u64,
}

impl_serdeany!(Spent);

impl Spent {
    /// Makes room for `n` branches.
    pub fn ensure(&mut self, n: usize) {
        self.evaluations.resize(n, 0);
        self.attempts.resize(n, 0);
    }

    /// The open branch on which least was spent, among those whose site is reached. `again` admits those that were given up,
    /// when no other is left.
    #[must_use]
    pub fn next_target(&self, saturation: &Saturation, again: bool) -> Option<usize> {
        let least = |given_up: bool| {
            saturation
                .uncovered()
                .filter(|b| saturation.is_given_up(*b) == given_up && saturation.is_site_reached(*b))
                .min_by_key(|b| (self.evaluations[*b], *b))
        };
        least(false).or_else(|| if again { least(true) } else { None })
    }

    /// Evaluations for the next attempt at a branch.
    #[must_use]
    pub fn allowance(&self, branch: usize) -> u64 {
        let doubled = FIRST_ATTEMPT << self.attempts[branch].min(20);
        let left = GIVE_UP_AFTER.saturating_sub(self.evaluations[branch]);
        // What was given up and is tried again has no limit.
        doubled.min(LARGEST_ATTEMPT).min(if left == 0 { LARGEST_ATTEMPT } else { left })
    }

    /// Notes an attempt; true when the branch is to be given up.
    pub fn note(&mut self, branch: usize, evaluations: u64) -> bool {
        self.evaluations[branch] += evaluations;
        self.attempts[branch] += 1;
        self.evaluations[branch] >= GIVE_UP_AFTER
    }
}
