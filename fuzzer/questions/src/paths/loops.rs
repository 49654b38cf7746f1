//! Numbers of loop iterations as goals (B. Beizer, *Software Testing Techniques*, 1990: no iteration, one, more, and
//! the limit), and the prefixes of executed paths from which the search for them starts.
//!
//! An iteration is a part of a path from the head of a loop, its first conditional, back to the head, counted from the
//! entry of the loop. The body of a `do` loop is executed once more than that.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use penfuzz_engine::{goals::path::Step, saturation::BranchGraph};
use penfuzz_error::Error;
use penfuzz_executor::Evaluator;
use penfuzz_path_search::{MAX_PASSES, Options, Query, record_all, run};
use penfuzz_target::program::Target;

use super::Run;
use crate::reach::enumerate::{Bounds, Loops, hash};

/// Maximum number of branches of a prefix to search for.
const LONGEST: usize = 4096;
/// Number of prefixes to search for, per goal and budget.
const PREFIXES: usize = 12;
/// Exponents of the powers of 1/2 that give the share of the evaluations of one search, in order.
const SHARES: [u32; 3] = [6, 3, 0];

/// What a loop does between its entry and its exit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rounds {
    /// It is left before its head is reached again.
    None,
    /// Its head is reached again once.
    One,
    /// Its head is reached again more than once.
    More,
    /// It is left at its head after at least one iteration, although it has other exits, too.
    Limit,
}

impl Rounds {
    /// The number of the condition in the translation (`pass/smt/loops.cc`).
    pub const fn in_translation(self) -> usize {
        match self {
            Self::None => 0,
            Self::One => 1,
            Self::More => 2,
            Self::Limit => 3,
        }
    }

    /// The text in reports.
    pub const fn text(self) -> &'static str {
        match self {
            Self::None => "no round",
            Self::One => "one round",
            Self::More => "more than one round",
            Self::Limit => "left at its head after a round",
        }
    }
}

/// A goal: the head of a loop (a site), and its number of iterations.
pub type Goal = (usize, Rounds);

/// A prefix of a path that may lead to a goal.
#[derive(Debug)]
struct Prefix {
    goal: Goal,
    branches: Vec<u32>,
    /// If set, only the branches at exits of the loop are steps of the prefix; other branches in its iterations are
    /// free. An input with another number of iterations often cannot take the same branches inside of them.
    only_exits: bool,
}

impl Prefix {
    /// A key that is equal for equal steps.
    fn key(&self) -> (Option<usize>, u64) {
        (self.only_exits.then_some(self.goal.0), hash(&self.branches))
    }

    /// The sort key: short prefixes first, and among them those with free branches first.
    fn order(&self) -> (usize, bool) {
        (self.branches.len(), !self.only_exits)
    }
}

/// One entry of a loop: the positions of its head in the path, and the position after its last conditional.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    head: usize,
    heads: Vec<usize>,
    end: usize,
}

/// The loops of a function, and the branches that leave them.
pub struct Goals<'a> {
    target: &'a Target,
    loops: Loops,
    /// The branches that leave a loop, by its head.
    exits: BTreeMap<usize, BTreeSet<u32>>,
}

impl<'a> Goals<'a> {
    /// Collects the exits of these loops from the branch graph.
    pub fn new(target: &'a Target, loops: Loops, graph: &BranchGraph) -> Self {
        let leaves = |body: &BTreeSet<usize>, branch: usize| {
            let next = graph.next[branch].iter().map(|b| target.site_of(*b as usize));
            !next.into_iter().any(|site| body.contains(&site))
        };
        let exits_of = |body: &BTreeSet<usize>| {
            let branches = body.iter().flat_map(|s| target.sites[*s].branches());
            branches.filter(|b| leaves(body, *b)).map(|b| b as u32).collect()
        };
        let exits = loops.bodies.iter().map(|(head, body)| (*head, exits_of(body))).collect();
        Self { target, loops, exits }
    }

