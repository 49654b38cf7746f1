//! The coverage criteria that tests can fulfil (`--criterion`).

use penfuzz_engine::saturation::{ExtraGoals, Goals};
use serde::{Deserialize, Serialize};

/// A coverage criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Criterion {
    /// Every line with code is executed.
    Line,
    /// Every outcome of every conditional is taken.
    Branch,
    /// Every condition is true once and false once.
    Condition,
    /// Every condition of a decision is shown to affect its outcome on its own.
    Mcdc,
    /// The operands of every comparison are equal, and next to each other.
    Boundary,
    /// Every operation raises the floating-point exceptions that it can raise.
    Exceptions,
    /// Every loop makes no round, one, and more.
    Loop,
    /// Every path with at most this number of iterations of each loop.
    Path(u32),
}

impl Criterion {
    /// Its name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Branch => "branch",
            Self::Condition => "condition",
            Self::Mcdc => "mcdc",
            Self::Boundary => "boundary",
            Self::Exceptions => "exceptions",
            Self::Loop => "loop",
            Self::Path(_) => "path",
        }
    }

    /// As the command line takes it.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Path(rounds) => format!("path:{rounds}"),
            other => other.name().to_owned(),
        }
    }

    /// Is it about the order of branches, which is looked at when the campaign has ended?
    #[must_use]
    pub const fn concerns_branch_order(self) -> bool {
        matches!(self, Self::Loop | Self::Path(_))
    }

    /// What a campaign for these criteria searches for.
    #[must_use]
    pub fn goals(criteria: &[Self]) -> Goals {
        let beside = ExtraGoals {
            decisions: criteria.contains(&Self::Mcdc),
            boundaries: criteria.contains(&Self::Boundary),
            exceptions: criteria.contains(&Self::Exceptions),
        };
        match beside {
            ExtraGoals { decisions: false, boundaries: false, exceptions: false } => Goals::Branches,
            ExtraGoals { boundaries: false, exceptions: false, .. } => Goals::Decisions,
            _ => Goals::Criteria(beside),
        }
    }
}
