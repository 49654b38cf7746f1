//! The run at a point, and the runs at points next to it.

use penfuzz_abi::Traced;
use penfuzz_mutators::extremes::{COORDINATES, Steps};

/// Maximum number of consecutive operations that only one of two runs has.
const SKIPPED: usize = 8;

/// The run at a point, and the runs after one step along each coordinate.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a> {
    /// Its operations and movements.
    pub trace: &'a [Traced],
    /// The argument, and the distance to the next position.
    pub x: (f64, f64),
    /// Change of the argument by one step along each coordinate.
    pub steps: Steps,
    /// The operations after such a step, with factor 1, or after a step back, with factor -1. `None` in a window of
    /// neighbours, where integers do not change.
    pub others: Option<[(&'a [Traced], f64); COORDINATES]>,
}

/// For each operation, the corresponding one of the other runs, if any; keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Pairs([Vec<Option<usize>>; COORDINATES]);

impl Pairs {
    pub fn find(&mut self, runs: &Runs) {
        for (i, pairs) in self.0.iter_mut().enumerate() {
            if let Some(others) = runs.others {
                pair(runs.trace, others[i].0, pairs);
            }
        }
    }

    /// Returns the change of the result of an operation along each coordinate; NaN if it is not known.
    pub fn moves(&self, runs: &Runs, at: usize) -> Steps {
        let value = f64::from_bits(runs.trace[at].result);
        let Some(others) = runs.others else { return [0.0; COORDINATES] };
        core::array::from_fn(|i| {
            let (other, times) = others[i];
            self.0[i][at].map_or(f64::NAN, |j| times * (f64::from_bits(other[j].result) - value))
        })
    }

    /// Returns whether an operand is the same in all runs.
    pub fn is_constant(&self, runs: &Runs, at: usize, operand: usize) -> bool {
        let value = runs.trace[at].operands[operand];
        let is_equal = |(pairs, (other, _)): (&Vec<Option<usize>>, (&[Traced], f64))| {
            pairs[at].is_none_or(|j| other[j].operands[operand] == value)
        };
        runs.others.is_none_or(|others| self.0.iter().zip(others).all(is_equal))
    }
}

/// Finds for each operation of a run the same one of another: the next one after the last pair, or else one of the
/// [`SKIPPED`] that follow in either run.
fn pair(run: &[Traced], other: &[Traced], pairs: &mut Vec<Option<usize>>) {
    let (ours, theirs) = (operations(run), operations(other));
    let is_same = |i: usize, j: usize| match (ours.get(i), theirs.get(j)) {
        (Some(i), Some(j)) => (run[*i].actions, run[*i].what) == (other[*j].actions, other[*j].what),
        _ => false,
    };
    pairs.clear();
    pairs.resize(run.len(), None);
    let (mut i, mut next) = (0, 0);
    while i < ours.len() {
        match (0..=SKIPPED).find(|n| is_same(i, next + n) || is_same(i + n, next)) {
            Some(n) if is_same(i, next + n) => {
                pairs[ours[i]] = Some(theirs[next + n]);
                (i, next) = (i + 1, next + n + 1);
            }
            Some(n) => i += n,
            None => (i, next) = (i + 1, next + 1),
        }
    }
}

/// Returns the indices of operations in a trace.
fn operations(trace: &[Traced]) -> Vec<usize> {
    (0..trace.len()).filter(|i| !trace[*i].actions.is_null()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operation at a site.
    fn at(site: usize) -> Traced {
        let actions = core::ptr::without_provenance(site);
        Traced { actions, operands: [0; 3], result: 0, what: 0, unused: 0 }
    }

    fn paired(run: &[usize], other: &[usize]) -> Vec<Option<usize>> {
        let trace = |sites: &[usize]| sites.iter().map(|s| at(*s)).collect::<Vec<_>>();
        let mut pairs = Vec::new();
        pair(&trace(run), &trace(other), &mut pairs);
        pairs
    }

    #[test]
    fn operations_that_one_run_has_alone_are_left_out() {
        assert_eq!(paired(&[1, 2, 3], &[1, 2, 3]), [Some(0), Some(1), Some(2)]);
        assert_eq!(paired(&[1, 2, 9, 3, 3], &[1, 2, 3, 3]), [Some(0), Some(1), None, Some(2), Some(3)]);
        assert_eq!(paired(&[1, 2, 3], &[1, 8, 9, 2, 3]), [Some(0), Some(3), Some(4)]);
        assert_eq!(paired(&[1, 7, 3], &[1, 8, 3]), [Some(0), None, Some(2)]);
        assert_eq!(paired(&[1, 2], &[]), [None, None]);
        assert_eq!(paired(&[], &[1]), []);
    }

    #[test]
    fn changes_follow_from_other_runs() {
        let of = |site, operand: u64, result: f64| Traced {
            operands: [operand, 0, 0],
            result: result.to_bits(),
            ..at(site)
        };
        let trace = [of(1, 7, 5.0), of(2, 9, 1.0)];
        let (first, second) = ([of(1, 7, 8.0), of(2, 9, 1.0)], [of(1, 6, 4.0)]);
        let others = Some([(&first[..], 1.0), (&second[..], -1.0)]);
        let runs = Runs { trace: &trace, x: (1.0, 0.5), steps: [0.5, 1.0], others };
        let mut pairs = Pairs::default();
        pairs.find(&runs);
        assert_eq!(pairs.moves(&runs, 0).map(f64::to_bits), [3f64, 1.0].map(f64::to_bits));
        assert!(pairs.moves(&runs, 1)[1].is_nan(), "there is no such operation in the last run");
        assert!(!pairs.is_constant(&runs, 0, 0) && pairs.is_constant(&runs, 1, 0));
        let alone = Runs { others: None, ..runs };
        pairs.find(&alone);
        assert_eq!(pairs.moves(&alone, 0).map(f64::to_bits), [0; 2]);
    }
}
