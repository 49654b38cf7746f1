//! The armed target as the representing function of a minimizer, and the way of what it finds into LibAFL.

use libafl::{Error, Evaluator as LibaflEvaluator, HasMetadata, corpus::Corpus, inputs::BytesInput, state::HasCorpus};
use penfuzz_mutators::evaluate::{Metric, RepresentingFunction, Stop};

use super::Clock;
use crate::{
    executor::{
        Evaluator, HasEvaluator,
        evaluator::{Ran, metric_of},
    },
    goals::{Objective, Record},
    saturation::Saturation,
};

/// Loop iterations and calls that cost as much of a budget as an evaluation without any: long evaluations are charged for
/// their length, by a measure that is the same at every run.
pub const FUEL_PER_UNIT: u64 = 64;

/// Evaluates points until a budget is spent, the target branch is taken, or the campaign ends; collects the inputs that
/// took a new branch or failed at a new place.
pub struct Probe<'a> {
    evaluator: &'a mut Evaluator,
    clock: &'a Clock,
    /// Units left: one per evaluation, and one per [`FUEL_PER_UNIT`].
    pub budget: u64,
    target: Option<usize>,
    /// Inputs for LibAFL to look at.
    pub finds: Vec<Vec<u8>>,
    hits: Vec<u32>,
    metric: Metric,
}

impl<'a> Probe<'a> {
    /// `target` is the branch whose covering ends the search; without one nothing but budget and clock do.
    #[must_use]
    pub fn new(evaluator: &'a mut Evaluator, clock: &'a Clock, budget: u64, target: Option<usize>) -> Self {
        let metric = metric_of(evaluator.metric());
        Self { evaluator, clock, budget, target, finds: Vec::new(), hits: Vec::new(), metric }
    }

    /// The evaluator.
    #[must_use]
    pub fn evaluator(&self) -> &Evaluator {
        self.evaluator
    }

    #[cold]
    fn look(&mut self, x: &[u8], ran: Ran) -> Result<(), Stop> {
        self.evaluator.take_hits(&mut self.hits);
        let new_fault = ran == Ran::Faulted && self.evaluator.is_new_fault();
        if self.hits.is_empty() && !new_fault {
            return Ok(());
        }
        self.finds.push(x.to_vec());
        self.evaluator.note_find(x);
        self.evaluator.disarm(&self.hits);
        if self.target.is_some_and(|t| self.hits.contains(&(t as u32))) {
            return Err(Stop::Found);
        }
        Ok(())
    }
}

impl RepresentingFunction for Probe<'_> {
    #[inline]
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        if self.budget == 0 {
            return Err(Stop::Budget);
        }
        if self.clock.is_over(self.evaluator.evaluations()) {
            return Err(Stop::End);
        }
        let ran = self.evaluator.run(x);
        self.budget = self.budget.saturating_sub(1 + self.evaluator.fuel_used() / FUEL_PER_UNIT);
        if self.evaluator.has_hits() || ran == Ran::Faulted {
            self.look(x, ran)?;
        }
        Ok(self.evaluator.r())
    }

    fn metric(&self) -> Metric {
        self.metric
    }
}

/// Gives finds to LibAFL, which runs each once more and lets the feedbacks decide.
///
/// # Errors
/// What LibAFL answers.
pub fn submit<E, EM, S, Z>(
    finds: Vec<Vec<u8>>,
    fuzzer: &mut Z,
    executor: &mut E,
    state: &mut S,
    manager: &mut EM,
) -> Result<(), Error>
where
    E: HasEvaluator,
    S: HasMetadata,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    let fuel = executor.evaluator().fuel();
    executor.evaluator_mut().set_ration(fuel);
    for bytes in finds {
        Record.arm(executor.evaluator_mut(), state.metadata::<Saturation>()?);
        fuzzer.evaluate_input(state, executor, manager, &BytesInput::new(bytes))?;
    }
    Ok(())
}

/// Gives a branch up, and moves the pending inputs that thereby saturate a branch into the corpus.
///
/// # Errors
/// What LibAFL answers.
pub fn give_up<E, EM, S, Z>(
    branch: usize,
    fuzzer: &mut Z,
    executor: &mut E,
    state: &mut S,
    manager: &mut EM,
) -> Result<(), Error>
where
    E: HasEvaluator,
    S: HasMetadata,
    Z: LibaflEvaluator<E, EM, BytesInput, S>,
{
    let ready = state.metadata_mut::<Saturation>()?.give_up(branch);
    for pending in ready {
        fuzzer.add_input(state, executor, manager, BytesInput::new(pending.bytes))?;
    }
    Ok(())
}

/// A start point that is known to reach something: an input of the corpus or of the pending pool, by a random number.
///
/// # Errors
/// When the corpus cannot give its entry.
pub fn known_input<S>(state: &S, pick: u64) -> Result<Option<Vec<u8>>, Error>
where
    S: HasMetadata + HasCorpus<BytesInput>,
{
    let pending = &state.metadata::<Saturation>()?.pending;
    let n = state.corpus().count() + pending.len();
    if n == 0 {
        return Ok(None);
    }
    let i = (pick % n as u64) as usize;
    if let Some(p) = pending.get(i) {
        return Ok(Some(p.bytes.clone()));
    }
    let id = state.corpus().nth(i - pending.len());
    let input = state.corpus().cloned_input_for_id(id)?;
    Ok(Some(input.into()))
}
