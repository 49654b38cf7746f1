//! Computes roundings from the recorded operations of one run: the rounding error of each operation, the derivative of
//! the result by it, and how both move with the argument.
//!
//! The record has the operands and result of each operation, and the origin of floats in registers and in memory
//! (`-fpen-moves`). If the origin of an operand is unknown, as of a number that was assembled from bits, an earlier
//! result that is equal up to sign and a power of two is taken for it. Any other operand counts as a constant, such as
//! an entry of a table, or a number whose last bits are cut off: it stays the same over a window of neighbours.
//! Functions of the C library are operations, too, with values and derivatives by MPFR. Where these assumptions are
//! wrong, the errors differ from the predicted ones, and the search detects that.

mod double;
mod functions;
mod runs;
mod step;
#[cfg(test)]
mod tests;

use penfuzz_mutators::extremes::{COORDINATES, FixedError, MAX_ROUNDINGS, Rounding};

pub use self::runs::Runs;
use self::{
    double::Double,
    step::{Step, Steps},
};

/// Maximum standard deviation of the roundings that are left out, as a share of the largest possible error.
const MAX_OMITTED_SHARE: f64 = 0.004;
/// Maximum adjoint of a result.
const LARGE: f64 = 1e300;
/// Maximum number of roundings that are selected for their weights.
const HEAVY: usize = 28;
/// A rounding is also selected if one unit of it moves the exact value of a selected rounding by more than this number
/// of units.
const MIN_INFLUENCE: f64 = 0.05;

/// Computes roundings; keeps its buffers between calls.
#[derive(Debug, Default)]
pub struct Roundings {
    steps: Steps,
    heavy: Vec<usize>,
    influence: Vec<f64>,
    gradients: Vec<Gradient>,
    /// For the last run: units of the result for one of its adjoints.
    units: f64,
}

/// Derivatives of a step by the selected roundings before it, and by the coordinates.
#[derive(Debug, Clone, Copy)]
struct Gradient {
    on: [f64; MAX_ROUNDINGS],
    along: [Double; COORDINATES],
}

impl Roundings {
    /// Returns the roundings that the result depends on most, in order of time. `y` is the result and `unit` the unit
    /// in its last place. `None` if no operation gave the result, or a step is unknown.
    pub fn of(&mut self, runs: &Runs, (y, unit): (f64, f64)) -> Option<Vec<Rounding>> {
        self.differentiate(runs, (y, unit))?;
        self.choose();
        let all = self.forwards();
        all.iter().all(|r| r.slope.iter().all(|s| s.is_finite())).then_some(all)
    }

    /// Returns the contributions of the operations' roundings to the error of the result, to first order: indices in
    /// the trace, and errors in units of the result. Arguments and conditions are those of [`Roundings::of`].
    pub fn contributions(&mut self, runs: &Runs, (y, unit): (f64, f64)) -> Option<Vec<(usize, f64)>> {
        self.differentiate(runs, (y, unit))?;
        let of = |step: &Step| step.at.map(|at| (at, step.adjoint * step.rounded * self.units));
        Some(self.steps.all.iter().filter_map(of).filter(|(_, error)| *error != 0.0).collect())
    }

    /// Returns the contribution of operations whose operands do not move, in the run of the last [`Roundings::of`] or
    /// [`Roundings::contributions`]. An operation that was exact counts as exact in all windows.
    pub fn fixed(&self) -> FixedError {
        let (mut error, mut variance) = (0.0, 0.0);
        for step in self.steps.all.iter().filter(|step| !step.moves && step.rounded != 0.0) {
            error += step.adjoint * step.rounded * self.units;
            variance += (step.adjoint * step.unit * self.units).powi(2) / 12.0;
        }
        FixedError { error, deviation: variance.sqrt() }
    }

    fn differentiate(&mut self, runs: &Runs, (y, unit): (f64, f64)) -> Option<()> {
        self.steps.read(runs)?;
        let (last, times) = self.steps.result(y)?;
        // Adjoints are about as large as the results of steps, which may be much larger than the result of the run.
        let seed = LARGE.min(1.0 / unit);
        self.units = 1.0 / seed / unit;
        self.steps.all[last].adjoint = seed * times;
        self.backwards();
        Some(())
    }

    /// Computes the derivatives of the result by each step (reverse mode).
    fn backwards(&mut self) {
        for i in (1..self.steps.all.len()).rev() {
            let step = self.steps.all[i];
            for (derivative, linked) in step.operands {
                if let Some((from, times)) = linked {
                    self.steps.all[from].adjoint += step.adjoint * derivative * times;
                }
            }
        }
    }

