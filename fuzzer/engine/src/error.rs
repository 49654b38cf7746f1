//! One error type: a sentence for the user that says what was tried, on what, and what to do.

use std::{fmt, path::Path};

/// Something that ends the program with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    /// Output of another program (a compiler) that is shown as it is before the message.
    detail: Option<String>,
}

impl Error {
    /// An error that is told by one sentence.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), detail: None }
    }

    /// The same, with the output of the program that failed.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The output of the program that failed.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }
}

/// An error about a file.
#[must_use]
pub fn at(path: &Path, message: impl fmt::Display) -> Error {
    Error::new(format!("{} {message}", path.display()))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<libafl::Error> for Error {
    fn from(e: libafl::Error) -> Self {
        Self::new(format!("LibAFL: {e}"))
    }
}
