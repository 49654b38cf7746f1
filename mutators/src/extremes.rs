//! Maxima of a noisy function over the ULP line: where a numeric function is most wrong.
//!
//! The rounding error of a function is a smooth envelope with noise below it: neighbouring arguments have unrelated errors, and the
//! largest of many samples is near the envelope. So a search has to find where the envelope is high, and then needs many
//! samples there. It works on *cells*, boxes of the [ULP line](crate::line), and on *regions*, the cells that it begins with:
//!
//! 1. Every region is sampled at first, a few points each.
//! 2. A cell keeps its [`KEPT`] largest values. Near its end, the distribution of a sum of roundings falls like a power of the
//!    distance from the end (the corner of a cube), so these values and their number estimate that end, and the probability that one
//!    more sample exceeds the best known value. Cells in which this probability is largest are sampled, and halved along
//!    their widest side. (Extreme value theory for bandits: Cicirello and Smith, *The Max K-Armed Bandit*, AAAI 2005.)
//! 3. A part of the samples goes to the regions in turn, compared with the best value of the region and not of all: so
//!    narrow features are found, and each region has a maximum of its own.
//! 4. *Climbers* start from large values of cells and move by `±2^k` steps along the line, with `k` drawn evenly: the roundings inside of a
//!    function change slowly with its argument, some more slowly than others, so neighbours share many of them. They race:
//!    in each round the better half goes on with twice as many steps (successive halving: Karnin, Koren and Somekh, *Almost
//!    Optimal Exploration in Multi-Armed Bandits*, ICML 2013).
//!
//! Deterministic for a generator, as long as the function is.

use libafl_bolts::rands::Rand;

use crate::evaluate::Stop;

/// The largest values of a cell that are kept.
const KEPT: usize = 8;
/// Samples after which a cell may be halved.
const HALVED_AFTER: f64 = 1024.0;
/// Samples of a cell in one turn.
const BATCH: u64 = 64;
/// Cells that are sampled in one round, by their chance to exceed the best value of all.
const GLOBAL: usize = 48;
/// Regions that are sampled in one round.
const REGIONAL: usize = 24;
/// Samples of each region at the beginning.
const FIRST: u64 = 32;
/// Climbers at the start of a race.
const CLIMBERS: usize = 4096;
/// Steps of each in the first round of a race.
const FIRST_STEPS: u64 = 32;
/// Steps of all climbers between two turns of the cells.
const STEPS: u64 = 32_768;
/// Cells of which the best gives a climber its start.
const TOURNAMENT: usize = 4;

/// A function whose maximum is wanted.
pub trait Height {
    /// The value at positions on the ULP lines of the arguments; not NaN. Values below 0 count as 0.
    ///
    /// # Errors
    /// A [`Stop`], which ends the search.
    fn height(&mut self, at: &[u64]) -> Result<f64, Stop>;
}

/// The largest value of a region.
#[derive(Debug, Clone)]
pub struct Peak {
    /// The ends of the region, both within: least and greatest position of each argument.
    pub ends: Vec<(u64, u64)>,
    /// The value.
    pub value: f64,
    /// Where; the least positions when nothing was above 0.
    pub at: Vec<u64>,
}

#[derive(Debug)]
struct Cell {
    ends: Vec<(u64, u64)>,
    samples: f64,
    region: usize,
    /// Descending.
    best: Vec<(f64, Box<[u64]>)>,
    /// The smallest value that gets in.
    least: f64,
}

impl Cell {
    fn new(ends: Vec<(u64, u64)>, region: usize) -> Self {
        Self { ends, samples: 0.0, region, best: Vec::with_capacity(KEPT), least: 0.0 }
    }

