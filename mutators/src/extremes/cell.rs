//! Boxes of the ULP line, with the largest values in them.

/// Number of largest values that a cell keeps.
pub(super) const KEPT: usize = 8;

/// A box with its sample statistics.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) ends: Vec<(u64, u64)>,
    pub(super) samples: f64,
    pub(super) region: usize,
    /// The largest values with their positions; in descending order.
    pub(super) best: Vec<(f64, Box<[u64]>)>,
    /// Values above this are kept.
    pub(super) least: f64,
}

impl Cell {
    pub(super) fn new(ends: Vec<(u64, u64)>, region: usize) -> Self {
        Self { ends, samples: 0.0, region, best: Vec::with_capacity(KEPT), least: 0.0 }
    }

    #[cold]
    pub(super) fn insert(&mut self, value: f64, at: &[u64]) {
        let place = self.best.partition_point(|(v, _)| *v >= value);
        if place == KEPT || self.best.iter().any(|(v, known)| *v == value && **known == *at) {
            return;
        }
        if self.best.len() == KEPT {
            self.best.pop();
        }
        self.best.insert(place, (value, at.into()));
        if self.best.len() == KEPT {
            self.least = self.best[KEPT - 1].0;
        }
    }

    /// An estimate of the probability that one more sample is above `level`.
    pub(super) fn chance(&self, level: f64) -> f64 {
        let Some(((first, _), (last, _))) = self.best.first().zip(self.best.last()) else { return 0.0 };
        let spread = first - last;
        // The estimated end of the distribution. The fewer values there are, the farther away it may be.
        let end = first + spread * (KEPT as f64 / self.best.len() as f64);
        if end <= level || spread <= 0.0 {
            return 0.0;
        }
        let share = (end - level.max(*last)) / (end - last);
        self.best.len() as f64 / self.samples.max(1.0) * share * share
    }

    pub(super) fn widest(&self) -> usize {
        (0..self.ends.len()).max_by_key(|d| self.ends[*d].1 - self.ends[*d].0).unwrap_or(0)
    }
}

/// Halves all boxes along their widest sides until there are `n`, or all are points.
#[must_use]
pub fn cut(mut boxes: Vec<Vec<(u64, u64)>>, n: usize) -> Vec<Vec<(u64, u64)>> {
    while boxes.len() < n {
        let before = boxes.len();
        boxes = boxes.into_iter().flat_map(|ends| halves(&Cell::new(ends, 0))).collect();
        if boxes.len() == before {
            break;
        }
    }
    boxes
}

/// Both halves of a cell along its widest side; the cell alone if it is one point.
pub(super) fn halves(cell: &Cell) -> Vec<Vec<(u64, u64)>> {
    let d = cell.widest();
    let (least, greatest) = cell.ends.get(d).copied().unwrap_or_default();
    if least == greatest {
        return vec![cell.ends.clone()];
    }
    let middle = least + (greatest - least) / 2;
    let (mut low, mut high) = (cell.ends.clone(), cell.ends.clone());
    low[d] = (least, middle);
    high[d] = (middle + 1, greatest);
    vec![low, high]
}
