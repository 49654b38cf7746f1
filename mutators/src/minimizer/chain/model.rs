//! A linear model of how the gaps of conditions depend on the numbers of a point, fitted to observed points.

use libafl_bolts::rands::Rand;

use crate::observe::Observation;

/// Maximum number of numbers that one search changes.
pub(super) const MOST_NUMBERS: usize = 16;

/// Maximum number of conditions of a model; those nearest to the wanted branch are used.
pub(super) const MOST_CONDITIONS: usize = 16;

/// Minimum length of a step, relative to the numbers: a shorter one shows rounding errors instead of slopes.
const LEAST_STEP: f64 = 1e-10;

/// Maximum length of a step, relative to the numbers, that is used to fit the slopes of integers.
const NEARBY: f64 = 0.01;

/// A step, or the slopes of one condition: one entry for each number.
pub(super) type Vector = [f64; MOST_NUMBERS];

/// The slopes of one condition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    condition: u32,
    /// Change of the gap per unit of each number; 0 if none was observed.
    pub(super) slopes: Vector,
    /// The mask of the numbers whose bits appear unchanged in the exclusive or of the operands.
    pub(super) transparent: u32,
}

/// The rows of all observed conditions.
#[derive(Debug, Default)]
pub(super) struct Model {
    rows: Vec<Row>,
}

