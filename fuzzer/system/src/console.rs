//! Standard output and standard error: the only module that writes to them.
//!
//! `println!` would cause two problems:
//! - It panics when the reader of a pipe has exited (`penfuzz x.c | head -1`) and when the device is full. Here the
//!   first is not an error: the rest is dropped, and the command ends with its usual exit status. The second is an
//!   error that [`finish`] returns at the end. SIGPIPE stays ignored, because a supervisor and a broker write to
//!   sockets.
//! - It prints names unchanged. Source lines, names of functions and files, `report.json`, `status.json` and names of
//!   crashes come from others, and a terminal interprets control sequences: `ESC ]52;…` sets the clipboard, `ESC ]0;…`
//!   the title, U+009B is a CSI in one character, U+202E reverses the following text. So [`shown`] replaces each
//!   character that [`needs_escape`] by its escape in the notation of Rust (`\u{1b}`, `\n`). It is applied to
//!   everything that is printed: [`outln!`](crate::outln) and [`errln!`](crate::errln) print exactly one line. [`out`]
//!   and [`err`] keep line breaks and tabs, so their callers apply [`shown`] to each name before.
//!
//! This module has functions for our own escapes (clearing a line or the screen). Only the status line and the
//! dashboard write by themselves; the dashboard shows a snapshot to which [`escape_strings`] was applied.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicI32, Ordering},
};

use penfuzz_error::{Error, plain};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The error number of the first error on standard output; 0 if there was none.
static FAILURE: AtomicI32 = AtomicI32::new(0);

/// Prints one formatted line on standard output; line breaks in it are shown as `\n`. Without arguments, prints an
/// empty line.
#[macro_export]
macro_rules! outln {
    () => { $crate::console::out("\n") };
    ($($argument:tt)*) => { $crate::console::out_line(&format!($($argument)*)) };
}

/// Prints one formatted line on standard error; line breaks in it are shown as `\n`.
#[macro_export]
macro_rules! errln {
    ($($argument:tt)*) => { $crate::console::err_line(&format!($($argument)*)) };
}

/// Whether a terminal interprets this character instead of showing it: control characters (C0, DEL, C1), and the
/// Unicode characters that change the direction of text, end a line, or have no width. The joiners U+200C and U+200D
/// are letters of some scripts and are not included.
#[must_use]
pub fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text on one line, with its hidden characters escaped: `\u{1b}`, `\n`, `\r`, `\t`, `\u{202e}`. A backslash is not
/// escaped.
#[must_use]
pub fn shown(text: &str) -> Cow<'_, str> {
    replaced(text, needs_escape, |c, out| out.extend(c.escape_default()))
}

/// Applies [`shown`] to each string in a value of any type; other values are unchanged. A text formatted from the
/// result has only the line breaks that the formatting adds.
#[must_use]
pub fn escape_strings<T: Clone + Serialize + DeserializeOwned>(value: &T) -> T {
    let changed = serde_json::to_value(value).and_then(|mut value| {
        show_all(&mut value);
        serde_json::from_value(value)
    });
    // If JSON cannot express the value, [`out`] still escapes all hidden characters but line breaks and tabs.
    changed.unwrap_or_else(|_| value.clone())
}

fn show_all(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(changed) = shown(text) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(show_all),
        Value::Object(fields) => fields.values_mut().for_each(show_all),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text with its line breaks and tabs unchanged, and all other hidden characters escaped.
fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| needs_escape(c) && !matches!(c, '\n' | '\t'), |c, out| out.extend(c.escape_default()))
}

/// Equivalent JSON in which hidden characters are JSON escapes (`\u` and four digits). Outside of strings, JSON
/// contains no hidden characters but line breaks.
fn json(text: &str) -> Cow<'_, str> {
    let escape = |c: char, out: &mut String| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    };
    replaced(text, |c| needs_escape(c) && c != '\n', escape)
}

