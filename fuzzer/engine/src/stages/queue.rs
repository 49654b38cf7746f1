//! Finds the next branch, which is the open one on which least was spent, without a scan of all branches.

use std::collections::BTreeSet;

use super::budget::Spent;
use crate::saturation::Saturation;

/// Priority of a branch, its place in the order of the branches, and the branch.
type Entry = (u64, usize, u32);

/// The uncovered branches whose site is reached, and those that only crashing inputs took, in the order of their
/// priority.
///
/// The queue follows [`Saturation::changes`]. Branches that were covered, given up or became more expensive in the
/// meantime are detected when they come first, because the evaluations on a branch only grow.
#[derive(Debug, Default)]
pub(super) struct Queue {
    identity: u64,
    /// Number of changes that have been processed.
    followed: usize,
    open: BTreeSet<Entry>,
    given_up: BTreeSet<Entry>,
    /// Per branch, whether it is or was in one of the two sets.
    known: Vec<bool>,
    /// The branch where the order begins.
    from: usize,
}

impl Queue {
    /// The open branch on which least was spent, among those whose site is reached; of several, the first one from
    /// branch `from` on. `again` admits branches that were given up, if no other is left.
    pub(super) fn next(&mut self, spent: &Spent, saturation: &Saturation, again: bool, from: usize) -> Option<usize> {
        self.follow(spent, saturation, from);
        let is_over = |branch: usize| saturation.is_settled(branch);
        while let Some(entry) = self.open.first().copied() {
            let branch = entry.2 as usize;
            if !is_over(branch) && !saturation.is_given_up(branch) && entry.0 == spent.priority(saturation, branch) {
                return Some(branch);
            }
            self.open.remove(&entry);
            if saturation.is_given_up(branch) {
                self.given_up.insert(entry);
            } else if !is_over(branch) {
                self.open.insert(self.entry(spent, saturation, branch));
            }
        }
        while let Some(entry) = self.given_up.first().copied().filter(|_| again) {
            let branch = entry.2 as usize;
            if !is_over(branch) && entry.0 == spent.priority(saturation, branch) {
                return Some(branch);
            }
            self.given_up.remove(&entry);
            if !is_over(branch) {
                self.given_up.insert(self.entry(spent, saturation, branch));
            }
        }
        None
    }

    fn entry(&self, spent: &Spent, saturation: &Saturation, branch: usize) -> Entry {
        let n = self.known.len();
        (spent.priority(saturation, branch), (branch + n - self.from) % n, branch as u32)
    }

    fn follow(&mut self, spent: &Spent, saturation: &Saturation, from: usize) {
        let changes = saturation.changes();
        if self.identity == changes.identity {
            for branch in &changes.branches[self.followed..] {
                self.admit_reached_by(spent, saturation, *branch as usize);
            }
        } else {
            *self = Self { identity: changes.identity, known: vec![false; saturation.len()], from, ..Self::default() };
            let open = saturation.uncovered().chain(saturation.behind_crash());
            for branch in open.filter(|b| saturation.is_site_reached(*b)) {
                self.admit(spent, saturation, branch);
            }
        }
        self.followed = changes.branches.len();
    }

    /// Admits what a covered branch has reached: the branches of its own site, and the comparisons and operations
    /// directly after it.
    fn admit_reached_by(&mut self, spent: &Spent, saturation: &Saturation, branch: usize) {
        if !saturation.is_covered(branch) {
            return;
        }
        // Only the first branch of a site admits the others, because a `switch` may have thousands.
        if !saturation.passed()[branch] && !self.is_admitted(saturation, branch) {
            for sibling in saturation.siblings(branch) {
                self.admit(spent, saturation, sibling);
            }
        }
        for behind in saturation.passed_behind(branch) {
            self.admit(spent, saturation, behind);
        }
    }

    /// Whether another branch of the same site was admitted.
    fn is_admitted(&self, saturation: &Saturation, branch: usize) -> bool {
        saturation.siblings(branch).take(2).any(|b| self.known[b])
    }

    fn admit(&mut self, spent: &Spent, saturation: &Saturation, branch: usize) {
        if !core::mem::replace(&mut self.known[branch], true) {
            self.open.insert(self.entry(spent, saturation, branch));
        }
    }
}
