//! Formats numbers, names and markup as text. Every report, table and message uses these functions, so that a figure
//! looks the same everywhere.

use std::fmt;

use askama::filters::Escaper;

use penfuzz_system::console::needs_escape;

/// A share in percent, from 0 to 100; 100 if `total` is 0.
#[must_use]
pub fn share(part: usize, total: usize) -> f64 {
    if total == 0 { 100.0 } else { 100.0 * part as f64 / total as f64 }
}

/// [`share`] with its unit: `87.5 %`.
#[must_use]
pub fn percent(part: usize, total: usize) -> String {
    format!("{:.1} %", share(part, total))
}

/// A count with three significant digits from 10,000 on: `950`, `12.3k`, `4.56M`.
#[must_use]
pub fn count(n: u64) -> String {
    let (unit, size) = match n {
        0..10_000 => return n.to_string(),
        10_000..1_000_000 => ("k", 1e3),
        1_000_000..1_000_000_000 => ("M", 1e6),
        _ => ("G", 1e9),
    };
    let value = n as f64 / size;
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$}{unit}")
}

/// [`count`] of a rounded median or mean; a dash for `None`.
#[must_use]
pub fn known_count(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| count(v.round() as u64))
}

/// A time in seconds: `0.25 s`, `12.3 s`, `4 min 05 s`, `2 h 03 min`.
#[must_use]
pub fn seconds(s: f64) -> String {
    let whole = s.round() as u64;
    match whole {
        0..10 => format!("{s:.2} s"),
        10..100 => format!("{s:.1} s"),
        100..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A number with `digits` decimal places; a dash for `None`.
#[must_use]
pub fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}"))
}

/// A p-value: two significant digits below 0.001, three decimal places otherwise; a dash for `None`.
#[must_use]
pub fn p_value(p: Option<f64>) -> String {
    match p {
        None => "-".to_owned(),
        Some(p) if p < 0.001 => format!("{p:.1e}"),
        Some(p) => format!("{p:.3}"),
    }
}

/// A count with its noun, whose plural ends in `s`: `1 function`, `2 functions`.
#[must_use]
pub fn plural(n: usize, word: &str) -> String {
    let ending = if word.ends_with("ch") { "es" } else { "s" };
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}{ending}") }
}

/// Escapes text for XML, and for HTML that is also XML, in an element or between double quotes. XML allows no control
/// characters except line break and tabulator, and neither U+FFFE nor U+FFFF: these become blanks. Characters that
/// would change the direction of text are shown as on the terminal.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Writing to a string does not fail.
    let _ = Xml.write_escaped_str(&mut out, text);
    out
}

/// [`escape`] for templates. `askama.toml` uses it for all templates whose names end in `.html`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Xml;

impl Escaper for Xml {
    fn write_escaped_str<W: fmt::Write>(&self, mut dest: W, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => dest.write_str("&amp;")?,
                '<' => dest.write_str("&lt;")?,
                '>' => dest.write_str("&gt;")?,
                '"' => dest.write_str("&quot;")?,
                '\n' | '\t' => dest.write_char(c)?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => dest.write_char(' ')?,
                c if needs_escape(c) => write!(dest, "{}", c.escape_default())?,
                c => dest.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Encodes a path as part of a URI (RFC 3986): unreserved characters and `/` stay, others become `%` and two digits.
#[must_use]
pub fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out
}

fn digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0').to_ascii_uppercase()
}

/// Escapes text for a cell of a Markdown table: it neither ends the cell nor adds markup.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '`' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            c if needs_escape(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// One word of a POSIX shell, quoted if necessary.
#[must_use]
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+=./,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let counts: Vec<_> = [0, 9999, 10_000, 99_949, 123_456, 999_999, 4_560_000, 12_000_000_000].map(count).into();
        assert_eq!(counts, ["0", "9999", "10.0k", "99.9k", "123k", "1000k", "4.56M", "12.0G"]);
        let times: Vec<_> = [0.25, 9.996, 12.34, 245.0, 7380.0].map(seconds).into();
        assert_eq!(times, ["0.25 s", "10.0 s", "12.3 s", "4 min 05 s", "2 h 03 min"]);
        assert_eq!((percent(7, 8), percent(0, 0)), ("87.5 %".to_owned(), "100.0 %".to_owned()));
    }

    #[test]
    fn unknown_figures_are_dashes() {
        assert_eq!([number(None, 2), p_value(None), known_count(None)], ["-", "-", "-"]);
        assert_eq!(
            [number(Some(1.0), 2), p_value(Some(0.0002)), known_count(Some(12_345.0))],
            ["1.00", "2.0e-4", "12.3k"]
        );
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(escape("<a href=\"x\">&\u{1}\n"), "&lt;a href=&quot;x&quot;&gt;&amp; \n");
        assert_eq!(escape("a\u{202e}\u{9b}b"), "a\\u{202e} b");
        assert_eq!(markdown("a|b*c`d\\<e>\n"), "a\\|b\\*c\\`d\\\\&lt;e>\\n");
    }

    #[test]
    fn shell_words_are_quoted_when_they_must_be() {
        assert_eq!([shell_word("it's"), shell_word("/a/b-1.c"), shell_word("")], [r"'it'\''s'", "/a/b-1.c", "''"]);
    }
}
