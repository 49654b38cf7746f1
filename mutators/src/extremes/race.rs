//! Climbers: hill climbing from many starts, raced by successive halving.

use libafl_bolts::rands::Rand;

use super::{Extremes, NoisyObjective, away, cell::Cell};
use crate::evaluate::Stop;

/// Number of climbers at the start of a race.
const CLIMBERS: usize = 1024;
/// Number of steps of each climber in the first round of a race.
const FIRST_STEPS: u64 = 32;
/// Number of steps of all climbers between two rounds of the cells.
const STEPS: u64 = 32_768;
/// Number of random cells; the best of them gives a climber its start.
const TOURNAMENT: usize = 4;

/// A point that moves to larger values.
#[derive(Debug)]
struct Climber {
    value: f64,
    at: Box<[u64]>,
}

/// The climbers of one race.
#[derive(Debug, Default)]
pub(super) struct Race {
    climbers: Vec<Climber>,
    /// Steps of each climber in this round.
    steps: u64,
    /// Index of the current climber, and the number of steps that it has taken in this round.
    next: usize,
    done: u64,
}

impl Extremes {
    /// Takes [`STEPS`] steps of the race.
    pub(super) fn climb<F: NoisyObjective, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
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

    /// Starts the next round: the better half continues with twice as many steps. After the last round, starts a new
    /// race.
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

    /// Start points of climbers: large values of cells; cells with larger values are more likely.
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

    /// Takes one step of the current climber: moves one argument, or all of them, by `±2^k` to `±2^(k+1)`.
    fn step<F: NoisyObjective, R: Rand>(&mut self, f: &mut F, rng: &mut R) -> Result<(), Stop> {
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
        let value = f.value_at(&self.x)?;
        let climber = &mut self.race.climbers[climber];
        if value > climber.value {
            climber.value = value;
            climber.at.copy_from_slice(&self.x);
            self.note_best(value);
        }
        Ok(())
    }
}
