//! Shorthands for errors that say what was tried.

use std::fmt::Display;

use crate::error::Error;

/// The result of everything in this module.
pub type Result<T> = std::result::Result<T, Error>;

/// Fails with a formatted message.
macro_rules! bail {
    ($($argument:tt)*) => { return Err($crate::error::Error::new(format!($($argument)*))) };
}
pub(crate) use bail;

/// Adds to an error what was tried.
pub(crate) trait Context<T> {
    /// The error becomes `WHAT: ERROR`.
    fn context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Display> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::new(format!("{}: {error}", what())))
    }
}