    #[cold]
    fn insert(&mut self, value: f64, at: &[u64]) {
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
    fn chance(&self, level: f64) -> f64 {
        let Some(((first, _), (last, _))) = self.best.first().zip(self.best.last()) else { return 0.0 };
        let spread = first - last;
        // The end of the distribution; the fewer values there are, the farther it may be.
        let end = first + spread * (KEPT as f64 / self.best.len() as f64);
        if end <= level || spread <= 0.0 {
            return 0.0;
        }
        let share = (end - level.max(*last)) / (end - last);
        self.best.len() as f64 / self.samples.max(1.0) * share * share
    }

    fn widest(&self) -> usize {
        (0..self.ends.len()).max_by_key(|d| self.ends[*d].1 - self.ends[*d].0).unwrap_or(0)
    }
}

#[derive(Debug, Default)]
struct Region {
    best: f64,
    samples: f64,
    cells: Vec<u32>,
}

#[derive(Debug)]
struct Climber {
    value: f64,
    at: Box<[u64]>,
}

#[derive(Debug, Default)]
struct Race {
    climbers: Vec<Climber>,
    /// Steps of each in this round.
    steps: u64,
    /// The one that climbs, and the steps that it has done in this round.
    next: usize,
    done: u64,
}

/// The search.
#[derive(Debug)]
pub struct Extremes {
    ends: Vec<(u64, u64)>,
    cells: Vec<Cell>,
    regions: Vec<Region>,
    peaks: Vec<Peak>,
    race: Race,
    best: f64,
    x: Vec<u64>,
    chances: Vec<(f64, u32)>,
}

impl Extremes {
    /// A search in these boxes, which are the regions: the ends of each argument, both within.
    ///
    /// # Panics
    /// If there is no region, they differ in the number of arguments, or an interval is empty.
    #[must_use]
    pub fn new(regions: Vec<Vec<(u64, u64)>>) -> Self {
        let mut ends = regions.first().expect("there is a region").clone();
        for region in &regions {
            assert!(region.len() == ends.len() && region.iter().all(|(least, greatest)| least <= greatest));
            for (end, (least, greatest)) in ends.iter_mut().zip(region) {
                *end = (end.0.min(*least), end.1.max(*greatest));
            }
        }
        let low = |ends: &Vec<(u64, u64)>| ends.iter().map(|e| e.0).collect::<Vec<_>>();
        Self {
            x: low(&ends),
            ends,
            peaks: regions.iter().map(|r| Peak { ends: r.clone(), value: 0.0, at: low(r) }).collect(),
            regions: (0..regions.len()).map(|i| Region { cells: vec![i as u32], ..Region::default() }).collect(),
            cells: regions.into_iter().enumerate().map(|(i, ends)| Cell::new(ends, i)).collect(),
            race: Race::default(),
            best: 0.0,
            chances: Vec::new(),
        }
    }

    /// Evaluates `starts`, and then searches until a [`Stop`].
    pub fn run<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R, starts: &[Vec<u64>]) -> Stop {
        match self.search(f, rng, starts) {
            Ok(never) => match never {},
            Err(stop) => stop,
        }
    }

    /// The largest value of each region.
    #[must_use]
    pub fn peaks(&self) -> &[Peak] {
        &self.peaks
    }

    fn search<F: Height, R: Rand>(
        &mut self,
        f: &mut F,
        rng: &mut R,
        starts: &[Vec<u64>],
    ) -> Result<core::convert::Infallible, Stop> {
        for start in starts {
            let value = f.height(start)?;
            self.note_anywhere(value, start);
        }
        for cell in 0..self.cells.len() {
            self.sample(f, rng, cell, FIRST)?;
        }
        loop {
            self.sample_best_cells(f, rng)?;
            self.sample_regions(f, rng)?;
            self.climb(f, rng)?;
        }
    }

