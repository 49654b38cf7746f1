//! Brent's method of argmin along one number after the other, each as a double, for comparison with the line search of
//! [`avm`](super::avm).

use argmin::{
    core::{CostFunction, Error, Executor},
    solver::brent::BrentOpt,
};

use super::{
    LocalMinimizer, line_real,
    real::{self, RealProblem},
};
use crate::{
    evaluate::{RepresentingFunction, Stop},
    view::Layout,
};

/// For each number in turn, brackets a minimum and finds it by Brent's method. Repeats while a round over all numbers
/// improves the value, at most 10 times.
#[derive(Debug, Clone)]
pub struct BrentMinimizer {
    /// Maximum number of rounds. Default 10.
    max_rounds: u32,
    /// Maximum number of iterations per line search. Default 100: golden sections alone shrink an interval by a factor
    /// of `1e-20` then.
    max_iterations: u64,
}

impl Default for BrentMinimizer {
    fn default() -> Self {
        Self { max_rounds: 10, max_iterations: 100 }
    }
}

impl<R> LocalMinimizer<R> for BrentMinimizer {
    fn name(&self) -> &'static str {
        "brent"
    }

    fn minimize(
        &mut self,
        f: &mut dyn RepresentingFunction,
        x: &mut [u8],
        layout: &Layout,
        _rng: &mut R,
    ) -> Result<u64, Stop> {
        real::minimize(f, x, layout, |problem: &RealProblem, mut at| {
            for _ in 0..self.max_rounds {
                let before = problem.best_cost();
                for index in 0..at.len() {
                    // An error is the end of the search, which `problem` has recorded.
                    let Ok(best) = self.coordinate(problem, &at, index) else {
                        return;
                    };
                    at[index] = best;
                }
                if problem.best_cost() >= before {
                    return;
                }
            }
        })
    }
}

impl BrentMinimizer {
    /// The best value found of coordinate number `index`, the others being as in `at`.
    fn coordinate(&self, problem: &RealProblem, at: &[f64], index: usize) -> Result<f64, Error> {
        let here = at[index];
        let line = Coordinate { problem, at, index };
        let found = line_real::bracket(|t| line.cost(&(here + t)), 1.0)?;
        let (low, high) = (here + found.a.min(found.c), here + found.a.max(found.c));
        if !(high - low).is_finite() {
            return Ok(here + found.b);
        }
        let executor = Executor::new(line, BrentOpt::new(low, high));
        let result = executor.configure(|state| state.max_iters(self.max_iterations).counting(false)).run()?;
        let best = result.state();
        Ok(if best.best_cost <= found.cost { best.best_param.unwrap_or(here) } else { here + found.b })
    }
}

/// The problem as a function of one coordinate.
struct Coordinate<'a, 'b> {
    problem: &'a RealProblem<'b>,
    at: &'a [f64],
    index: usize,
}

impl CostFunction for Coordinate<'_, '_> {
    type Param = f64;
    type Output = f64;

    fn cost(&self, value: &f64) -> Result<f64, Error> {
        let mut point = self.at.to_vec();
        point[self.index] = *value;
        self.problem.cost(&point)
    }
}
