//! All paths of a function up to a number of rounds of each loop, by search.
//!
//! An executed path has a prefix before each of its conditionals. The prefix with another branch there is a goal of its own, unless some
//! execution has it already. Searching for each once enumerates all feasible paths, as far as the search finds them: nothing behind a
//! prefix that no input takes is searched for. (N. Williams, B. Marre, P. Mouy and M. Roger, *`PathCrawler`*, EDCC 2005, with a
//! constraint solver in the place of the search.)

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet},
};

use penfuzz_engine::{
    error::Error,
    executor::Evaluator,
    goals::path::Step,
    program::Target,
    saturation::{BranchGraph, Scope},
};

use super::{Options, Query, any_input, run};

/// Searches beyond which the enumeration ends.
const MOST_SEARCHES: usize = 5_000;

/// The paths that were found, and where nothing was.
#[derive(Debug, Default)]
pub struct Enumeration {
    /// Paths within the bound in full, each with an input that takes it.
    pub found: BTreeMap<Vec<u32>, Vec<u8>>,
    /// Prefixes that no input took; nothing behind them was searched for.
    pub missing: Vec<Vec<u32>>,
    /// Evaluations of all searches.
    pub evaluations: u64,
    /// Was each prefix tried?
    pub is_complete: bool,
}

/// The natural loops among the conditionals of a scope.
#[derive(Debug)]
pub struct Loops {
    /// By header: the sites inside.
    bodies: BTreeMap<usize, BTreeSet<usize>>,
}

impl Loops {
    /// Of the function with this number.
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

    /// Of a graph and the nodes where it is entered.
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

    /// The number of passes before the first with which a loop makes more than `rounds` rounds since it was entered.
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

/// For each node those on every way to it, itself included.
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

/// The prefixes that are taken or tried, by a hash of each.
#[derive(Default)]
struct Known(HashSet<u64>);

impl Known {
    fn step(hash: u64, branch: u32) -> u64 {
        (hash ^ u64::from(branch).wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
    }
}

/// What is still to be searched for: the prefix, and an input that takes all of it but the last branch. Short ones first.
type Open = BinaryHeap<Reverse<(usize, usize, Vec<u32>, Vec<u8>)>>;

/// Enumerates with at most `options.max_evals` evaluations and `options.max_time` for each prefix.
///
/// # Errors
/// Those of [`run`].
pub fn enumerate(
    evaluator: &mut Evaluator,
    query: &Query,
    options: &Options,
    rounds: u32,
) -> Result<Enumeration, Error> {
    let target = std::rc::Rc::clone(evaluator.target());
    let loops = Loops::new(&target, &query.scope, evaluator.function_index());
    let mut state = State { target: &target, loops, rounds, known: Known::default(), open: Open::new() };
    let mut all = Enumeration::default();
    let first = any_input(evaluator, query, options)?;
    let mut next = first.bytes.zip(first.confirmed);
    for searches in 0..=MOST_SEARCHES {
        if let Some((bytes, confirmed)) = next.take()
            && state.takes_in(&confirmed.passes, &bytes)
        {
            all.found.entry(confirmed.passes).or_insert(bytes);
        }
        let Some(Reverse((_, _, prefix, near))) = state.open.pop() else {
            all.is_complete = true;
            break;
        };
        if searches == MOST_SEARCHES {
            break;
        }
        if !state.known.0.insert(prefix.iter().fold(0, |h, b| Known::step(h, *b))) {
            continue;
        }
        let steps = prefix.iter().map(|b| Step::Branch(*b as usize)).collect();
        let query =
            Query { paths: vec![steps], scope: query.scope.clone(), counts: query.counts.clone(), parts: Vec::new() };
        let answer = run(evaluator, &query, &Options { seeds: vec![near], simplify: false, ..options.clone() })?;
        all.evaluations += answer.evaluations;
        if answer.interrupted {
            break;
        }
        match answer.bytes.zip(answer.confirmed).filter(|_| answer.r == 0) {
            Some(found) => next = Some(found),
            None => all.missing.push(prefix),
        }
    }
    Ok(all)
}

/// Where an enumeration stands.
struct State<'a> {
    target: &'a Target,
    loops: Loops,
    rounds: u32,
    known: Known,
    open: Open,
}

impl State<'_> {
    /// Takes in an executed path: its prefixes are known, and the branches beside them open. Whether it is within the bound.
    fn takes_in(&mut self, passes: &[u32], bytes: &[u8]) -> bool {
        let sites: Vec<usize> = passes.iter().map(|b| self.target.site_of(*b as usize)).collect();
        let n = self.loops.within(&sites, self.rounds);
        let mut hash = 0;
        for i in 0..n {
            for beside in self.target.sites[sites[i]].branches().map(|b| b as u32).filter(|b| *b != passes[i]) {
                if !self.known.0.contains(&Known::step(hash, beside)) {
                    let prefix = [&passes[..i], &[beside]].concat();
                    self.open.push(Reverse((i, self.open.len(), prefix, bytes.to_vec())));
                }
            }
            hash = Known::step(hash, passes[i]);
            self.known.0.insert(hash);
        }
        n == passes.len()
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
        // 0 is the head of an outer loop, 1 that of an inner one with the condition 2 in it.
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
