//! Areas whose windows have far fewer points than predicted, which are rejected.
//!
//! A prediction assumes independent roundings. Where they are dependent, for example where last bits of numbers exclude
//! each other, all windows of an area may be predicted to have points that none of them has. So expected and found
//! points are counted per area.

use std::collections::HashMap;

/// An area of each size is rejected if more than this many times (1 + the number of points found) were expected.
const EXPECTED: [f64; SIZES] = [8.0, 32.0];
/// Number of sizes of areas.
pub(super) const SIZES: usize = 2;
/// Lower expectations are not counted.
const NONE: f64 = 1e-4;
/// Maximum number of areas of one size; when it is reached, all of them are cleared.
const REMEMBERED: usize = 65_536;

/// The numbers of the areas that contain a window, one for each size.
pub(super) type Areas = [u64; SIZES];

#[derive(Debug, Default, Clone, Copy)]
struct Tried {
    expected: f64,
    found: f64,
}

/// Expected and found points per area.
#[derive(Debug, Default)]
pub(super) struct RejectedAreas([HashMap<u64, Tried>; SIZES]);

impl RejectedAreas {
    /// Records a window with this expected number of points and number of points found.
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

    /// Whether one of the areas is rejected.
    pub fn has(&self, areas: Areas) -> bool {
        let mut all = self.0.iter().zip(areas).zip(EXPECTED);
        all.any(|((tried, area), most)| tried.get(&area).is_some_and(|t| t.expected > most * (t.found + 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_with_too_few_found_points_are_rejected() {
        let mut rejected_areas = RejectedAreas::default();
        for _ in 0..9 {
            rejected_areas.note([1, 0], 1.0, 0);
            rejected_areas.note([2, 0], 1.0, 1);
        }
        assert_eq!([[1, 0], [2, 0], [3, 0]].map(|areas| rejected_areas.has(areas)), [true, false, false]);
        for area in 10..50 {
            rejected_areas.note([area, 5], 1.0, 0);
        }
        assert!(rejected_areas.has([51, 5]), "no point was found in the large area");
        assert!(!rejected_areas.has([51, 0]), "in this one something was found");
    }
}
