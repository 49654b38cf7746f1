//! Baselines: random inputs, without any feedback on how far they are.

use std::sync::Arc;

use libafl::{
    Error, Evaluator as LibaflEvaluator, HasMetadata,
    inputs::BytesInput,
    stages::{Restartable, Stage},
    state::{HasCorpus, HasRand},
};
use penfuzz_mutators::{dictionary::Dictionary, evaluate::RepresentingFunction, random, structured, view::Layout};

use super::{Clock, budgeted::BudgetedFunction, finds::submit};
use crate::{
    executor::HasEvaluator,
    goals::{Goal, Record},
    saturation::Saturation,
};

/// The distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Uniform bit patterns.
    Random,
    /// Uniform values over the range of each type.
    Uniform,
    /// Specials and their neighbours, bit patterns, exponents near 0, subnormals, related arguments.
    Structured,
}

/// Evaluations of one turn.
const TURN: u64 = 4096;

/// Draws inputs and keeps what takes a new branch.
pub struct SamplingStage {
    sampling: Sampling,
    layout: Arc<Layout>,
    dictionary: Dictionary,
    clock: Clock,
    x: Vec<u8>,
}

impl SamplingStage {
    /// Draws points of `layout`. No constants of the program are used: those belong to the search that harvests them.
    #[must_use]
    pub fn new(sampling: Sampling, layout: Arc<Layout>, clock: Clock) -> Self {
        let x = vec![0; layout.size()];
        Self { sampling, layout, dictionary: Dictionary::general(), clock, x }
    }
}

impl<E, EM, S, Z> Stage<E, EM, S, Z> for SamplingStage
where
    E: HasEvaluator,
    S: HasMetadata + HasRand + HasCorpus<BytesInput>,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    fn perform(&mut self, fuzzer: &mut Z, executor: &mut E, state: &mut S, manager: &mut EM) -> Result<(), Error> {
        Record.arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, TURN, None);
        loop {
            match self.sampling {
                Sampling::Random => random::fill(state.rand_mut(), &self.layout, &mut self.x),
                Sampling::Uniform => random::fill_uniform(state.rand_mut(), &self.layout, &mut self.x),
                Sampling::Structured => {
                    structured::fill(state.rand_mut(), &self.layout, &self.dictionary, &mut self.x);
                }
            }
            if function.evaluate(&self.x).is_err() {
                break;
            }
        }
        let finds = core::mem::take(&mut function.finds);
        submit(finds, fuzzer, executor, state, manager)
    }
}

impl<S> Restartable<S> for SamplingStage {
    fn should_restart(&mut self, _state: &mut S) -> Result<bool, Error> {
        Ok(true)
    }

    fn clear_progress(&mut self, _state: &mut S) -> Result<(), Error> {
        Ok(())
    }
}
