//! Branches that an evaluation took, but its replay in a fresh process did not: the evaluation depends on earlier
//! calls, or on uninitialized memory. Such a branch is not covered. After [`MOST_REPLAYS`] replays it is set aside: it
//! is neither recorded nor searched for any more, because each evaluation that takes it would cost
//! another process. It still counts if the replay of another input takes it.

use super::Saturation;

/// Number of replays without a branch after which it is set aside. Each replay costs a process, about a millisecond.
pub const MOST_REPLAYS: u32 = 8;

/// The same for a branch that depends on uninitialized memory. Inputs that leave a variable uninitialized may be many,
/// and others that take the branch may be few. Most of these replays need no process.
const MOST_REPLAYS_OF_UNINITIALIZED: u32 = 1024;

impl Saturation {
    /// Records branches that an input took, but not its replay, and those among them that the replay took with some
    /// contents of uninitialized memory.
    pub fn note_unconfirmed(&mut self, branches: &[u32], uninitialized: &[u32]) {
        self.recall_uninitialized(uninitialized.iter().copied());
        let mut has_given_up = false;
        for branch in branches.iter().map(|b| *b as usize) {
            if self.is_goal(branch) && !self.is_covered_by_test(branch) {
                has_given_up |= self.add_unconfirmed(branch, 1);
            }
        }
        self.follow_set_aside(has_given_up);
    }

    /// Restores what [`Saturation::unconfirmed`] returned in an earlier part of the campaign.
    pub fn recall_unconfirmed(&mut self, unconfirmed: impl IntoIterator<Item = (u32, u32)>) {
        let mut has_given_up = false;
        for (branch, replays) in unconfirmed {
            if (branch as usize) < self.len() && self.is_goal(branch as usize) {
                has_given_up |= self.add_unconfirmed(branch as usize, replays);
            }
        }
        self.follow_set_aside(has_given_up);
    }

    /// The branches that some replay did not confirm, covered by another input or not, each with the number of these
    /// replays.
    pub fn unconfirmed(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.unconfirmed.iter().map(|(branch, replays)| (*branch, *replays))
    }

    /// Records branches that depend on uninitialized memory if they are [unconfirmed](Saturation::unconfirmed).
    pub fn recall_uninitialized(&mut self, branches: impl IntoIterator<Item = u32>) {
        let n = self.len();
        self.uninitialized.extend(branches.into_iter().filter(|b| (*b as usize) < n));
    }

    /// What [`Saturation::recall_uninitialized`] has recorded.
    pub fn uninitialized(&self) -> impl Iterator<Item = u32> + '_ {
        self.uninitialized.iter().copied()
    }

    /// Whether some replay differed from its evaluation. The target then has state that is not restored.
    #[must_use]
    pub fn has_unconfirmed(&self) -> bool {
        !self.unconfirmed.is_empty()
    }

    /// Whether the branch was taken only by evaluations whose replay did not take it.
    #[must_use]
    pub fn is_unconfirmed(&self, branch: usize) -> bool {
        !self.is_covered(branch) && self.unconfirmed.contains_key(&(branch as u32))
    }

    /// Whether that is because of uninitialized memory: some replay took it with some contents of it, but not with all.
    #[must_use]
    pub fn depends_on_uninitialized(&self, branch: usize) -> bool {
        self.is_unconfirmed(branch) && self.uninitialized.contains(&(branch as u32))
    }

    /// Whether that is because of earlier calls, as far as is known.
    #[must_use]
    pub fn depends_on_earlier_calls(&self, branch: usize) -> bool {
        self.is_unconfirmed(branch) && !self.uninitialized.contains(&(branch as u32))
    }

    /// The number of requested branches for which [`Saturation::depends_on_earlier_calls`] holds.
    #[must_use]
    pub fn depending_on_earlier_calls(&self) -> usize {
        self.number_of(&|b| self.depends_on_earlier_calls(b))
    }

    /// The number of requested branches for which [`Saturation::depends_on_uninitialized`] holds.
    #[must_use]
    pub fn depending_on_uninitialized(&self) -> usize {
        self.number_of(&|b| self.depends_on_uninitialized(b))
    }

    fn number_of(&self, depends: &dyn Fn(usize) -> bool) -> usize {
        self.unconfirmed.keys().map(|b| *b as usize).filter(|b| depends(*b) && self.graph.requested[*b]).count()
    }

    /// Whether the branch is neither recorded nor searched for, because too many replays did not take it.
    #[must_use]
    pub fn is_set_aside(&self, branch: usize) -> bool {
        !self.is_covered_by_test(branch)
            && self.unconfirmed.get(&(branch as u32)).is_some_and(|replays| *replays >= self.most_replays(branch))
    }

    fn most_replays(&self, branch: usize) -> u32 {
        if self.uninitialized.contains(&(branch as u32)) { MOST_REPLAYS_OF_UNINITIALIZED } else { MOST_REPLAYS }
    }

    fn is_covered_by_test(&self, branch: usize) -> bool {
        self.covered[branch] && !self.by_crash[branch]
    }

    /// Adds replays that did not take the branch. Returns whether the branch thereby counts as saturated.
    fn add_unconfirmed(&mut self, branch: usize, more: u32) -> bool {
        let most = self.most_replays(branch);
        let replays = self.unconfirmed.entry(branch as u32).or_default();
        let before = core::mem::replace(replays, replays.saturating_add(more));
        self.generation += 1;
        if before >= most || *replays < most {
            return false;
        }
        self.changes.push(branch as u32);
        if self.covered[branch] || core::mem::replace(&mut self.given_up[branch], true) {
            return false;
        }
        self.n_open -= 1;
        true
    }

    fn follow_set_aside(&mut self, has_given_up: bool) {
        if has_given_up {
            self.rebuild();
            self.has_ready = true;
        }
    }

    /// Removes and returns the pending inputs that saturate a branch since branches were set aside.
    pub fn take_ready(&mut self) -> Vec<super::PendingInput> {
        if core::mem::take(&mut self.has_ready) { self.promote() } else { Vec::new() }
    }
}
