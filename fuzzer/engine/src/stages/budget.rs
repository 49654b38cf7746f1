//! What was spent on each branch, and which one is next: rising budgets in turn, until a branch is given up.

use std::collections::BTreeMap;

use libafl_bolts::impl_serdeany;
use serde::{Deserialize, Serialize};

use crate::saturation::Saturation;

/// Units of the budget ([`super::budgeted`]) on one branch before it is given up.
pub const GIVE_UP_AFTER: u64 = 600_000;

/// The same for boundary values and exceptions: these are several for every operation, most of them out of reach. Of those that
/// were found, the most expensive took 164,000 (an overflow of `c / q` in `harnesses/quickstart/quadratic.c`).
pub const GIVE_UP_PASSED_AFTER: u64 = 200_000;

/// The same for a branch that crashing inputs have taken, until no ordinary one is searched for any more.
pub const END_BEHIND_CRASH_AFTER: u64 = 40_000;

/// A unit for such a branch counts as this many when it is decided whose turn it is.
const WEIGHT_BEHIND_CRASH: u64 = 8;

/// Units of the first attempt at a branch; each further one gets twice as many.
const FIRST_ATTEMPT: u64 = 128;

/// Largest attempt: a short turn, so that finds are saved soon.
const LARGEST_ATTEMPT: u64 = 16_384;

/// An attempt has units for so many evaluations of the length that those for the branch had so far: with fewer it does no more than
/// look at its start again.
const FEWEST_EVALUATIONS: u64 = 64;

/// As long as an attempt of long evaluations may become.
const LARGEST_SLOW_ATTEMPT: u64 = GIVE_UP_AFTER / 8;

/// Where an evaluation is long, the units of a limit are few evaluations: then the limit is raised to so many evaluations of that length,
/// at most to [`MOST_PATIENCE`] times as much.
const GIVE_UP_AFTER_EVALUATIONS: u64 = 2048;
const MOST_PATIENCE: u64 = 4;

/// What was spent per branch; metadata of the LibAFL state.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Units of the budget per branch: they decide whose turn it is, and when a branch is given up.
    pub units: Vec<u64>,
    /// Evaluations per branch, each for one branch: their sum is at most the number of evaluations of the campaign.
    #[serde(default)]
    pub evaluations: Vec<u64>,
    /// Attempts per branch.
    pub attempts: Vec<u32>,
    /// Per branch: what may be spent on short evaluations before it is given up; [`GIVE_UP_AFTER`] where nothing stands.
    #[serde(skip)]
    limits: Vec<u64>,
    /// Units while no branch could be aimed at, because no site was reached.
    pub exploring: u64,
    /// What other clients have spent, by client and branch.
    #[serde(default)]
    elsewhere: BTreeMap<u64, BTreeMap<u32, u64>>,
    /// Per branch: what unverified clients claim to have spent, at most [`GIVE_UP_AFTER`]; empty for nothing.
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
    }

    /// Does it know yet which branches get less?
    #[must_use]
    pub fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// Gives less to branches at sites that are passed all the same ([`Saturation::passed`], a flag per branch).
    pub fn set_limits(&mut self, passed: &[bool]) {
        self.limits = passed.iter().map(|p| if *p { GIVE_UP_PASSED_AFTER } else { GIVE_UP_AFTER }).collect();
    }

    /// What may be spent on a branch before it is given up.
    fn limit(&self, branch: usize) -> u64 {
        let limit = self.limits.get(branch).copied().unwrap_or(GIVE_UP_AFTER);
        let of_long = self.mean(branch).saturating_mul(GIVE_UP_AFTER_EVALUATIONS);
        limit.max(of_long.min(limit * MOST_PATIENCE))
    }

    /// Units of an evaluation for a branch so far; 0 as long as none is known.
    fn mean(&self, branch: usize) -> u64 {
        self.units[branch].checked_div(self.evaluations[branch]).unwrap_or(0)
    }

    /// What is known before the first turn of a later run.
    #[must_use]
    pub fn known(units: Vec<u64>, evaluations: Vec<u64>, attempts: Vec<u32>) -> Self {
        Self { units, evaluations, attempts, ..Self::default() }
    }

    /// Notes what another client has spent on branches so far; returns those whose budget is spent by that.
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

    /// Notes that a client whose word does not count claims to have spent `units` on a branch. Its turn comes later then;
    /// it is not given up earlier.
    pub fn doubt(&mut self, branch: usize, units: u64) {
        let n = self.units.len();
        if branch < n {
            self.doubts.resize(n, 0);
            self.doubts[branch] = self.doubts[branch].max(units.min(GIVE_UP_AFTER));
        }
    }

    /// What decides whose turn it is: the branch with the least is next.
    pub(super) fn priority(&self, saturation: &Saturation, branch: usize) -> u64 {
        let spent = self.units[branch] + self.doubts.get(branch).copied().unwrap_or(0);
        if saturation.is_covered_by_crash(branch) { spent.saturating_mul(WEIGHT_BEHIND_CRASH) } else { spent }
    }

    /// Is so much spent on a branch that crashing inputs have taken that the search for an ordinary one ends?
    pub(super) fn is_enough_behind_crash(&self, branch: usize) -> bool {
        self.units[branch] >= END_BEHIND_CRASH_AFTER
    }

    /// Units that all clients together have spent on a branch, as far as their messages have arrived.
    fn in_all(&self, branch: usize) -> u64 {
        let others = self.elsewhere.values().filter_map(|of| of.get(&(branch as u32)));
        self.units[branch] + others.sum::<u64>()
    }

    /// Attempts that every open branch has had.
    #[must_use]
    pub fn rounds(&self, saturation: &Saturation) -> u64 {
        let open = saturation.uncovered().filter(|b| !saturation.is_given_up(*b) && saturation.is_site_reached(*b));
        open.filter_map(|b| self.attempts.get(b)).min().map_or(0, |n| u64::from(*n))
    }

    /// Units for the next attempt at a branch; of one that crashing inputs have taken if `behind_crash`. There, evaluations cost much
    /// because they end processes, so few of them are enough.
    #[must_use]
    pub fn allowance(&self, branch: usize, behind_crash: bool) -> u64 {
        let doubled = FIRST_ATTEMPT << self.attempts[branch].min(20);
        let left = self.limit(branch).saturating_sub(self.in_all(branch));
        // What was given up and is tried again has no limit.
        let ordinary = doubled.min(LARGEST_ATTEMPT).min(if left == 0 { LARGEST_ATTEMPT } else { left });
        let of_long = self.mean(branch).saturating_mul(FEWEST_EVALUATIONS).min(LARGEST_SLOW_ATTEMPT);
        if behind_crash { ordinary } else { ordinary.max(of_long) }
    }

    /// Notes an attempt; true when the branch is to be given up.
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

    /// Attempts of evaluations of so many units each, until the branch is given up: their number, and the evaluations.
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
        assert!(evaluations * units < (MOST_PATIENCE + 1) * GIVE_UP_AFTER, "{evaluations}");
    }
}
