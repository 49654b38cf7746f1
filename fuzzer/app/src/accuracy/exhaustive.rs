//! Every input of a box: then the largest error is the largest there is.

use penfuzz_engine::error::Error;
use penfuzz_mutators::{
    extremes::{Height, Peak},
    view::Layout,
};

use super::{Message, box_of, objective::Objective};

/// Inputs at most: all of one `float`, or of numbers of 32 bits together.
const MOST: u128 = 1 << 32;
/// Inputs between two messages.
const PART: u64 = 1 << 20;

/// Inputs within the box of the arguments.
///
/// # Errors
/// When there are too many.
pub fn inputs(layout: &Layout) -> Result<u64, Error> {
    let n = count(&box_of(layout));
    u64::try_from(n).ok().filter(|n| u128::from(*n) <= MOST).ok_or_else(|| {
        Error::new(format!(
            "--exhaust tries at most 2^32 inputs, and there are {n:.3e}; restrict the arguments with --arg",
            n = n as f64
        ))
    })
}

fn count(ends: &[(u64, u64)]) -> u128 {
    ends.iter().map(|(least, greatest)| u128::from(greatest - least) + 1).fold(1, u128::saturating_mul)
}

/// Evaluates the special points, and then each point of the regions. Returns the largest value of each region, and whether all were evaluated.
pub(super) fn all(objective: &mut Objective, regions: Vec<Vec<(u64, u64)>>, special: &[Vec<u64>]) -> (Vec<Peak>, bool) {
    let mut peaks = Vec::new();
    if special.iter().any(|at| objective.height(at).is_err()) {
        return (peaks, false);
    }
    let mut done = 0;
    for ends in regions {
        let (peak, is_whole) = largest(objective, ends, &mut done);
        peaks.push(peak);
        if !is_whole {
            return (peaks, false);
        }
    }
    (peaks, true)
}

fn largest(objective: &mut Objective, ends: Vec<(u64, u64)>, done: &mut u64) -> (Peak, bool) {
    let mut at: Vec<u64> = ends.iter().map(|(least, _)| *least).collect();
    let mut peak = Peak { at: at.clone(), ends, value: 0.0 };
    loop {
        match objective.height(&at) {
            Ok(value) if value > peak.value => {
                peak.value = value;
                peak.at.clone_from(&at);
            }
            Ok(_) => {}
            Err(_) => return (peak, false),
        }
        *done += 1;
        if done.is_multiple_of(PART) {
            objective.send(&Message::Tried(*done));
        }
        if !step(&mut at, &peak.ends) {
            return (peak, true);
        }
    }
}

/// The next point of a box, the first argument fastest; false behind the last.
fn step(at: &mut [u64], ends: &[(u64, u64)]) -> bool {
    for (x, (least, greatest)) in at.iter_mut().zip(ends) {
        if *x < *greatest {
            *x += 1;
            return true;
        }
        *x = *least;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_walked_through_once() {
        let ends = [(1, 3), (7, 7), (0, 1)];
        let mut at = vec![1, 7, 0];
        let mut seen = std::collections::BTreeSet::new();
        loop {
            assert!(seen.insert(at.clone()), "{at:?} comes twice");
            if !step(&mut at, &ends) {
                break;
            }
        }
        assert_eq!(seen.len() as u128, count(&ends));
    }
}