    /// Selects the steps with the largest weights, and those that decide how these are rounded; in order of time.
    fn choose(&mut self) {
        let weight = |i: usize| (self.steps.all[i].adjoint * self.steps.all[i].unit * self.units).abs();
        let mut all: Vec<usize> =
            (1..self.steps.all.len()).filter(|i| weight(*i) > 0.0 && self.steps.all[*i].moves).collect();
        all.sort_by(|a, b| weight(*b).total_cmp(&weight(*a)).then(a.cmp(b)));
        all.truncate(count_significant(all.iter().map(|i| weight(*i))).clamp(1, HEAVY));
        let mut looked_at = 0;
        while looked_at < all.len() && all.len() < MAX_ROUNDINGS {
            match self.deciding(all[looked_at], &all) {
                Some(step) => all.push(step),
                None => looked_at += 1,
            }
        }
        all.sort_unstable();
        self.heavy = all;
    }

    /// Returns the step, not in `known`, whose rounding moves the exact value of step `i` most, if that is more than
    /// [`MIN_INFLUENCE`].
    fn deciding(&mut self, i: usize, known: &[usize]) -> Option<usize> {
        self.influence.clear();
        self.influence.resize(i + 1, 0.0);
        self.influence[i] = 1.0 / self.steps.all[i].unit;
        let mut most = (MIN_INFLUENCE, None);
        for at in (1..=i).rev() {
            let influence = self.influence[at];
            if influence == 0.0 || at != i && known.contains(&at) {
                continue;
            }
            let step = &self.steps.all[at];
            let moved = (influence * step.unit).abs();
            if at != i && moved > most.0 && step.moves {
                most = (moved, Some(at));
            }
            for (derivative, linked) in step.operands {
                if let Some((from, times)) = linked {
                    self.influence[from] += influence * derivative * times;
                }
            }
        }
        most.1
    }

    /// Computes how the selected roundings move (forward mode).
    fn forwards(&mut self) -> Vec<Rounding> {
        let mut all: Vec<Rounding> = Vec::with_capacity(self.heavy.len());
        self.gradients.clear();
        for (i, step) in self.steps.all.iter().enumerate() {
            let mut gradient = Gradient { on: [0.0; MAX_ROUNDINGS], along: step.given.map(Double::from) };
            for (derivative, linked) in step.operands {
                let Some((from, times)) = linked else { continue };
                let times_all = derivative * times;
                let of = &self.gradients[from];
                gradient.on.iter_mut().zip(&of.on[..all.len()]).for_each(|(g, of)| *g += times_all * of);
                gradient.along.iter_mut().zip(of.along).for_each(|(g, of)| g.add(times_all, of));
            }
            if self.heavy.get(all.len()) == Some(&i) {
                all.push(self.rounding(i, &gradient, all.len()));
                gradient = Gradient { on: [0.0; MAX_ROUNDINGS], along: [Double::default(); COORDINATES] };
                gradient.on[all.len() - 1] = step.unit;
            }
            self.gradients.push(gradient);
        }
        all
    }

    fn rounding(&self, i: usize, gradient: &Gradient, before: usize) -> Rounding {
        let step = &self.steps.all[i];
        let mut rounding = Rounding {
            error: step.error,
            is_odd: step.is_odd,
            weight: step.adjoint * step.unit * self.units,
            slope: gradient.along.map(|g| g.value() / step.unit),
            bend: step.second / step.unit,
            on: [0.0; MAX_ROUNDINGS],
        };
        for ((on, g), earlier) in rounding.on[..before].iter_mut().zip(gradient.on).zip(&self.heavy) {
            let earlier = &self.steps.all[*earlier];
            *on = g / step.unit;
            rounding.bend -= *on * earlier.second / earlier.unit;
        }
        rounding
    }
}

/// Returns how many of the first of these weights, in descending order, are too large to be left out.
fn count_significant(weights: impl Iterator<Item = f64> + Clone) -> usize {
    let least = MAX_OMITTED_SHARE * weights.clone().sum::<f64>() / 2.0;
    let mut variance: f64 = weights.clone().map(|w| w * w / 12.0).sum();
    let is_loud = |w: &f64| {
        let is_loud = variance.max(0.0).sqrt() > least;
        variance -= w * w / 12.0;
        is_loud
    };
    weights.take_while(is_loud).count()
}
