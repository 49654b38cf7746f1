//! Search on the chain of conditions before a branch: step, repair, and observe.
//!
//! After an equality, a search along one number has no slope: every step breaks the equality, and the wanted condition
//! is not reached. This search uses the operands of all conditions of the chain ([`Observation`]), not one distance.
//! From a point that reaches the wanted condition it takes a step, and *repairs* the conditions that the step has
//! broken, with other numbers. So it observes the wanted condition at another solution of those before it.
//!
//! # Algorithm
//! 1. Probe: change each number slightly, and record how the gaps of the conditions change (a linear [model](model)).
//! 2. Choose an [arm](arms) by the recent gains, and let it take a step from the present point: a Newton step by the
//!    model; a random step of one or two numbers; a step along the difference of two points that reach the condition,
//!    or to its zero by the secant; a correction of a number by the operands; rounding of all numbers; a few ULPs.
//! 3. [Repair](repair) the conditions before the wanted one.
//! 4. If the point is not worse, it becomes the present point. Update the model by the observations (Broyden). After
//!    many trials without a gain, continue from another point that reached the condition.
//!
//! Ends by a [`Stop`] or at a zero, or after one evaluation if the start does not reach the wanted condition.
//!
//! # Reference
//! C. G. Broyden, *A class of methods for solving nonlinear simultaneous equations*, Mathematics of Computation 19,
//! 1965.

mod archive;
mod arms;
mod model;
mod numbers;
mod repair;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use libafl_bolts::rands::Rand;

use self::{
    archive::Archive,
    arms::Bandit,
    model::{MOST_NUMBERS, Model, Vector},
};
use super::LocalMinimizer;
use crate::{
    dictionary::Dictionary,
    evaluate::{RepresentingFunction, Stop},
    observe::Observation,
    structured,
    view::{Layout, Slot},
};

/// Number of trials without a gain after which the search continues from another point.
const PATIENCE: u32 = 24;

/// The model stays valid after a step of less than this fraction of every number.
const STILL_VALID: f64 = 0.1;

/// One trial in this many replaces the present point if it is equally good.
const TIES: usize = 4;

/// A point with the results of its evaluation.
#[derive(Debug, Clone, Default)]
struct Point {
    x: Vec<u8>,
    r: u64,
    seen: Vec<Observation>,
}

impl Point {
    /// The observation of the wanted condition, if it was passed.
    fn wanted(&self) -> Option<&Observation> {
        self.seen.last().filter(|o| o.level == 0)
    }

    /// The distance of the wanted condition from its aim, in the units of its operands (counted in floats, all values
    /// of the other sign would be about equally far), then the value of the function.
    fn distance(&self) -> (f64, u64) {
        let distance = self.wanted().map_or(f64::INFINITY, |o| (o.aim() - o.gap()).abs());
        (if distance.is_nan() { f64::INFINITY } else { distance }, self.r)
    }

    /// The observation nearest to the wanted branch whose condition does not hold.
    fn failing(&self) -> Option<&Observation> {
        self.seen.iter().rev().find(|o| !o.holds)
    }

    fn assign(&mut self, other: &Self) {
        self.x.copy_from_slice(&other.x);
        self.r = other.r;
        self.seen.clone_from(&other.seen);
    }

    fn reserve(&mut self, x: &[u8]) {
        self.x.clear();
        self.x.extend_from_slice(x);
        self.r = u64::MAX;
        self.seen.clear();
        self.seen.reserve(2 * model::MOST_CONDITIONS);
    }
}

/// Searches on the chain of conditions before a branch; the [module](self) has the steps.
///
/// It requires a function that can be [observed](RepresentingFunction::observe); otherwise it returns after one
/// evaluation.
#[derive(Debug)]
pub struct ChainSearch {
    dictionary: Arc<Dictionary>,
    memory: Memory,
}

