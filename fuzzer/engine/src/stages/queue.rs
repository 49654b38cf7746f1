//! Which branch is next: the open one on which least was spent, found without looking at all of them.

use std::collections::BTreeSet;

use super::budget::Spent;
use crate::saturation::Saturation;

/// Evaluations spent, place in the order of the branches, and the branch.
type Entry = (u64, usize, u32);

/// The uncovered branches whose site is reached, and those that only crashing inputs took, by what was spent on them.
///
/// It follows [`Saturation::changes`]. Branches that are covered, given up or have become more expensive in the meantime are found
/// when they come first: evaluations on a branch only grow.
#[derive(Debug, Default)]
pub(super) struct Queue {
    identity: u64,
    /// Changes that are followed.
    followed: usize,
    open: BTreeSet<Entry>,
    given_up: BTreeSet<Entry>,
    /// Per branch: it is, or was, in one of the two.
    known: Vec<bool>,
    /// Where the order begins, and the number of branches.
    from: usize,
}

impl Queue {
    /// The open branch on which least was spent, among those whose site is reached; of several, the first from branch `from`
    /// on. `again` admits those that were given up, when no other is left.
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

    /// The site of a covered branch is reached, and so are the comparisons and operations behind it.
    fn admit_reached_by(&mut self, spent: &Spent, saturation: &Saturation, branch: usize) {
        if !saturation.is_covered(branch) {
            return;
        }
        // Only the first of its site brings in the others: a switch may have thousands.
        if !saturation.passed()[branch] && !self.is_admitted(saturation, branch) {
            for sibling in saturation.siblings(branch) {
                self.admit(spent, saturation, sibling);
            }
        }
        for behind in saturation.passed_behind(branch) {
            self.admit(spent, saturation, behind);
        }
    }

    /// Was another branch of the same site brought in?
    fn is_admitted(&self, saturation: &Saturation, branch: usize) -> bool {
        saturation.siblings(branch).take(2).any(|b| self.known[b])
    }

    fn admit(&mut self, spent: &Spent, saturation: &Saturation, branch: usize) {
        if !core::mem::replace(&mut self.known[branch], true) {
            self.open.insert(self.entry(spent, saturation, branch));
        }
    }
}
