//! Climbers in a race of successive halving.

use libafl_bolts::rands::Rand;

use super::{Extremes, Height, away, cell::Cell};
use crate::evaluate::Stop;

/// Climbers at the start of a race.
const CLIMBERS: usize = 1024;
/// Steps of each in the first round of a race.
const FIRST_STEPS: u64 = 32;
/// Steps of all climbers between two turns of the cells.
const STEPS: u64 = 32_768;
/// Cells of which the best gives a climber its start.
const TOURNAMENT: usize = 4;

/// A point that climbs.
#[derive(Debug)]
struct Climber {
    value: f64,
    at: Box<[u64]>,
}

/// Points that climb side by side.
#[derive(Debug, Default)]
pub(super) struct Race {
    climbers: Vec<Climber>,
    /// Steps of each in this round.
    steps: u64,
    /// The one that climbs, and the steps that it has done in this round.
    next: usize,
    done: u64,
}

impl Extremes {
    /// A turn of the race.
    pub(super) fn climb<F: Height, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
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
            let k = rng.below_or_zero(bits.max(1) as usize) as u32;
            self.x[d] = away(rng, self.x[d], k, (least, greatest));
        }
        let value = f.height(&self.x)?;
        let climber = &mut self.race.climbers[climber];
        if value > climber.value {
            climber.value = value;
            climber.at.copy_from_slice(&self.x);
            self.note_best(value);
        }
        Ok(())
    }
}
