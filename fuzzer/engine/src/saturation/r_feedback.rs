//! The value of `r` as a channel of feedback, without a stage that sets goals.

use std::borrow::Cow;

use libafl::{
    Error, HasMetadata,
    corpus::Testcase,
    executors::ExitKind,
    feedbacks::{Feedback, StateInitializer},
};
use libafl_bolts::{
    Named, impl_serdeany,
    tuples::{Handle, Handled, MatchName},
};
use penfuzz_executor::PenObserver;
use serde::{Deserialize, Serialize};

use super::feedback::seen;

/// Keeps an input that takes a branch which no input before took, or that comes closer to one: its `r` is smaller than
/// that of every input since the last new branch. Needs [`penfuzz_executor::PenExecutor::with_default_goal`], which
/// makes `r` the distance to the nearest of these branches. The `r` of a kept input is its [`RMetadata`].
///
/// # Example
/// ```
/// use libafl::{
///     corpus::InMemoryCorpus,
///     events::NopEventManager,
///     executors::ExitKind,
///     feedbacks::{ConstFeedback, Feedback as _},
///     inputs::BytesInput,
///     state::StdState,
/// };
/// use libafl_bolts::{rands::StdRand, tuples::tuple_list};
/// use penfuzz_engine::saturation::{PenObserver, PenRFeedback};
///
/// let mut observer = PenObserver::new();
/// let mut feedback = PenRFeedback::new(&observer);
/// let (corpus, solutions) = (InMemoryCorpus::<BytesInput>::new(), InMemoryCorpus::<BytesInput>::new());
/// let mut state =
///     StdState::new(StdRand::with_seed(1), corpus, solutions, &mut feedback, &mut ConstFeedback::new(false))?;
///
/// let mut manager = NopEventManager::new();
/// let mut is_kept = |hits: &[u32], r: f64| {
///     observer.note(hits, r, None); // PenExecutor does this after each run
///     let (input, observers) = (BytesInput::new(vec![0; 8]), tuple_list!(observer.clone()));
///     feedback.is_interesting(&mut state, &mut manager, &input, &observers, &ExitKind::Ok)
/// };
/// assert!(is_kept(&[], 40.0)?, "the first");
/// assert!(is_kept(&[], 3.0)?, "closer");
/// assert!(!is_kept(&[], 3.0)?, "as close");
/// assert!(is_kept(&[2], 0.0)?, "a new branch");
/// assert!(is_kept(&[], 70.0)?, "the first for the branches that are left");
/// # Ok::<(), libafl::Error>(())
/// ```
#[derive(Debug)]
pub struct PenRFeedback {
    observer: Handle<PenObserver>,
    /// The least `r` since the last new branch.
    least: f64,
    /// `r` of the last run.
    last: f64,
}

impl PenRFeedback {
    /// Creates a feedback that reads `observer`.
    #[must_use]
    pub fn new(observer: &PenObserver) -> Self {
        Self { observer: observer.handle(), least: f64::INFINITY, last: f64::INFINITY }
    }
}

/// The value of `r` of a kept input: at least 0, and 0 if it took a new branch.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct RMetadata {
    /// The value.
    pub r: f64,
}

impl_serdeany!(RMetadata);

impl Named for PenRFeedback {
    fn name(&self) -> &Cow<'static, str> {
        const { &Cow::Borrowed("pen-r") }
    }
}

impl<S> StateInitializer<S> for PenRFeedback {}

impl<EM, I, OT, S> Feedback<EM, I, OT, S> for PenRFeedback
where
    OT: MatchName,
{
    fn is_interesting(
        &mut self,
        _state: &mut S,
        _manager: &mut EM,
        _input: &I,
        observers: &OT,
        exit_kind: &ExitKind,
    ) -> Result<bool, Error> {
        let observer = seen(observers, &self.observer)?;
        self.last = observer.r();
        if *exit_kind != ExitKind::Ok {
            return Ok(false);
        }
        if !observer.hits().is_empty() {
            (self.least, self.last) = (f64::INFINITY, 0.0);
            return Ok(true);
        }
        let is_closer = self.last < self.least;
        if is_closer {
            self.least = self.last;
        }
        Ok(is_closer)
    }

    fn append_metadata(
        &mut self,
        _state: &mut S,
        _manager: &mut EM,
        _observers: &OT,
        testcase: &mut Testcase<I>,
    ) -> Result<(), Error> {
        testcase.add_metadata(RMetadata { r: self.last });
        Ok(())
    }
}
