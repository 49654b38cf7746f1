//! What an evaluation does in a process in which nothing was evaluated before.
//!
//! Variables of the target are restored before each evaluation, but not its heap, its files, nor the state of the C library and of
//! other libraries. An emitted test meets them as a new process has them. So does a replay, and only what it takes counts.

use core::fmt::Debug;

use super::Fault;

/// How an evaluation ended in a fresh process.
#[derive(Debug, Clone, Default)]
pub struct Fresh {
    /// The goals that it took, whether or not they were covered before, ascending; none when it ended its process.
    pub hits: Vec<u32>,
    /// Why it did not end normally.
    pub fault: Option<Fault>,
}

/// Evaluates inputs, each in a fresh process.
pub trait FreshRun: Debug {
    /// Evaluates one input.
    fn run_fresh(&mut self, bytes: &[u8]) -> Fresh;

    /// Did a replay not take a branch that its evaluation took?
    fn has_differed(&self) -> bool;

    /// Notes that a replay did not.
    fn note_difference(&mut self);
}