    /// All goals, ordered by the places of the loops in the source.
    pub fn all(&self) -> Vec<Goal> {
        let mut all = Vec::new();
        for (head, exits) in &self.exits {
            all.extend([Rounds::None, Rounds::One, Rounds::More].map(|rounds| (*head, rounds)));
            let at_head = exits.iter().filter(|b| self.target.site_of(**b as usize) == *head).count();
            if at_head > 0 && exits.len() > at_head {
                all.push((*head, Rounds::Limit));
            }
        }
        let place = |goal: &Goal| (self.target.sites[goal.0].line, self.target.sites[goal.0].column, goal.1);
        all.sort_by_key(place);
        all
    }

    /// The entries of loops in a path.
    fn entries(&self, passes: &[u32]) -> Vec<Entry> {
        let (mut open, mut done): (Vec<Entry>, Vec<Entry>) = (Vec::new(), Vec::new());
        let mut last = None;
        for (i, site) in passes.iter().map(|b| self.target.site_of(*b as usize)).enumerate() {
            let is_inside = |entry: &Entry| self.loops.bodies[&entry.head].contains(&site);
            for entry in open.extract_if(.., |entry| !is_inside(entry)) {
                done.push(Entry { end: i, ..entry });
            }
            if let Some(body) = self.loops.bodies.get(&site) {
                let comes_back = last.is_some_and(|last| body.contains(&last));
                match open.iter_mut().find(|entry| entry.head == site).filter(|_| comes_back) {
                    Some(entry) => entry.heads.push(i),
                    None => open.push(Entry { head: site, heads: vec![i], end: 0 }),
                }
            }
            last = Some(site);
        }
        done.extend(open.into_iter().map(|entry| Entry { end: passes.len(), ..entry }));
        done
    }

    /// The goals that a path fulfils.
    pub fn shown(&self, passes: &[u32]) -> BTreeSet<Goal> {
        let mut shown = BTreeSet::new();
        for entry in self.entries(passes) {
            let rounds = match entry.heads.len() {
                1 => Rounds::None,
                2 => Rounds::One,
                _ => Rounds::More,
            };
            shown.insert((entry.head, rounds));
            if rounds != Rounds::None && self.target.site_of(passes[entry.end - 1] as usize) == entry.head {
                shown.insert((entry.head, Rounds::Limit));
            }
        }
        shown
    }

    /// The conditionals at which this loop can be left.
    fn exit_sites(&self, head: usize) -> BTreeSet<usize> {
        self.exits[&head].iter().map(|b| self.target.site_of(*b as usize)).collect()
    }

    /// For each branch of the target, whether it belongs to a conditional at which this loop can be left.
    fn exits_alone(&self, head: usize) -> Vec<bool> {
        let mut flags = vec![false; self.target.n_branches];
        for site in self.exit_sites(head) {
            flags[self.target.sites[site].branches()].fill(true);
        }
        flags
    }

    /// Prefixes of this path, each with another branch at the end, that may lead to the goal. There are variants that
    /// contain only branches at exits of the loop.
    fn prefixes(&self, passes: &[u32], goal: Goal) -> Vec<Prefix> {
        let sites = self.exit_sites(goal.0);
        let is_at_exit = |b: &u32| sites.contains(&self.target.site_of(*b as usize));
        let both = |branches: Vec<u32>| {
            let of_exits: Vec<u32> = branches.iter().copied().filter(is_at_exit).collect();
            let (is_free, leads) = (of_exits.len() < branches.len(), of_exits.last() == branches.last());
            let exits = leads.then_some(Prefix { goal, branches: of_exits, only_exits: true });
            exits.into_iter().chain(is_free.then_some(Prefix { goal, branches, only_exits: false }))
        };
        self.exact_prefixes(passes, goal).into_iter().flat_map(both).collect()
    }