impl Model {
    /// Removes all rows, and reserves memory for the maximum.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.rows.reserve_exact(MOST_CONDITIONS);
    }

    /// Copies another model without allocating.
    pub(super) fn assign(&mut self, other: &Self) {
        self.rows.clear();
        self.rows.extend_from_slice(&other.rows);
    }

    pub(super) fn row(&self, condition: u32) -> Option<&Row> {
        self.rows.iter().find(|r| r.condition == condition)
    }

    /// The row of a condition, which is added if it is new. `None` if the model is full.
    pub(super) fn row_mut(&mut self, condition: u32) -> Option<&mut Row> {
        if let Some(at) = self.rows.iter().position(|r| r.condition == condition) {
            return self.rows.get_mut(at);
        }
        if self.rows.len() == MOST_CONDITIONS {
            return None;
        }
        self.rows.push(Row { condition, slopes: [0.0; MOST_NUMBERS], transparent: 0 });
        self.rows.last_mut()
    }

    /// Broyden's update: changes the row of each condition that was observed at both points, so that it maps the step
    /// between the points to the difference of the gaps. `scale` is the size of each number.
    pub(super) fn learn(&mut self, before: &[Observation], after: &[Observation], step: &Vector, scale: &Vector) {
        let weighted = |a: &Vector, b: &Vector| (0..MOST_NUMBERS).map(|i| a[i] * b[i]).sum::<f64>();
        let length: f64 = (0..MOST_NUMBERS).map(|i| (step[i] / scale[i]).powi(2)).sum();
        if !(length > LEAST_STEP * LEAST_STEP && length.is_finite()) {
            return;
        }
        for new in after {
            let Some(old) = before.iter().find(|o| o.condition == new.condition) else { continue };
            let difference = new.gap() - old.gap();
            let Some(row) = self.row_mut(new.condition).filter(|_| difference.is_finite()) else { continue };
            // A remainder is a sawtooth: a long step from tooth to tooth shows no slope.
            if new.is_integer() && length > NEARBY * NEARBY && row.slopes.iter().any(|s| *s != 0.0) {
                continue;
            }
            let error = difference - weighted(&row.slopes, step);
            for i in 0..MOST_NUMBERS {
                let change = error * step[i] / (scale[i] * scale[i]) / length;
                if change.is_finite() {
                    row.slopes[i] += change;
                }
            }
        }
    }

    /// The Newton step from a point with the observations `seen` to the aim of `target`, along the equalities before it
    /// that hold. If the step would violate an inequality before it that holds, the step keeps the gap of that
    /// inequality. See [`Self::solve`] for the other arguments.
    pub(super) fn step_to<R: Rand>(
        &self,
        target: &Observation,
        seen: &[Observation],
        allowed: u32,
        scale: &Vector,
        random: bool,
        rng: &mut R,
    ) -> Option<Vector> {
        let mut wanted = [(0, 0.0); MOST_CONDITIONS];
        let mut n = 0;
        let before = |o: &&Observation| o.level > target.level && o.holds;
        for o in seen.iter().filter(before).filter(|o| o.is_equality()) {
            wanted[n] = (o.condition, 0.0);
            n += 1;
        }
        let essential = n;
        if n < MOST_CONDITIONS {
            wanted[n] = (target.condition, target.aim() - target.gap());
        }
        let mut step = None;
        while n < MOST_CONDITIONS {
            let Some(next) = self.solve(&wanted[..=n], essential, allowed, scale, random, rng) else { break };
            step = Some(next);
            let is_broken = |o: &&Observation| {
                let change =
                    self.row(o.condition).map_or(0.0, |row| (0..MOST_NUMBERS).map(|i| row.slopes[i] * next[i]).sum());
                !o.is_equality() && !wanted[..=n].iter().any(|w| w.0 == o.condition) && !o.would_hold(o.gap() + change)
            };
            // Usually the condition nearest to the target is the narrowest.
            let Some(broken) = seen.iter().rev().filter(before).find(is_broken) else { break };
            n += 1;
            if n < MOST_CONDITIONS {
                wanted[n] = (broken.condition, 0.0);
            }
        }
        step
    }

    /// A step that changes the gaps of these conditions by these amounts, by the model: Gaussian elimination, with
    /// random pivots among the numbers that matter if `random` is set, so that successive calls move different numbers.
    /// A row that depends linearly on those before it is skipped. Numbers outside the mask `allowed` stay. `None` if
    /// the condition at index `essential` depends on no number.
    pub(super) fn solve<R: Rand>(
        &self,
        wanted: &[(u32, f64)],
        essential: usize,
        allowed: u32,
        scale: &Vector,
        random: bool,
        rng: &mut R,
    ) -> Option<Vector> {
        let mut lines = [([0.0; MOST_NUMBERS], 0.0, usize::MAX); MOST_CONDITIONS];
        let mut n = 0;
        let mut is_essential_in = false;
        for (number, (condition, change)) in wanted.iter().enumerate().take(MOST_CONDITIONS) {
            let Some(row) = self.row(*condition) else { continue };
            let (mut slopes, mut rest) = ([0.0; MOST_NUMBERS], *change);
            for i in (0..MOST_NUMBERS).filter(|i| allowed >> i & 1 != 0) {
                slopes[i] = row.slopes[i] * scale[i];
            }
            let size = slopes.iter().fold(0f64, |m, s| m.max(s.abs()));
            for (line, value, pivot) in &lines[..n] {
                let factor = slopes[*pivot] / line[*pivot];
                for i in 0..MOST_NUMBERS {
                    slopes[i] -= factor * line[i];
                }
                slopes[*pivot] = 0.0;
                rest -= factor * value;
            }
            let largest = slopes.iter().fold(0f64, |m, s| m.max(s.abs()));
            if !(largest > size * 1e-9 && largest.is_finite()) {
                continue;
            }
            lines[n] = (slopes, rest, pivot(&slopes, largest, random, rng));
            n += 1;
            is_essential_in |= number == essential;
        }
        if !is_essential_in {
            return None;
        }
        let mut step = [0.0; MOST_NUMBERS];
        for (slopes, rest, pivot) in lines[..n].iter().rev() {
            let others: f64 = (0..MOST_NUMBERS).filter(|i| i != pivot).map(|i| slopes[i] * step[i]).sum();
            step[*pivot] = (rest - others) / slopes[*pivot];
        }
        for i in 0..MOST_NUMBERS {
            step[i] *= scale[i];
        }
        step.iter().all(|s| s.is_finite()).then_some(step)
    }
}

/// The number with the largest slope; if `random` is set, a random one of those with at least `1e-6` times that slope.
fn pivot<R: Rand>(slopes: &Vector, largest: f64, random: bool, rng: &mut R) -> usize {
    let least = if random { largest * 1e-6 } else { largest };
    let n = slopes.iter().filter(|s| s.abs() >= least).count();
    let pick = rng.below_or_zero(n);
    (0..MOST_NUMBERS).filter(|i| slopes[*i].abs() >= least).nth(pick).unwrap_or(0)
}
