//! The stages of a client of a farm.

use serde::{Deserialize, Serialize};

/// Which stages of the targeted search a client runs. The other searches are the same for every client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Minimization, with a little havoc between.
    Mixed,
    /// Minimization only.
    Minimization,
    /// Havoc only: it finds branches for which minimization has no distance.
    Havoc,
}

impl Role {
    /// The role of the client with this number: of four, two do both, one minimizes only, one does havoc only. No ablation
    /// supports this choice yet.
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