/// Buffers that are reused between searches.
#[derive(Debug, Default)]
struct Memory {
    base: Point,
    trial: Point,
    /// The trial before the latest correction.
    before: Point,
    model: Model,
    /// The model of the present trial.
    local: Model,
    archive: Archive,
}

impl ChainSearch {
    /// A search that draws values from the dictionary.
    #[must_use]
    pub fn new(dictionary: Arc<Dictionary>) -> Self {
        Self { dictionary, memory: Memory::default() }
    }

    /// Whether the model has room for all numbers of this layout. For arrays and texts other moves are more effective.
    #[must_use]
    pub fn suits(layout: &Layout) -> bool {
        layout.slots().len() <= MOST_NUMBERS
    }
}

impl<R: Rand> LocalMinimizer<R> for ChainSearch {
    fn name(&self) -> &'static str {
        "chain"
    }

    fn minimize(
        &mut self,
        f: &mut dyn RepresentingFunction,
        x: &mut [u8],
        layout: &Layout,
        rng: &mut R,
    ) -> Result<u64, Stop> {
        let memory = &mut self.memory;
        for point in [&mut memory.base, &mut memory.trial, &mut memory.before] {
            point.reserve(x);
        }
        memory.model.clear();
        memory.local.clear();
        memory.archive.clear(x.len());
        let mut walk = Walk {
            f,
            best: x,
            best_r: u64::MAX,
            layout,
            dictionary: &self.dictionary,
            rng,
            memory,
            numbers: [Slot { kind: crate::view::Kind::U8, offset: 0 }; MOST_NUMBERS],
            n: 0,
            is_stale: true,
            evaluations: 0,
        };
        walk.choose_numbers();
        walk.look()?;
        walk.memory.base.assign(&walk.memory.trial);
        if walk.best_r == 0 || walk.n == 0 || walk.memory.base.wanted().is_none() {
            return Ok(walk.best_r);
        }
        walk.run()
    }
}

/// The state of one search.
struct Walk<'a, R> {
    f: &'a mut dyn RepresentingFunction,
    /// The best point, and its value.
    best: &'a mut [u8],
    best_r: u64,
    layout: &'a Layout,
    dictionary: &'a Dictionary,
    rng: &'a mut R,
    memory: &'a mut Memory,
    /// The numbers that the search changes; the first `n` are in use.
    numbers: [Slot; MOST_NUMBERS],
    n: usize,
    /// Whether the model was built at a distant point.
    is_stale: bool,
    evaluations: u64,
}

