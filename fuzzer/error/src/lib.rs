//! The error type of all crates. An error holds one sentence for the user (what was tried, on which file, what to do
//! next), and the error that caused it as [`source`](std::error::Error::source).
//!
//! The sentence already contains the text of the source, so print the error itself, not its chain of sources. The chain
//! is for code that must distinguish causes, such as a full disk and a missing file.

pub mod context;

use std::{error::Error as StdError, fmt, io, path::Path};

/// The cause of an [`Error`]. It can have any type: `io::Error`, `libafl::Error`, `serde_json::Error`, another
/// [`Error`].
pub type Source = Box<dyn StdError + Send + Sync>;

/// An error that ends the program with a message.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The complete sentence, without the error numbers of the operating system.
    message: String,
    /// Output of another program (a compiler). It is printed before the message, on lines of its own.
    detail: Option<String>,
    source: Option<Source>,
}

impl Error {
    /// Returns an error without a cause, described by one sentence.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: without_numbers(&message.into()), detail: None, source: None }
    }

    /// Returns an error with the message `WHAT: SOURCE` and the cause `source`.
    #[must_use]
    pub fn because(what: impl fmt::Display, source: impl Into<Source>) -> Self {
        let source = source.into();
        Self::new(format!("{what}: {source}")).with_source(source)
    }

    /// Converts an error of another type, whose text already says what was tried and on which file.
    #[must_use]
    pub fn from_source(source: impl Into<Source>) -> Self {
        let source = source.into();
        Self::new(source.to_string()).with_source(source)
    }

    /// Adds the output of the program that failed.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds the cause. The message must already contain what the user needs to know about it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the output of the program that failed.
    #[must_use]
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }
}

/// Returns an error with the message `PATH MESSAGE`.
#[must_use]
pub fn at(path: &Path, message: impl fmt::Display) -> Error {
    Error::new(format!("{} {message}", path.display()))
}

/// Returns the error of a failed file operation, with the message `PATH WHAT: REASON`, as in `x.c cannot be read:
/// permission denied`.
#[must_use]
pub fn failed(path: &Path, what: &str, source: io::Error) -> Error {
    at(path, format!("{what}: {}", plain(&source))).with_source(source)
}

/// Returns the text of an I/O error as a part of a sentence. The error number of the operating system is removed; if
/// there was one, the text is converted to lower case.
#[must_use]
pub fn plain(e: &io::Error) -> String {
    let text = e.to_string();
    match text.find(NUMBER) {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// The text that the standard library puts before an error number of the operating system.
const NUMBER: &str = " (os error ";

/// Removes the error numbers of the operating system from the text; the words before each number mean the same.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(NUMBER);
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        rest += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    rest
}

impl From<libafl::Error> for Error {
    fn from(e: libafl::Error) -> Self {
        Self::because("LibAFL", e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing() -> io::Error {
        io::Error::from_raw_os_error(libc::ENOENT)
    }

    #[test]
    fn error_numbers_are_left_out() {
        assert_eq!(without_numbers("x: No such file (os error 2); try y"), "x: No such file; try y");
        assert_eq!(without_numbers("nothing to do"), "nothing to do");
    }

    #[test]
    fn a_message_contains_its_cause_and_the_source_is_kept() {
        let e = failed(Path::new("x.c"), "cannot be read", missing());
        assert_eq!(e.to_string(), "x.c cannot be read: no such file or directory");
        let source = e.source().and_then(|s| s.downcast_ref::<io::Error>()).expect("an I/O error");
        assert_eq!(source.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn causes_form_a_chain() {
        let e = Error::because("the reports cannot be written", Error::from_source(missing()));
        assert_eq!(e.to_string(), "the reports cannot be written: No such file or directory");
        let inner = e.source().and_then(|s| s.downcast_ref::<Error>()).expect("an error of ours");
        assert!(inner.source().is_some_and(<dyn StdError>::is::<io::Error>));
    }

    #[test]
    fn an_error_of_libafl_is_the_source() {
        let e = Error::from(libafl::Error::illegal_argument("no corpus"));
        assert!(e.to_string().starts_with("LibAFL: ") && e.to_string().contains("no corpus"), "{e}");
        assert!(e.source().is_some_and(<dyn StdError>::is::<libafl::Error>));
    }
}
