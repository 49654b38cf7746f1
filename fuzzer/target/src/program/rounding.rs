//! Rounding modes of the floating-point environment as an input.

use serde::{Deserialize, Serialize};

/// The rounding modes of the floating-point environment in which a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rounding {
    /// To nearest, the default of every program.
    #[default]
    Nearest,
    /// To nearest, upward, downward or toward zero: one more argument that the search chooses.
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

    /// Is the mode always to nearest?
    #[must_use]
    pub fn is_nearest(&self) -> bool {
        *self == Self::Nearest
    }

    /// The flag that gcc and clang need for sources whose rounding mode is an input; `None` if it is not. Without the
    /// flag they fold constants, and move operations, as if the mode were to nearest.
    #[must_use]
    pub fn flag(self) -> Option<String> {
        (self == Self::All).then(|| "-frounding-math".to_owned())
    }
}
