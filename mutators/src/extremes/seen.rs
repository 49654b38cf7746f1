//! Which windows were looked at: there the same arguments would be found again.

use std::collections::HashSet;

/// Parts of half a window of the usual width.
pub(super) const PARTS: u64 = 4;
/// Parts that are remembered; then they are forgotten.
const REMEMBERED: usize = 1 << 20;

/// Parts of windows, which have the numbers next to those of their neighbours.
#[derive(Debug, Default)]
pub(super) struct Seen(HashSet<u64>);

impl Seen {
    /// The window with its middle in this part, and this share of the usual width. 0: nothing but the middle.
    pub fn note(&mut self, middle: u64, share: f64) {
        let half = (share * PARTS as f64) as u64;
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.extend(middle.saturating_sub(half)..=middle.saturating_add(half));
    }

    pub fn has(&self, part: u64) -> bool {
        self.0.contains(&part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_seen_from_end_to_end() {
        let mut seen = Seen::default();
        for (middle, share, first, last) in [(100, 1.0, 96, 104), (200, 0.5, 198, 202), (300, 0.0, 300, 300)] {
            seen.note(middle, share);
            assert!((first..=last).all(|part| seen.has(part)));
            assert!(!seen.has(first - 1) && !seen.has(last + 1), "{middle} {share}");
        }
    }
}
