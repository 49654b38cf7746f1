//! The particle swarm of argmin over the numbers as doubles, for comparison: a global search.

use argmin::{core::Executor, solver::particleswarm::ParticleSwarm};
use libafl_bolts::rands::Rand;
use rand::RngCore;

use super::{
    LocalMinimizer,
    real::{self, RealProblem},
};
use crate::{
    evaluate::{RepresentingFunction, Stop},
    view::Layout,
};

/// 40 particles that start at random in a box around the start and stay in it; 100 iterations.
///
/// The box extends to both sides of each coordinate by twice its magnitude, at least by 10.
#[derive(Debug, Clone)]
pub struct SwarmMinimizer {
    /// Default 40, as in argmin's examples.
    particles: usize,
    /// Default 100.
    max_iterations: u64,
}

impl Default for SwarmMinimizer {
    fn default() -> Self {
        Self { particles: 40, max_iterations: 100 }
    }
}

impl<R: Rand> LocalMinimizer<R> for SwarmMinimizer {
    fn name(&self) -> &'static str {
        "pso"
    }

    fn minimize(
        &mut self,
        f: &mut dyn RepresentingFunction,
        x: &mut [u8],
        layout: &Layout,
        rng: &mut R,
    ) -> Result<u64, Stop> {
        real::minimize(f, x, layout, |problem: &RealProblem, start| {
            let swarm = ParticleSwarm::new(bounds(&start), self.particles).with_rng_generator(Generator(rng));
            let executor = Executor::new(problem, swarm);
            // An error is the end of the search, which `problem` has recorded.
            let _ = executor.configure(|state| state.max_iters(self.max_iterations).counting(false)).run();
        })
    }
}

/// The lower and upper bounds of the box; of magnitude at most `f64::MAX / 8`, so that its width does not overflow.
fn bounds(start: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let limit = f64::MAX / 8.0;
    let side = |&v: &f64| {
        let v = v.clamp(-limit, limit);
        let reach = (2.0 * v.abs()).max(10.0);
        ((v - reach).max(-limit), (v + reach).min(limit))
    };
    start.iter().map(side).unzip()
}

/// A LibAFL generator as one of the crate `rand`, so that the seed determines the swarm, too.
struct Generator<'a, R>(&'a mut R);

impl<R: Rand> RngCore for Generator<'_, R> {
    fn next_u32(&mut self) -> u32 {
        (self.0.next() >> 32) as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next()
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.0.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_contains_the_start_and_is_finite() {
        let (low, high) = bounds(&[0.0, -5.0, f64::MAX / 10.0]);
        assert_eq!((low[0], high[0], low[1], high[1]), (-10.0, 10.0, -15.0, 5.0));
        assert!((high[2] - low[2]).is_finite());
    }
}
