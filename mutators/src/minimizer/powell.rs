//! Powell's conjugate direction method, CoverMe's local minimizer, as a solver for argmin.
//!
//! # Algorithm
//! 0. The directions are the coordinate axes.
//! 1. Minimize along each direction in turn (bracketing and Brent's method, see [`line_real`]), and note the direction
//!    of the largest decrease.
//! 2. End if the iteration decreased the cost relatively by less than `ftol` (default `1e-4`).
//! 3. The displacement of the whole iteration is a candidate for a new direction: if the cost at the extrapolated point
//!    is low enough (Powell's criterion), minimize along it, and replace the direction of the largest decrease by it.
//!
//! The steps and defaults are those of `SciPy`'s `fmin_powell`, which CoverMe uses, so that the reference search is
//! comparable. The cost need not be smooth. It may be infinite, but must not be NaN.
//!
//! # Reference
//! M. J. D. Powell, *An efficient method for finding the minimum of a function of several variables without calculating
//! derivatives*, The Computer Journal 7(2), 1964.

use argmin::core::{CostFunction, Error, IterState, KV, Problem, Solver, State, TerminationReason};

use super::{
    LocalMinimizer,
    line_real::{self, Minimum},
    real::{self, RealProblem},
};
use crate::{
    evaluate::{RepresentingFunction, Stop},
    view::Layout,
};

/// The state that argmin keeps for [`Powell`].
type PowellState = IterState<Vec<f64>, (), (), (), (), f64>;

/// A solver for argmin that minimizes along a set of directions and replaces them by better ones; the [module](self)
/// has the steps.
///
/// It requires a [`CostFunction`] over `Vec<f64>`, which must not return NaN, and a start in `state.param`. Defaults as
/// in `SciPy`: `ftol` is `1e-4`, the relative tolerance of line searches `1e-2`.
///
/// # Errors
/// Its steps return the errors of the cost function, and one if there is no start.
#[derive(Debug, Clone)]
pub struct Powell {
    ftol: f64,
    line_tolerance: f64,
    directions: Vec<Vec<f64>>,
}

impl Default for Powell {
    fn default() -> Self {
        // SciPy's defaults are ftol = xtol = 1e-4, and its line searches use 100 * xtol.
        Self { ftol: 1e-4, line_tolerance: 1e-2, directions: Vec::new() }
    }
}

impl Powell {
    /// A solver with the default tolerances.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the relative decrease of the cost below which an iteration is the last. Default `1e-4`; infinity means one
    /// iteration.
    ///
    /// # Errors
    /// If `ftol` is negative or NaN.
    pub fn with_ftol(mut self, ftol: f64) -> Result<Self, Error> {
        if ftol >= 0.0 {
            self.ftol = ftol;
            Ok(self)
        } else {
            Err(Error::msg("`Powell`: ftol must be >= 0"))
        }
    }

    /// Sets the relative tolerance of the line searches. Default `1e-2`.
    ///
    /// # Errors
    /// If `tolerance` is not above 0, or is NaN.
    pub fn with_line_tolerance(mut self, tolerance: f64) -> Result<Self, Error> {
        if tolerance > 0.0 {
            self.line_tolerance = tolerance;
            Ok(self)
        } else {
            Err(Error::msg("`Powell`: the line tolerance must be > 0"))
        }
    }

    /// Moves `x` to a minimum on the line `x + t * direction`; returns the cost there and the displacement. As in
    /// `SciPy`, `x` also moves where the costs on the line are equal.
    fn minimize_along<O>(
        &self,
        problem: &mut Problem<O>,
        x: &mut Vec<f64>,
        direction: &[f64],
    ) -> Result<(f64, Vec<f64>), Error>
    where
        O: CostFunction<Param = Vec<f64>, Output = f64>,
    {
        let mut cost = |t: f64| problem.cost(&moved(x, direction, t));
        let bracket = line_real::bracket(&mut cost, 1.0)?;
        let Minimum { x: t, cost: best } = line_real::brent(&mut cost, bracket, self.line_tolerance, 500)?;
        *x = moved(x, direction, t);
        Ok((best, direction.iter().map(|d| t * d).collect()))
    }
}

/// `x + t * direction`.
fn moved(x: &[f64], direction: &[f64], t: f64) -> Vec<f64> {
    x.iter().zip(direction).map(|(v, d)| v + t * d).collect()
}

