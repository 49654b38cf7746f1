//! What a client of a farm does.

use serde::{Deserialize, Serialize};

/// See the module. Only the targeted search has roles; the others are the same for every client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Minimization, and havoc lightly beside it.
    Mixed,
    /// Minimization only.
    Minimization,
    /// Havoc only: what it finds is what minimization has no distance for.
    Havoc,
}

impl Role {
    /// The role of the client with this number: of four, two do both, one minimizes only, one does havoc only. A
    /// choice that no ablation speaks for yet.
    #[must_use]
    pub fn of(number: usize) -> Self {
        match number % 4 {
            1 => Self::Minimization,
            3 => Self::Havoc,
            _ => Self::Mixed,
        }
    }

    /// As shown.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Minimization => "minimization",
            Self::Havoc => "havoc",
        }
    }
}
