//! What one run of the target showed: the branches it newly took, the value of `r`, and how it ended.

use std::borrow::Cow;

use libafl::{Error, observers::Observer};
use libafl_bolts::Named;
use serde::{Deserialize, Serialize};

use super::Fault;

/// The name under which feedbacks find the observer.
pub const NAME: &str = "pen";

/// Filled by [`super::PenExecutor`] after each run; reset before.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PenObserver {
    hits: Vec<u32>,
    unconfirmed: Vec<u32>,
    r: f64,
    fault: Option<Fault>,
}

impl PenObserver {
    /// An observer that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Branches that the run took: those that were not covered before, and perhaps others, when it was replayed in a fresh process.
    #[must_use]
    pub fn hits(&self) -> &[u32] {
        &self.hits
    }

    /// Branches that were not covered before and that the run took in the process of the search, and not in a fresh one.
    #[must_use]
    pub fn unconfirmed(&self) -> &[u32] {
        &self.unconfirmed
    }

    /// The representing function's value after the run: at least 0, 0 for a wanted input.
    #[must_use]
    pub fn r(&self) -> f64 {
        self.r
    }

    /// How the run ended when it did not return.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Notes branches that the run did not take in a fresh process.
    pub fn note_unconfirmed(&mut self, branches: &[u32]) {
        self.unconfirmed.extend_from_slice(branches);
    }

    /// Notes a run. `hits` are branch numbers.
    pub fn note(&mut self, hits: &[u32], r: f64, fault: Option<Fault>) {
        self.hits.clear();
        self.hits.extend_from_slice(hits);
        self.r = r;
        self.fault = fault;
    }
}

impl Named for PenObserver {
    fn name(&self) -> &Cow<'static, str> {
        const { &Cow::Borrowed(NAME) }
    }
}

impl<I, S> Observer<I, S> for PenObserver {
    fn pre_exec(&mut self, _state: &mut S, _input: &I) -> Result<(), Error> {
        self.hits.clear();
        self.unconfirmed.clear();
        self.r = f64::INFINITY;
        self.fault = None;
        Ok(())
    }
}
