//! Finds why branches are not covered: for a condition that no input executes, the branch that leads to it; for a
//! condition that inputs execute, whether its operands change at all.

use std::{collections::VecDeque, rc::Rc};

use penfuzz_abi::{action, metric};
use penfuzz_directory::shrink::cover::Kept;
use penfuzz_executor::{Evaluator, evaluator::RunStatus};
use penfuzz_report::{BranchIndex, Site};
use penfuzz_system::process::deadline;
use penfuzz_target::program::{Edges, Target};

use crate::assembly::Order;

/// Minimum number of kept inputs that must execute a condition before a constant distance over all of them is reported.
const ENOUGH: usize = 4;

/// Maximum number of runs spent on one report.
const MOST_RUNS: usize = 20_000;

/// Assigns to each condition that no input executes the nearest open branch of an executed condition: the one with the
/// fewest conditionals in between. Calls are followed.
pub(super) fn find_ways(target: &Target, order: &Order, sites: &mut [Site]) {
    let in_report =
        |site: usize| target.sites[site].branches().find_map(|b| order.place.get(&(b as u32))).map(|place| place.site);
    let mut origins = vec![None; target.sites.len()];
    let mut work: VecDeque<(usize, BranchIndex)> = VecDeque::new();
    for (branch, place) in &order.place {
        let site = &sites[place.site];
        if site.is_executed() && site.branches[place.branch].is_open() {
            work.push_back((*branch as usize, *place));
        }
    }
    while let Some((branch, origin)) = work.pop_front() {
        let from = target.site_of(branch);
        let edges = &target.sites[from].edges[branch - target.sites[from].first_branch];
        for next in reached(target, edges) {
            let is_executed = in_report(next).is_some_and(|i| sites[i].is_executed());
            if !is_executed && origins[next].is_none() {
                origins[next] = Some(origin);
                work.extend(target.sites[next].branches().map(|b| (b, origin)));
            }
        }
    }
    for (site, origin) in origins.iter().enumerate() {
        if let (Some(i), Some(origin)) = (in_report(site), origin) {
            sites[i].waits_for = Some(*origin);
        }
    }
}

/// The sites that control reaches next, in this function or in the functions that it calls on the way.
fn reached(target: &Target, edges: &Edges) -> Vec<usize> {
    let mut found = edges.next.clone();
    let mut called = edges.calls.clone();
    let mut seen = vec![];
    while let Some(function) = called.pop() {
        if !seen.contains(&function) {
            seen.push(function);
            found.extend(&target.functions[function].entry_edges.next);
            called.extend(&target.functions[function].entry_edges.calls);
        }
    }
    found
}

/// Sets for each open branch the number of kept inputs with a distance, if the distance is the same for all of them.
pub(super) fn find_unchanged(evaluator: &mut Evaluator, order: &Order, kept: &[Kept], sites: &mut [Site]) {
    let count = evaluator.evaluations();
    let target = Rc::clone(evaluator.target());
    let mut runs = 0;
    for (branch, BranchIndex { site: i, branch: j }) in &order.place {
        let stuck = &mut sites[*i].branches[*j];
        if !stuck.is_open() || stuck.best_distance.is_none() || runs >= MOST_RUNS || deadline::is_past() {
            continue;
        }
        let site = &target.sites[target.site_of(*branch as usize)];
        // An input executes the condition only if it takes another branch of it.
        let executing = kept.iter().filter(|k| site.branches().any(|b| k.covers.contains(&(b as u32))));
        let mut over = 0;
        // This usually ends at the first or second input, because their distances differ.
        let is_unchanged = executing.map(|k| distance(evaluator, *branch, &k.bytes)).all(|found| {
            runs += 1;
            over += usize::from(found.is_some());
            found.is_none() || found == stuck.best_distance
        });
        stuck.unchanged_over = Some(over).filter(|_| is_unchanged && over >= ENOUGH);
    }
    evaluator.set_evaluations(count);
}

/// The distance of one input from the branch; `None` if the input does not return or has no distance.
fn distance(evaluator: &mut Evaluator, branch: u32, bytes: &[u8]) -> Option<u64> {
    evaluator.set_metric(metric::ULP, u64::MAX);
    evaluator.arm(|b| if b == branch as usize { action::WANT | action::MIN } else { 0 });
    let ran = evaluator.run(bytes);
    evaluator.take_hits(&mut Vec::new());
    Some(evaluator.r()).filter(|r| ran == RunStatus::Returned && *r != u64::MAX)
}
