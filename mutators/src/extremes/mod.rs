//! Search for the maxima of a noisy function over the ULP line: finds where a numeric function is most inaccurate.
//!
//! The rounding error of a function is a smooth envelope with noise below it: neighbouring arguments have unrelated
//! errors, and the largest of many samples is near the envelope. So a search has to find where the envelope is high,
//! and then needs many samples there. It works on *cells*, boxes of the [ULP line](crate::line), and on *regions*, the
//! initial cells:
//!
//! 1. Sample every region, a few points each.
//! 2. Sample the cells in which one more sample most probably exceeds the best known value, and halve them along their
//!    widest side. A cell keeps its [`KEPT`] largest values. Near its end, the distribution of a sum of roundings falls
//!    like a power of the distance from the end (the corner of a cube), so these values and their number estimate the
//!    end and that probability. (Extreme value theory for bandits: Cicirello and Smith, *The Max K-Armed Bandit*, AAAI
//!    2005.)
//! 3. Spend a part of the samples on the regions in turn, compared with the best value of the region instead of the
//!    global one. This finds narrow features, and gives each region a maximum of its own.
//! 4. *Climbers* start from large values of cells and move by `±2^k` steps along the line, with `k` drawn uniformly:
//!    the roundings inside a function change slowly with its argument, some more slowly than others, so neighbours
//!    share many of them. Climbers race: in each round the better half continues with twice as many steps (successive
//!    halving: Karnin, Koren and Somekh, *Almost Optimal Exploration in Multi-Armed Bandits*, ICML 2013).
//! 5. *Swarms* take most steps: sets of points in small windows that move by each other's differences (`swarm.rs`).
//! 6. *Predicted windows*: where the roundings of a run are known ([`NoisyObjective::roundings`]), compute the best
//!    arguments of a window instead of sampling it (`aim.rs`, `predicted_windows.rs`). The points of a window are
//!    neighbours, or large arguments with nearly equal remainders modulo a period (`period.rs`).
//!
//! The search is deterministic for a given state of the generator if the function is deterministic.

mod aim;
mod cell;
mod corner;
mod errors;
mod frame;
mod lattice;
mod origins;
mod period;
mod phases;
mod predicted_windows;
mod race;
mod rejected_areas;
mod roundings;
mod seen;
mod swarm;
#[cfg(test)]
mod tests;

use libafl_bolts::rands::Rand;
use serde::{Deserialize, Serialize};

use self::{
    cell::{Cell, KEPT, halves},
    predicted_windows::PredictedWindows,
    race::Race,
    swarm::Swarms,
};
use crate::{evaluate::Stop, view::Kind};

pub use cell::cut;
pub use roundings::{COORDINATES, FixedError, MAX_ROUNDINGS, Rounding, Roundings, Steps};

/// Number of samples from which on a cell may be halved.
const HALVED_AFTER: f64 = 1024.0;
/// Number of samples of a cell at a time.
const BATCH: u64 = 64;
/// Number of cells sampled per round, chosen by their probability to exceed the global best value.
const GLOBAL: usize = 48;
/// Number of regions sampled per round.
const REGIONAL: usize = 24;
/// Rounds of the cells and of the swarms per round of the climbers.
const CELL_ROUNDS: usize = 2;
const SWARM_ROUNDS: usize = 3;
/// Rounds of the predicted windows per round of the swarms, while the global best value was found in such a window.
const PREDICTED_WINDOW_ROUNDS: usize = 4;
/// Number of initial samples of each region.
const FIRST: u64 = 32;

/// How the points of a small box can be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowCost {
    /// At the usual cost.
    Usual,
    /// At a much lower cost than other points.
    Cheap,
    /// At the usual cost, and the values of neighbouring points are hardly related.
    Rough,
}

/// A function to maximize.
pub trait NoisyObjective {
    /// The value at positions on the ULP lines of the arguments; must not be NaN. Values below 0 count as 0.
    ///
    /// # Errors
    /// A [`Stop`], which ends the search.
    fn value_at(&mut self, at: &[u64]) -> Result<f64, Stop>;

