//! The descendant relation between branches (CoverMe, Def. 3.2), condensed to its strongly connected components.

use std::collections::HashSet;

use penfuzz_target::program::{Edges, Site, Target};
use serde::{Deserialize, Serialize};

use super::{Scope, VectorGoals};

/// All branches, and for each the branches that can be taken next.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BranchGraph {
    /// For each branch, the branches that can follow it directly; empty out of scope.
    pub next: Vec<Vec<u32>>,
    /// For each branch, whether it is a goal: requested, or on the way to a requested one.
    pub goal: Vec<bool>,
    /// For each branch, whether it is requested.
    pub requested: Vec<bool>,
    /// For each branch, whether it belongs to a comparison or an operation, whose site is passed whether the branch is
    /// taken or not.
    pub passed: Vec<bool>,
    /// For each branch, the branches of the same site (itself included).
    pub siblings: Vec<Siblings>,
    /// The decisions in scope whose vectors are goals, in ascending order of their branches.
    #[serde(default)]
    pub decisions: Vec<VectorGoals>,
}

impl BranchGraph {
    /// Creates the graph of `sites` two-way conditionals without a target, for tests and targets that run elsewhere.
    /// Site `s` has the branches `2 * s` (true) and `2 * s + 1` (false). `edges` lists branches with the sites that can
    /// follow them directly. All branches are requested goals.
    ///
    /// # Panics
    /// If an edge has a branch or a site that does not exist.
    ///
    /// # Example
    /// `if (a) { if (b) … }`: the site of `b` (1) follows the true branch of `a` (0).
    /// ```
    /// use penfuzz_engine::saturation::BranchGraph;
    ///
    /// let graph = BranchGraph::two_way(2, &[(0, 1)]);
    /// assert_eq!(graph.next, [vec![2, 3], vec![], vec![], vec![]]);
    /// ```
    #[must_use]
    pub fn two_way(sites: usize, edges: &[(u32, u32)]) -> Self {
        let n = 2 * sites;
        let mut next = vec![Vec::new(); n];
        for (branch, site) in edges {
            assert!((*site as usize) < sites, "there is no site {site}");
            next[*branch as usize].extend([2 * site, 2 * site + 1]);
        }
        Self {
            next,
            goal: vec![true; n],
            requested: vec![true; n],
            passed: vec![false; n],
            siblings: (0..sites as u32).flat_map(|s| [Siblings { first: 2 * s, end: 2 * s + 2 }; 2]).collect(),
            decisions: Vec::new(),
        }
    }

    /// The graph of the branches in scope. Calls lead into functions in scope. Calls of other functions lead to the
    /// functions that these call.
    #[must_use]
    pub fn new(target: &Target, scope: &Scope) -> Self {
        let mut graph = Self {
            next: vec![Vec::new(); target.n_branches],
            goal: scope.branches.clone(),
            requested: scope.requested.clone(),
            passed: vec![false; target.n_branches],
            siblings: vec![Siblings::default(); target.n_branches],
            decisions: Vec::new(),
        };
        for s in &scope.sites {
            let site = &target.sites[*s];
            graph.passed[site.branches()].fill(!site.is_conditional());
            for (i, edges) in site.edges.iter().enumerate() {
                let branch = site.first_branch + i;
                graph.siblings[branch] =
                    Siblings { first: site.first_branch as u32, end: (site.first_branch + site.n_branches) as u32 };
                graph.next[branch] = successors(target, scope, edges);
            }
            if let Some(decision) = &site.decision {
                let goals = VectorGoals::new(decision, site.first_branch, |s| target.sites[s].first_branch);
                graph.decisions.push(goals);
            }
        }
        graph
    }
}

/// The branches of one site, which have consecutive numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Siblings {
    /// The first branch.
    pub first: u32,
    /// The number after the last branch.
    pub end: u32,
}

/// A branch from which control can reach a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level {
    /// The number of the branch.
    pub branch: u32,
    /// The number of sites on the shortest way between them.
    pub level: u32,
}

/// The branches from which control can reach the site of a target, with the number of sites on the shortest way between
/// them.
#[derive(Debug)]
pub struct Levels {
    /// In ascending order of the branches.
    branches: Vec<Level>,
}

