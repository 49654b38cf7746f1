//! Rounding modes of the floating-point environment as an input.

use serde::{Deserialize, Serialize};

/// Which rounding modes of the floating-point environment a function is called in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rounding {
    /// To nearest, the default of every program.
    #[default]
    Nearest,
    /// Nearest, upward, downward or toward zero: one more argument that the search chooses.
    All,
}

impl Rounding {
    /// The name on the command line and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nearest => "nearest",
            Self::All => "all",
        }
    }

    /// Is the mode left alone?
    #[must_use]
    pub fn is_nearest(&self) -> bool {
        *self == Self::Nearest
    }

    /// What gcc and clang need for sources of which the mode is an input, or nothing: otherwise they compute constants,
    /// and move operations, as if they were rounded to nearest.
    #[must_use]
    pub fn flag(self) -> Option<String> {
        (self == Self::All).then(|| "-frounding-math".to_owned())
    }
}
