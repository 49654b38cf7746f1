//! The LibAFL feedbacks: an input is kept iff it saturates a new branch, and a fault is kept iff its place is new.

use std::{borrow::Cow, collections::BTreeSet};

use libafl::{
    Error, HasMetadata,
    corpus::Testcase,
    executors::ExitKind,
    feedbacks::{Feedback, StateInitializer},
    inputs::HasTargetBytes,
};
use libafl_bolts::{
    Named, impl_serdeany,
    tuples::{Handle, Handled, MatchName, MatchNameRef},
};
use penfuzz_executor::PenObserver;
use serde::{Deserialize, Serialize};

use super::{BranchGraph, Saturation, set::PendingInput};

/// Keeps an input that saturates a branch (CoverMe, Sect. 3). An input that only covers a branch becomes pending.
///
/// # Example
/// `if (a) { if (b) … }`: the site of `a` has the branches 0 (true) and 1; that of `b`, which follows 0, has 2 and 3.
/// An input that takes 1 is kept.
/// ```
/// use libafl::{
///     HasMetadata as _,
///     corpus::InMemoryCorpus,
///     events::NopEventManager,
///     executors::ExitKind,
///     feedbacks::{ConstFeedback, Feedback as _},
///     inputs::BytesInput,
///     state::StdState,
/// };
/// use libafl_bolts::{rands::StdRand, tuples::tuple_list};
/// use penfuzz_engine::saturation::{BranchGraph, PenObserver, Saturation, SaturationFeedback};
///
/// let mut observer = PenObserver::new();
/// let mut feedback = SaturationFeedback::new(&observer, BranchGraph::two_way(2, &[(0, 1)]));
/// let (corpus, solutions) = (InMemoryCorpus::<BytesInput>::new(), InMemoryCorpus::new());
/// let mut state =
///     StdState::new(StdRand::with_seed(1), corpus, solutions, &mut feedback, &mut ConstFeedback::new(false))?;
///
/// observer.note(&[1], 0.0, None); // PenExecutor does this after each run
/// let (input, observers) = (BytesInput::new(vec![0; 8]), tuple_list!(observer));
/// let mut manager = NopEventManager::new();
/// assert!(feedback.is_interesting(&mut state, &mut manager, &input, &observers, &ExitKind::Ok)?);
/// assert!(state.metadata::<Saturation>()?.is_saturated(1));
/// assert!(!feedback.is_interesting(&mut state, &mut manager, &input, &observers, &ExitKind::Ok)?, "no longer new");
/// # Ok::<(), libafl::Error>(())
/// ```
#[derive(Debug)]
pub struct SaturationFeedback {
    observer: Handle<PenObserver>,
    graph: BranchGraph,
}

impl SaturationFeedback {
    /// Creates a feedback that reads `observer` and keeps the state of the branches of `graph` as [`Saturation`]
    /// metadata.
    #[must_use]
    pub fn new(observer: &PenObserver, graph: BranchGraph) -> Self {
        Self { observer: observer.handle(), graph }
    }
}

impl Named for SaturationFeedback {
    fn name(&self) -> &Cow<'static, str> {
        const { &Cow::Borrowed("saturation") }
    }
}

impl<S: HasMetadata> StateInitializer<S> for SaturationFeedback {
    fn init_state(&mut self, state: &mut S) -> Result<(), Error> {
        if !state.has_metadata::<Saturation>() {
            state.add_metadata(Saturation::new(self.graph.clone()));
        }
        Ok(())
    }
}

