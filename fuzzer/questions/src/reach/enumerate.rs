//! Enumerates all paths of a function up to a number of iterations of each loop, by search.
//!
//! An executed path has a prefix before each of its conditionals. That prefix with another branch at the conditional is
//! a goal of its own, unless some execution already has it. Searching for each such goal once enumerates all feasible
//! paths that the search can find. Extensions of a prefix that no input takes are not searched for. (N. Williams, B.
//! Marre, P. Mouy and M. Roger, *`PathCrawler`*, EDCC 2005, which uses a constraint solver instead of the search.)

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet},
    time::{Duration, Instant},
};

use penfuzz_engine::{
    goals::path::Step,
    saturation::{BranchGraph, Scope},
};
use penfuzz_error::Error;
use penfuzz_executor::Evaluator;
use penfuzz_target::program::Target;

use penfuzz_path_search::{MAX_PASSES, Options, Query, any_input, record_all, run};
use penfuzz_system::process::interrupts;

/// Maximum number of searches of an enumeration.
const MOST_SEARCHES: usize = 5_000;
/// Exponents of the powers of 1/2 that give the share of the evaluations in each attempt to find a prefix: most
/// feasible prefixes are found soon.
const SHARES: [u32; 3] = [6, 3, 0];

/// The paths that were found, and the prefixes that were not.
#[derive(Debug, Default)]
pub struct Enumeration {
    /// Complete paths within the bound, each with an input that takes it.
    pub found: BTreeMap<Vec<u32>, Vec<u8>>,
    /// Prefixes that were searched for and that no input takes. Their extensions were not searched for.
    pub missing: Vec<Vec<u32>>,
    /// Number of evaluations of all searches.
    pub evaluations: u64,
    /// Prefixes that were never searched for.
    pub untried: Vec<Vec<u32>>,
    /// Hashes of the prefixes that some input takes.
    pub taken: HashSet<u64>,
    /// True if each prefix was searched for with all its evaluations.
    pub is_complete: bool,
}

/// Limits of a whole enumeration.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Maximum number of evaluations.
    pub evaluations: u64,
    /// The time at which it ends; `None` without a limit.
    pub until: Option<Instant>,
}

impl Bounds {
    /// Only the limits of each search apply.
    pub const NONE: Self = Self { evaluations: u64::MAX, until: None };

    /// The options of a search within what remains of these limits after `spent` evaluations; `None` if nothing
    /// remains.
    #[must_use]
    pub fn rest(&self, spent: u64, options: &Options) -> Option<Options> {
        let evaluations = self.evaluations.saturating_sub(spent).min(options.max_evals);
        let time = self.until.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        let is_over = evaluations == 0 || time.is_zero() || interrupts::requested();
        let max_time = time.min(options.max_time);
        (!is_over).then(|| Options { max_evals: evaluations, max_time, ..options.clone() })
    }
}

/// The natural loops among the conditionals of a scope.
#[derive(Debug)]
pub struct Loops {
    /// The sites inside each loop, by the loop's header.
    pub(crate) bodies: BTreeMap<usize, BTreeSet<usize>>,
}

impl Loops {
    /// Finds the loops of the function with this index.
    #[must_use]
    pub fn new(target: &Target, scope: &Scope, function: usize) -> Self {
        let graph = BranchGraph::new(target, scope);
        let mut next: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for s in scope.sites.iter().filter(|s| target.sites[**s].is_conditional()) {
            let behind = target.sites[*s].branches().flat_map(|b| &graph.next[b]);
            let sites = behind.map(|b| target.site_of(*b as usize)).filter(|s| target.sites[*s].is_conditional());
            next.insert(*s, sites.collect());
        }
        let entry = target.functions[function].entry_edges.next.iter().copied().filter(|s| next.contains_key(s));
        Self::of(&next, &entry.collect())
    }

    /// Finds the loops of a graph that is entered at the nodes `entry`.
    fn of(next: &BTreeMap<usize, BTreeSet<usize>>, entry: &BTreeSet<usize>) -> Self {
        let dominators = dominators(next, entry);
        let mut bodies: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (from, behind) in next {
            for header in behind.iter().filter(|h| dominators[from].contains(h)) {
                let body = bodies.entry(*header).or_insert_with(|| BTreeSet::from([*header]));
                let mut work = vec![*from];
                while let Some(node) = work.pop() {
                    if body.insert(node) {
                        work.extend(next.iter().filter(|(_, to)| to.contains(&node)).map(|(n, _)| *n));
                    }
                }
            }
        }
        Self { bodies }
    }

