//! Basinhopping: Monte Carlo over local minima, because a local minimizer alone ends in the basin of its start.
//!
//! CoverMe, procedure MCMC of Algorithm 1, after Li and Scheraga, *Monte Carlo-minimization approach to the
//! multiple-minima problem in protein folding*, PNAS 84, 1987.
//!
//! # Algorithm
//! 1. `x = LM(start)`, where LM is a [local minimizer](crate::minimizer).
//! 2. `n_iter` times: `y = LM(x + step)`. If `f(y) <= f(x)`, or else with probability `exp((f(x) - f(y)) / T)`
//!    (Metropolis rule), `x = y`.
//! 3. The result is the best point of all. (The paper returns the last accepted one. For a zero, which ends the search,
//!    both are the same.)
//!
//! The Metropolis rule takes values as real numbers, see [`Metric::to_real`]. With exact distances, which are mostly
//! large integers, `T = 1` accepts ties and little else. That is intended: a point comes closer to a condition or it
//! does not.

use std::sync::Arc;

use libafl_bolts::rands::{Rand, StdRand};

use crate::{
    dictionary::Dictionary,
    evaluate::{Metric, RepresentingFunction, Stop},
    kick::kick,
    minimizer::LocalMinimizer,
    view::Layout,
};

/// The perturbation by which the search leaves a local minimum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// As in the paper: adds to every number a real from the uniform distribution on `[-size, size]`.
    ///
    /// The sum is a double, rounded to the kind of the number. So a float stays where the addend is less than half the
    /// gap to its neighbours, and an integer beyond `2^53` loses its low bits. NaN stays NaN, infinities stay as they
    /// are.
    Real {
        /// Half the width of the distribution, in units of the number; finite and at least 0.
        size: f64,
    },
    /// Replaces one or more numbers by values of several families, see [`kick`].
    Kick,
}

/// Minimizes by a local minimizer from the start, then from `n_iter` perturbations of the last accepted minimum, which
/// are accepted by the Metropolis rule; the [module](self) has the steps. Ends early at a zero.
///
/// It is a [`LocalMinimizer`] itself. Defaults: 5 steps of [`Step::Kick`] at temperature 1. `R` is the type of the
/// generator of random numbers.
///
/// # Example
/// ```
/// # use std::sync::Arc;
/// # use libafl_bolts::rands::StdRand;
/// # use penfuzz_mutators::{
/// #     basinhopping::Basinhopping,
/// #     dictionary::Dictionary,
/// #     distance::{Relation, exact_float},
/// #     evaluate::{Metric, RepresentingFunction, Stop},
/// #     minimizer::{LocalMinimizer, create},
/// #     view::Layout,
/// # };
/// /// The distance to `x * x * x == 8`.
/// struct Cube;
/// # impl RepresentingFunction for Cube {
/// #     fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
/// #         let x = f64::from_le_bytes(x.try_into().expect("8 bytes"));
/// #         Ok(exact_float(Relation::Eq, x * x * x, 8.0))
/// #     }
/// #     fn metric(&self) -> Metric {
/// #         Metric::Ulp
/// #     }
/// # }
///
/// let dictionary = Arc::new(Dictionary::general());
/// let minimizer = create("avm", dictionary.clone()).expect("a minimizer of that name");
/// let mut search = Basinhopping::new(minimizer, dictionary).with_n_iter(100);
/// let mut x = 0.0f64.to_le_bytes();
/// let r = search.minimize(&mut Cube, &mut x, &Layout::doubles(8), &mut StdRand::with_seed(1));
/// assert_eq!((r, f64::from_le_bytes(x)), (Ok(0), 2.0));
/// ```
pub struct Basinhopping<R = StdRand> {
    /// Number of Monte Carlo steps after the first minimization. Default 5, as in CoverMe's experiments.
    pub n_iter: u32,
    /// Kind of perturbation. Default [`Step::Kick`].
    pub step: Step,
    /// `T` of the Metropolis rule, in units of the function's value; finite and at least 0. At 0 only points that are
    /// not worse are accepted. Default 1.
    pub temperature: f64,
    minimizer: Box<dyn LocalMinimizer<R> + Send>,
    dictionary: Arc<Dictionary>,
    /// The last accepted point, and the one under trial. They are fields to reuse their memory.
    current: Vec<u8>,
    trial: Vec<u8>,
}

impl<R: Rand> Basinhopping<R> {
    /// Basinhopping around `minimizer` with the defaults. [`Step::Kick`] draws values from the dictionary.
    #[must_use]
    pub fn new(minimizer: Box<dyn LocalMinimizer<R> + Send>, dictionary: Arc<Dictionary>) -> Self {
        Self {
            n_iter: 5,
            step: Step::Kick,
            temperature: 1.0,
            minimizer,
            dictionary,
            current: Vec::new(),
            trial: Vec::new(),
        }
    }

    /// Sets the number of Monte Carlo steps.
    #[must_use]
    pub const fn with_n_iter(mut self, n_iter: u32) -> Self {
        self.n_iter = n_iter;
        self
    }

    /// Sets the kind of step.
    #[must_use]
    pub const fn with_step(mut self, step: Step) -> Self {
        self.step = step;
        self
    }

    /// Sets the temperature.
    #[must_use]
    pub const fn with_temperature(mut self, temperature: f64) -> Self {
        self.temperature = temperature;
        self
    }