/// The `n` unit vectors.
fn axes(n: usize) -> Vec<Vec<f64>> {
    (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect()
}

/// Powell's criterion of step 3, from the costs at the start, at the end and at the extrapolated point of an iteration:
/// whether the displacement of the iteration is to replace the direction of the largest decrease.
fn is_better_direction(start: f64, end: f64, extrapolated: f64, largest_decrease: f64) -> bool {
    let rest = start - end - largest_decrease;
    let span = start - extrapolated;
    start > extrapolated && 2.0 * (start + extrapolated - 2.0 * end) * rest * rest < largest_decrease * span * span
}

impl<O> Solver<O, PowellState> for Powell
where
    O: CostFunction<Param = Vec<f64>, Output = f64>,
{
    fn name(&self) -> &'static str {
        "Powell"
    }

    fn init(&mut self, problem: &mut Problem<O>, state: PowellState) -> Result<(PowellState, Option<KV>), Error> {
        let x = state.get_param().ok_or_else(|| Error::msg("`Powell`: a start is required"))?.clone();
        self.directions = axes(x.len());
        let cost = problem.cost(&x)?;
        Ok((state.param(x).cost(cost), None))
    }

    fn next_iter(
        &mut self,
        problem: &mut Problem<O>,
        mut state: PowellState,
    ) -> Result<(PowellState, Option<KV>), Error> {
        let mut x = state.take_param().ok_or_else(|| Error::msg("`Powell`: no current point"))?;
        let (old_x, old) = (x.clone(), state.get_cost());
        let mut cost = old;
        let (mut largest, mut largest_decrease) = (0, 0.0);
        for i in 0..self.directions.len() {
            let (new, _) = self.minimize_along(problem, &mut x, &self.directions[i])?;
            if cost - new > largest_decrease {
                (largest, largest_decrease) = (i, cost - new);
            }
            cost = new;
        }
        let required = self.ftol * (old.abs() + cost.abs()) + 1e-20;
        // The difference of two infinities is NaN, which is no decrease either.
        if (2.0 * (old - cost)).partial_cmp(&required) != Some(core::cmp::Ordering::Greater) {
            return Ok((state.param(x).cost(cost).terminate_with(TerminationReason::SolverConverged), None));
        }
        let displacement: Vec<f64> = x.iter().zip(&old_x).map(|(new, old)| new - old).collect();
        let extrapolated = problem.cost(&moved(&x, &displacement, 1.0))?;
        if is_better_direction(old, cost, extrapolated, largest_decrease) {
            let (new, direction) = self.minimize_along(problem, &mut x, &displacement)?;
            cost = new;
            if direction.iter().any(|&d| d != 0.0) {
                self.directions.swap_remove(largest);
                self.directions.push(direction);
            }
        }
        Ok((state.param(x).cost(cost), None))
    }
}

/// Powell's method over the numbers as doubles, until it converges, for at most 1000 iterations per number.
#[derive(Debug, Clone)]
pub struct PowellMinimizer {
    solver: Powell,
    /// Maximum number of iterations per number. Default 1000, as in `SciPy`.
    max_iterations: u64,
}

impl Default for PowellMinimizer {
    fn default() -> Self {
        Self { solver: Powell::new(), max_iterations: 1000 }
    }
}

impl<R> LocalMinimizer<R> for PowellMinimizer {
    fn name(&self) -> &'static str {
        "powell"
    }

    fn minimize(
        &mut self,
        f: &mut dyn RepresentingFunction,
        x: &mut [u8],
        layout: &Layout,
        _rng: &mut R,
    ) -> Result<u64, Stop> {
        let max_iters = self.max_iterations * layout.len() as u64;
        real::minimize(f, x, layout, |problem: &RealProblem, start| {
            // An error is the end of the search, which `problem` has recorded.
            let _ = iterate(self.solver.clone(), problem, start, max_iters);
        })
    }
}

/// Runs the solver from `start` until it terminates, for at most `max_iters` iterations, and tells the function about
/// the end of each. (argmin's executor has no place for that: its observers must not borrow.)
fn iterate(mut solver: Powell, problem: &RealProblem, start: Vec<f64>, max_iters: u64) -> Result<(), Error> {
    let mut costs = Problem::new(problem);
    let mut state = solver.init(&mut costs, PowellState::new().param(start))?.0;
    for _ in 0..max_iters {
        if state.terminated() {
            break;
        }
        state = solver.next_iter(&mut costs, state)?.0;
        problem.end_iteration();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use libafl_bolts::rands::StdRand;

    use super::*;
    use crate::testing::squared;

    fn minimized(f: impl FnMut(&[f64]) -> f64, start: &[f64]) -> Vec<f64> {
        let layout = Layout::doubles(8 * start.len());
        let mut x = vec![0; layout.size()];
        layout.set_reals(&mut x, start);
        let _ =
            PowellMinimizer::default().minimize(&mut squared(100_000, f), &mut x, &layout, &mut StdRand::with_seed(0));
        layout.reals(&x)
    }

    #[test]
    fn rosenbrock() {
        let x = minimized(|x| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2), &[-1.2, 1.0]);
        assert!((x[0] - 1.0).abs() < 1e-2 && (x[1] - 1.0).abs() < 1e-2, "{x:?}");
    }

    /// A representing function with zeros at -2 and 2.
    #[test]
    fn a_square_equal_to_four() {
        let x = minimized(|x| (x[0] * x[0] - 4.0).powi(2), &[7.0]);
        assert!((x[0].abs() - 2.0).abs() < 1e-3, "{x:?}");
    }

    #[test]
    fn tolerances_are_checked() {
        assert!(Powell::new().with_ftol(f64::NAN).is_err() && Powell::new().with_line_tolerance(0.0).is_err());
    }
}
