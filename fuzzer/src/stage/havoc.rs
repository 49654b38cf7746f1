//! Ordinary mutation beside minimization: any LibAFL mutator over the kept, pending and closest inputs.

use libafl::{
    Error, Evaluator as LibaflEvaluator, HasMetadata,
    inputs::{BytesInput, HasMutatorBytes, ResizableMutator},
    mutators::Mutator,
    stages::{Restartable, Stage},
    state::{HasCorpus, HasRand},
};
use libafl_bolts::rands::{Rand, StdRand};
use penfuzz_mutators::evaluate::RepresentingFunction;

use super::{
    Clock,
    probe::{Probe, known_input, submit},
};
use crate::{
    executor::HasEvaluator,
    objective::{Objective, Record},
    saturation::Saturation,
};

/// Mutants of one start input in a row.
const MUTANTS_PER_INPUT: u64 = 16;

/// Calls the evaluator directly: a mutant that shows nothing new costs no LibAFL bookkeeping.
pub struct NumericHavocStage<M> {
    mutator: M,
    mutants: u64,
    clock: Clock,
}

impl<M> NumericHavocStage<M> {
    /// Tries `mutants` mutants a turn.
    #[must_use]
    pub fn new(mutator: M, mutants: u64, clock: Clock) -> Self {
        Self { mutator, mutants, clock }
    }
}

impl<E, EM, M, S, Z> Stage<E, EM, S, Z> for NumericHavocStage<M>
where
    E: HasEvaluator,
    M: Mutator<BytesInput, S>,
    S: HasMetadata + HasRand<Rand = StdRand> + HasCorpus<BytesInput>,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    fn perform(&mut self, fuzzer: &mut Z, executor: &mut E, state: &mut S, manager: &mut EM) -> Result<(), Error> {
        let size = executor.evaluator().input_size();
        Record.arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        let mut probe = Probe::new(executor.evaluator_mut(), &self.clock, self.mutants, None);
        'turn: while probe.budget > 0 {
            let pick = state.rand_mut().next();
            let start = known_input(state, pick)?.unwrap_or_else(|| vec![0; size]);
            for _ in 0..MUTANTS_PER_INPUT {
                let mut mutant = BytesInput::new(start.clone());
                self.mutator.mutate(state, &mut mutant)?;
                // Bytes behind the last argument would be carried along for nothing.
                if mutant.mutator_bytes().len() != size {
                    mutant.resize(size, 0);
                }
                if probe.evaluate(mutant.mutator_bytes()).is_err() {
                    break 'turn;
                }
            }
        }
        let finds = core::mem::take(&mut probe.finds);
        submit(finds, fuzzer, executor, state, manager)
    }
}

impl<M, S> Restartable<S> for NumericHavocStage<M> {
    fn should_restart(&mut self, _state: &mut S) -> Result<bool, Error> {
        Ok(true)
    }

    fn clear_progress(&mut self, _state: &mut S) -> Result<(), Error> {
        Ok(())
    }
}
