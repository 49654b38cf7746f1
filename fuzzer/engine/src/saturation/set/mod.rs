//! Covered, given up, saturated: the state of every branch, kept up to date at each find.

mod crashed;
mod unconfirmed;
mod vectors;

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, BTreeSet};

use libafl_bolts::impl_serdeany;
use penfuzz_executor::Changes;
use serde::{Deserialize, Serialize};

use super::graph::{BranchGraph, Levels, components};

/// Branches that are looked at for those that lead to a target: a bound on what one attempt at a branch costs before its first
/// evaluation.
const MOST_LEVELS: usize = 4096;

/// Branches of one site that lead to a target: of a switch with more, the nearest.
const MOST_LEADS: usize = 16;

/// An input that covers a new branch without saturating one yet: a start point that is not in the corpus.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pending {
    /// The input.
    pub bytes: Vec<u8>,
    /// The branches it was the first to cover.
    pub covers: Vec<u32>,
}

/// The number of a list of changes: each set has one of its own in this process, copies too.
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
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Saturation {
    graph: BranchGraph,
    /// For each branch, the goals that it can follow directly, ascending.
    before: Vec<Vec<u32>>,
    /// The branches in scope, ascending: checks at every turn look at these only.
    goals: Vec<u32>,
    covered: Vec<bool>,
    by_crash: Vec<bool>,
    /// For the first branch of each site: one of its branches is covered.
    reached: Vec<bool>,
    given_up: Vec<bool>,
    excluded: Vec<bool>,
    /// Branches of `by_crash` for which no ordinary input is searched any more.
    #[serde(default)]
    ended_behind_crash: BTreeSet<u32>,
    /// Replays in a fresh process that did not take a branch that the evaluation took, by branch.
    unconfirmed: BTreeMap<u32, u32>,
    saturated: Vec<bool>,
    /// Inputs that wait for their branches to become saturated.
    pub pending: Vec<Pending>,
    /// Raised at every change, so that others notice cheaply.
    pub generation: u64,
    component: Vec<u32>,
    /// Members of a component that are neither covered nor given up.
    open: Vec<u32>,
    /// Successor components that are not saturated.
    waiting: Vec<u32>,
    predecessors: Vec<Vec<u32>>,
    members: Vec<Vec<u32>>,
    #[serde(skip)]
    identity: Identity,
    /// Branches that were covered, covered by an input that returns, or given up, in order.
    #[serde(skip)]
    changes: Vec<u32>,
    /// Pending inputs may saturate a branch since branches were set aside.
    #[serde(skip)]
    has_ready: bool,
    /// Goals that are neither covered nor given up.
    n_open: usize,
    /// Goals before this place in `goals` are covered.
    uncovered_from: usize,
    has_goals: bool,
}

impl_serdeany!(Saturation);

impl Saturation {
    /// Nothing covered.
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

    /// Is the branch one of the goals?
    #[must_use]
    pub fn is_goal(&self, branch: usize) -> bool {
        self.graph.goal[branch]
    }

    /// Did any evaluation take it, crashing ones included?
    #[must_use]
    pub fn is_covered(&self, branch: usize) -> bool {
        self.covered[branch]
    }

    /// Did only crashing or hanging inputs take it?
    #[must_use]
    pub fn is_covered_by_crash(&self, branch: usize) -> bool {
        self.by_crash[branch]
    }

    /// Was its search given up? Not for a branch that was [set aside](Saturation::is_set_aside).
    #[must_use]
    pub fn is_given_up(&self, branch: usize) -> bool {
        self.given_up[branch] && !self.is_set_aside(branch)
    }

    /// Covered (or given up) with all descendants?
    #[must_use]
    pub fn is_saturated(&self, branch: usize) -> bool {
        self.saturated[branch]
    }

