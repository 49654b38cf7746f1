//! Calls the target: one evaluation after another, in process, and always comes back.

mod cells;
pub mod evaluator;
pub mod fault;
pub mod guard;
pub mod pen;
pub mod sandbox;
mod stack;
pub mod symbols;
pub mod trap;

pub use evaluator::Evaluator;
pub use fault::{Fault, FaultKind};
pub use pen::{HasEvaluator, PenExecutor};
