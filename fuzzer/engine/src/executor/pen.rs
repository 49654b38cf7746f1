//! The LibAFL executor around the evaluator.

use libafl::{
    Error,
    executors::{Executor, ExitKind, HasObservers},
    inputs::HasTargetBytes,
    state::HasExecutions,
};
use libafl_bolts::tuples::{Handle, MatchName, MatchNameRef, RefIndexable};

use super::{
    Evaluator, FaultKind, PenEvaluator, PenObserver,
    evaluator::{RunStatus, metric_of},
};

/// Access to the evaluator behind an executor, for stages that call it many times within one LibAFL iteration.
pub trait HasEvaluator {
    /// What evaluates the representing function.
    type Evaluator: PenEvaluator;

    /// The evaluator.
    fn evaluator(&self) -> &Self::Evaluator;
    /// The evaluator.
    fn evaluator_mut(&mut self) -> &mut Self::Evaluator;
}

/// Runs inputs of any type with target bytes, and fills the [`PenObserver`] among its observers.
#[derive(Debug)]
pub struct PenExecutor<OT> {
    evaluator: Evaluator,
    observers: OT,
    observer: Handle<PenObserver>,
    hits: Vec<u32>,
}

impl<OT> PenExecutor<OT> {
    /// `observer` is the handle of the [`PenObserver`] in `observers`.
    #[must_use]
    pub fn new(evaluator: Evaluator, observers: OT, observer: Handle<PenObserver>) -> Self {
        Self { evaluator, observers, observer, hits: Vec::new() }
    }
}

impl<OT> PenExecutor<OT> {
    /// One run, with edges counted where somebody observes them.
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
        let mut ran = self.run(&bytes);
        self.hits.clear();
        if self.evaluator.has_hits() {
            self.evaluator.take_hits(&mut self.hits);
            if ran == RunStatus::Returned {
                ran = self.evaluator.check_other_placements(&bytes, &self.hits);
            }
        }
        let fault = if ran == RunStatus::Faulted { self.evaluator.fault() } else { None };
        let kind = match fault.as_ref().map(|f| f.kind) {
            None => ExitKind::Ok,
            Some(FaultKind::Crash) => ExitKind::Crash,
            Some(FaultKind::Hang) => ExitKind::Timeout,
        };
        let r = metric_of(self.evaluator.metric()).to_real(self.evaluator.r());
        if let Some(observer) = self.observers.get_mut(&self.observer) {
            observer.note(&self.hits, r, fault);
        }
        Ok(kind)
    }
}
