//! Selects a minimal subset of inputs with the same coverage: no input of it can be dropped.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// An input that returned, and the goals that it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The file in which it is kept, relative to the output directory.
    pub file: String,
    /// The input; it may be simpler than in the file.
    pub bytes: Vec<u8>,
    /// Branches in scope that it covers, ascending.
    pub covers: Vec<u32>,
}

/// Maximum number of inputs for which replacements are tried: that takes quadratic time.
const MAX_INPUTS_FOR_SWAPS: usize = 400;

/// Selects inputs greedily: each time the input that covers most further branches, of several the earliest. Then tries
/// every other input as a replacement of two or more selected ones. Keeps the order. The result [is
/// minimal](drop_superfluous).
#[must_use]
pub fn choose(runs: Vec<Kept>) -> Vec<Kept> {
    let mut chosen = greedy(&runs);
    drop_superfluous_of(&mut chosen, &runs);
    for i in 0..if runs.len() <= MAX_INPUTS_FOR_SWAPS { runs.len() } else { 0 } {
        if chosen.contains(&i) {
            continue;
        }
        // The new input is tested last, so it stays if possible.
        let mut other: Vec<usize> = chosen.iter().copied().chain([i]).collect();
        drop_superfluous_of(&mut other, &runs);
        if other.len() < chosen.len() {
            chosen = other;
        }
    }
    let is_chosen = flags(&chosen, runs.len());
    runs.into_iter().zip(is_chosen).filter_map(|(r, c)| c.then_some(r)).collect()
}

/// For each of `n` inputs, whether it is among the chosen ones.
fn flags(chosen: &[usize], n: usize) -> Vec<bool> {
    let mut flags = vec![false; n];
    for i in chosen {
        flags[*i] = true;
    }
    flags
}

/// The greedy selection. The gain of an input never grows when others are chosen, so a gain computed earlier is an
/// upper bound, and only the gain of the first input in the heap is computed again. Thus the time grows with the sum of
/// all covers, not with its square.
fn greedy(runs: &[Kept]) -> Vec<usize> {
    let mut open: HashSet<u32> = runs.iter().flat_map(|r| r.covers.iter().copied()).collect();
    let mut heap: BinaryHeap<(usize, Reverse<usize>)> =
        runs.iter().enumerate().map(|(i, r)| (r.covers.len(), Reverse(i))).collect();
    let mut chosen = Vec::new();
    while !open.is_empty()
        && let Some((bound, Reverse(i))) = heap.pop()
    {
        let gain = runs[i].covers.iter().filter(|b| open.contains(b)).count();
        if gain < bound {
            heap.push((gain, Reverse(i)));
            continue;
        }
        for b in &runs[i].covers {
            open.remove(b);
        }
        chosen.push(i);
    }
    chosen
}

/// Drops each input whose branches the others cover, in order. The rest is minimal: without any of them a branch is
/// lost.
pub fn drop_superfluous(set: &mut Vec<Kept>) {
    let mut indices: Vec<usize> = (0..set.len()).collect();
    drop_superfluous_of(&mut indices, set);
    let mut is_left = flags(&indices, set.len()).into_iter();
    set.retain(|_| is_left.next().unwrap_or(false));
}

fn drop_superfluous_of(chosen: &mut Vec<usize>, runs: &[Kept]) {
    let mut counts = Counts::new(chosen.iter().map(|i| &runs[*i]));
    chosen.retain(|i| {
        let is_needed = counts.needs(&runs[*i]).next().is_some();
        if !is_needed {
            counts.remove(&runs[*i]);
        }
        is_needed
    });
}

/// For each branch, the number of inputs of a set that cover it.
#[derive(Debug, Default)]
pub struct Counts(Vec<u32>);

