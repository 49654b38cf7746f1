//! The roles of the clients of a farm.

use serde::{Deserialize, Serialize};

/// Selects the stages of the targeted search that a client runs. All other searches are the same for every client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Minimization alternating with some havoc.
    Mixed,
    /// Minimization only.
    Minimization,
    /// Havoc only: it finds branches for which minimization has no distance.
    Havoc,
}

impl Role {
    /// The role of the client with this number. Of four clients, two do both, one only minimizes, and one does only
    /// havoc. No ablation supports this choice yet.
    #[must_use]
    pub fn of(number: usize) -> Self {
        match number % 4 {
            1 => Self::Minimization,
            3 => Self::Havoc,
            _ => Self::Mixed,
        }
    }

    /// The name in the status.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Minimization => "minimization",
            Self::Havoc => "havoc",
        }
    }
}
