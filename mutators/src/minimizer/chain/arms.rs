//! The kinds of steps with which a trial begins (the arms of a bandit), and the choice among them.

use libafl_bolts::rands::Rand;

use super::{Walk, numbers};
use crate::{
    evaluate::Stop,
    line,
    moves::{At, random_candidate},
    structured,
};

/// The kinds of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arm {
    /// Newton steps by the model.
    Newton,
    /// New values of some numbers.
    Random,
    /// A step along the difference of two points that reach the wanted condition.
    Difference,
    /// A correction of one number by the operands of the wanted condition.
    Operands,
    /// Rounding to few binary or decimal places.
    Round,
    /// Changes of a few units in the last place.
    Near,
}

impl Arm {
    /// All arms, in the order of their discriminants.
    const ALL: [Self; N_ARMS] = [Self::Newton, Self::Random, Self::Difference, Self::Operands, Self::Round, Self::Near];
}

/// Number of kinds of steps.
const N_ARMS: usize = 6;

/// Maximum number of consecutive Newton steps; they end at the first one without a gain.
const NEWTON_STEPS: u32 = 12;

/// Maximum number of consecutive corrections by the operands.
const CORRECTIONS: u32 = 70;

/// Maximum number of consecutive corrections that do not reduce the number of differing bits; then the rest is skipped.
const MAX_NO_GAIN: u32 = 3;

/// The minimum gain that each arm is assumed to have, so that none is excluded: arms without a gain get equal shares of
/// the evaluations.
const MIN_GAIN: f64 = 0.3;

/// The recent gains and costs of the arms.
#[derive(Debug)]
pub(super) struct Bandit {
    gains: [f64; N_ARMS],
    costs: [f64; N_ARMS],
}

impl Default for Bandit {
    /// All arms start with a cost of 20 evaluations and no gain.
    fn default() -> Self {
        Self { gains: [0.0; N_ARMS], costs: [20.0; N_ARMS] }
    }
}

impl Bandit {
    /// Draws an arm with a probability proportional to its gains per evaluation, but at least a minimum for every arm.
    pub(super) fn choose<R: Rand>(&self, rng: &mut R) -> Arm {
        let rate = |i: usize| (self.gains[i] + MIN_GAIN) / self.costs[i].max(1.0);
        let sum: f64 = (0..N_ARMS).map(rate).sum();
        let least = sum / (8 * N_ARMS) as f64;
        let mut at = rng.next_float() * (0..N_ARMS).map(|i| rate(i).max(least)).sum::<f64>();
        for (i, arm) in Arm::ALL.into_iter().enumerate() {
            at -= rate(i).max(least);
            if at < 0.0 {
                return arm;
            }
        }
        Arm::Near
    }

    /// Records what a trial that began with `arm` has cost, and whether it gained.
    pub(super) fn note(&mut self, arm: Arm, evaluations: u64, gained: bool) {
        const FADING: f64 = 0.95;
        let (gains, costs) = (&mut self.gains[arm as usize], &mut self.costs[arm as usize]);
        *gains = *gains * FADING + f64::from(u8::from(gained));
        *costs = *costs * FADING + evaluations.max(1) as f64;
    }
}

