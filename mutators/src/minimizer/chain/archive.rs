//! An archive of diverse inputs that reach the wanted condition.

use libafl_bolts::rands::Rand;

/// Maximum number of points.
const ROOM: usize = 32;

/// Points that passed the wanted condition, each with its gap. In a full archive a new point replaces a random one, so
/// old points stay for a while.
#[derive(Debug, Clone, Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    gaps: Vec<f64>,
    size: usize,
}

impl Archive {
    /// Removes all points, and reserves memory for points of `size` bytes.
    pub(super) fn clear(&mut self, size: usize) {
        self.bytes.clear();
        self.bytes.reserve_exact(ROOM * size);
        self.gaps.clear();
        self.gaps.reserve_exact(ROOM);
        self.size = size;
    }

    pub(super) fn len(&self) -> usize {
        self.gaps.len()
    }

    pub(super) fn point(&self, number: usize) -> &[u8] {
        &self.bytes[number * self.size..][..self.size]
    }

    pub(super) fn gap(&self, number: usize) -> f64 {
        self.gaps[number]
    }

    /// Adds a point unless it is in the archive already.
    pub(super) fn add<R: Rand>(&mut self, x: &[u8], gap: f64, rng: &mut R) {
        let x = &x[..self.size];
        if (0..self.len()).any(|i| self.point(i) == x) {
            return;
        }
        if self.len() < ROOM {
            self.bytes.extend_from_slice(x);
            self.gaps.push(gap);
            return;
        }
        let at = rng.below_or_zero(ROOM);
        self.bytes[at * self.size..][..self.size].copy_from_slice(x);
        self.gaps[at] = gap;
    }
}