    /// Number of branches of the target, in scope or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.covered.len()
    }

    /// Does the target have no branch at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.covered.is_empty()
    }

    /// The branches of the site of `branch`.
    #[must_use]
    pub fn siblings(&self, branch: usize) -> core::ops::Range<usize> {
        let (from, to) = self.graph.siblings[branch];
        from as usize..to as usize
    }

    /// The branches that lead directly to the site of `branch`.
    #[must_use]
    pub fn parents(&self, branch: usize) -> &[u32] {
        &self.before[branch]
    }

    /// The branches whose state has changed since the set was made.
    #[must_use]
    pub fn changes(&self) -> Changes<'_> {
        Changes { identity: self.identity.0, branches: &self.changes }
    }

    /// The branches of comparisons and operations whose site `branch` leads to directly.
    pub fn passed_behind(&self, branch: usize) -> impl Iterator<Item = usize> + '_ {
        self.graph.next[branch].iter().map(|b| *b as usize).filter(|b| self.graph.passed[*b])
    }

    /// The branches that decide on the way to the site of `target`, ascending, with the number of sites that are left on
    /// the shortest way from each: those that are nearer than a branch of the same site.
    #[must_use]
    pub fn leads(&self, target: usize) -> Vec<(usize, u32)> {
        let levels = Levels::new(&self.before, &self.graph.siblings, target as u32, MOST_LEVELS);
        let site = self.siblings(target);
        let mut leads = Vec::new();
        for of_site in levels.by_site(&self.graph.siblings).filter(|s| !site.contains(&(s[0].0 as usize))) {
            let all = self.siblings(of_site[0].0 as usize).len();
            let furthest = if of_site.len() < all { u32::MAX } else { of_site.iter().map(|b| b.1).max().unwrap_or(0) };
            let mut nearer: Vec<_> = of_site.iter().filter(|b| b.1 < furthest).map(|b| (b.0 as usize, b.1)).collect();
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

    /// The first goal of part `number` when the goals are divided into `parts`, both from 0; 0 without goals.
    #[must_use]
    pub fn first_of_share(&self, number: usize, parts: usize) -> usize {
        self.goals.get(number * self.goals.len() / parts.max(1)).map_or(0, |b| *b as usize)
    }

    /// For every branch: does it stand at a comparison or an operation, which is passed whether it is taken or not?
    #[must_use]
    pub fn passed(&self) -> &[bool] {
        &self.graph.passed
    }

    /// Was its site passed?
    #[must_use]
    pub fn is_site_reached(&self, branch: usize) -> bool {
        if !self.graph.passed[branch] {
            return self.reached[self.graph.siblings[branch].0 as usize];
        }
        let before = &self.before[branch];
        before.is_empty() || before.iter().any(|b| self.covered[*b as usize])
    }

    /// Counts of the requested branches: all, covered by an input that ends normally, saturated, given up without those of
    /// [`Saturation::depends_on_earlier_calls`].
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize, usize) {
        let requested = || self.goals().filter(|b| self.graph.requested[*b]);
        let count = |v: &[bool]| requested().filter(|b| v[*b]).count();
        let covered = count(&self.covered) - self.covered_by_crash_only();
        let given_up = requested().filter(|b| self.given_up[*b] && !self.depends_on_earlier_calls(*b)).count();
        (requested().count(), covered, count(&self.saturated), given_up)
    }

    /// The number of requested branches that only crashing or hanging inputs took. They are not in the covered ones of
    /// [`Saturation::counts`], and are searched for with less of the budget than others.
    #[must_use]
    pub fn covered_by_crash_only(&self) -> usize {
        self.goals().filter(|b| self.graph.requested[*b] && self.covered[*b] && self.by_crash[*b]).count()
    }

    /// Is any branch requested, or an outcome that a further criterion searches for? Those that only lead to such are not worth a search.
    #[must_use]
    pub fn has_goals(&self) -> bool {
        self.has_goals
    }

    /// Is there nothing left to search for?
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.has_goals || self.n_open == 0
    }

    /// Notes branches that an input took; returns the number of branches that became saturated.
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
            self.reached[self.graph.siblings[branch].0 as usize] = true;
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
        // A branch that was given up wrongly brings its descendants back into the count.
        gained += self.rebuild();
        // It counted as saturated by verdict; now there is an input, which other fuzzers should see.
        gained + revived.iter().filter(|b| self.saturated[**b]).count()
    }

    /// Gives a branch up; returns the pending inputs that saturate a branch now that it counts as saturated.
    pub fn give_up(&mut self, branch: usize) -> Vec<Pending> {
        self.give_up_all(&[branch])
    }

    /// Gives several branches up at once: what follows from it is computed once.
    pub fn give_up_all(&mut self, branches: &[usize]) -> Vec<Pending> {
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

    /// Takes the pending inputs out whose own branches are saturated by now.
    pub fn promote(&mut self) -> Vec<Pending> {
        let saturated = &self.saturated;
        let (ready, waiting) = core::mem::take(&mut self.pending)
            .into_iter()
            .partition(|p| p.covers.iter().any(|b| saturated[*b as usize]));
        self.pending = waiting;
        ready
    }

    /// A covered branch is open no more: its component may be saturated, and then those before it.
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

    /// Computes components and saturation anew, without what can only follow a branch that was given up.
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
