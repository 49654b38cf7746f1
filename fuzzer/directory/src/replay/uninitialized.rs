//! Combines replays of the same inputs with different contents of uninitialized memory ([`FILLS`]): only what is the
//! same with all of them counts. Each replay has a process of its own, because the first may change the state that the
//! next would find.

use penfuzz_executor::uninitialized::{FILLS, Fill};
use penfuzz_report::Arg;
use penfuzz_system::process::child::NoProcess;
use serde::de::DeserializeOwned;

use super::fresh::{Run, Tested};
use crate::rendering::results;

/// The answer of a child whose uninitialized memory has this content; empty if the child died.
type Child<'a> = dyn FnMut(Fill) -> Result<Vec<u8>, NoProcess> + 'a;

/// The answer to a run. A run that fails with some content of uninitialized memory fails.
///
/// # Errors
/// If the system has no process to spare.
pub(super) fn run(child: &mut Child) -> Result<Vec<u8>, NoProcess> {
    let mut all = Vec::new();
    for fill in FILLS {
        let answer = child(fill)?;
        let Some(run) = parsed::<Run>(&answer) else { return Ok(answer) };
        if run.fault.is_some() || !run.may_differ {
            return Ok(answer);
        }
        all.push(run);
    }
    let (hits, mut uninitialized) = common(&all.iter().map(|run| run.hits.as_slice()).collect::<Vec<_>>());
    if !uninitialized.is_empty() && parsed(&child(FILLS[0])?).as_ref() != Some(&all[0]) {
        uninitialized.clear(); // it depends on something else
    }
    let run = Run { hits, uninitialized, fault: None, may_differ: true };
    Ok(serde_json::to_vec(&run).unwrap_or_default())
}

/// The answer to tests. If they differ, the first replay is repeated, to tell uninitialized memory from other reasons.
/// The inputs of an answer end at the first one that does not end normally.
///
/// # Errors
/// If the system has no process to spare.
pub(super) fn tests(child: &mut Child) -> Result<Vec<u8>, NoProcess> {
    let mut all: Vec<Vec<Tested>> = Vec::new();
    for fill in FILLS {
        let answer = child(fill)?;
        let Some(tests) = parsed::<Vec<Tested>>(&answer) else { return Ok(answer) };
        if !tests.iter().any(|test| test.may_differ) {
            return Ok(answer);
        }
        all.push(tests);
    }
    let n = all.iter().map(Vec::len).min().unwrap_or(0);
    let of = |i: usize| all.iter().map(|tests| &tests[i]).collect::<Vec<_>>();
    let mut tests: Vec<Tested> = (0..n).map(|i| agreed(&of(i))).collect();
    if tests.iter().any(|test| test.is_indefinite) && parsed(&child(FILLS[0])?).as_ref() != Some(&all[0]) {
        for test in &mut tests {
            // It depends on something else.
            (test.is_indefinite, test.uninitialized, test.indefinite) = (false, Vec::new(), Vec::new());
        }
    }
    Ok(serde_json::to_vec(&tests).unwrap_or_default())
}

fn parsed<A: DeserializeOwned>(answer: &[u8]) -> Option<A> {
    serde_json::from_slice(answer).ok()
}

/// What runs of one test have in common.
fn agreed(runs: &[&Tested]) -> Tested {
    let (covers, uninitialized) = common(&runs.iter().map(|run| run.covers.as_slice()).collect::<Vec<_>>());
    let is_indefinite = runs[1..].iter().any(|run| (&run.covers, &run.seen) != (&runs[0].covers, &runs[0].seen));
    let seen = runs[1..].iter().fold(runs[0].seen.clone(), |seen, other| results::in_common(seen, &other.seen));
    let indefinite = if is_indefinite { differing(runs) } else { Vec::new() };
    Tested { covers, seen, uninitialized, is_indefinite, indefinite, may_differ: true }
}

/// The names of the results and effects of which some runs have another value, or none, in order.
fn differing(runs: &[&Tested]) -> Vec<String> {
    let values = |run: &Tested| run.seen.result.iter().chain(&run.seen.outputs).cloned().collect::<Vec<Arg>>();
    let all: Vec<Vec<Arg>> = runs.iter().map(|run| values(run)).collect();
    let differs = |value: &&Arg| !all.iter().all(|of_run| of_run.contains(value));
    let mut names: Vec<String> = Vec::new();
    for value in all.iter().flatten().filter(differs) {
        if !names.contains(&value.name) {
            names.push(value.name.clone());
        }
    }
    names
}

/// The branches that all runs took, and those that only some took, ascending.
fn common(runs: &[&[u32]]) -> (Vec<u32>, Vec<u32>) {
    let mut any: Vec<u32> = runs.concat();
    any.sort_unstable();
    any.dedup();
    any.into_iter().partition(|branch| runs.iter().all(|run| run.contains(branch)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(hits: &[u32], may_differ: bool) -> Vec<u8> {
        let run = Run { hits: hits.to_vec(), uninitialized: Vec::new(), fault: None, may_differ };
        serde_json::to_vec(&run).unwrap()
    }

    #[test]
    fn branches_of_some_fills_only_depend_on_uninitialized_memory() {
        let all = run(&mut |fill| Ok(answer(if fill == Fill::Small { &[1, 5] } else { &[1, 3] }, true))).unwrap();
        let all: Run = parsed(&all).unwrap();
        assert_eq!((all.hits, all.uninitialized), (vec![1], vec![3, 5]));
    }

    #[test]
    fn branches_that_differ_with_the_same_fill_depend_on_something_else() {
        let mut n = 0;
        let all = run(&mut |_| {
            n += 1;
            Ok(answer(&[1, 10 + n], true))
        });
        let all: Run = parsed(&all.unwrap()).unwrap();
        assert_eq!((all.hits, all.uninitialized), (vec![1], vec![]));
    }

    #[test]
    fn a_run_that_cannot_read_uninitialized_memory_takes_one_process() {
        let mut n = 0;
        let all = run(&mut |_| {
            n += 1;
            Ok(answer(&[1], false))
        });
        assert_eq!((n, all.is_ok()), (1, true));
    }
}
