//! The Nelder-Mead simplex method of argmin over the slots as doubles.

use argmin::{core::Executor, solver::neldermead::NelderMead};

use super::{
    LocalMinimizer,
    real::{self, RealProblem},
};
use crate::{
    evaluate::{RepresentingFunction, Stop},
    view::Layout,
};

/// A simplex around the start, as `SciPy` makes it: one vertex per coordinate, 5 % away (or `0.00025` from 0).
#[derive(Debug, Clone)]
pub struct NelderMeadMinimizer {
    /// Iterations per dimension; `SciPy` has 200.
    max_iterations: u64,
}

impl Default for NelderMeadMinimizer {
    fn default() -> Self {
        Self { max_iterations: 200 }
    }
}

impl<R> LocalMinimizer<R> for NelderMeadMinimizer {
    fn name(&self) -> &'static str {
        "nelder-mead"
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
            let simplex = simplex(start);
            problem.be_lenient(simplex.len());
            let executor = Executor::new(problem, NelderMead::new(simplex));
            // An error is the end of the search, which `real::minimize` has seen.
            let _ = executor.configure(|state| state.max_iters(max_iters).counting(false)).run();
        })
    }
}

fn simplex(start: Vec<f64>) -> Vec<Vec<f64>> {
    let mut vertices = Vec::with_capacity(start.len() + 1);
    for i in 0..start.len() {
        let mut vertex = start.clone();
        vertex[i] = if vertex[i] == 0.0 { 0.000_25 } else { vertex[i] * 1.05 };
        vertices.push(vertex);
    }
    vertices.push(start);
    vertices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simplex_has_one_vertex_more_than_dimensions() {
        assert_eq!(simplex(vec![0.0, 2.0]), [vec![0.000_25, 2.0], vec![0.0, 2.1], vec![0.0, 2.0]]);
    }
}
