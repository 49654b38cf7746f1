//! The state of every branch (covered, given up, saturated), updated at each find.

mod crashed;
mod unconfirmed;
mod vectors;

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, BTreeSet};

use libafl_bolts::impl_serdeany;
use penfuzz_executor::Changes;
use serde::{Deserialize, Serialize};

use super::graph::{BranchGraph, Levels, Siblings, components};

/// Maximum number of branches that are visited to find those that lead to a target. It bounds the cost of one attempt
/// at a branch before its first evaluation.
const MOST_LEVELS: usize = 4096;

/// Maximum number of branches of one site that lead to a target; for a larger `switch`, the nearest ones.
const MOST_LEADS: usize = 16;

/// An input that covers a new branch without saturating one yet: a start point that is not in the corpus.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingInput {
    /// The input.
    pub bytes: Vec<u8>,
    /// The branches that it was the first to cover.
    pub covers: Vec<u32>,
}

/// Counts of the requested branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchCounts {
    /// All.
    pub total: usize,
    /// Covered by an input that ends normally.
    pub covered: usize,
    /// Saturated.
    pub saturated: usize,
    /// Given up, without those of [`Saturation::depends_on_earlier_calls`].
    pub given_up: usize,
}

/// Identifies a list of changes. Each set in this process has its own number, and so does each copy.
#[derive(Debug)]
struct Identity(u64);

impl Default for Identity {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// State of all branches; metadata of the LibAFL state.
///
/// # Example
/// `if (a) { if (b) … }`: the site of `a` has the branches 0 (true) and 1; that of `b`, which follows 0, has 2 and 3.
/// ```
/// use penfuzz_engine::saturation::{BranchGraph, Saturation};
///
/// let mut saturation = Saturation::new(BranchGraph::two_way(2, &[(0, 1)]));
/// assert_eq!(saturation.cover(&[1], false), 1, "branch 1 has no descendants: it is saturated at once");
/// assert_eq!(saturation.cover(&[0, 2], false), 1, "only 2 is saturated: the descendant 3 of 0 is not covered");
/// assert_eq!(saturation.uncovered().collect::<Vec<_>>(), [3]);
/// assert_eq!(saturation.cover(&[3], false), 2, "3, and with it 0");
/// assert!(saturation.is_done());
/// let counts = saturation.counts();
/// assert_eq!((counts.total, counts.covered, counts.saturated, counts.given_up), (4, 4, 4, 0));
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saturation {
    graph: BranchGraph,
    /// For each branch, the goals that it can follow directly, in ascending order.
    before: Vec<Vec<u32>>,
    /// The goals in ascending order. The checks in every round look at these only.
    goals: Vec<u32>,
    covered: Vec<bool>,
    by_crash: Vec<bool>,
    /// For the first branch of each site, whether one of its branches is covered.
    reached: Vec<bool>,
    given_up: Vec<bool>,
    excluded: Vec<bool>,
    /// Branches of `by_crash` for which the search for an ordinary input has ended.
    #[serde(default)]
    ended_behind_crash: BTreeSet<u32>,
    /// By branch, the number of replays in a fresh process that did not take it although the evaluation took it.
    unconfirmed: BTreeMap<u32, u32>,
    /// Those of them that depend on uninitialized memory.
    #[serde(default)]
    uninitialized: BTreeSet<u32>,
    saturated: Vec<bool>,
    /// Inputs that wait for their branches to become saturated.
    pub pending: Vec<PendingInput>,
    /// Increases at every change, so that others notice changes cheaply.
    pub generation: u64,
    component: Vec<u32>,
    /// For each component, the number of members that are neither covered nor given up.
    open: Vec<u32>,
    /// For each component, the number of successor components that are not saturated.
    waiting: Vec<u32>,
    predecessors: Vec<Vec<u32>>,
    members: Vec<Vec<u32>>,
    #[serde(skip)]
    identity: Identity,
    /// Branches that were covered, covered by an input that returns, or given up, in order.
    #[serde(skip)]
    changes: Vec<u32>,
    /// Whether pending inputs may saturate a branch since branches were set aside.
    #[serde(skip)]
    has_ready: bool,
    /// Number of goals that are neither covered nor given up.
    n_open: usize,
    /// All goals before this index in `goals` are covered.
    uncovered_from: usize,
    has_goals: bool,
}

impl_serdeany!(Saturation);

impl Saturation {
    /// Creates a state without covered branches.
    #[must_use]
    pub fn new(graph: BranchGraph) -> Self {
        let n = graph.next.len();
        let goals: Vec<u32> = (0..n as u32).filter(|b| graph.goal[*b as usize]).collect();
        let mut before = vec![Vec::new(); n];
        for (branch, next) in graph.next.iter().enumerate().filter(|(b, _)| graph.goal[*b]) {
            for to in next {
                before[*to as usize].push(branch as u32);
            }
        }
        let mut set = Self {
            before,
            n_open: goals.len(),
            has_goals: goals.iter().any(|b| graph.requested[*b as usize] || graph.passed[*b as usize]),
            goals,
            graph,
            covered: vec![false; n],
            by_crash: vec![false; n],
            reached: vec![false; n],
            given_up: vec![false; n],
            excluded: vec![false; n],
            ended_behind_crash: BTreeSet::new(),
            unconfirmed: BTreeMap::new(),
            uninitialized: BTreeSet::new(),
            saturated: vec![false; n],
            pending: Vec::new(),
            generation: 1,
            component: Vec::new(),
            open: Vec::new(),
            waiting: Vec::new(),
            predecessors: Vec::new(),
            members: Vec::new(),
            identity: Identity::default(),
            changes: Vec::new(),
            has_ready: false,
            uncovered_from: 0,
        };
        set.rebuild();
        set
    }

