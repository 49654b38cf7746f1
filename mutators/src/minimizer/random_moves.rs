//! No minimization at all: random moves around the start, none of which depends on what an earlier one gave.
//!
//! What remains of a search when its optimizer is taken out: the control in an ablation. It makes the same moves as the
//! kicks of [`basinhopping`](crate::basinhopping), so that only the use of the values differs.

use std::sync::Arc;

use libafl_bolts::rands::Rand;

use super::LocalMinimizer;
use crate::{
    basinhopping::kick,
    dictionary::Dictionary,
    evaluate::{RepresentingFunction, Stop},
    view::Layout,
};

/// Points tried from one start: about what a minimization of two numbers takes.
const TRIES: u32 = 256;

/// See the module.
#[derive(Debug, Clone)]
pub struct RandomMoves {
    dictionary: Arc<Dictionary>,
    start: Vec<u8>,
    trial: Vec<u8>,
}

impl RandomMoves {
    /// Draws from a dictionary.
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
