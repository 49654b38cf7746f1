//! The LibAFL executor around the evaluator.

use libafl::{
    Error,
    executors::{Executor, ExitKind, HasObservers},
    inputs::HasTargetBytes,
    state::HasExecutions,
};
use libafl_bolts::tuples::{Handle, MatchName, MatchNameRef, RefIndexable};

use penfuzz_abi::{action, metric};

use super::{
    Evaluator, Fault, FaultKind, PenEvaluator, PenObserver,
    evaluator::{RunStatus, metric_of},
    fresh::{FreshProcessRunner, FreshResult},
};

/// Access to the evaluator of an executor, for stages that call it many times within one LibAFL iteration.
pub trait HasEvaluator {
    /// The type that evaluates the representing function.
    type Evaluator: PenEvaluator;

    /// The evaluator.
    fn evaluator(&self) -> &Self::Evaluator;
    /// The evaluator.
    fn evaluator_mut(&mut self) -> &mut Self::Evaluator;
}

/// Runs inputs of any type with target bytes, and fills the [`PenObserver`] among its observers.
///
/// By default the result of the run in this process counts. With [`PenExecutor::replaying`], a run that takes a new
/// branch is repeated in a fresh process, and the result of that repetition counts.
#[derive(Debug)]
pub struct PenExecutor<OT> {
    evaluator: Evaluator,
    observers: OT,
    observer: Handle<PenObserver>,
    hits: Vec<u32>,
    /// The branches that the run took but its replay did not.
    unconfirmed: Vec<u32>,
    /// Those of them that depend on uninitialized memory.
    uninitialized: Vec<u32>,
    fresh: Option<Box<dyn FreshProcessRunner>>,
    /// Whether inputs run in fresh processes only, and how many of them ended their process.
    only_fresh: bool,
    unanswered: usize,
    /// With the default goal: for each branch, whether a run took it.
    taken: Option<Vec<bool>>,
}

impl<OT> PenExecutor<OT> {
    /// Creates the executor. `observer` is the handle of the [`PenObserver`] in `observers`.
    #[must_use]
    pub fn new(evaluator: Evaluator, observers: OT, observer: Handle<PenObserver>) -> Self {
        Self {
            evaluator,
            observers,
            observer,
            hits: Vec::new(),
            unconfirmed: Vec::new(),
            uninitialized: Vec::new(),
            fresh: None,
            only_fresh: false,
            unanswered: 0,
            taken: None,
        }
    }

    /// Makes `r` the distance to the nearest branch in scope that no run took, in floating-point numbers or integers
    /// between, and records the branches that are taken for the first time. Only for fuzzers without a stage that sets
    /// goals: this goal is set again after each run that takes a new branch.
    #[must_use]
    pub fn with_default_goal(mut self) -> Self {
        self.taken = Some(vec![false; self.evaluator.target().n_branches]);
        self.arm_default_goal();
        self
    }

    fn arm_default_goal(&mut self) {
        let Some(taken) = &self.taken else { return };
        self.evaluator.set_metric(metric::ULP, u64::MAX);
        self.evaluator.arm(|b| if taken[b] { 0 } else { action::WANT | action::MIN | action::RECORD });
    }

    /// Removes the branches of the last run from the default goal.
    fn narrow_default_goal(&mut self) {
        let Some(taken) = &mut self.taken else { return };
        if self.hits.is_empty() {
            return;
        }
        for branch in &self.hits {
            taken[*branch as usize] = true;
        }
        self.arm_default_goal();
    }

    /// Sets the fresh process that repeats each run that takes a new branch; `None` repeats no run.
    #[must_use]
    pub fn replaying(self, fresh: Option<Box<dyn FreshProcessRunner>>) -> Self {
        Self { fresh, ..self }
    }

    /// Whether inputs run in fresh processes only, as long as there are any: for inputs that may end this process.
    pub fn set_only_fresh(&mut self, only_fresh: bool) {
        self.only_fresh = only_fresh && self.fresh.is_some();
    }