    fn sample<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R, cell: usize, n: u64) -> Result<(), Stop> {
        for _ in 0..n {
            for (x, (least, greatest)) in self.x.iter_mut().zip(&self.cells[cell].ends) {
                *x = between(rng, *least, *greatest);
            }
            let value = f.height(&self.x)?;
            if value > self.cells[cell].least {
                let x = core::mem::take(&mut self.x);
                self.note(cell, value, &x);
                self.x = x;
            }
        }
        self.cells[cell].samples += n as f64;
        self.regions[self.cells[cell].region].samples += n as f64;
        Ok(())
    }

    #[cold]
    fn note(&mut self, cell: usize, value: f64, at: &[u64]) {
        self.cells[cell].insert(value, at);
        let region = self.cells[cell].region;
        self.note_peak(region, value, at);
    }

    fn note_peak(&mut self, region: usize, value: f64, at: &[u64]) {
        if value > self.regions[region].best {
            self.regions[region].best = value;
            self.peaks[region].value = value;
            self.peaks[region].at.copy_from_slice(at);
        }
        self.best = self.best.max(value);
    }

    /// A value that was not sampled in a cell.
    fn note_anywhere(&mut self, value: f64, at: &[u64]) {
        if value <= 0.0 {
            return;
        }
        let has =
            |ends: &[(u64, u64)]| ends.iter().zip(at).all(|((least, greatest), x)| (least..=greatest).contains(&x));
        let Some(region) = self.peaks.iter().position(|p| has(&p.ends)) else { return };
        let cell = self.regions[region].cells.iter().find(|c| has(&self.cells[**c as usize].ends));
        match cell.copied() {
            Some(cell) => self.note(cell as usize, value, at),
            None => self.note_peak(region, value, at),
        }
    }

    fn sample_best_cells<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let mut chances = core::mem::take(&mut self.chances);
        chances.clear();
        chances.extend(self.cells.iter().enumerate().map(|(i, c)| (c.chance(self.best), i as u32)));
        let n = GLOBAL.min(chances.len());
        if n < chances.len() {
            chances.select_nth_unstable_by(n, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        chances.truncate(n);
        chances.retain(|(chance, _)| *chance > 0.0);
        chances.sort_unstable_by_key(|(_, cell)| *cell);
        for (_, cell) in &chances {
            self.sample(f, rng, *cell as usize, BATCH)?;
            self.halve(*cell as usize);
        }
        self.chances = chances;
        Ok(())
    }

    /// Regions in which most is to be expected for the samples that they have got.
    fn sample_regions<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let mut chances = core::mem::take(&mut self.chances);
        chances.clear();
        let best = self.best.max(f64::MIN_POSITIVE);
        chances.extend(self.regions.iter().enumerate().map(|(i, r)| {
            let share = (r.best / best).max(0.01);
            (share * share * share * share / r.samples.max(1.0), i as u32)
        }));
        let n = REGIONAL.min(chances.len());
        if n < chances.len() {
            chances.select_nth_unstable_by(n, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        chances.truncate(n);
        chances.sort_unstable_by_key(|(_, region)| *region);
        for (_, region) in &chances {
            let region = &self.regions[*region as usize];
            let level = region.best;
            let of = |c: &&u32| self.cells[**c as usize].chance(level);
            let by_chance = region.cells.iter().max_by(|a, b| of(a).total_cmp(&of(b))).copied();
            // Now and then any of its cells, by its width: what has no large value yet may have a narrow feature.
            let cell = if rng.below_or_zero(4) == 0 { any_cell(rng, region) } else { by_chance };
            if let Some(cell) = cell {
                self.sample(f, rng, cell as usize, BATCH)?;
                self.halve(cell as usize);
            }
        }
        self.chances = chances;
        Ok(())
    }

    fn halve(&mut self, cell: usize) {
        if self.cells[cell].samples < HALVED_AFTER || self.cells[cell].best.len() < KEPT {
            return;
        }
        let parts = halves(&self.cells[cell]);
        let Ok([low, high]) = <[_; 2]>::try_from(parts) else { return };
        let d = self.cells[cell].widest();
        let (samples, region) = (self.cells[cell].samples / 2.0, self.cells[cell].region);
        let middle = low[d].1;
        let best = core::mem::take(&mut self.cells[cell].best);
        let (mut a, mut b) = (Cell::new(low, region), Cell::new(high, region));
        (a.samples, b.samples) = (samples, samples);
        for (value, at) in best {
            let part = if at[d] <= middle { &mut a } else { &mut b };
            part.best.push((value, at));
        }
        self.cells[cell] = a;
        self.regions[region].cells.push(self.cells.len() as u32);
        self.cells.push(b);
    }

    fn climb<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let mut left = STEPS;
        while left > 0 {
            if self.race.next >= self.race.climbers.len() {
                self.next_round(rng);
            }
            if self.race.climbers.is_empty() {
                return Ok(());
            }
            let n = (self.race.steps - self.race.done).min(left);
            for _ in 0..n {
                self.step(f, rng)?;
            }
            left -= n;
            self.race.done += n;
            if self.race.done == self.race.steps {
                self.race.done = 0;
                self.race.next += 1;
            }
        }
        Ok(())
    }

    /// The better half goes on with twice as many steps; after the last one a new race begins.
    fn next_round<R: Rand>(&mut self, rng: &mut R) {
        let n = self.race.climbers.len();
        if n <= 1 {
            self.race = Race { climbers: self.starts(rng), steps: FIRST_STEPS, next: 0, done: 0 };
            return;
        }
        self.race.climbers.sort_by(|a, b| b.value.total_cmp(&a.value));
        self.race.climbers.truncate(n / 2);
        self.race.steps *= 2;
        self.race.next = 0;
    }

    /// Large values of cells; those of cells with larger ones more often.
    fn starts<R: Rand>(&self, rng: &mut R) -> Vec<Climber> {
        let first = |c: &&Cell| c.best.first().map_or(0.0, |b| b.0);
        let start = |_| {
            let drawn = (0..TOURNAMENT).map(|_| &self.cells[rng.below_or_zero(self.cells.len())]);
            let cell = drawn.max_by(|a, b| first(a).total_cmp(&first(b))).filter(|c| !c.best.is_empty())?;
            let (value, at) = &cell.best[rng.below_or_zero(cell.best.len())];
            Some(Climber { value: *value, at: at.clone() })
        };
        (0..CLIMBERS).filter_map(start).collect()
    }

    /// One step of a climber: one argument, or all of them, by `±2^k` to `±2^(k+1)`.
    fn step<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let climber = self.race.next;
        self.x.copy_from_slice(&self.race.climbers[climber].at);
        let n = self.x.len();
        let chosen = rng.below_or_zero(2 * n);
        for d in (0..n).filter(|d| chosen >= n || chosen == *d) {
            let (least, greatest) = self.ends[d];
            let bits = u64::BITS - (greatest - least).leading_zeros();
            let k = rng.below_or_zero(bits.max(1) as usize);
            let step = (1 << k) + (rng.next() & ((1 << k) - 1));
            let up = rng.below_or_zero(2) == 0;
            let moved = if up { self.x[d].saturating_add(step) } else { self.x[d].saturating_sub(step) };
            self.x[d] = moved.clamp(least, greatest);
        }
        let value = f.height(&self.x)?;
        let climber = &mut self.race.climbers[climber];
        if value > climber.value {
            climber.value = value;
            climber.at.copy_from_slice(&self.x);
            if value > self.best {
                let x = core::mem::take(&mut self.x);
                self.note_anywhere(value, &x);
                self.x = x;
            }
        }
        Ok(())
    }
}

