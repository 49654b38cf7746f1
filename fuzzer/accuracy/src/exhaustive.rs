//! Exhaustive search: it tries every input of a box, so the largest error that it finds is the largest there is.

use penfuzz_error::Error;
use penfuzz_mutators::{
    extremes::{NoisyObjective, Peak},
    view::Layout,
};

use super::{objective::Objective, search::box_of, worker::Message};

/// Maximum number of inputs: all values of one `float`, or of several numbers with 32 bits together.
const MOST: u128 = 1 << 32;
/// Number of inputs between two messages.
const PART: u64 = 1 << 20;

/// Returns the number of inputs in the box of the arguments.
///
/// # Errors
/// When there are too many.
pub fn inputs(layout: &Layout) -> Result<u64, Error> {
    let n = count(&box_of(layout));
    u64::try_from(n).ok().filter(|n| u128::from(*n) <= MOST).ok_or_else(|| {
        Error::new(format!(
            "--exhaust tries at most 2^32 inputs, but there are {n:.3e}; restrict the arguments with --arg",
            n = n as f64
        ))
    })
}

fn count(ends: &[(u64, u64)]) -> u128 {
    ends.iter().map(|(least, greatest)| u128::from(greatest - least) + 1).fold(1, u128::saturating_mul)
}

/// Evaluates the special points, and then each point of the regions except for the first `before`. Returns the largest
/// value of each region.
pub(super) fn all(
    objective: &mut Objective,
    regions: Vec<Vec<(u64, u64)>>,
    special: &[Vec<u64>],
    before: u64,
) -> Vec<Peak> {
    let mut walk = Walk { objective, done: 0, peaks: Vec::new(), sent: 0 };
    if special.iter().all(|at| walk.objective.value_at(at).is_ok()) {
        for ends in regions {
            if !walk.region(ends, before) {
                break;
            }
        }
        walk.pass();
    }
    walk.peaks
}

/// The state of a walk through all regions.
struct Walk<'a, 'b> {
    objective: &'a mut Objective<'b>,
    /// Number of points that were visited or skipped.
    done: u64,
    peaks: Vec<Peak>,
    /// Number of peaks that were sent.
    sent: usize,
}

impl Walk<'_, '_> {
    /// Walks through a region, skipping the first `before` points of all regions. Returns false when a limit of the
    /// search is reached.
    fn region(&mut self, ends: Vec<(u64, u64)>, before: u64) -> bool {
        let points = u64::try_from(count(&ends)).unwrap_or(u64::MAX);
        let skipped = before.saturating_sub(self.done).min(points);
        self.done += skipped;
        let mut at = point(&ends, skipped);
        self.peaks.push(Peak { at: at.clone(), ends, value: 0.0 });
        for _ in skipped..points {
            let Ok(value) = self.objective.value_at(&at) else { return false };
            let peak = self.peaks.last_mut().expect("it was pushed");
            if value > peak.value {
                peak.value = value;
                peak.at.clone_from(&at);
            }
            step(&mut at, &peak.ends);
            self.done += 1;
            if self.done.is_multiple_of(PART) {
                self.tell();
            }
        }
        true
    }

    fn tell(&mut self) {
        self.objective.send(&Message::Tried(self.done));
        if self.objective.is_checkpoint() {
            self.pass();
        }
    }

    /// Sends the peaks that were not sent yet. Another run need not try these points again.
    fn pass(&mut self) {
        self.objective.send_peaks(&self.peaks[self.sent..]);
        // The last region may be incomplete.
        self.sent = self.peaks.len().saturating_sub(1);
        let counts = self.objective.counts();
        self.objective.send(&Message::Passed(self.done, counts));
    }
}

/// Returns the point of a box that has `n` points before it.
fn point(ends: &[(u64, u64)], mut n: u64) -> Vec<u64> {
    let mut of = |(least, greatest): &(u64, u64)| match (greatest - least).checked_add(1) {
        Some(values) => {
            let x = least + n % values;
            n /= values;
            x
        }
        None => least + core::mem::take(&mut n),
    };
    ends.iter().map(&mut of).collect()
}

/// Steps to the next point of a box, the first argument fastest; from the last point to the first.
fn step(at: &mut [u64], ends: &[(u64, u64)]) {
    for (x, (least, greatest)) in at.iter_mut().zip(ends) {
        if *x < *greatest {
            *x += 1;
            return;
        }
        *x = *least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_from_each_point_visits_each_point_once() {
        let ends = [(1, 3), (7, 7), (0, 1)];
        let mut at = vec![1, 7, 0];
        let mut seen = std::collections::BTreeSet::new();
        for n in 0..6 {
            assert_eq!(at, point(&ends, n), "after {n} others");
            assert!(seen.insert(at.clone()), "{at:?} comes twice");
            step(&mut at, &ends);
        }
        assert_eq!((at, count(&ends)), (vec![1, 7, 0], 6), "after the last is the first");
        assert_eq!(point(&[(0, u64::MAX)], 9), [9]);
    }
}
