//! Random inputs without feedback on their distance: baselines, and structured values in addition to minimization.

use std::sync::Arc;

use libafl::{
    Error, Evaluator as LibaflEvaluator, HasMetadata,
    inputs::BytesInput,
    stages::{Restartable, Stage},
    state::{HasCorpus, HasRand},
};
use libafl_bolts::rands::Rand;
use penfuzz_executor::HasEvaluator;
use penfuzz_mutators::{
    dictionary::Dictionary, evaluate::RepresentingFunction, minimizer::chain::ChainSearch, random, start::StartPoints,
    structured, view::Layout,
};

use super::{
    Clock,
    budgeted::BudgetedFunction,
    finds::submit,
    share::{RoundLength, SecondarySearch},
};
use crate::{
    goals::{Goal, Record},
    saturation::Saturation,
};

/// The distribution of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Uniform bit patterns.
    Random,
    /// Uniform values over the range of each type.
    Uniform,
    /// Special values and their neighbours, bit patterns, exponents near 0, subnormals, related arguments.
    Structured,
    /// The same, after fixed points and mixed with uniform bit patterns: [`StartPoints`].
    Starts,
}

/// Number of evaluations of one round of a baseline.
const ROUND: u64 = 4096;

/// Minimum number of evaluations of a round in addition to minimization.
const SHORTEST_ROUND: u64 = 16;

/// Draws inputs and keeps those that take a new branch.
pub struct SamplingStage {
    sampling: Sampling,
    layout: Arc<Layout>,
    dictionary: Arc<Dictionary>,
    turn: RoundLength,
    starts: StartPoints,
    clock: Clock,
    x: Vec<u8>,
}

impl SamplingStage {
    /// Creates a stage that draws points of `layout`. It uses no constants of the program, which belong to the search
    /// that harvests them.
    #[must_use]
    pub fn new(sampling: Sampling, layout: Arc<Layout>, clock: Clock) -> Self {
        Self::with(sampling, layout, Arc::new(Dictionary::general()), RoundLength::Fixed(ROUND), clock)
    }

    /// Creates a stage for use after a [`super::BasinhoppingStage`]. It draws [`StartPoints`] with the constants of the
    /// program; the more they have found lately, the more points it draws. Each point is tried for all goals at once.
    /// The stage draws no points if there is no [chain search](ChainSearch::suits) either: for long texts and arrays,
    /// almost no new point gets as far as the inputs that are kept.
    #[must_use]
    pub fn beside(layout: Arc<Layout>, dictionary: Arc<Dictionary>, clock: Clock) -> Self {
        let turn = if ChainSearch::suits(&layout) {
            RoundLength::Shared(SecondarySearch::Sampling)
        } else {
            RoundLength::Fixed(0)
        };
        Self::with(Sampling::Starts, layout, dictionary, turn, clock)
    }

    fn with(
        sampling: Sampling,
        layout: Arc<Layout>,
        dictionary: Arc<Dictionary>,
        turn: RoundLength,
        clock: Clock,
    ) -> Self {
        let x = vec![0; layout.size()];
        Self { sampling, layout, dictionary, turn, starts: StartPoints::new(), clock, x }
    }
}

impl<E, EM, S, Z> Stage<E, EM, S, Z> for SamplingStage
where
    E: HasEvaluator,
    S: HasMetadata + HasRand + HasCorpus<BytesInput>,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    fn perform(&mut self, fuzzer: &mut Z, executor: &mut E, state: &mut S, manager: &mut EM) -> Result<(), Error> {
        let budget = self.turn.budget(state);
        // Branches that only crashes have taken get a small budget, which is for searches that continue from those
        // inputs.
        let is_all_covered = state.metadata::<Saturation>()?.uncovered().next().is_none();
        if budget < SHORTEST_ROUND || is_all_covered && self.sampling == Sampling::Starts {
            return Ok(());
        }
        Record.arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        self.turn.limit_fuel(executor.evaluator_mut());
        let clock = self.clock.clone();
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &clock, budget, None);
        loop {
            self.draw(state.rand_mut());
            if function.evaluate(&self.x).is_err() {
                break;
            }
        }
        let (finds, used) = (core::mem::take(&mut function.finds), budget - function.budget);
        self.turn.note(state, used, finds.len());
        submit(finds, fuzzer, executor, state, manager)
    }
}

impl SamplingStage {
    fn draw<R: Rand>(&mut self, rng: &mut R) {
        let (layout, dictionary, x) = (&self.layout, &self.dictionary, &mut self.x);
        match self.sampling {
            Sampling::Random => random::fill(rng, layout, x),
            Sampling::Uniform => random::fill_uniform(rng, layout, x),
            Sampling::Structured => structured::fill(rng, layout, dictionary, x),
            Sampling::Starts => self.starts.next(rng, layout, dictionary, x),
        }
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