fn any_cell<R: Rand>(rng: &mut R, region: &Region) -> Option<u32> {
    let i = rng.below_or_zero(region.cells.len().max(1));
    region.cells.get(i).copied()
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
fn halves(cell: &Cell) -> Vec<Vec<(u64, u64)>> {
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

/// A number from `least` to `greatest`, both within.
fn between<R: Rand>(rng: &mut R, least: u64, greatest: u64) -> u64 {
    let width = (greatest - least).wrapping_add(1);
    if width == 0 {
        return rng.next();
    }
    least + ((u128::from(rng.next()) * u128::from(width)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use libafl_bolts::rands::StdRand;

    struct Noise<F> {
        of: F,
        left: u64,
        best: f64,
    }

    impl<F: FnMut(&[u64]) -> f64> Height for Noise<F> {
        fn height(&mut self, at: &[u64]) -> Result<f64, Stop> {
            self.left = self.left.checked_sub(1).ok_or(Stop::End)?;
            let value = (self.of)(at);
            self.best = self.best.max(value);
            Ok(value)
        }
    }

    /// From 0 to 1, without a pattern.
    fn noise(x: u64) -> f64 {
        let mixed = (x ^ x >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed ^ mixed >> 32) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn best(regions: Vec<Vec<(u64, u64)>>, evaluations: u64, seed: u64, of: impl FnMut(&[u64]) -> f64) -> f64 {
        let mut f = Noise { of, left: evaluations, best: 0.0 };
        let mut search = Extremes::new(regions);
        assert_eq!(search.run(&mut f, &mut StdRand::with_seed(seed), &[]), Stop::End);
        let peaks = search.peaks().iter().map(|p| p.value).fold(0.0, f64::max);
        assert!(peaks <= f.best, "a peak was evaluated");
        f.best
    }

    /// Noise below a narrow hill: uniform samples meet the upper tenth of the hill, 2^-20 of the line, about once in a million.
    #[test]
    fn a_narrow_hill_under_noise_is_found() {
        let top = 0x4321_0000_0000_0000u64;
        let hill = |x: u64| 1.0 / (1.0 + (x.abs_diff(top) as f64 / (1u64 << 44) as f64).powi(2)).sqrt();
        let of = |at: &[u64]| hill(at[0]) * noise(at[0]) + noise(at[0]) * 0.3;
        for seed in 1..=5 {
            let regions = cut(vec![vec![(0, u64::MAX)]], 256);
            let found = best(regions, 1_000_000, seed, of);
            assert!(found > 1.28, "seed {seed}: {found} of 1.3");
        }
    }

    #[test]
    fn a_corner_of_two_arguments_is_found() {
        let of =
            |at: &[u64]| (at[0] as f64 / 1e6) * (1.0 - at[1] as f64 / 1e6) * (0.5 + 0.5 * noise(at[0] ^ at[1] << 20));
        let found = best(cut(vec![vec![(0, 1_000_000), (0, 1_000_000)]], 64), 300_000, 1, of);
        assert!(found > 0.99, "{found} of 1");
    }

    #[test]
    fn a_box_of_few_points_is_searched_to_its_end() {
        let found = best(vec![vec![(5, 9)]], 1000, 1, |at| at[0] as f64);
        assert_eq!(found, 9.0);
    }

    #[test]
    fn peaks_lie_in_their_regions() {
        let mut f = Noise { of: |at: &[u64]| noise(at[0]), left: 100_000, best: 0.0 };
        let mut search = Extremes::new(cut(vec![vec![(100, 100_000_000)]], 16));
        search.run(&mut f, &mut StdRand::with_seed(1), &[vec![100]]);
        for peak in search.peaks() {
            let (least, greatest) = peak.ends[0];
            assert!((least..=greatest).contains(&peak.at[0]) && peak.value > 0.9, "{peak:?}");
        }
    }
}
