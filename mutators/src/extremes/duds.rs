//! Areas in whose windows there is much less than was expected.
//!
//! What is expected takes roundings for independent of each other. Where they are not, as where last bits of numbers exclude each other, all windows of an area
//! may promise what none has. So what was expected and what was found is counted.

use std::collections::HashMap;

/// Points that must have been expected in an area of each size for each that was found, and one, so that it counts as a dud.
const EXPECTED: [f64; SIZES] = [8.0, 32.0];
/// Sizes of areas.
pub(super) const SIZES: usize = 2;
/// Expectations below this are not counted.
const NONE: f64 = 1e-4;
/// Areas of one size that are remembered; then they are forgotten.
const REMEMBERED: usize = 65_536;

/// The areas of each size in which a window lies, as numbers.
pub(super) type Areas = [u64; SIZES];

#[derive(Debug, Default, Clone, Copy)]
struct Tried {
    expected: f64,
    found: f64,
}

/// What was expected and found.
#[derive(Debug, Default)]
pub(super) struct Duds([HashMap<u64, Tried>; SIZES]);

impl Duds {
    /// In a window so many points were expected, and so many were found.
    pub fn note(&mut self, areas: Areas, expected: f64, found: usize) {
        if expected < NONE && found == 0 {
            return;
        }
        for (tried, area) in self.0.iter_mut().zip(areas) {
            if tried.len() >= REMEMBERED {
                tried.clear();
            }
            let tried = tried.entry(area).or_default();
            tried.expected += expected;
            tried.found += found as f64;
        }
    }

    /// Does a window there promise too much?
    pub fn has(&self, areas: Areas) -> bool {
        let mut all = self.0.iter().zip(areas).zip(EXPECTED);
        all.any(|((tried, area), most)| tried.get(&area).is_some_and(|t| t.expected > most * (t.found + 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dud_is_where_much_was_expected_and_nothing_found() {
        let mut duds = Duds::default();
        for _ in 0..9 {
            duds.note([1, 0], 1.0, 0);
            duds.note([2, 0], 1.0, 1);
        }
        assert_eq!([[1, 0], [2, 0], [3, 0]].map(|areas| duds.has(areas)), [true, false, false]);
        for area in 10..50 {
            duds.note([area, 5], 1.0, 0);
        }
        assert!(duds.has([51, 5]), "no part of the large area had anything");
        assert!(!duds.has([51, 0]), "in this one something was found");
    }
}