impl<R: Rand> Walk<'_, R> {
    fn run(mut self) -> Result<u64, Stop> {
        let mut bandit = Bandit::default();
        let mut patience = PATIENCE;
        loop {
            let (before, distance) = (self.evaluations, self.memory.base.distance());
            if self.is_stale {
                self.probe()?;
            }
            let arm = bandit.choose(self.rng);
            self.memory.local.assign(&self.memory.model);
            self.step(arm)?;
            if self.best_r == 0 {
                return Ok(0);
            }
            let gained = self.memory.base.distance() < distance;
            let cost = self.evaluations - before;
            bandit.note(arm, cost, gained);
            patience = if gained { PATIENCE } else { patience.saturating_sub(u32::from(cost > 0)) };
            if patience == 0 {
                patience = PATIENCE;
                self.restart()?;
            }
        }
    }

    /// Continues from the best point, from another one that reached the wanted condition, or from a new random point
    /// after repair.
    fn restart(&mut self) -> Result<(), Stop> {
        let n = self.memory.archive.len();
        let is_reached = match self.rng.below_or_zero(4) {
            0 => {
                structured::fill(self.rng, self.layout, self.dictionary, &mut self.memory.trial.x);
                self.memory.local.assign(&self.memory.model);
                self.repair(0)?
            }
            1 | 2 if n > 0 => {
                let pick = self.rng.below_or_zero(n);
                self.memory.trial.x.copy_from_slice(self.memory.archive.point(pick));
                self.look()?;
                true
            }
            _ => {
                self.memory.trial.x.copy_from_slice(self.best);
                self.look()?;
                true
            }
        };
        if is_reached && self.memory.trial.wanted().is_some() {
            self.memory.base.assign(&self.memory.trial);
            self.is_stale = true;
        }
        Ok(())
    }

    /// Observes the trial, and keeps it if it is the best point.
    fn look(&mut self) -> Result<(), Stop> {
        self.evaluations += 1;
        let trial = &mut self.memory.trial;
        match self.f.observe(&trial.x, &mut trial.seen) {
            Ok(r) => trial.r = r,
            Err(Stop::Found) => {
                self.best.copy_from_slice(&trial.x);
                return Err(Stop::Found);
            }
            Err(stop) => return Err(stop),
        }
        let excess = trial.seen.len().saturating_sub(model::MOST_CONDITIONS);
        trial.seen.drain(..excess);
        if trial.r < self.best_r {
            self.best_r = trial.r;
            self.best.copy_from_slice(&trial.x);
        }
        Ok(())
    }

    /// Repairs the trial, and makes it the present point if it reaches the wanted condition and is not worse. `moved`
    /// is the mask of the numbers that the step has changed. Returns whether the wanted condition was reached.
    fn finish(&mut self, moved: u32) -> Result<bool, Stop> {
        if self.memory.trial.x == self.memory.base.x || !self.repair(moved)? {
            return Ok(false);
        }
        let step = self.step_between_base_and_trial();
        let scale = self.scale();
        let size = (0..self.n).fold(0f64, |m, i| m.max((step[i] / scale[i]).abs()));
        let memory = &mut *self.memory;
        let Some(wanted) = memory.trial.wanted() else { return Ok(false) };
        memory.archive.add(&memory.trial.x, wanted.gap(), self.rng);
        let known = memory.model.row(wanted.condition).is_some_and(|row| row.slopes.iter().any(|s| *s != 0.0));
        if size < repair::NEARBY || !known {
            let seen = [*wanted];
            memory.local.learn(&memory.base.seen, &seen, &step, &scale);
            memory.model.learn(&memory.base.seen, &seen, &step, &scale);
        }
        let (trial, base) = (memory.trial.distance(), memory.base.distance());
        if trial < base || trial == base && size > 0.0 && self.rng.below_or_zero(TIES) == 0 {
            memory.base.assign(&memory.trial);
            if size < STILL_VALID {
                memory.model.assign(&memory.local);
            } else {
                self.is_stale = true;
            }
        }
        Ok(true)
    }

    /// The step from the present point to the trial, in the units of the numbers.
    fn step_between_base_and_trial(&self) -> Vector {
        let mut step = [0.0; MOST_NUMBERS];
        for (i, slot) in self.numbers[..self.n].iter().enumerate() {
            step[i] = numbers::difference(*slot, &self.memory.base.x, &self.memory.trial.x);
        }
        step
    }

    /// The size of each number at the present point.
    fn scale(&self) -> Vector {
        let mut scale = [1.0; MOST_NUMBERS];
        for (i, slot) in self.numbers[..self.n].iter().enumerate() {
            scale[i] = numbers::size(*slot, &self.memory.base.x);
        }
        scale
    }

    /// The mask of all numbers that the search changes.
    fn all(&self) -> u32 {
        (1 << self.n) - 1
    }

    /// Chooses the active numbers; a random subset if there are too many.
    fn choose_numbers(&mut self) {
        let (slots, mut seen) = (self.layout.slots(), 0);
        for (i, slot) in slots.iter().enumerate() {
            if !self.layout.is_active(i, self.best) || !numbers::can_be_searched(*slot) {
                continue;
            }
            seen += 1;
            if self.n < MOST_NUMBERS {
                self.numbers[self.n] = *slot;
                self.n += 1;
            } else {
                let at = self.rng.below_or_zero(seen);
                if at < MOST_NUMBERS {
                    self.numbers[at] = *slot;
                }
            }
        }
    }
}