    /// The length of the longest prefix of a path in which no loop makes more than `rounds` iterations after it was
    /// entered.
    #[must_use]
    pub fn within(&self, sites: &[usize], rounds: u32) -> usize {
        let mut made: BTreeMap<usize, u32> = BTreeMap::new();
        for (i, site) in sites.iter().enumerate() {
            let Some(body) = self.bodies.get(site) else { continue };
            let again = i > 0 && body.contains(&sites[i - 1]);
            let n = made.entry(*site).or_default();
            *n = if again { *n + 1 } else { 0 };
            if *n > rounds {
                return i;
            }
        }
        sites.len()
    }
}

/// The dominators of each node, including itself.
fn dominators(next: &BTreeMap<usize, BTreeSet<usize>>, entry: &BTreeSet<usize>) -> BTreeMap<usize, BTreeSet<usize>> {
    let all: BTreeSet<usize> = next.keys().copied().collect();
    let initial = |n: &usize| if entry.contains(n) { BTreeSet::from([*n]) } else { all.clone() };
    let mut found: BTreeMap<usize, BTreeSet<usize>> = all.iter().map(|n| (*n, initial(n))).collect();
    loop {
        let mut changed = false;
        for node in all.iter().filter(|n| !entry.contains(n)) {
            let mut ways = next.iter().filter(|(_, to)| to.contains(node)).map(|(from, _)| found[from].clone());
            let Some(first) = ways.next() else { continue };
            let mut common = ways.fold(first, |a, b| &a & &b);
            common.insert(*node);
            changed |= common != found[node];
            found.insert(*node, common);
        }
        if !changed {
            return found;
        }
    }
}

