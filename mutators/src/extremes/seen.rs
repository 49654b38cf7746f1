//! The set of visited windows. Another visit would find the same arguments again.

use std::collections::HashSet;

/// Maximum number of halvings of the usual width; narrower windows are treated alike.
const HALVINGS: u32 = 9;
/// Number of parts of half a window.
const PARTS: u64 = 4;
/// Number of the smallest parts in half a window of the usual width.
pub(super) const FINEST: u64 = PARTS << HALVINGS;
/// Maximum number of parts; when it is reached, all of them are cleared.
const REMEMBERED: usize = 1 << 20;

/// The visited parts of windows: number of halvings, and number of the part. Adjacent parts have consecutive numbers;
/// wider windows have wider parts.
#[derive(Debug, Default)]
pub(super) struct VisitedWindows(HashSet<(u32, u64)>);

impl VisitedWindows {
    /// Records a window: `middle` is the smallest part that contains its middle, `share` its width relative to the
    /// usual one.
    pub fn note(&mut self, middle: u64, share: f64) {
        let halvings = (0..HALVINGS).take_while(|n| share * f64::from(2u32 << n) <= 1.0).count() as u32;
        let half = (share * f64::from(1u32 << halvings) * PARTS as f64) as u64;
        let middle = middle >> (HALVINGS - halvings);
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.extend((middle.saturating_sub(half)..=middle.saturating_add(half)).map(|part| (halvings, part)));
    }

    pub fn has(&self, smallest: u64) -> bool {
        (0..=HALVINGS).any(|halvings| self.0.contains(&(halvings, smallest >> (HALVINGS - halvings))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up to one more part than the share of the window is recorded, of the size into which it was divided.
    #[test]
    fn a_window_is_seen_from_end_to_end() {
        let middle = 1 << 40;
        for (share, more) in [(1.0, 512), (0.75, 512), (0.5, 256), (0.1, 64), (0.01, 8), (1e-6, 1), (0.0, 1)] {
            let mut seen = VisitedWindows::default();
            seen.note(middle, share);
            let half = (share * FINEST as f64) as u64;
            for away in (0..=half.saturating_sub(more)).step_by(7) {
                assert!(seen.has(middle - away) && seen.has(middle + away), "{share}: {away}");
            }
            assert!(!seen.has(middle - half - more) && !seen.has(middle + half + more), "{share}: beyond it");
        }
    }
}