    fn exact_prefixes(&self, passes: &[u32], goal: Goal) -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        let exits = &self.exits[&goal.0];
        let beside = |i: usize, leaves: bool| {
            let site = self.target.site_of(passes[i] as usize);
            let others = self.target.sites[site].branches().map(|b| b as u32);
            others.filter(move |b| *b != passes[i] && exits.contains(b) == leaves)
        };
        for entry in self.entries(passes).into_iter().filter(|entry| entry.head == goal.0) {
            let rounds = entry.heads.len() - 1;
            let part = |n: usize| entry.heads.get(n).copied().unwrap_or(entry.end);
            let (places, leaves) = match goal.1 {
                // Leave the loop before its head is reached again, or in the first iteration.
                Rounds::None if rounds > 0 => ((part(0)..part(1)).collect(), true),
                Rounds::One if rounds > 1 => ((part(1)..part(2)).collect(), true),
                Rounds::Limit if rounds > 0 => (entry.heads[1..].to_vec(), true),
                // Stay in the loop at the conditional where it is left.
                Rounds::One | Rounds::More | Rounds::Limit if rounds < 2 => (vec![entry.end - 1], false),
                _ => (Vec::new(), true),
            };
            for i in places.into_iter().filter(|i| *i < LONGEST) {
                all.extend(beside(i, leaves).map(|b| [&passes[..i], &[b]].concat()));
            }
        }
        all
    }
}

/// Searches for the goals that no path of `paths` fulfils, and adds the paths that it finds to `paths`. Returns the
/// number of evaluations.
///
/// # Errors
/// Those of [`run`].
pub fn search(
    evaluator: &mut Evaluator,
    goals: &Goals,
    query: &Query,
    options: &Options,
    bounds: &Bounds,
    paths: &mut Vec<Run>,
) -> Result<u64, Error> {
    let mut spent = 0;
    let mut open: BTreeSet<Goal> = goals.all().into_iter().collect();
    for (_, passes) in &*paths {
        open.retain(|goal| !goals.shown(passes).contains(goal));
    }
    for share in SHARES {
        let (mut tried, mut searches) = (HashSet::new(), BTreeMap::new());
        while let Some((prefix, near)) = next(goals, paths, &open, &mut tried, &searches) {
            let own = Options { max_evals: (options.max_evals >> share).max(1), ..options.clone() };
            let Some(own) = bounds.rest(spent, &own) else { return Ok(spent) };
            *searches.entry(prefix.goal).or_insert(0) += 1;
            let steps = prefix.branches.iter().map(|b| Step::Branch(*b as usize)).collect();
            let counts = if prefix.only_exits { goals.exits_alone(prefix.goal.0) } else { query.counts.clone() };
            let query_of = Query { paths: vec![steps], parts: Vec::new(), counts, ..query.clone() };
            let answer = run(evaluator, &query_of, &Options { seeds: vec![near], simplify: false, ..own })?;
            spent += answer.evaluations;
            let found: Vec<Vec<u8>> = answer.bytes.into_iter().filter(|_| answer.r == 0).collect();
            for (bytes, passes) in record_all(evaluator, &query.counts, &found, MAX_PASSES, options.timeout) {
                let shown = goals.shown(&passes);
                open.retain(|goal| !shown.contains(goal));
                paths.push((bytes, passes));
            }
        }
    }
    Ok(spent)
}

/// The shortest prefix for an open goal that was not tried yet, and an input that takes all of it except its last
/// branch.
fn next(
    goals: &Goals,
    paths: &[Run],
    open: &BTreeSet<Goal>,
    tried: &mut HashSet<(Option<usize>, u64)>,
    searches: &BTreeMap<Goal, usize>,
) -> Option<(Prefix, Vec<u8>)> {
    let mut best: Option<(Prefix, &Vec<u8>)> = None;
    for goal in open.iter().filter(|goal| searches.get(goal).is_none_or(|n| *n < PREFIXES)) {
        for (bytes, passes) in paths {
            for prefix in goals.prefixes(passes, *goal) {
                let is_shorter = best.as_ref().is_none_or(|(other, _)| prefix.order() < other.order());
                if is_shorter && !tried.contains(&prefix.key()) {
                    best = Some((prefix, bytes));
                }
            }
        }
    }
    tried.extend(best.iter().map(|(prefix, _)| prefix.key()));
    best.map(|(prefix, near)| (prefix, near.clone()))
}