    /// Perturbs the trial point.
    fn perturb(&mut self, layout: &Layout, rng: &mut R) {
        match self.step {
            Step::Real { size } => {
                for slot in layout.slots() {
                    let moved = slot.real(&self.trial) + size * (2.0 * rng.next_float() - 1.0);
                    slot.set_real(&mut self.trial, moved);
                }
            }
            Step::Kick => kick(rng, layout, &self.dictionary, &mut self.trial),
        }
    }

    /// The Metropolis rule on values of [`RepresentingFunction::evaluate`].
    fn accepts(&self, metric: Metric, current: u64, trial: u64, rng: &mut R) -> bool {
        if trial <= current {
            return true;
        }
        let difference = metric.to_real(current) - metric.to_real(trial);
        rng.next_float() < (difference / self.temperature).exp()
    }
}

impl<R: Rand> LocalMinimizer<R> for Basinhopping<R> {
    fn name(&self) -> &'static str {
        "basinhopping"
    }

    fn minimize(
        &mut self,
        f: &mut dyn RepresentingFunction,
        x: &mut [u8],
        layout: &Layout,
        rng: &mut R,
    ) -> Result<u64, Stop> {
        let mut best = self.minimizer.minimize(f, x, layout, rng)?;
        let mut accepted = best;
        self.current.clear();
        self.current.extend_from_slice(x);
        let metric = f.metric();
        for _ in 0..self.n_iter {
            if best == 0 {
                break;
            }
            self.trial.clone_from(&self.current);
            self.perturb(layout, rng);
            let mut tracked = TrackMinimum { f: &mut *f, least: None };
            let result = self.minimizer.minimize(&mut tracked, &mut self.trial, layout, rng);
            // Before the error is returned: after a stop, too, the trial is the best point of its minimization.
            if let Some(least) = tracked.least.filter(|&least| least < best) {
                best = least;
                x.copy_from_slice(&self.trial);
            }
            let trial = result?;
            if self.accepts(metric, accepted, trial, rng) {
                accepted = trial;
                core::mem::swap(&mut self.current, &mut self.trial);
            }
        }
        Ok(best)
    }
}

/// A representing function that records its least value, because a minimization that ends by a [`Stop`] does not return
/// it.
struct TrackMinimum<'a> {
    f: &'a mut dyn RepresentingFunction,
    least: Option<u64>,
}

impl RepresentingFunction for TrackMinimum<'_> {
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        let result = self.f.evaluate(x);
        match result {
            Ok(r) => self.least = Some(self.least.map_or(r, |least| least.min(r))),
            Err(Stop::Found) => self.least = Some(0),
            Err(_) => (),
        }
        result
    }

    fn metric(&self) -> Metric {
        self.f.metric()
    }

    fn end_iteration(&mut self) {
        self.f.end_iteration();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        minimizer::create,
        testing::{Counted, exact, squared},
    };

    fn hopping(name: &str) -> Basinhopping {
        let dictionary = Arc::new(Dictionary::general());
        Basinhopping::new(create(name, dictionary.clone()).unwrap(), dictionary)
    }

    /// Of the two minima, a local search from the start finds the higher one.
    #[test]
    fn a_second_basin_is_found_with_steps_on_the_reals() {
        let mut f = squared(200_000, |x: &[f64]| {
            let right = (x[0] - 3.0) * (x[0] - 3.0) + 0.5;
            right.min((x[0] + 1.0) * (x[0] + 1.0))
        });
        let mut x = 4.0f64.to_le_bytes();
        let mut search = hopping("powell").with_n_iter(100).with_step(Step::Real { size: 5.0 });
        let result = search.minimize(&mut f, &mut x, &Layout::doubles(8), &mut StdRand::with_seed(1));
        assert!((f64::from_le_bytes(x) + 1.0).abs() < 1e-2, "{result:?} at {}", f64::from_le_bytes(x));
    }

    #[test]
    fn x_is_the_best_point_whenever_the_budget_ends() {
        let layout = Layout::doubles(16);
        for name in ["avm", "nelder-mead"] {
            for budget in (1..4000).step_by(37) {
                let hash = |x: &[f64]| (x[0].to_bits() ^ x[1].to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                let mut f = Counted::new(budget, exact(hash));
                let mut x = [0; 16];
                let mut rng = StdRand::with_seed(budget);
                let _ = hopping(name).with_n_iter(100).minimize(&mut f, &mut x, &layout, &mut rng);
                let best = f.best;
                assert_eq!(f.value(&x), best, "{name} with budget {budget}");
            }
        }
    }

    #[test]
    fn temperature_zero_accepts_nothing_worse() {
        let search = hopping("avm").with_temperature(0.0);
        let mut rng = StdRand::with_seed(1);
        assert!((0..100).all(|_| !search.accepts(Metric::Ulp, 5, 6, &mut rng)));
        assert!(search.accepts(Metric::Ulp, 5, 5, &mut rng));
    }

    #[test]
    fn temperature_one_accepts_by_the_metropolis_rule() {
        let search = hopping("avm");
        let mut rng = StdRand::with_seed(1);
        let n = (0..10_000).filter(|_| search.accepts(Metric::Ulp, 5, 6, &mut rng)).count();
        // exp(-1) = 0.368, standard deviation 0.005
        assert!((3500..3860).contains(&n), "{n}");
    }
}
