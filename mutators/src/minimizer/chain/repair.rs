//! Repair of the conditions that a step has broken.

use libafl_bolts::rands::Rand;

use super::{
    Walk,
    model::{MOST_CONDITIONS, MOST_NUMBERS, Vector},
    numbers,
};
use crate::{
    evaluate::Stop,
    observe::{Observation, Operands},
};

/// Maximum number of corrections of one trial.
const ROUNDS: u32 = 40;

/// Maximum number of consecutive corrections that do not decrease the distance enough; then the trial is given up.
const STUCK: u32 = 4;

/// The same if the operands are within a few units in the last place, where corrections are partly random.
const STUCK_NEAR: u32 = 12;

/// A step of less than this fraction of every number updates the slopes at the present point.
pub(super) const NEARBY: f64 = 0.5;

impl<R: Rand> Walk<'_, R> {
    /// Corrects the trial until it passes the wanted condition. `moved` is the mask of the numbers that the step has
    /// changed; others are corrected if possible. Returns whether the wanted condition was reached.
    pub(super) fn repair(&mut self, moved: u32) -> Result<bool, Stop> {
        self.look()?;
        self.memory.before.seen.clear();
        let (mut allowed, mut stuck) = (self.all() & !moved, 0);
        let mut least = [f64::INFINITY; MOST_CONDITIONS];
        for _ in 0..ROUNDS {
            if self.memory.trial.wanted().is_some() {
                return Ok(true);
            }
            let Some(failing) = self.memory.trial.failing().copied() else { return Ok(false) };
            let distance = (failing.aim() - failing.gap()).abs();
            if !distance.is_finite() {
                return Ok(false);
            }
            self.learn_from_base(&failing);
            let is_near = is_near(&failing);
            let least = &mut least[failing.level as usize % MOST_CONDITIONS];
            stuck = if distance < 0.8 * *least { 0 } else { stuck + 1 };
            *least = least.min(distance);
            if stuck > if is_near { STUCK_NEAR } else { STUCK } {
                return Ok(false);
            }
            self.memory.before.assign(&self.memory.trial);
            if is_near && stuck > 1 {
                self.shake();
            }
            if !self.correct(&failing, allowed) {
                let all = self.all();
                if allowed == all || !self.correct(&failing, all) {
                    return Ok(false);
                }
                allowed = all;
            }
            self.look()?;
            self.learn_from_correction();
        }
        Ok(self.memory.trial.wanted().is_some())
    }

    /// Updates the row of a condition that fails at the trial and held at the present point, when it fails for the
    /// first time. If it follows an equality, both points solve that equality.
    fn learn_from_base(&mut self, failing: &Observation) {
        let is_first = !self.memory.before.seen.iter().any(|o| o.condition == failing.condition);
        if !is_first {
            return;
        }
        let (step, scale) = (self.step_between_base_and_trial(), self.scale());
        let (memory, one) = (&mut *self.memory, [*failing]);
        memory.local.learn(&memory.base.seen, &one, &step, &scale);
        if (0..self.n).all(|i| (step[i] / scale[i]).abs() < NEARBY) {
            memory.model.learn(&memory.base.seen, &one, &step, &scale);
        }
    }

    fn learn_from_correction(&mut self) {
        let mut step = [0.0; MOST_NUMBERS];
        for (i, slot) in self.numbers[..self.n].iter().enumerate() {
            step[i] = numbers::difference(*slot, &self.memory.before.x, &self.memory.trial.x);
        }
        let (scale, memory) = (self.scale(), &mut *self.memory);
        memory.local.learn(&memory.before.seen, &memory.trial.seen, &step, &scale);
    }

    /// Applies one correction of the failing condition to the trial. Returns false if the model has none.
    fn correct(&mut self, failing: &Observation, allowed: u32) -> bool {
        let memory = &mut *self.memory;
        let bits = failing.different_bits();
        let transparent = memory.local.row(failing.condition).map_or(0, |row| row.transparent & allowed);
        if failing.is_equality() && bits != 0 && transparent != 0 {
            let slot = self.numbers[self.nth_of(transparent)];
            let raw = slot.get(&self.memory.trial.x) ^ bits;
            slot.set(&mut self.memory.trial.x, raw);
            return true;
        }
        let memory = &*self.memory;
        let step = memory.local.step_to(failing, &memory.trial.seen, allowed, &self.scale(), true, self.rng);
        step.is_some_and(|step| self.apply(&step, allowed))
    }

    /// Adds a step to the trial. If the step is below the resolution of all numbers, one number moves by one or two
    /// units in the last place instead. Returns whether the trial changed.
    pub(super) fn apply(&mut self, step: &Vector, allowed: u32) -> bool {
        let mut changed = false;
        for (slot, step) in self.numbers[..self.n].iter().zip(step).filter(|(_, step)| **step != 0.0) {
            changed |= numbers::add(*slot, &mut self.memory.trial.x, *step);
        }
        let moving = (0..self.n).filter(|i| step[*i] != 0.0).fold(0, |mask, i| mask | 1 << i) & allowed;
        if !changed && moving != 0 {
            let slot = self.numbers[self.nth_of(moving)];
            numbers::jiggle(slot, &mut self.memory.trial.x, 1, self.rng);
            changed = true;
        }
        changed
    }

    /// Moves each floating-point number, with probability 1/2, by up to 4 units in the last place.
    pub(super) fn shake(&mut self) {
        for i in 0..self.n {
            if self.rng.below_or_zero(2) == 0 && self.numbers[i].kind.is_float() {
                numbers::jiggle(self.numbers[i], &mut self.memory.trial.x, 2, self.rng);
            }
        }
    }

    /// A random index of a set bit of a mask that is not 0.
    pub(super) fn nth_of(&mut self, mask: u32) -> usize {
        let pick = self.rng.below_or_zero(mask.count_ones() as usize);
        (0..MOST_NUMBERS).filter(|i| mask >> i & 1 != 0).nth(pick).unwrap_or(0)
    }
}

/// Whether the operands are within a few units in the last place.
fn is_near(failing: &Observation) -> bool {
    match failing.operands {
        Operands::Floats(a, b) => {
            let is_single = f64::from(a as f32) == a && f64::from(b as f32) == b;
            let epsilon = if is_single { f64::from(f32::EPSILON) } else { f64::EPSILON };
            (a - b).abs() <= 64.0 * epsilon * a.abs().max(b.abs())
        }
        _ => false,
    }
}