    /// Whether the branch is a goal.
    #[must_use]
    pub fn is_goal(&self, branch: usize) -> bool {
        self.graph.goal[branch]
    }

    /// Whether any evaluation took the branch, crashing ones included.
    #[must_use]
    pub fn is_covered(&self, branch: usize) -> bool {
        self.covered[branch]
    }

    /// Whether only crashing or hanging inputs took the branch.
    #[must_use]
    pub fn is_covered_by_crash(&self, branch: usize) -> bool {
        self.by_crash[branch]
    }

    /// Whether the branch was given up. False for a branch that was [set aside](Saturation::is_set_aside).
    #[must_use]
    pub fn is_given_up(&self, branch: usize) -> bool {
        self.given_up[branch] && !self.is_set_aside(branch)
    }

    /// Whether the branch and all its descendants are covered or given up.
    #[must_use]
    pub fn is_saturated(&self, branch: usize) -> bool {
        self.saturated[branch]
    }

    /// Number of branches of the target, in scope or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.covered.len()
    }

    /// Whether the target has no branch at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.covered.is_empty()
    }

    /// The branches of the site of `branch`.
    #[must_use]
    pub fn siblings(&self, branch: usize) -> core::ops::Range<usize> {
        let Siblings { first, end } = self.graph.siblings[branch];
        first as usize..end as usize
    }

    /// The branches that lead directly to the site of `branch`.
    #[must_use]
    pub fn parents(&self, branch: usize) -> &[u32] {
        &self.before[branch]
    }

    /// The branches whose state has changed since the set was created.
    #[must_use]
    pub fn changes(&self) -> Changes<'_> {
        Changes { identity: self.identity.0, branches: &self.changes }
    }

    /// The branches of comparisons and operations whose site `branch` leads to directly.
    pub fn passed_behind(&self, branch: usize) -> impl Iterator<Item = usize> + '_ {
        self.graph.next[branch].iter().map(|b| *b as usize).filter(|b| self.graph.passed[*b])
    }

    /// The branches that decide whether a run reaches the site of `target`: those that are nearer to it than another
    /// branch of the same site. They are in ascending order, each with the number of sites that remain on its shortest
    /// way.
    #[must_use]
    pub fn leads(&self, target: usize) -> Vec<(usize, u32)> {
        let levels = Levels::new(&self.before, &self.graph.siblings, target as u32, MOST_LEVELS);
        let site = self.siblings(target);
        let mut leads = Vec::new();
        for of_site in levels.by_site(&self.graph.siblings).filter(|s| !site.contains(&(s[0].branch as usize))) {
            let all = self.siblings(of_site[0].branch as usize).len();
            let furthest =
                if of_site.len() < all { u32::MAX } else { of_site.iter().map(|b| b.level).max().unwrap_or(0) };
            let mut nearer: Vec<_> =
                of_site.iter().filter(|b| b.level < furthest).map(|b| (b.branch as usize, b.level)).collect();
            if nearer.len() > MOST_LEADS {
                nearer.sort_by_key(|b| (b.1, b.0));
                nearer.truncate(MOST_LEADS);
                nearer.sort_unstable();
            }
            leads.append(&mut nearer);
        }
        leads
    }

    /// Goals that are neither covered nor [set aside](Saturation::is_set_aside).
    pub fn uncovered(&self) -> impl Iterator<Item = usize> + '_ {
        let is_wanted = |b: &usize| !self.covered[*b] && !self.is_set_aside(*b);
        self.goals[self.uncovered_from..].iter().map(|b| *b as usize).filter(is_wanted)
    }

    fn goals(&self) -> impl Iterator<Item = usize> + '_ {
        self.goals.iter().map(|b| *b as usize)
    }

    /// The first goal of part `number`, from 0, if the goals are divided into `parts` parts; 0 without goals.
    #[must_use]
    pub fn first_of_share(&self, number: usize, parts: usize) -> usize {
        self.goals.get(number * self.goals.len() / parts.max(1)).map_or(0, |b| *b as usize)
    }

    /// For every branch, whether it belongs to a comparison or an operation, whose site is passed whether it is taken
    /// or not.
    #[must_use]
    pub fn passed(&self) -> &[bool] {
        &self.graph.passed
    }

    /// Whether the site of the branch was passed.
    #[must_use]
    pub fn is_site_reached(&self, branch: usize) -> bool {
        if !self.graph.passed[branch] {
            return self.reached[self.graph.siblings[branch].first as usize];
        }
        let before = &self.before[branch];
        before.is_empty() || before.iter().any(|b| self.covered[*b as usize])
    }

    /// Counts of the requested branches.
    #[must_use]
    pub fn counts(&self) -> BranchCounts {
        let requested = || self.goals().filter(|b| self.graph.requested[*b]);
        let count = |v: &[bool]| requested().filter(|b| v[*b]).count();
        BranchCounts {
            total: requested().count(),
            covered: count(&self.covered) - self.covered_by_crash_only(),
            saturated: count(&self.saturated),
            given_up: requested().filter(|b| self.given_up[*b] && !self.is_unconfirmed(*b)).count(),
        }
    }

    /// The number of requested branches that only crashing or hanging inputs took. They are not among the covered ones
    /// of [`Saturation::counts`], and get less of the search budget than others.
    #[must_use]
    pub fn covered_by_crash_only(&self) -> usize {
        self.goals().filter(|b| self.graph.requested[*b] && self.covered[*b] && self.by_crash[*b]).count()
    }

    /// Whether any branch is requested, or is an additional goal. Branches that only lead to such goals are not worth a
    /// search.
    #[must_use]
    pub fn has_goals(&self) -> bool {
        self.has_goals
    }

    /// Whether there is nothing left to search for.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.has_goals || self.n_open == 0
    }

    /// Records the branches that an input took. Returns the number of branches that became saturated.
    pub fn cover(&mut self, branches: &[u32], crashed: bool) -> usize {
        let mut gained = 0;
        let mut revived = Vec::new();
        for branch in branches.iter().map(|b| *b as usize) {
            if !self.graph.goal[branch] {
                continue;
            }
            if self.covered[branch] {
                if !crashed && core::mem::take(&mut self.by_crash[branch]) {
                    self.generation += 1;
                    self.changes.push(branch as u32);
                }
                continue;
            }
            self.generation += 1;
            self.covered[branch] = true;
            self.reached[self.graph.siblings[branch].first as usize] = true;
            self.by_crash[branch] = crashed;
            self.changes.push(branch as u32);
            if core::mem::take(&mut self.given_up[branch]) {
                revived.push(branch);
            } else {
                self.n_open -= 1;
            }
            if revived.is_empty() {
                gained += self.close(branch);
            }
        }
        while self.goals.get(self.uncovered_from).is_some_and(|b| self.covered[*b as usize]) {
            self.uncovered_from += 1;
        }
        self.release_vectors(branches);
        if revived.is_empty() {
            return gained;
        }
        // A branch that was wrongly given up makes its descendants count again.
        gained += self.rebuild();
        // The branch counted as saturated because it was given up. Now an input takes it, and other fuzzers should get
        // that input.
        gained + revived.iter().filter(|b| self.saturated[**b]).count()
    }

    /// Gives a branch up. Returns the pending inputs that saturate a branch now that it counts as saturated.
    ///
    /// # Example
    /// `if (a) { if (b) … }`: the site of `a` has the branches 0 (true) and 1; that of `b`, which follows 0, has 2 and
    /// 3.
    /// ```
    /// use penfuzz_engine::saturation::{BranchGraph, PendingInput, Saturation};
    ///
    /// let mut saturation = Saturation::new(BranchGraph::two_way(2, &[(0, 1)]));
    /// saturation.cover(&[2], false);
    /// assert_eq!(saturation.cover(&[0], false), 0, "branch 3 is open, so 0 is covered but not saturated");
    /// saturation.pending.push(PendingInput { bytes: vec![42], covers: vec![0] });
    /// let ready = saturation.give_up(3);
    /// assert_eq!(ready[0].bytes, [42], "without branch 3, branch 0 is saturated");
    /// ```
    pub fn give_up(&mut self, branch: usize) -> Vec<PendingInput> {
        self.give_up_all(&[branch])
    }

    /// Gives several branches up at once, so that the consequences are computed only once.
    pub fn give_up_all(&mut self, branches: &[usize]) -> Vec<PendingInput> {
        let before = self.changes.len();
        for branch in branches.iter().copied() {
            if !self.covered[branch] && !core::mem::replace(&mut self.given_up[branch], true) {
                self.n_open -= usize::from(self.graph.goal[branch]);
                self.changes.push(branch as u32);
            }
        }
        if self.changes.len() == before {
            return Vec::new();
        }
        self.generation += (self.changes.len() - before) as u64;
        self.rebuild();
        self.promote()
    }

    /// Removes and returns the pending inputs of which a branch is saturated by now.
    pub fn promote(&mut self) -> Vec<PendingInput> {
        let saturated = &self.saturated;
        let (ready, waiting) = core::mem::take(&mut self.pending)
            .into_iter()
            .partition(|p| p.covers.iter().any(|b| saturated[*b as usize]));
        self.pending = waiting;
        ready
    }

    /// Closes a branch that was covered: its component may become saturated, and then the components before it.
    fn close(&mut self, branch: usize) -> usize {
        let c = self.component[branch] as usize;
        self.open[c] -= 1;
        self.settle(c)
    }

    fn settle(&mut self, component: usize) -> usize {
        let mut gained = 0;
        let mut work = vec![component];
        while let Some(c) = work.pop() {
            if self.open[c] > 0 || self.waiting[c] > 0 {
                continue;
            }
            for m in &self.members[c] {
                if !core::mem::replace(&mut self.saturated[*m as usize], true) {
                    gained += 1;
                }
            }
            for p in &self.predecessors[c] {
                self.waiting[*p as usize] -= 1;
                work.push(*p as usize);
            }
        }
        gained
    }

    /// Recomputes components and saturation. Branches that can only follow a branch that was given up do not count.
    /// Returns the number of branches that became saturated.
    fn rebuild(&mut self) -> usize {
        let before = self.saturated.iter().filter(|s| **s).count();
        let live = |b: usize| self.graph.goal[b] && !self.given_up[b];
        let (component, count) = components(&self.graph.next, &live);
        self.members = vec![Vec::new(); count];
        self.open = vec![0; count];
        self.waiting = vec![0; count];
        self.predecessors = vec![Vec::new(); count];
        let mut last_seen = vec![u32::MAX; count];
        for (b, c) in component.iter().enumerate().filter(|(_, c)| **c != u32::MAX) {
            self.members[*c as usize].push(b as u32);
            self.open[*c as usize] += u32::from(!self.covered[b]);
        }
        for c in 0..count {
            for m in &self.members[c] {
                for to in &self.graph.next[*m as usize] {
                    let d = component[*to as usize];
                    if d != u32::MAX && d as usize != c && last_seen[d as usize] != c as u32 {
                        last_seen[d as usize] = c as u32;
                        self.waiting[c] += 1;
                        self.predecessors[d as usize].push(c as u32);
                    }
                }
            }
        }
        self.component = component;
        self.saturated.copy_from_slice(&self.given_up);
        self.settle_all(count);
        self.saturated.iter().filter(|s| **s).count().saturating_sub(before)
    }

    /// Components are numbered successors first, so one pass in order settles each exactly once.
    fn settle_all(&mut self, count: usize) {
        for c in 0..count {
            if self.open[c] == 0 && self.waiting[c] == 0 {
                for m in &self.members[c] {
                    self.saturated[*m as usize] = true;
                }
                for p in self.predecessors[c].clone() {
                    self.waiting[p as usize] -= 1;
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "set_tests.rs"]
mod tests;