    /// The number of inputs without a result, because they ended their fresh process.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.unanswered
    }

    /// Runs the input in a fresh process only, or in this one if the system has no process to spare; returns the fault.
    fn run_only_fresh(&mut self, bytes: &[u8]) -> Option<Fault> {
        self.hits.clear();
        match self.fresh.as_mut()?.run_fresh(bytes) {
            FreshResult::Ended { hits, fault, .. } => {
                self.hits = hits;
                self.evaluator.note_taken(&self.hits);
                fault
            }
            FreshResult::Died => {
                self.unanswered += 1;
                None
            }
            // Nothing is known about the input, so its branches must not be lost.
            FreshResult::NoProcess => self.evaluate(bytes).1,
        }
    }

    /// Replaces the result of a run that ended normally by its result in a fresh process; returns the fault there. Once
    /// a replay has differed, all runs are repeated, because a run may take a branch in a fresh process only. If the
    /// function keeps no state, one more run in this process is equivalent and much faster.
    fn replay(&mut self, bytes: &[u8]) -> Option<Fault> {
        let fresh = self.fresh.as_mut()?;
        let sometimes = self.evaluator.remove_uninitialized(bytes, &mut self.hits);
        if !sometimes.is_empty() {
            self.evaluator.change_search_fill();
        }
        let mut adds_nothing = || self.hits.is_empty() || self.evaluator.repeats_without_state(bytes, &self.hits);
        if !fresh.has_differed() && adds_nothing() {
            self.unconfirmed.clone_from(&sometimes);
            self.uninitialized = sometimes;
            return None;
        }
        let (hits, uninitialized, fault) = match fresh.run_fresh(bytes) {
            FreshResult::Ended { hits, uninitialized, fault } => (hits, uninitialized, fault),
            FreshResult::Died => (Vec::new(), Vec::new(), None),
            // The report replays the input once more.
            FreshResult::NoProcess => return None,
        };
        self.unconfirmed = core::mem::take(&mut self.hits);
        self.unconfirmed.retain(|b| !hits.contains(b));
        self.uninitialized = uninitialized;
        self.uninitialized.retain(|b| self.unconfirmed.contains(b));
        if self.unconfirmed.len() > self.uninitialized.len() {
            fresh.note_difference();
        }
        if !self.uninitialized.is_empty() {
            self.evaluator.change_search_fill();
        }
        self.unconfirmed.extend(&sometimes);
        self.uninitialized.extend(&sometimes);
        self.hits = hits;
        self.evaluator.note_taken(&self.hits);
        fault
    }
}

impl<OT> PenExecutor<OT> {
    /// Runs the input once. Edges are counted if they are observed.
    fn run(&mut self, x: &[u8]) -> RunStatus {
        if !self.evaluator.counts_edges() {
            return self.evaluator.run(x);
        }
        self.evaluator.target().set_sancov(true);
        let ran = self.evaluator.run(x);
        self.evaluator.target().set_sancov(false);
        ran
    }
}

impl<OT> PenExecutor<OT> {
    /// Runs the input in this process, and once more in a fresh one if necessary. Returns the value of `r` and the
    /// fault.
    fn evaluate(&mut self, bytes: &[u8]) -> (f64, Option<Fault>) {
        let mut ran = self.run(bytes);
        self.hits.clear();
        if self.evaluator.has_hits() {
            self.evaluator.take_hits(&mut self.hits);
            if ran == RunStatus::Returned {
                ran = self.evaluator.check_other_placements(bytes, &self.hits);
            }
        }
        let r = metric_of(self.evaluator.metric()).to_real(self.evaluator.r());
        let fault = if ran == RunStatus::Faulted { self.evaluator.fault() } else { self.replay(bytes) };
        (r, fault)
    }
}

impl<OT> HasEvaluator for PenExecutor<OT> {
    type Evaluator = Evaluator;

    fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    fn evaluator_mut(&mut self) -> &mut Evaluator {
        &mut self.evaluator
    }
}

impl<OT> HasObservers for PenExecutor<OT> {
    type Observers = OT;

    fn observers(&self) -> RefIndexable<&OT, OT> {
        RefIndexable::from(&self.observers)
    }

    fn observers_mut(&mut self) -> RefIndexable<&mut OT, OT> {
        RefIndexable::from(&mut self.observers)
    }
}

impl<EM, I, OT, S, Z> Executor<EM, I, S, Z> for PenExecutor<OT>
where
    I: HasTargetBytes,
    OT: MatchName,
    S: HasExecutions,
{
    fn run_target(&mut self, _fuzzer: &mut Z, state: &mut S, _mgr: &mut EM, input: &I) -> Result<ExitKind, Error> {
        *state.executions_mut() += 1;
        let bytes = input.target_bytes();
        self.unconfirmed.clear();
        self.uninitialized.clear();
        let (r, fault) =
            if self.only_fresh { (f64::INFINITY, self.run_only_fresh(&bytes)) } else { self.evaluate(&bytes) };
        let kind = match fault.as_ref().map(|f| f.kind) {
            None => ExitKind::Ok,
            Some(FaultKind::Crash) => ExitKind::Crash,
            Some(FaultKind::Hang) => ExitKind::Timeout,
        };
        self.narrow_default_goal();
        if let Some(observer) = self.observers.get_mut(&self.observer) {
            observer.note(&self.hits, r, fault);
            observer.note_unconfirmed(&self.unconfirmed, &self.uninitialized);
        }
        Ok(kind)
    }
}