    /// Computes the values at several points. `at` holds the positions of one point after those of the other; `values`
    /// has one entry per point. A negative value counts as its absolute value; its sign is a hint that points with
    /// values of the same sign have similar roundings.
    ///
    /// # Errors
    /// As [`NoisyObjective::value_at`].
    fn values_at(&mut self, at: &[u64], values: &mut [f64]) -> Result<(), Stop> {
        one_by_one(self, at, values)
    }

    /// Announces that many of the next points lie in this small box, and returns how they can be evaluated. It is a
    /// hint, which must not change values noticeably.
    fn enter(&mut self, _window: &[(u64, u64)]) -> WindowCost {
        WindowCost::Usual
    }

    /// The roundings of a run at this position of a single argument; `None` if they are not known. `jumps` are the
    /// steps, in positions, that span the window around it: `[1, 0]` for neighbours.
    fn roundings(&mut self, _at: u64, _jumps: [i64; COORDINATES]) -> Option<Roundings> {
        None
    }

    /// Receives the largest values of all regions after each round. The search does not depend on what is done with
    /// them.
    fn checkpoint(&mut self, _peaks: &[Peak]) {}
}

/// Computes [`NoisyObjective::values_at`] by one call of [`NoisyObjective::value_at`] per point.
///
/// # Errors
/// As [`NoisyObjective::value_at`].
pub fn one_by_one<F: NoisyObjective + ?Sized>(f: &mut F, at: &[u64], values: &mut [f64]) -> Result<(), Stop> {
    let dimensions = at.len() / values.len().max(1);
    for (x, value) in at.chunks_exact(dimensions.max(1)).zip(values) {
        *value = f.value_at(x)?;
    }
    Ok(())
}

/// The largest value of a region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// The region: least and greatest position of each argument, both included.
    pub ends: Vec<(u64, u64)>,
    /// The largest value; at least 0.
    pub value: f64,
    /// Positions at which it was found; the least positions of the region if no value was above 0.
    pub at: Vec<u64>,
}

#[derive(Debug, Default)]
struct Region {
    samples: f64,
    cells: Vec<u32>,
}

/// Searches for the largest value of a function in each region; the [module](self) has the steps.
#[derive(Debug)]
pub struct Extremes {
    ends: Vec<(u64, u64)>,
    cells: Vec<Cell>,
    regions: Vec<Region>,
    peaks: Vec<Peak>,
    race: Race,
    swarms: Swarms,
    predicted_windows: PredictedWindows,
    hints: Vec<Vec<u64>>,
    kinds: Vec<Kind>,
    best: f64,
    x: Vec<u64>,
    /// Points of a swarm and their values, for [`NoisyObjective::values_at`].
    points: Vec<u64>,
    values: Vec<f64>,
    chances: Vec<(f64, u32)>,
}