impl Counts {
    /// Counts the inputs of a set.
    #[must_use]
    pub fn new<'a>(set: impl Iterator<Item = &'a Kept>) -> Self {
        let mut counts = Self::default();
        set.for_each(|kept| counts.add(kept));
        counts
    }

    /// Adds an input to the set.
    pub fn add(&mut self, kept: &Kept) {
        let room = kept.covers.iter().max().map_or(0, |b| *b as usize + 1);
        self.0.resize(self.0.len().max(room), 0);
        kept.covers.iter().for_each(|b| self.0[*b as usize] += 1);
    }

    /// Removes an input from the set.
    pub fn remove(&mut self, kept: &Kept) {
        kept.covers.iter().for_each(|b| self.0[*b as usize] -= 1);
    }

    /// The branches that only this input of the set covers.
    pub fn needs<'a>(&'a self, kept: &'a Kept) -> impl Iterator<Item = u32> + 'a {
        kept.covers.iter().copied().filter(|b| self.0[*b as usize] == 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use libafl_bolts::rands::{Rand, StdRand};

    use super::*;

    fn set(covers: &[&[u32]]) -> Vec<Kept> {
        let kept = |(i, c): (usize, &&[u32])| Kept { file: i.to_string(), bytes: Vec::new(), covers: c.to_vec() };
        covers.iter().enumerate().map(kept).collect()
    }

    fn union(set: &[Kept]) -> BTreeSet<u32> {
        set.iter().flat_map(|k| k.covers.iter().copied()).collect()
    }

    fn files(set: &[Kept]) -> Vec<&str> {
        set.iter().map(|k| k.file.as_str()).collect()
    }

    #[test]
    fn dropping_any_input_loses_a_branch() {
        let mut rng = StdRand::with_seed(1);
        for _ in 0..300 {
            let covers = |rng: &mut StdRand| (0..20).filter(|_| rng.next().is_multiple_of(4)).collect::<Vec<u32>>();
            let all: Vec<Vec<u32>> = (0..=rng.next() % 12).map(|_| covers(&mut rng)).collect();
            let all = set(&all.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let chosen = choose(all.clone());
            assert_eq!(union(&chosen), union(&all), "no branch is lost");
            for i in 0..chosen.len() {
                let mut fewer = chosen.clone();
                let dropped = fewer.remove(i);
                assert_ne!(union(&fewer), union(&all), "{dropped:?} is needed in {chosen:?}");
            }
        }
    }

    #[test]
    fn one_input_replaces_two() {
        // Greedy selects 0, then needs 1 and 2; but 1 and 2 are enough.
        let chosen = choose(set(&[&[1, 2, 3, 4], &[1, 2, 5], &[3, 4, 6]]));
        assert_eq!(files(&chosen), ["1", "2"]);
        // Greedy selects 0, 1 and 2; 3 can replace both 1 and 2.
        let chosen = choose(set(&[&[1, 2, 3, 4, 5, 6], &[1, 2, 7, 8], &[4, 5, 9, 10], &[7, 8, 9, 10]]));
        assert_eq!(files(&chosen), ["0", "3"]);
    }

    /// The definition of the greedy selection: each time the input that covers most further branches, of several the
    /// earliest.
    fn slowly_greedy(runs: &[Kept]) -> Vec<usize> {
        let mut open = union(runs);
        let mut chosen = Vec::new();
        while !open.is_empty() {
            let gain = |i: &usize| runs[*i].covers.iter().filter(|b| open.contains(b)).count();
            let best = (0..runs.len()).max_by_key(|i| (gain(i), Reverse(*i))).unwrap();
            open.retain(|b| !runs[best].covers.contains(b));
            chosen.push(best);
        }
        chosen
    }

    #[test]
    fn the_choice_is_greedy() {
        let mut rng = StdRand::with_seed(2);
        for _ in 0..300 {
            let covers = |rng: &mut StdRand| (0..40).filter(|_| rng.next().is_multiple_of(5)).collect::<Vec<u32>>();
            let all: Vec<Vec<u32>> = (0..=rng.next() % 40).map(|_| covers(&mut rng)).collect();
            let all = set(&all.iter().map(Vec::as_slice).collect::<Vec<_>>());
            assert_eq!(greedy(&all), slowly_greedy(&all));
        }
    }

    #[test]
    fn thousands_of_inputs_take_no_quadratic_time() {
        let covers: Vec<[u32; 3]> = (0..20_000).map(|i| [0, 1, i + 2]).collect();
        let all = set(&covers.iter().map(<[u32; 3]>::as_slice).collect::<Vec<_>>());
        let begun = std::time::Instant::now();
        assert_eq!(choose(all).len(), 20_000);
        assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    }

    #[test]
    fn input_without_coverage_is_not_selected() {
        assert!(choose(set(&[&[], &[]])).is_empty());
    }
}
