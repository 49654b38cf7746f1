//! Ordinary mutation in addition to minimization: any LibAFL mutator over the kept and pending inputs.

use std::borrow::Cow;

use libafl::{
    Error, Evaluator as LibaflEvaluator, HasMetadata,
    corpus::{Corpus, CorpusId},
    inputs::{BytesInput, HasMutatorBytes, ResizableMutator},
    mutators::{
        CrossoverInsertMutator, CrossoverReplaceMutator, HavocMutationsNoCrossoverType, MutationResult, Mutator,
        havoc_mutations_no_crossover,
    },
    stages::{Restartable, Stage},
    state::{HasCorpus, HasRand},
};
use libafl_bolts::{
    Named,
    rands::Rand,
    tuples::{Merge, merge_tuple_list_type, tuple_list, tuple_list_type},
};
use penfuzz_executor::{HasEvaluator, PenEvaluator};
use penfuzz_mutators::evaluate::RepresentingFunction;

use super::{
    Clock,
    budgeted::BudgetedFunction,
    finds::{known_input, submit},
    share::{RoundLength, SecondarySearch},
};
use crate::{
    goals::{Goal, Record},
    saturation::Saturation,
};

/// Number of consecutive mutants of one start input.
const MUTANTS_PER_INPUT: u64 = 16;

/// A crossover that is skipped while the corpus is empty, because LibAFL's crossovers panic if there is no other input.
#[derive(Debug)]
pub struct WithPartner<M>(M);

impl<M: Named> Named for WithPartner<M> {
    fn name(&self) -> &Cow<'static, str> {
        self.0.name()
    }
}

impl<I, M, S> Mutator<I, S> for WithPartner<M>
where
    M: Mutator<I, S>,
    S: HasCorpus<I>,
{
    fn mutate(&mut self, state: &mut S, input: &mut I) -> Result<MutationResult, Error> {
        if state.corpus().count() == 0 { Ok(MutationResult::Skipped) } else { self.0.mutate(state, input) }
    }

    fn post_exec(&mut self, state: &mut S, id: Option<CorpusId>) -> Result<(), Error> {
        self.0.post_exec(state, id)
    }
}

type Crossovers = tuple_list_type!(WithPartner<CrossoverInsertMutator>, WithPartner<CrossoverReplaceMutator>);

/// The type of [`stock_mutations`].
pub type StockMutations = merge_tuple_list_type!(HavocMutationsNoCrossoverType, Crossovers);

/// LibAFL's havoc mutations, for a corpus that may still be empty.
#[must_use]
pub fn stock_mutations() -> StockMutations {
    havoc_mutations_no_crossover()
        .merge(tuple_list!(WithPartner(CrossoverInsertMutator::new()), WithPartner(CrossoverReplaceMutator::new())))
}

/// The havoc stage. It calls the evaluator directly, so a mutant that shows nothing new costs no LibAFL bookkeeping.
pub struct NumericHavocStage<M> {
    mutator: M,
    turn: RoundLength,
    clock: Clock,
}

impl<M> NumericHavocStage<M> {
    /// Creates a stage that tries `mutants` mutants per round.
    #[must_use]
    pub fn new(mutator: M, mutants: u64, clock: Clock) -> Self {
        Self { mutator, turn: RoundLength::Fixed(mutants), clock }
    }

    /// Creates a stage for use after a [`super::BasinhoppingStage`]. The more havoc has found lately, the more mutants
    /// it tries.
    #[must_use]
    pub fn beside(mutator: M, clock: Clock) -> Self {
        Self { mutator, turn: RoundLength::Shared(SecondarySearch::Havoc), clock }
    }
}

impl<E, EM, M, S, Z> Stage<E, EM, S, Z> for NumericHavocStage<M>
where
    E: HasEvaluator,
    M: Mutator<BytesInput, S>,
    S: HasMetadata + HasRand + HasCorpus<BytesInput>,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    fn perform(&mut self, fuzzer: &mut Z, executor: &mut E, state: &mut S, manager: &mut EM) -> Result<(), Error> {
        let budget = self.turn.budget(state);
        if budget < MUTANTS_PER_INPUT {
            return Ok(());
        }
        let size = executor.evaluator().input_size();
        Record.arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        self.turn.limit_fuel(executor.evaluator_mut());
        let mut function = BudgetedFunction::new(executor.evaluator_mut(), &self.clock, budget, None);
        'turn: while function.budget > 0 {
            let pick = state.rand_mut().next();
            let start = known_input(state, pick)?.unwrap_or_else(|| vec![0; size]);
            for _ in 0..MUTANTS_PER_INPUT {
                let mut mutant = BytesInput::new(start.clone());
                self.mutator.mutate(state, &mut mutant)?;
                // Bytes after the last argument have no effect.
                if mutant.mutator_bytes().len() != size {
                    mutant.resize(size, 0);
                }
                if function.evaluate(mutant.mutator_bytes()).is_err() {
                    break 'turn;
                }
            }
        }
        let (finds, used) = (core::mem::take(&mut function.finds), budget - function.budget);
        self.turn.note(state, used, finds.len());
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
