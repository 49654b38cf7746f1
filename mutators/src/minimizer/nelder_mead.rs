//! The Nelder-Mead simplex method of argmin over the numbers as doubles, for comparison: it requires neither
//! derivatives nor line searches.

use argmin::{core::Executor, solver::neldermead::NelderMead};

use super::{
    LocalMinimizer,
    real::{self, RealProblem},
};
use crate::{
    evaluate::{RepresentingFunction, Stop},
    view::Layout,
};

/// Nelder-Mead from the start simplex of `SciPy`: besides the start, one vertex per coordinate, in which it is 5 %
/// larger (`0.00025` if it is 0).
///
/// Ends when the standard deviation of the costs in the simplex is below argmin's default (the machine epsilon), or
/// after 200 iterations per number.
#[derive(Debug, Clone)]
pub struct NelderMeadMinimizer {
    /// Maximum number of iterations per number. Default 200, as in `SciPy`.
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
            problem.defer_errors(simplex.len());
            let executor = Executor::new(problem, NelderMead::new(simplex));
            // An error is the end of the search, which `problem` has recorded.
            let _ = executor.configure(|state| state.max_iters(max_iters).counting(false)).run();
        })
    }
}

/// The vertices of the start simplex, the start last.
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