impl<R: Rand> Walk<'_, R> {
    /// Makes a step of one kind.
    pub(super) fn step(&mut self, arm: Arm) -> Result<(), Stop> {
        let before = self.evaluations;
        match arm {
            Arm::Newton => self.newton()?,
            Arm::Random => self.random_step()?,
            Arm::Difference => self.difference()?,
            Arm::Operands => self.by_operands()?,
            Arm::Round => self.round()?,
            Arm::Near => self.near()?,
        }
        // If the arm could not make a step here, a random step avoids evaluating the same point again.
        if self.evaluations == before { self.random_step() } else { Ok(()) }
    }

    fn begin(&mut self) {
        let memory = &mut *self.memory;
        memory.trial.assign(&memory.base);
        memory.local.assign(&memory.model);
    }

    /// Takes Newton steps by the model, as long as they gain.
    fn newton(&mut self) -> Result<(), Stop> {
        for _ in 0..NEWTON_STEPS {
            if core::mem::take(&mut self.is_stale) {
                self.probe()?;
            }
            let before = self.memory.base.distance();
            self.begin();
            let random = self.rng.coinflip(0.5);
            if !self.apply_newton(random) {
                return Ok(());
            }
            self.finish(0)?;
            if self.memory.base.distance() >= before {
                break;
            }
        }
        Ok(())
    }

    /// Adds to the trial the Newton step from the present point to the aim of the wanted condition. Returns whether the
    /// trial changed.
    fn apply_newton(&mut self, random: bool) -> bool {
        let all = self.all();
        let memory = &*self.memory;
        let Some(target) = memory.base.wanted() else { return false };
        let step = memory.model.step_to(target, &memory.base.seen, all, &self.scale(), random, self.rng);
        step.is_some_and(|step| self.apply(&step, all))
    }

    /// Replaces one number, and with probability 1/4 each time a further one.
    fn random_step(&mut self) -> Result<(), Stop> {
        self.begin();
        let mut moved = 0;
        loop {
            let i = self.rng.below_or_zero(self.n);
            self.randomize(i);
            moved |= 1 << i;
            if self.rng.below_or_zero(4) != 0 {
                break;
            }
        }
        // If all numbers are free, the repair leads to the nearest solution instead of one with these values.
        let is_free = self.rng.below_or_zero(4) == 0;
        self.finish(if is_free { 0 } else { moved })?;
        Ok(())
    }

    fn randomize(&mut self, i: usize) {
        let (slot, x) = (self.numbers[i], &mut self.memory.trial.x);
        let kind = slot.kind;
        let sign = if self.rng.coinflip(0.5) { 1.0 } else { -1.0 };
        match self.rng.below_or_zero(6) {
            0 => {
                let index = self.layout.slots().iter().position(|s| *s == slot).unwrap_or(0);
                let raw = random_candidate(self.rng, &At::new(x, self.layout, index, self.dictionary));
                slot.set(x, raw);
            }
            1 => slot.set(x, structured::value(self.rng, kind, self.dictionary)),
            2 => {
                // A step of any binary or decimal magnitude.
                let base: f64 = if self.rng.coinflip(0.5) { 2.0 } else { 10.0 };
                let most = if base == 2.0 { kind.bits().min(40) } else { kind.bits().min(32) / 3 };
                let exponent =
                    self.rng.below_or_zero(most as usize) as i32 - if kind.is_float() { most as i32 / 2 } else { 0 };
                let times = self.rng.below_or_zero(9) as f64 + 1.0;
                numbers::add(slot, x, sign * times * base.powi(exponent));
            }
            3 => {
                // A step of a small fraction of the number.
                let part = (-(self.rng.below_or_zero(24) as f64)).exp2() * self.rng.next_float();
                let step = sign * part * numbers::size(slot, x);
                numbers::add(slot, x, step);
            }
            4 => {
                let raw = slot.get(x) ^ 1 << self.rng.below_or_zero(kind.bits() as usize);
                slot.set(x, raw);
            }
            _ => {
                let steps = self.rng.next() >> (64 - kind.bits()) >> self.rng.below_or_zero(kind.bits() as usize);
                let position = line::step(kind, slot.position(x), sign > 0.0, steps.max(1));
                slot.set_position(x, position);
            }
        }
    }

    /// Takes a step along the difference of two points that reach the wanted condition. An equality that holds at both
    /// points often holds at the sum as well: along a line, modulo a number, or bit by bit.
    fn difference(&mut self) -> Result<(), Stop> {
        let n = self.memory.archive.len();
        if n < 3 {
            return self.random_step();
        }
        self.begin();
        let (p, q) = (self.rng.below_or_zero(n), self.rng.below_or_zero(n));
        let by_bits = self.rng.below_or_zero(4) == 0;
        let memory = &mut *self.memory;
        let Some(wanted) = memory.base.wanted() else { return Ok(()) };
        let secant = (wanted.aim() - wanted.gap()) / (memory.archive.gap(q) - memory.archive.gap(p));
        let times = match self.rng.below_or_zero(4) {
            0 | 1 if secant.is_finite() && secant != 0.0 && secant.abs() < 1e9 => secant,
            2 => 0.5f64.powi(self.rng.below_or_zero(4) as i32 + 1),
            _ => self.rng.below_or_zero(7) as f64 - 3.0,
        };
        for slot in &self.numbers[..self.n] {
            let (from, to) = (memory.archive.point(p), memory.archive.point(q));
            if by_bits && !slot.kind.is_float() {
                let raw = slot.get(&memory.trial.x) ^ slot.get(from) ^ slot.get(to);
                slot.set(&mut memory.trial.x, raw);
            } else {
                numbers::add(*slot, &mut memory.trial.x, times * numbers::difference(*slot, from, to));
            }
        }
        self.finish(0)?;
        Ok(())
    }

    /// Corrects a number by the operands of the wanted condition, as if one operand were that number, possibly shifted,
    /// multiplied or with other bits. Corrections of bits are repeated, because shifts and carries need several.
    fn by_operands(&mut self) -> Result<(), Stop> {
        self.begin();
        let i = self.rng.below_or_zero(self.n);
        let how = self.rng.below_or_zero(6);
        let (mut least, mut in_vain) = (u64::MAX, 0);
        for _ in 0..CORRECTIONS {
            let Some(wanted) = self.memory.trial.wanted().copied() else { return Ok(()) };
            let gap = wanted.gap();
            let bits = wanted.different_bits();
            in_vain = if bits < least { 0 } else { in_vain + 1 };
            least = least.min(bits);
            if in_vain > MAX_NO_GAIN {
                return Ok(());
            }
            let (slot, x) = (self.numbers[i], &mut self.memory.trial.x);
            let old = slot.get(x);
            match wanted.operands {
                crate::observe::Operands::Integers(a, b) => {
                    let raw = match how {
                        0 | 1 => old ^ (a ^ b) as u64,
                        2 => old.wrapping_add((b - a) as u64),
                        3 => old.wrapping_sub((b - a) as u64),
                        4 => b as u64,
                        _ => a as u64,
                    };
                    slot.set(x, raw);
                }
                crate::observe::Operands::Floats(a, b) => {
                    let real = slot.real(x);
                    let value = match how {
                        0 => real - gap,
                        1 => real + gap,
                        2 => real * (b / a),
                        3 => real * (a / b),
                        4 => b,
                        _ => a,
                    };
                    slot.set_real(x, value);
                }
                crate::observe::Operands::None => return Ok(()),
            }
            if slot.get(x) == old || !self.finish(1 << i)? || self.best_r == 0 || !wanted.is_integer() || how > 3 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Rounds one or all floating-point numbers to few binary or decimal places, at the present point or after a Newton
    /// step.
    fn round(&mut self) -> Result<(), Stop> {
        self.begin();
        if self.rng.coinflip(0.5) {
            self.apply_newton(false);
        }
        let is_binary = self.rng.below_or_zero(4) != 0;
        let places = self.rng.below_or_zero(if is_binary { 34 } else { 9 }) as i32 - if is_binary { 4 } else { 1 };
        let unit = if is_binary { (-f64::from(places)).exp2() } else { 10f64.powi(-places) };
        let all = self.rng.below_or_zero(4) != 0;
        let one = self.rng.below_or_zero(self.n);
        let mut moved = 0;
        for (i, slot) in self.numbers[..self.n].iter().enumerate() {
            if slot.kind.is_float() && (all || i == one) {
                numbers::round(*slot, &mut self.memory.trial.x, unit);
                moved |= 1 << i;
            }
        }
        self.finish(if all { 0 } else { moved })?;
        Ok(())
    }

    /// Takes a Newton step or none, and moves several numbers by a few units in the last place.
    fn near(&mut self) -> Result<(), Stop> {
        self.begin();
        if self.rng.coinflip(0.5) {
            self.apply_newton(true);
        }
        self.shake();
        self.finish(0)?;
        Ok(())
    }

    /// Changes each number slightly, with larger steps until a condition depends on it, and stores the slopes of all
    /// observed conditions in the model.
    pub(super) fn probe(&mut self) -> Result<(), Stop> {
        self.is_stale = false;
        for i in 0..self.n {
            let slot = self.numbers[i];
            let scales: &[f64] = if slot.kind.is_float() { &[-24.0, -12.0, -3.0] } else { &[0.0, 6.0, 14.0] };
            for scale in scales {
                let memory = &mut *self.memory;
                memory.trial.assign(&memory.base);
                let unit = if slot.kind.is_float() { numbers::size(slot, &memory.base.x) } else { 1.0 };
                if !numbers::add(slot, &mut memory.trial.x, unit * scale.exp2()) {
                    continue;
                }
                self.look()?;
                if self.learn_slopes(i) {
                    break;
                }
            }
            if !slot.kind.is_float() {
                self.probe_bits(i)?;
            }
        }
        Ok(())
    }

    /// Stores the slopes with respect to number `i`. Returns whether any condition depends on it.
    fn learn_slopes(&mut self, i: usize) -> bool {
        let memory = &mut *self.memory;
        let step = numbers::difference(self.numbers[i], &memory.base.x, &memory.trial.x);
        let mut any = memory.trial.seen.len() != memory.base.seen.len();
        for new in &memory.trial.seen {
            let Some(old) = memory.base.seen.iter().find(|o| o.condition == new.condition) else { continue };
            let slope = (new.gap() - old.gap()) / step;
            if !slope.is_finite() {
                continue;
            }
            if let Some(row) = memory.model.row_mut(new.condition) {
                row.slopes[i] = slope;
            }
            any |= slope != 0.0;
        }
        any
    }

    /// Flips random bits of an integer, to find equalities in whose operands the same bits change.
    fn probe_bits(&mut self, i: usize) -> Result<(), Stop> {
        let slot = self.numbers[i];
        let pattern = self.rng.next() & slot.kind.mask();
        let memory = &mut *self.memory;
        memory.trial.assign(&memory.base);
        let raw = slot.get(&memory.base.x) ^ pattern;
        slot.set(&mut memory.trial.x, raw);
        self.look()?;
        let memory = &mut *self.memory;
        for new in memory.trial.seen.iter().filter(|o| o.is_integer() && o.is_equality()) {
            let Some(old) = memory.base.seen.iter().find(|o| o.condition == new.condition) else { continue };
            let shown = (new.different_bits() ^ old.different_bits()) & slot.kind.mask();
            if let Some(row) = memory.model.row_mut(new.condition) {
                row.transparent = row.transparent & !(1 << i) | u32::from(shown == pattern) << i;
            }
        }
        Ok(())
    }
}