impl Levels {
    /// Computes the levels of `target`. `before` has, for each branch, the branches that it can follow directly, and
    /// `siblings` the branches of its site. The levels end before the one with which there would be more than `most`
    /// branches.
    #[must_use]
    pub fn new(before: &[Vec<u32>], siblings: &[Siblings], target: u32, most: usize) -> Self {
        let mut branches: Vec<Level> = Vec::new();
        let mut seen = HashSet::new();
        // A branch that leads to a site leads to all branches of the site. One of them represents all.
        let mut sites = HashSet::from([siblings[target as usize].first]);
        let mut ring = vec![target];
        for level in 0.. {
            let complete = branches.len();
            let mut further = Vec::new();
            for b in ring.iter().flat_map(|of_site| &before[*of_site as usize]) {
                if !seen.insert(*b) {
                    continue;
                }
                branches.push(Level { branch: *b, level });
                if sites.insert(siblings[*b as usize].first) {
                    further.push(*b);
                }
                if branches.len() > most {
                    branches.truncate(complete);
                    branches.sort_unstable();
                    return Self { branches };
                }
            }
            if further.is_empty() {
                break;
            }
            ring = further;
        }
        branches.sort_unstable();
        Self { branches }
    }

    /// The branches with their levels, grouped by site.
    pub fn by_site(&self, siblings: &[Siblings]) -> impl Iterator<Item = &[Level]> {
        self.branches.chunk_by(|a, b| siblings[a.branch as usize] == siblings[b.branch as usize])
    }
}

fn successors(target: &Target, scope: &Scope, edges: &Edges) -> Vec<u32> {
    let mut seen = vec![false; target.functions.len()];
    let mut sites = edges.next.clone();
    let mut calls = edges.calls.clone();
    while let Some(f) = calls.pop() {
        if core::mem::replace(&mut seen[f], true) {
            continue;
        }
        let callee = &target.functions[f];
        sites.extend(&callee.entry_edges.next);
        calls.extend(&callee.entry_edges.calls);
        // The branches of a function out of scope are not followed one by one.
        for site in &target.sites[callee.sites.clone()] {
            if !site.branches().any(|b| scope.branches[b]) {
                calls.extend(site.edges.iter().flat_map(|e| &e.calls));
            }
        }
    }
    let mut branches: Vec<u32> = sites
        .into_iter()
        .map(|s| &target.sites[s])
        .flat_map(Site::branches)
        .filter(|b| scope.branches[*b])
        .map(|b| b as u32)
        .collect();
    branches.sort_unstable();
    branches.dedup();
    branches
}

/// Numbers the strongly connected components of the graph restricted to nodes that `live` admits, successors first
/// (Tarjan 1972, without recursion). Other nodes get `u32::MAX`. Returns the component of each node, and the number of
/// components.
///
/// # Example
/// Nodes 0 and 1 are a loop that leads to node 2.
/// ```
/// use penfuzz_engine::saturation::graph::components;
///
/// let next = [vec![1], vec![0, 2], vec![]];
/// assert_eq!(components(&next, &|_| true), (vec![1, 1, 0], 2));
/// assert_eq!(components(&next, &|node| node != 0), (vec![u32::MAX, 1, 0], 2), "node 0 is left out");
/// ```
#[must_use]
pub fn components(next: &[Vec<u32>], live: &dyn Fn(usize) -> bool) -> (Vec<u32>, usize) {
    let n = next.len();
    let mut t = Tarjan { index: vec![u32::MAX; n], low: vec![0; n], component: vec![u32::MAX; n], ..Tarjan::default() };
    for root in 0..n {
        if live(root) && t.index[root] == u32::MAX {
            t.walk(root, next, live);
        }
    }
    (t.component, t.count as usize)
}

#[derive(Default)]
struct Tarjan {
    index: Vec<u32>,
    low: Vec<u32>,
    component: Vec<u32>,
    stack: Vec<usize>,
    clock: u32,
    count: u32,
}

impl Tarjan {
    fn enter(&mut self, node: usize, work: &mut Vec<(usize, usize)>) {
        self.index[node] = self.clock;
        self.low[node] = self.clock;
        self.clock += 1;
        self.stack.push(node);
        work.push((node, 0));
    }

    fn walk(&mut self, root: usize, next: &[Vec<u32>], live: &dyn Fn(usize) -> bool) {
        let mut work = Vec::new();
        self.enter(root, &mut work);
        while let Some((node, position)) = work.pop() {
            let Some(to) = next[node].get(position).map(|t| *t as usize) else {
                self.leave(node, work.last().map(|w| w.0));
                continue;
            };
            work.push((node, position + 1));
            if !live(to) {
                continue;
            }
            if self.index[to] == u32::MAX {
                self.enter(to, &mut work);
            } else if self.component[to] == u32::MAX {
                self.low[node] = self.low[node].min(self.index[to]);
            }
        }
    }

    fn leave(&mut self, node: usize, parent: Option<usize>) {
        if self.low[node] == self.index[node] {
            while let Some(member) = self.stack.pop() {
                self.component[member] = self.count;
                if member == node {
                    break;
                }
            }
            self.count += 1;
        }
        if let Some(parent) = parent {
            self.low[parent] = self.low[parent].min(self.low[node]);
        }
    }
}