impl<EM, I, OT, S> Feedback<EM, I, OT, S> for SaturationFeedback
where
    S: HasMetadata,
    OT: MatchName,
    I: HasTargetBytes,
{
    fn is_interesting(
        &mut self,
        state: &mut S,
        _manager: &mut EM,
        input: &I,
        observers: &OT,
        exit_kind: &ExitKind,
    ) -> Result<bool, Error> {
        let observer = seen(observers, &self.observer)?;
        if !observer.unconfirmed().is_empty() {
            state.metadata_mut::<Saturation>()?.note_unconfirmed(observer.unconfirmed(), observer.uninitialized());
        }
        if *exit_kind != ExitKind::Ok {
            return Ok(false);
        }
        if observer.hits().is_empty() {
            return Ok(false);
        }
        let saturation = state.metadata_mut::<Saturation>()?;
        let new: Vec<u32> = observer
            .hits()
            .iter()
            .copied()
            .filter(|b| !saturation.is_covered(*b as usize) || saturation.is_covered_by_crash(*b as usize))
            .collect();
        if new.is_empty() {
            return Ok(false);
        }
        if saturation.cover(&new, false) > 0 {
            return Ok(true);
        }
        saturation.pending.push(PendingInput { bytes: input.target_bytes().to_vec(), covers: new });
        Ok(false)
    }
}

/// Distinct places of faults, by [`penfuzz_executor::Fault::key`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KnownPlaces(pub BTreeSet<u64>);

impl_serdeany!(KnownPlaces);

/// Places at which inputs exhaust their fuel that return if they get more, by [`penfuzz_executor::Fault::key`]. At such
/// a place, an input that takes a new branch is a solution as well, because it may return and cover the branch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LongPlaces(pub BTreeSet<u64>);

impl_serdeany!(LongPlaces);

/// The objective: keeps a crash or hang at a new place. The branches that it took count as covered.
#[derive(Debug)]
pub struct NewPlaceFeedback {
    observer: Handle<PenObserver>,
}

impl NewPlaceFeedback {
    /// Creates a feedback that reads `observer`.
    #[must_use]
    pub fn new(observer: &PenObserver) -> Self {
        Self { observer: observer.handle() }
    }
}

impl Named for NewPlaceFeedback {
    fn name(&self) -> &Cow<'static, str> {
        const { &Cow::Borrowed("new-place") }
    }
}

impl<S: HasMetadata> StateInitializer<S> for NewPlaceFeedback {
    fn init_state(&mut self, state: &mut S) -> Result<(), Error> {
        if !state.has_metadata::<KnownPlaces>() {
            state.add_metadata(KnownPlaces::default());
        }
        Ok(())
    }
}

impl<EM, I, OT, S> Feedback<EM, I, OT, S> for NewPlaceFeedback
where
    S: HasMetadata,
    OT: MatchName,
{
    fn is_interesting(
        &mut self,
        state: &mut S,
        _manager: &mut EM,
        _input: &I,
        observers: &OT,
        exit_kind: &ExitKind,
    ) -> Result<bool, Error> {
        if !matches!(exit_kind, ExitKind::Crash | ExitKind::Timeout) {
            return Ok(false);
        }
        let observer = seen(observers, &self.observer)?;
        let saturation = state.metadata_mut::<Saturation>()?;
        let is_first = observer.hits().iter().any(|b| !saturation.is_covered(*b as usize));
        saturation.cover(observer.hits(), true);
        let Some(fault) = observer.fault() else { return Ok(false) };
        let is_new = state.metadata_mut::<KnownPlaces>()?.0.insert(fault.key);
        let may_return = |places: &LongPlaces| fault.is_out_of_fuel && places.0.contains(&fault.key);
        Ok(is_new || (is_first && state.metadata::<LongPlaces>().is_ok_and(may_return)))
    }

    fn append_metadata(
        &mut self,
        _state: &mut S,
        _manager: &mut EM,
        observers: &OT,
        testcase: &mut Testcase<I>,
    ) -> Result<(), Error> {
        if let Some(fault) = seen(observers, &self.observer)?.fault() {
            testcase.add_metadata(fault.clone());
        }
        Ok(())
    }
}

pub(super) fn seen<'a, OT: MatchName>(
    observers: &'a OT,
    handle: &Handle<PenObserver>,
) -> Result<&'a PenObserver, Error> {
    observers.get(handle).ok_or_else(|| Error::key_not_found("the pen observer is not among the executor's observers"))
}
