//! Random moves around the start, independent of the values of earlier ones: the control of an ablation, which shows
//! what a minimizer adds to a search.
//!
//! The moves are those of [`Step::Kick`](crate::basinhopping::Step::Kick), so that the searches differ only in how they
//! use the values.

use std::sync::Arc;

use libafl_bolts::rands::Rand;

use super::LocalMinimizer;
use crate::{
    dictionary::Dictionary,
    evaluate::{RepresentingFunction, Stop},
    kick::kick,
    view::Layout,
};

/// Number of points evaluated per start, besides the start: about as many as a minimization of two numbers takes.
const TRIES: u32 = 256;

/// Evaluates 256 points, each made from the start by [`kick`], and keeps the best. Ends early at a zero, and after the
/// start if the layout has no slot.
#[derive(Debug, Clone)]
pub struct RandomMoves {
    dictionary: Arc<Dictionary>,
    start: Vec<u8>,
    trial: Vec<u8>,
}

impl RandomMoves {
    /// Random moves, which draw values from the dictionary.
    #[must_use]
    pub const fn new(dictionary: Arc<Dictionary>) -> Self {
        Self { dictionary, start: Vec::new(), trial: Vec::new() }
    }
}

impl<R: Rand> LocalMinimizer<R> for RandomMoves {
    fn name(&self) -> &'static str {
        "random"
    }

    fn minimize(
        &mut self,
        f: &mut dyn RepresentingFunction,
        x: &mut [u8],
        layout: &Layout,
        rng: &mut R,
    ) -> Result<u64, Stop> {
        let mut best = f.evaluate(x)?;
        self.start.clear();
        self.start.extend_from_slice(x);
        for _ in 0..TRIES {
            if best == 0 || layout.is_empty() {
                break;
            }
            self.trial.clone_from(&self.start);
            kick(rng, layout, &self.dictionary, &mut self.trial);
            match f.evaluate(&self.trial) {
                Ok(r) if r < best => best = r,
                Ok(_) => continue,
                Err(Stop::Found) => {
                    x.copy_from_slice(&self.trial);
                    return Err(Stop::Found);
                }
                Err(stop) => return Err(stop),
            }
            x.copy_from_slice(&self.trial);
        }
        Ok(best)
    }
}
