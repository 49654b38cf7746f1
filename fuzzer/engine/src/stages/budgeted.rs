//! The armed target as the representing function of a minimizer, with a budget.

use penfuzz_executor::{
    PenEvaluator,
    evaluator::{RunStatus, metric_of},
};
use penfuzz_mutators::{
    evaluate::{Metric, RepresentingFunction, Stop},
    observe::Observation,
};

use super::{Clock, observed::Chain};

/// Number of loop iterations and calls that cost as much of a budget as an evaluation without any. Long evaluations are
/// charged for their length, by a measure that is the same in every run.
pub const FUEL_PER_UNIT: u64 = 64;

/// Number of units of an evaluation that the alarm or the memory limit has ended, in a search that continues after
/// crashes. Such an end takes as long as a million evaluations, and another process must take over.
const COSTLY_END: u64 = 8192;

/// Evaluates points until a budget is spent, the target branch is taken, or the campaign ends. Collects the inputs that
/// took a new branch or failed at a new place.
pub struct BudgetedFunction<'a, V> {
    evaluator: &'a mut V,
    clock: &'a Clock,
    /// Remaining units. An evaluation costs one unit, and one more per [`FUEL_PER_UNIT`].
    pub budget: u64,
    target: Option<usize>,
    /// The finds: inputs for LibAFL to evaluate.
    pub finds: Vec<Vec<u8>>,
    hits: Vec<u32>,
    metric: Metric,
    /// Whether crashing inputs have taken the target branch. Another input that does so is no find.
    passes_crashes: bool,
    /// The conditions that [`RepresentingFunction::observe`] returns.
    chain: Option<Chain>,
}

impl<'a, V: PenEvaluator> BudgetedFunction<'a, V> {
    /// Creates the function. `target` is the branch whose covering ends the search; without one, only budget and clock
    /// end it.
    #[must_use]
    pub fn new(evaluator: &'a mut V, clock: &'a Clock, budget: u64, target: Option<usize>) -> Self {
        let metric = metric_of(evaluator.metric());
        Self {
            evaluator,
            clock,
            budget,
            target,
            finds: Vec::new(),
            hits: Vec::new(),
            metric,
            passes_crashes: false,
            chain: None,
        }
    }

    /// If `passes`, the search continues after inputs that crash and take the target branch.
    #[must_use]
    pub fn passing_crashes(self, passes: bool) -> Self {
        Self { passes_crashes: passes, ..self }
    }

    /// Sets the conditions that [`RepresentingFunction::observe`] returns; with `None` it returns none.
    #[must_use]
    pub(super) fn observing(self, chain: Option<Chain>) -> Self {
        Self { chain, ..self }
    }

    /// The evaluator.
    #[must_use]
    pub fn evaluator(&self) -> &V {
        self.evaluator
    }

    /// The evaluator, and the recorded branches that the input of the last find has taken.
    pub(super) fn evaluator_and_hits(&mut self) -> (&mut V, &[u32]) {
        (self.evaluator, &self.hits)
    }

    #[cold]
    fn look(&mut self, x: &[u8], ran: RunStatus) -> Result<(), Stop> {
        self.evaluator.take_hits(&mut self.hits);
        let new_fault = ran == RunStatus::Faulted && self.evaluator.is_new_fault();
        if ran == RunStatus::Faulted && self.passes_crashes {
            if self.evaluator.ended_by_alarm_or_memory() {
                self.budget = self.budget.saturating_sub(COSTLY_END);
            }
            if !new_fault {
                let target = self.target;
                self.hits.retain(|b| Some(*b as usize) != target);
            }
        }
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

impl<V: PenEvaluator> RepresentingFunction for BudgetedFunction<'_, V> {
    #[inline]
    fn evaluate(&mut self, x: &[u8]) -> Result<u64, Stop> {
        if self.budget == 0 {
            return Err(Stop::Budget);
        }
        if self.clock.is_over(self.evaluator) {
            return Err(Stop::End);
        }
        let ran = self.evaluator.run(x);
        self.budget = self.budget.saturating_sub(1 + self.evaluator.fuel_used() / FUEL_PER_UNIT);
        if self.evaluator.has_hits() || ran == RunStatus::Faulted {
            self.look(x, ran)?;
        }
        let r = self.evaluator.r();
        // The smallest value of a point that is no solution.
        Ok(if r == 0 && self.passes_crashes { 1 } else { r })
    }

    fn observe(&mut self, x: &[u8], seen: &mut Vec<Observation>) -> Result<u64, Stop> {
        seen.clear();
        let Some(chain) = self.chain.take() else { return self.evaluate(x) };
        self.evaluator.set_measuring(true);
        let result = self.evaluate(x);
        chain.take(self.evaluator, seen);
        self.chain = Some(chain);
        result
    }

    fn metric(&self) -> Metric {
        self.metric
    }
}
