//! The LibAFL stages: minimization, havoc, and the baselines they are compared with.

pub mod basinhopping;
pub mod budget;
pub mod budgeted;
pub mod clock;
mod explored;
pub mod finds;
pub mod havoc;
pub mod observed;
pub mod paper;
mod queue;
pub mod sampling;
mod search_kind;
mod share;
mod start;

pub use basinhopping::BasinhoppingStage;
pub use clock::Clock;
pub use havoc::NumericHavocStage;
pub use paper::{PaperStage, Parameters};
pub use sampling::{Sampling, SamplingStage};
pub use search_kind::SearchKind;
