//! Calls the function under test in process, one evaluation after another. A fault, a hang or an exit ends the
//! evaluation only.

pub mod blocks;
mod cells;
pub mod evaluator;
pub mod fault;
mod files;
pub mod fresh;
pub mod guard;
mod input;
pub mod limits;
pub mod observer;
pub mod pen;
mod pen_evaluator;
pub mod probe;
pub mod sandbox;
pub mod signals;
mod stack;
mod stubs;
pub mod trap;
pub mod uninitialized;

pub use evaluator::{Changes, Evaluator};
pub use fault::{Fault, FaultKind};
pub use observer::PenObserver;
pub use pen::{HasEvaluator, PenExecutor};
pub use pen_evaluator::PenEvaluator;
pub use stubs::Received;
