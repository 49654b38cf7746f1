//! Shorthands for errors that name what was tried.

use crate::{Error, Source};

/// The result of everything that uses this module.
pub type Result<T> = std::result::Result<T, Error>;

/// Fails with a formatted message.
#[macro_export]
macro_rules! bail {
    ($($argument:tt)*) => { return Err($crate::Error::new(format!($($argument)*))) };
}
pub use bail;

/// Adds to an error what was tried.
pub trait Context<T> {
    /// The error becomes `WHAT: ERROR`.
    ///
    /// # Errors
    /// That one, when there was one.
    fn context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Source>> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::because(what(), error))
    }
}