fn replaced(text: &str, which: impl Fn(char) -> bool, replace: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(&which) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if which(c) {
            replace(c, &mut out);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Prints text of several lines on standard output.
pub fn out(text: &str) {
    write_out(&lines(text));
}

/// Prints one line on standard output.
pub fn out_line(text: &str) {
    write_out(&(shown(text).into_owned() + "\n"));
}

/// Prints JSON on standard output, with a line break at its end.
pub fn out_json(text: &str) {
    write_out(&(json(text.trim_end()).into_owned() + "\n"));
}

/// Prints text of several lines on standard error.
pub fn err(text: &str) {
    write_err(&lines(text));
}

/// Prints one line on standard error.
pub fn err_line(text: &str) {
    write_err(&(shown(text).into_owned() + "\n"));
}

/// Prints JSON on standard error, with a line break at its end.
pub fn err_json(text: &str) {
    write_err(&(json(text.trim_end()).into_owned() + "\n"));
}

/// Prints one line on standard error. On a terminal, it overwrites the status line, if there is one.
pub fn err_over_status_line(text: &str) {
    let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    write_err(&format!("{clear}{}\n", shown(text)));
}

/// Clears standard output, if it is a terminal.
pub fn clear() {
    if io::stdout().is_terminal() {
        write_out("\x1b[2J\x1b[H");
    }
}

fn write_out(text: &str) {
    if FAILURE.load(Ordering::Relaxed) == 0 {
        let mut stream = io::stdout().lock();
        // Flushed, because the target may print to the same stream, and buffered text could be lost without an error.
        note(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()));
    }
}

/// If writing to standard error fails, the error cannot be reported.
fn write_err(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Records the error of a write to standard output for [`finish`].
pub fn note(written: io::Result<()>) {
    if let Err(e) = written {
        let closed = e.kind() == io::ErrorKind::BrokenPipe;
        let number = if closed { libc::EPIPE } else { e.raw_os_error().unwrap_or(libc::EIO) };
        let _ = FAILURE.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Whether standard output has failed, so that a command that only prints may end.
#[must_use]
pub fn has_failed() -> bool {
    FAILURE.load(Ordering::Relaxed) != 0
}

/// Ends the output.
///
/// # Errors
/// When something could not be written to standard output, except because its reader has exited.
pub fn finish() -> Result<(), Error> {
    match FAILURE.load(Ordering::Relaxed) {
        0 | libc::EPIPE => Ok(()),
        number => {
            let e = io::Error::from_raw_os_error(number);
            Err(Error::new(format!("standard output cannot be written: {}", plain(&e))).with_source(e))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_hidden_characters_stays() {
        for text in ["", "f(double x) in a/b.c:3", "naïve Größe", "λ→…", "日本", r"a\b", "e\u{301}", "क्\u{200d}ष"]
        {
            assert!(matches!(shown(text), Cow::Borrowed(t) if t == text), "{text}");
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(shown("a\u{1b}]52;c;eA==\u{7}b"), r"a\u{1b}]52;c;eA==\u{7}b");
        assert_eq!(shown("\u{9b}31m\u{7f}"), r"\u{9b}31m\u{7f}");
        assert_eq!(shown("x\r\n\ty"), r"x\r\n\ty");
        assert_eq!(shown("\u{202e}\u{2066}\u{2028}"), r"\u{202e}\u{2066}\u{2028}");
    }

    #[test]
    fn every_control_character_is_hidden() {
        for c in (0..=0x9f).filter_map(char::from_u32).filter(|c| c.is_control()) {
            assert!(needs_escape(c) && !shown(&c.to_string()).contains(c), "{c:?}");
        }
    }

    #[test]
    fn text_of_several_lines_keeps_its_lines() {
        assert_eq!(lines("a\n\tb\r\u{1b}c\n"), "a\n\tb\\r\\u{1b}c\n");
    }

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({ "a\u{9b}": "\u{1b}\u{202e}\u{e0041}\n", "b": [1.5, "\u{7f}"] });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let printed = json(&text);
        assert!(!printed.contains(|c| needs_escape(c) && c != '\n'), "{printed}");
        assert_eq!(serde_json::from_str::<Value>(&printed).unwrap(), value);
    }

    #[test]
    fn all_strings_of_a_value_are_shown() {
        let value = (vec!["a\nb".to_owned()], Some("\u{1b}".to_owned()), 0.1);
        assert_eq!(escape_strings(&value), (vec![r"a\nb".to_owned()], Some(r"\u{1b}".to_owned()), 0.1));
    }
}