impl Extremes {
    /// A search in these regions. A region is a box: least and greatest position of each argument, both included.
    ///
    /// # Panics
    /// If there is no region, if regions differ in the number of arguments, or if an interval is empty.
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
            swarms: Swarms::default(),
            predicted_windows: PredictedWindows::default(),
            hints: Vec::new(),
            kinds: Vec::new(),
            best: 0.0,
            points: Vec::new(),
            values: Vec::new(),
            chances: Vec::new(),
        }
    }

    /// Adds points at which swarms may start: places where large values are likely.
    ///
    /// # Panics
    /// If a point is outside the boxes.
    #[must_use]
    pub fn with_hints(mut self, hints: Vec<Vec<u64>>) -> Self {
        let is_within =
            |hint: &Vec<u64>| hint.iter().zip(&self.ends).all(|(x, (least, greatest))| least <= x && x <= greatest);
        assert!(hints.iter().all(|hint| hint.len() == self.ends.len() && is_within(hint)));
        self.hints = hints;
        self
    }

    /// Declares the arguments to be floating-point numbers of these kinds. New windows then also lie at sums and
    /// differences of known places.
    ///
    /// # Panics
    /// If there is not one kind per argument, or if a kind is not a floating-point type.
    #[must_use]
    pub fn with_kinds(mut self, kinds: Vec<Kind>) -> Self {
        assert!(kinds.len() == self.ends.len() && kinds.iter().all(|k| k.is_float()));
        self.kinds = kinds;
        self
    }

    /// Evaluates `starts`, then searches until a [`Stop`], and returns it.
    pub fn run<F: NoisyObjective, R: Rand>(&mut self, f: &mut F, rng: &mut R, starts: &[Vec<u64>]) -> Stop {
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

    fn search<F: NoisyObjective, R: Rand>(
        &mut self,
        f: &mut F,
        rng: &mut R,
        starts: &[Vec<u64>],
    ) -> Result<core::convert::Infallible, Stop> {
        for start in starts {
            let value = f.value_at(start)?;
            self.note_anywhere(value, start);
        }
        for cell in 0..self.cells.len() {
            self.sample(f, rng, cell, FIRST)?;
        }
        loop {
            for _ in 0..CELL_ROUNDS {
                self.sample_best_cells(f, rng)?;
                self.sample_regions(f, rng)?;
            }
            self.climb(f, rng)?;
            for turn in 0..SWARM_ROUNDS {
                self.swarm(f, rng)?;
                let turns = if self.predicted_windows.leads(self.best) {
                    PREDICTED_WINDOW_ROUNDS
                } else {
                    usize::from(turn == 0)
                };
                for _ in 0..turns {
                    self.aim(f, rng)?;
                }
            }
            f.checkpoint(&self.peaks);
        }
    }

    fn sample<F: NoisyObjective, R: Rand>(&mut self, f: &mut F, rng: &mut R, cell: usize, n: u64) -> Result<(), Stop> {
        for _ in 0..n {
            for (x, (least, greatest)) in self.x.iter_mut().zip(&self.cells[cell].ends) {
                *x = between(rng, *least, *greatest);
            }
            let value = f.value_at(&self.x)?;
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
        let peak = &mut self.peaks[region];
        if value > peak.value {
            peak.value = value;
            peak.at.copy_from_slice(at);
        }
        self.best = self.best.max(value);
    }

    /// Records the value at `x` if it is the largest of all.
    fn note_best(&mut self, value: f64) {
        if value > self.best {
            let x = core::mem::take(&mut self.x);
            self.note_anywhere(value, &x);
            self.x = x;
        }
    }

    /// Records a value that was not sampled in a cell.
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

    fn sample_best_cells<F: NoisyObjective, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
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

    /// Samples the regions with the largest expected gain per sample already spent.
    fn sample_regions<F: NoisyObjective, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
        let mut chances = core::mem::take(&mut self.chances);
        chances.clear();
        let best = self.best.max(f64::MIN_POSITIVE);
        chances.extend(self.regions.iter().zip(&self.peaks).enumerate().map(|(i, (r, peak))| {
            let share = (peak.value / best).max(0.01);
            (share * share * share * share / r.samples.max(1.0), i as u32)
        }));
        let n = REGIONAL.min(chances.len());
        if n < chances.len() {
            chances.select_nth_unstable_by(n, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        }
        chances.truncate(n);
        chances.sort_unstable_by_key(|(_, region)| *region);
        for (_, region) in &chances {
            let level = self.peaks[*region as usize].value;
            let region = &self.regions[*region as usize];
            let of = |c: &&u32| self.cells[**c as usize].chance(level);
            let by_chance = region.cells.iter().max_by(|a, b| of(a).total_cmp(&of(b))).copied();
            // Once in 4 times any cell: one without a large value yet may have a narrow feature.
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
}

fn any_cell<R: Rand>(rng: &mut R, region: &Region) -> Option<u32> {
    let i = rng.below_or_zero(region.cells.len().max(1));
    region.cells.get(i).copied()
}

/// A position at a distance of `2^k` to `2^(k+1)` from `x`, above or below, clamped to the ends.
///
/// # Panics
/// If `k` is 64 or more.
#[must_use]
pub fn away<R: Rand>(rng: &mut R, x: u64, k: u32, (least, greatest): (u64, u64)) -> u64 {
    let distance = (1 << k) + (rng.next() & ((1 << k) - 1));
    let is_up = rng.below_or_zero(2) == 0;
    if is_up { x.saturating_add(distance) } else { x.saturating_sub(distance) }.clamp(least, greatest)
}

/// A uniformly distributed number from `least` to `greatest`, both included.
#[must_use]
pub fn between<R: Rand>(rng: &mut R, least: u64, greatest: u64) -> u64 {
    let width = (greatest - least).wrapping_add(1);
    if width == 0 {
        return rng.next();
    }
    least + ((u128::from(rng.next()) * u128::from(width)) >> 64) as u64
}
