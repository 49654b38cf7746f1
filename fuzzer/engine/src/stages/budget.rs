//! The budget of each branch: what was spent on it, which branch is next, and when a branch is given up. The budget
//! rises from attempt to attempt.

use std::collections::BTreeMap;

use libafl_bolts::impl_serdeany;
use serde::{Deserialize, Serialize};

use crate::saturation::Saturation;

/// Number of units of the budget ([`super::budgeted`]) on one branch before it is given up.
pub const GIVE_UP_AFTER: u64 = 600_000;

/// The same for boundary values and exceptions: every operation has several of them, and most cannot be reached. Of
/// those that were found, the most expensive one took 164,000 units (an overflow of `c / q` in
/// `harnesses/quickstart/quadratic.c`).
pub const GIVE_UP_PASSED_AFTER: u64 = 200_000;

/// The same for a branch that crashing inputs have taken. After it, the search for an ordinary input ends.
pub const END_BEHIND_CRASH_AFTER: u64 = 40_000;

/// Weight of a unit for such a branch in its priority.
const WEIGHT_BEHIND_CRASH: u64 = 8;

/// Number of units of the first attempt at a branch. Each further attempt gets twice as many.
const FIRST_ATTEMPT: u64 = 128;

/// Maximum number of units of an attempt. Rounds are short so that finds are saved soon.
const LARGEST_ATTEMPT: u64 = 16_384;

/// Minimum number of evaluations of an attempt, if they are as long as those for the branch so far. With fewer, an
/// attempt only looks at its start again.
const FEWEST_EVALUATIONS: u64 = 64;

/// Maximum number of units of an attempt with long evaluations.
const LARGEST_SLOW_ATTEMPT: u64 = GIVE_UP_AFTER / 8;

/// If evaluations are long, the units of a limit are few evaluations. The limit is then raised to this many evaluations
/// of that length, but at most to [`MAX_LIMIT_FACTOR`] times its value.
const GIVE_UP_AFTER_EVALUATIONS: u64 = 2048;
const MAX_LIMIT_FACTOR: u64 = 4;

/// A branch is not given up while its closest input still changes: only after this many times the units that were spent
/// on it when a closer input was last found. In a loop that rejects random numbers, the distance follows no gradient,
/// and each closer input is luck: if such inputs keep coming, one that takes the branch may, too. Among n random
/// distances the closest one is among the first n / 16 in one case of 16.
const PATIENCE: u64 = 16;

/// Maximum number of units on such a branch, as a multiple of its limit otherwise.
const MAX_PATIENCE_FACTOR: u64 = 16;

/// What was spent per branch; metadata of the LibAFL state.
///
/// # Example
/// ```
/// use penfuzz_engine::stages::budget::{GIVE_UP_AFTER, Spent};
///
/// let mut spent = Spent::default();
/// spent.ensure(2); // branches
/// let mut attempts = 0;
/// loop {
///     let units = spent.allowance(1, false); // rises from attempt to attempt
///     attempts += 1;
///     if spent.note(1, units, units) {
///         break; // give branch 1 up
///     }
/// }
/// assert!(spent.units[1] >= GIVE_UP_AFTER && attempts > 10);
/// assert_eq!(spent.units[0], 0);
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Units of the budget per branch. They decide which branch is next, and when a branch is given up.
    pub units: Vec<u64>,
    /// Evaluations per branch. Each evaluation counts for one branch, so their sum is at most the number of evaluations
    /// of the campaign.
    #[serde(default)]
    pub evaluations: Vec<u64>,
    /// Number of attempts per branch.
    pub attempts: Vec<u32>,
    /// Per branch, its units when a closer input was last found.
    #[serde(default)]
    pub improved: Vec<u64>,
    /// Per branch, the distance of the closest input after its last attempt.
    #[serde(skip)]
    closest: Vec<Option<u64>>,
    /// Per branch, the units for short evaluations before it is given up; [`GIVE_UP_AFTER`] if there is no entry.
    #[serde(skip)]
    limits: Vec<u64>,
    /// Units that were spent while there was no branch to aim at, because no site was reached.
    pub exploring: u64,
    /// Units that other clients have spent, by client and branch.
    #[serde(default)]
    elsewhere: BTreeMap<u64, BTreeMap<u32, u64>>,
    /// Per branch, the units that unverified clients claim to have spent, at most [`GIVE_UP_AFTER`]; empty if there are
    /// none.
    #[serde(skip)]
    doubts: Vec<u64>,
}

