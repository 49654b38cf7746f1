//! The observer of one run: the branches it newly took, the value of `r`, and how it ended.

use std::borrow::Cow;

use libafl::{Error, observers::Observer};
use libafl_bolts::Named;
use serde::{Deserialize, Serialize};

use super::Fault;

/// The name by which feedbacks find the observer.
pub const NAME: &str = "pen";

/// The result of a run. [`super::PenExecutor`] fills it after each run; it is reset before.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PenObserver {
    hits: Vec<u32>,
    unconfirmed: Vec<u32>,
    uninitialized: Vec<u32>,
    r: f64,
    fault: Option<Fault>,
}

impl PenObserver {
    /// Returns an empty observer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Branches that the run took and that were not covered before. If the run was replayed in a fresh process: all
    /// branches that the replay took, which may include covered ones.
    #[must_use]
    pub fn hits(&self) -> &[u32] {
        &self.hits
    }

    /// Branches not covered before that the run took in the process of the search, but not in a fresh process.
    #[must_use]
    pub fn unconfirmed(&self) -> &[u32] {
        &self.unconfirmed
    }

    /// Those of [`PenObserver::unconfirmed`] that the replay took with some contents of uninitialized memory, but not
    /// with all.
    #[must_use]
    pub fn uninitialized(&self) -> &[u32] {
        &self.uninitialized
    }

    /// The value of the representing function after the run: at least 0, and 0 for a wanted input.
    #[must_use]
    pub fn r(&self) -> f64 {
        self.r
    }

    /// The fault that ended the run, if it did not return.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Adds branches that the run did not take in a fresh process, and those among them that depend on uninitialized
    /// memory.
    pub fn note_unconfirmed(&mut self, branches: &[u32], uninitialized: &[u32]) {
        self.unconfirmed.extend_from_slice(branches);
        self.uninitialized.extend_from_slice(uninitialized);
    }

    /// Stores the result of a run. `hits` are branch numbers.
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
        self.uninitialized.clear();
        self.r = f64::INFINITY;
        self.fault = None;
        Ok(())
    }
}