/// The hash of a prefix, from the hash of all but its last branch.
const fn step(hash: u64, branch: u32) -> u64 {
    (hash ^ (branch as u64).wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

/// The hash of a prefix.
#[must_use]
pub fn hash(prefix: &[u32]) -> u64 {
    prefix.iter().fold(0, |h, b| step(h, *b))
}

/// The prefixes to search for, short ones first within the same number of attempts. Each entry has the number of
/// attempts, the length, a serial number, the prefix, and an input that takes all of it except the last branch.
type Open = BinaryHeap<Reverse<(usize, usize, usize, Vec<u32>, Vec<u8>)>>;

/// Enumerates paths, starting from the paths of `options.seeds`, with at most `options.max_evals` evaluations and
/// `options.max_time` for each prefix. Prefixes whose hashes are in `settled` are not searched for.
///
/// # Errors
/// Those of [`run`].
pub fn enumerate(
    evaluator: &mut Evaluator,
    query: &Query,
    options: &Options,
    rounds: u32,
    settled: impl IntoIterator<Item = u64>,
    bounds: &Bounds,
) -> Result<Enumeration, Error> {
    let target = std::rc::Rc::clone(evaluator.target());
    let loops = Loops::new(&target, &query.scope, evaluator.function_index());
    let mut state = State {
        target: &target,
        loops,
        rounds,
        taken: HashSet::new(),
        opened: settled.into_iter().collect(),
        open: Open::new(),
    };
    let mut all = Enumeration::default();
    evaluator.set_scope(&query.scope.sites);
    let known = record_all(evaluator, &query.counts, &options.seeds, MAX_PASSES, options.timeout);
    let found = if known.is_empty() {
        let first = any_input(evaluator, query, &Options { seeds: Vec::new(), ..options.clone() })?;
        first.bytes.zip(first.confirmed.map(|c| c.passes)).into_iter().collect()
    } else {
        known
    };
    for (bytes, passes) in found {
        state.note(&mut all, passes, bytes);
    }
    for _ in 0..MOST_SEARCHES {
        let Some(Reverse((attempt, length, number, prefix, near))) = state.open.pop() else {
            all.is_complete = true;
            break;
        };
        if state.taken.contains(&hash(&prefix)) {
            continue;
        }
        let own = Options { max_evals: (options.max_evals >> SHARES[attempt]).max(1), ..options.clone() };
        let Some(own) = bounds.rest(all.evaluations, &own) else {
            state.open.push(Reverse((attempt, length, number, prefix, near)));
            break;
        };
        let steps = prefix.iter().map(|b| Step::Branch(*b as usize)).collect();
        let query =
            Query { paths: vec![steps], scope: query.scope.clone(), counts: query.counts.clone(), parts: Vec::new() };
        let answer = run(evaluator, &query, &Options { seeds: vec![near.clone()], simplify: false, ..own })?;
        all.evaluations += answer.evaluations;
        if answer.interrupted {
            state.open.push(Reverse((attempt, length, number, prefix, near)));
            break;
        }
        match answer.bytes.zip(answer.confirmed).filter(|_| answer.r == 0) {
            Some((bytes, confirmed)) => state.note(&mut all, confirmed.passes, bytes),
            None if attempt + 1 == SHARES.len() => all.missing.push(prefix),
            None => state.open.push(Reverse((attempt + 1, length, number, prefix, near))),
        }
    }
    let rest = state.open.into_iter().map(|Reverse((attempt, _, _, prefix, _))| (attempt, prefix));
    // Prefixes in `tried` were searched for, but with fewer evaluations than others.
    let (untried, tried): (Vec<_>, Vec<_>) =
        rest.filter(|(_, prefix)| !state.taken.contains(&hash(prefix))).partition(|(attempt, _)| *attempt == 0);
    all.untried = untried.into_iter().map(|(_, prefix)| prefix).collect();
    all.missing.extend(tried.into_iter().map(|(_, prefix)| prefix));
    all.taken = state.taken;
    Ok(all)
}

/// The state of an enumeration.
struct State<'a> {
    target: &'a Target,
    loops: Loops,
    rounds: u32,
    /// Hashes of the prefixes that some input takes.
    taken: HashSet<u64>,
    /// Hashes of all prefixes that are in `open`, or were.
    opened: HashSet<u64>,
    open: Open,
}

impl State<'_> {
    /// Records an executed path: its prefixes are taken. Each prefix with another last branch is a new goal.
    fn note(&mut self, all: &mut Enumeration, passes: Vec<u32>, bytes: Vec<u8>) {
        let sites: Vec<usize> = passes.iter().map(|b| self.target.site_of(*b as usize)).collect();
        let n = self.loops.within(&sites, self.rounds);
        let mut hash = 0;
        for i in 0..n {
            for beside in self.target.sites[sites[i]].branches().map(|b| b as u32).filter(|b| *b != passes[i]) {
                let hash = step(hash, beside);
                if !self.taken.contains(&hash) && self.opened.insert(hash) {
                    let prefix = [&passes[..i], &[beside]].concat();
                    self.open.push(Reverse((0, i, self.opened.len(), prefix, bytes.clone())));
                }
            }
            hash = step(hash, passes[i]);
            self.taken.insert(hash);
        }
        if n == passes.len() {
            all.found.entry(passes).or_insert(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(usize, usize)], n: usize) -> BTreeMap<usize, BTreeSet<usize>> {
        (0..n).map(|i| (i, edges.iter().filter(|e| e.0 == i).map(|e| e.1).collect())).collect()
    }

    #[test]
    fn rounds_count_since_the_loop_was_entered() {
        // 0 is the header of an outer loop, 1 that of an inner loop that contains condition 2.
        let loops = Loops::of(&graph(&[(0, 1), (1, 2), (2, 1), (1, 0)], 3), &BTreeSet::from([0]));
        assert_eq!(loops.bodies.len(), 2);
        assert_eq!(loops.bodies[&1], BTreeSet::from([1, 2]));
        assert_eq!(loops.within(&[0, 1, 2, 1, 0, 1, 2, 1, 0], 2), 9, "one round of the inner loop in each of two");
        assert_eq!(loops.within(&[0, 1, 2, 1, 0, 1, 2, 1, 0], 1), 8, "the second round of the outer loop");
        assert_eq!(loops.within(&[0, 1, 2, 1, 2, 1, 0], 1), 5);
    }

    #[test]
    fn a_loop_of_one_condition_is_its_own_head() {
        let loops = Loops::of(&graph(&[(0, 0)], 1), &BTreeSet::from([0]));
        assert_eq!(loops.within(&[0, 0, 0], 2), 3);
        assert_eq!(loops.within(&[0, 0, 0], 1), 2);
    }
}