impl_serdeany!(Spent);

impl Spent {
    /// Makes room for `n` branches.
    pub fn ensure(&mut self, n: usize) {
        self.units.resize(n, 0);
        self.evaluations.resize(n, 0);
        self.attempts.resize(n, 0);
        self.improved.resize(n, 0);
        self.closest.resize(n, None);
    }

    /// Whether the limits of the branches are set.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// Sets lower limits for branches of comparisons and operations ([`Saturation::passed`], a flag per branch).
    pub fn set_limits(&mut self, passed: &[bool]) {
        self.limits = passed.iter().map(|p| if *p { GIVE_UP_PASSED_AFTER } else { GIVE_UP_AFTER }).collect();
    }

    /// Number of units that may be spent on a branch before it is given up.
    fn limit(&self, branch: usize) -> u64 {
        let limit = self.limits.get(branch).copied().unwrap_or(GIVE_UP_AFTER);
        let of_long = self.mean(branch).saturating_mul(GIVE_UP_AFTER_EVALUATIONS);
        let ordinary = limit.max(of_long.min(limit * MAX_LIMIT_FACTOR));
        if limit < GIVE_UP_AFTER {
            return ordinary; // boundary values and exceptions are too many
        }
        let improving = self.improved[branch].saturating_mul(PATIENCE);
        ordinary.max(improving.min(limit * MAX_PATIENCE_FACTOR))
    }

    /// Mean number of units of an evaluation for a branch so far; 0 as long as none is known.
    fn mean(&self, branch: usize) -> u64 {
        self.units[branch].checked_div(self.evaluations[branch]).unwrap_or(0)
    }

    /// Creates the state from the values of an earlier run.
    #[must_use]
    pub fn known(units: Vec<u64>, evaluations: Vec<u64>, attempts: Vec<u32>, improved: Vec<u64>) -> Self {
        Self { units, evaluations, attempts, improved, ..Self::default() }
    }

    /// Records the units that another client has spent on branches so far. Returns the branches whose budget is thereby
    /// exhausted.
    pub fn note_elsewhere(&mut self, client: u64, branches: &[(u32, u64)]) -> Vec<usize> {
        let known = self.elsewhere.entry(client).or_default();
        for (branch, units) in branches {
            let so_far = known.entry(*branch).or_default();
            *so_far = (*so_far).max(*units);
        }
        let n = self.units.len();
        let spent = |b: &usize| *b < n && self.in_all(*b) >= self.limit(*b);
        branches.iter().map(|(b, _)| *b as usize).filter(spent).collect()
    }

    /// Records that an unverified client claims to have spent `units` on a branch. The branch then gets a lower
    /// priority; it is not given up earlier.
    pub fn add_unverified(&mut self, branch: usize, units: u64) {
        let n = self.units.len();
        if branch < n {
            self.doubts.resize(n, 0);
            self.doubts[branch] = self.doubts[branch].max(units.min(GIVE_UP_AFTER));
        }
    }

    /// The priority of a branch; the branch with the least value is next.
    pub(super) fn priority(&self, saturation: &Saturation, branch: usize) -> u64 {
        let spent = self.units[branch] + self.doubts.get(branch).copied().unwrap_or(0);
        if saturation.is_covered_by_crash(branch) { spent.saturating_mul(WEIGHT_BEHIND_CRASH) } else { spent }
    }

    /// Whether so much was spent on a branch that crashing inputs have taken that the search for an ordinary input
    /// ends.
    pub(super) fn is_crash_only_budget_spent(&self, branch: usize) -> bool {
        self.units[branch] >= END_BEHIND_CRASH_AFTER
    }

    /// Number of units that all clients together have spent on a branch, as far as their messages have arrived.
    fn in_all(&self, branch: usize) -> u64 {
        let others = self.elsewhere.values().filter_map(|of| of.get(&(branch as u32)));
        self.units[branch] + others.sum::<u64>()
    }

    /// Number of attempts that every open branch has had.
    #[must_use]
    pub fn rounds(&self, saturation: &Saturation) -> u64 {
        let open = saturation.uncovered().filter(|b| !saturation.is_given_up(*b) && saturation.is_site_reached(*b));
        open.filter_map(|b| self.attempts.get(b)).min().map_or(0, |n| u64::from(*n))
    }

