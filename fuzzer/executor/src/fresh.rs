//! Evaluation of an input in a fresh process, in which nothing was evaluated before.
//!
//! Variables of the target are restored before each evaluation, but its heap, its files, and the state of the C library
//! and of other libraries are not. An emitted test runs in a new process. So does a replay, and only the branches that
//! the replay takes count.

use core::fmt::Debug;

use super::Fault;

/// The result of an evaluation in a fresh process.
#[derive(Debug, Clone)]
pub enum FreshResult {
    /// The evaluation ended.
    Ended {
        /// The armed branches that it took, whether or not they were covered before, ascending.
        /// Only those that it takes whatever uninitialized memory contains.
        hits: Vec<u32>,
        /// The branches that it takes with some contents of uninitialized memory, but not with all, ascending.
        uninitialized: Vec<u32>,
        /// The fault, if it did not end normally.
        fault: Option<Fault>,
    },
    /// The process died of something that cannot be intercepted, or was too slow.
    Died,
    /// The system could not create a process, so nothing is known.
    NoProcess,
}

/// Evaluates inputs, each in a fresh process.
pub trait FreshProcessRunner: Debug {
    /// Evaluates one input.
    fn run_fresh(&mut self, bytes: &[u8]) -> FreshResult;

    /// Has a replay missed a branch that the original evaluation took?
    fn has_differed(&self) -> bool;

    /// Records that a replay missed such a branch.
    fn note_difference(&mut self);
}
