//! Branches that only crashing or hanging inputs have taken. Such a branch counts as covered, because the search would
//! otherwise find the same crash for ever. An ordinary input may take it as well, so it stays a goal, with less of the
//! budget than others, until [`Saturation::end_crash_only_search`].

use super::{PendingInput, Saturation};

impl Saturation {
    /// Whether only crashing inputs took the branch, and the search for an ordinary input goes on.
    #[must_use]
    pub fn is_crash_only_goal(&self, branch: usize) -> bool {
        self.by_crash[branch]
            && self.graph.requested[branch]
            && !self.ended_behind_crash.contains(&(branch as u32))
            && !self.is_set_aside(branch)
    }

    /// All branches of [`Saturation::is_crash_only_goal`].
    pub fn behind_crash(&self) -> impl Iterator<Item = usize> + '_ {
        self.goals().filter(|b| self.is_crash_only_goal(*b))
    }

    /// Whether neither an open goal nor a branch of [`Saturation::is_crash_only_goal`] is left.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_done() && (!self.has_goals() || self.behind_crash().next().is_none())
    }

    /// Whether there is nothing to search for at this branch: an ordinary input took it, the search for one has ended,
    /// or no input takes it.
    #[must_use]
    pub fn is_settled(&self, branch: usize) -> bool {
        self.is_covered(branch) && !self.is_crash_only_goal(branch)
            || self.is_set_aside(branch)
            || self.excluded[branch]
    }

    /// Excludes branches for which it is proved that no input takes them: no more budget is spent on them. An input
    /// that takes one is recorded all the same. Returns the pending inputs that thereby saturate a branch.
    pub fn exclude(&mut self, branches: &[usize]) -> Vec<PendingInput> {
        for branch in branches {
            self.excluded[*branch] = true;
        }
        self.give_up_all(branches)
    }

    /// Covers branches that were taken only by inputs that end their process. No ordinary input is searched for them,
    /// because each such input costs a process.
    pub fn cover_by_fatal(&mut self, branches: &[u32]) {
        self.cover(branches, true);
        for branch in branches {
            self.end_crash_only_search(*branch as usize);
        }
    }

    /// Ends the search for an ordinary input that takes the branch.
    pub fn end_crash_only_search(&mut self, branch: usize) {
        if self.by_crash[branch] && self.ended_behind_crash.insert(branch as u32) {
            self.generation += 1;
        }
    }
}
