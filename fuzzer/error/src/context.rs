//! Shorthands for errors that name the attempted operation.

use crate::{Error, Source};

/// The result type of the functions that use this module.
pub type Result<T> = std::result::Result<T, Error>;

/// Fails with a formatted message.
#[macro_export]
macro_rules! bail {
    ($($argument:tt)*) => { return Err($crate::Error::new(format!($($argument)*))) };
}
pub use bail;

/// Adds the attempted operation to an error.
pub trait Context<T> {
    /// Converts the error to `WHAT: ERROR`.
    ///
    /// # Errors
    /// The converted error, if there was one.
    fn context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Source>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::because(what(), error))
    }
}
