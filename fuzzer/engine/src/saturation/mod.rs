//! Which branches are covered and which are saturated, and the LibAFL parts that keep an input only if it saturates
//! one.

pub mod decisions;
pub mod feedback;
pub mod graph;
pub mod r_feedback;
pub mod scope;
pub mod set;

pub use decisions::VectorGoals;
pub use feedback::{NewPlaceFeedback, SaturationFeedback};
pub use graph::BranchGraph;
pub use penfuzz_executor::PenObserver;
pub use r_feedback::{PenRFeedback, RMetadata};
pub use scope::{ExtraGoals, Goals, Scope, ScopeKind};
pub use set::{BranchCounts, PendingInput, Saturation};