    /// Number of units for the next attempt at a branch. `behind_crash` is set for a branch that crashing inputs have
    /// taken. Evaluations are expensive there because they end processes, so few of them are enough.
    #[must_use]
    pub fn allowance(&self, branch: usize, behind_crash: bool) -> u64 {
        let doubled = FIRST_ATTEMPT << self.attempts[branch].min(20);
        let left = self.limit(branch).saturating_sub(self.in_all(branch));
        // A branch that was given up and is tried again has no limit.
        let ordinary = doubled.min(LARGEST_ATTEMPT).min(if left == 0 { LARGEST_ATTEMPT } else { left });
        let of_long = self.mean(branch).saturating_mul(FEWEST_EVALUATIONS).min(LARGEST_SLOW_ATTEMPT);
        if behind_crash { ordinary } else { ordinary.max(of_long) }
    }

    /// Records the distance of the closest input of a branch after an attempt, before [`Spent::note`]. The first
    /// distance after a restart is not an improvement.
    pub fn note_closest(&mut self, branch: usize, distance: u64, units: u64) {
        let is_first = self.attempts[branch] == 0;
        if self.closest[branch].map_or(is_first, |before| distance < before) {
            self.improved[branch] = self.units[branch] + units;
        }
        self.closest[branch] = Some(distance);
    }

    /// Records an attempt. Returns true if the branch is to be given up.
    pub fn note(&mut self, branch: usize, units: u64, evaluations: u64) -> bool {
        self.units[branch] += units;
        self.evaluations[branch] += evaluations;
        self.attempts[branch] += 1;
        self.in_all(branch) >= self.limit(branch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes attempts with evaluations of this many units each, until the branch is given up. Returns the numbers of
    /// attempts and of evaluations.
    fn until_given_up(units: u64) -> (u64, u64) {
        let mut spent = Spent::default();
        spent.ensure(1);
        for attempts in 1.. {
            let evaluations = spent.allowance(0, false).div_ceil(units);
            if spent.note(0, evaluations * units, evaluations) {
                return (attempts, spent.evaluations[0]);
            }
        }
        unreachable!()
    }

    /// The same with evaluations of one unit. The closest input changes in attempts that begin before `until` units.
    fn until_given_up_if_improving(until: u64) -> u64 {
        let mut spent = Spent::default();
        spent.ensure(1);
        for distance in (0..u64::MAX).rev() {
            let units = spent.allowance(0, false);
            if spent.units[0] < until {
                spent.note_closest(0, distance, units);
            }
            if spent.note(0, units, units) {
                return spent.units[0];
            }
        }
        unreachable!()
    }

    #[test]
    fn a_branch_is_not_given_up_while_inputs_come_closer() {
        assert_eq!(until_given_up_if_improving(0), GIVE_UP_AFTER);
        assert_eq!(until_given_up_if_improving(GIVE_UP_AFTER / 32), GIVE_UP_AFTER, "an early improvement");
        let late = until_given_up_if_improving(GIVE_UP_AFTER / 2);
        let range = PATIENCE * GIVE_UP_AFTER / 2..PATIENCE * (GIVE_UP_AFTER / 2 + LARGEST_ATTEMPT) + 1;
        assert!(range.contains(&late), "{late}");
        assert_eq!(until_given_up_if_improving(u64::MAX), MAX_PATIENCE_FACTOR * GIVE_UP_AFTER, "always closer");
    }

    #[test]
    fn short_evaluations_are_limited_by_units() {
        assert_eq!(until_given_up(1).1, GIVE_UP_AFTER);
    }

    #[test]
    fn a_branch_with_long_evaluations_is_not_given_up_after_a_few() {
        let (attempts, evaluations) = until_given_up(1000);
        assert!((GIVE_UP_AFTER_EVALUATIONS..GIVE_UP_AFTER_EVALUATIONS + 100).contains(&evaluations), "{evaluations}");
        assert!(attempts < evaluations / 32, "{attempts} attempts");
    }

    #[test]
    fn the_longest_evaluations_end_after_a_multiple_of_the_limit() {
        let units = (1 << 20) / super::super::budgeted::FUEL_PER_UNIT;
        let (_, evaluations) = until_given_up(units);
        assert!(evaluations * units < (MAX_LIMIT_FACTOR + 1) * GIVE_UP_AFTER, "{evaluations}");
    }
}
