//! The grammar of a path as text: what can be read without a target. [`super::spec`] has its table and resolves places.

use penfuzz_error::Error;

/// Steps of a path, at most: it has to fit in memory.
pub const MOST: usize = 1 << 22;

/// A step as it is written.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// `*`
    Any,
    /// `$`
    End,
    /// The text of a branch, see [`branch`].
    Branch(&'a str),
}

/// The steps of a path, each as its text; empty ones are left out.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', '\n']).map(str::trim).filter(|i| !i.is_empty())
}

/// Reads a step, and how often it is taken: 1 without `^`, [`MOST`] + 1 for anything above [`MOST`].
///
/// # Errors
/// When no number from 1 on follows the last `^`.
pub fn item(text: &str) -> Result<(Item<'_>, usize), Error> {
    let (step, times) = repeated(text)?;
    let item = match step {
        "*" => Item::Any,
        "$" => Item::End,
        step => Item::Branch(step),
    };
    Ok((item, times.min(MOST + 1)))
}

fn repeated(item: &str) -> Result<(&str, usize), Error> {
    let Some((step, times)) = item.rsplit_once('^') else { return Ok((item, 1)) };
    match times.trim().parse() {
        Ok(times) if times > 0 => Ok((step.trim(), times)),
        _ => Err(Error::new(format!("`{item}`: behind ^ stands how many times the step is taken, 1 or more"))),
    }
}

/// Reads a branch: its place, and the text of its outcome.
///
/// # Errors
/// When it is neither `FILE:LINE:OUTCOME` nor `FILE:LINE:COLUMN:OUTCOME`.
pub fn branch(text: &str) -> Result<(Location<'_>, &str), Error> {
    let wrong = || {
        Error::new(format!(
            "`{text}` is no step of a path; write FILE:LINE:OUTCOME or FILE:LINE:COLUMN:OUTCOME (OUTCOME T, F, case N or default), * or $"
        ))
    };
    let (place, outcome) = text.rsplit_once(':').ok_or_else(wrong)?;
    Ok((Location::read(place.trim()).ok_or_else(wrong)?, outcome.trim()))
}

/// A place as it is written.
#[derive(Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// The end of a path; `None` when it is left out.
    pub file: Option<&'a str>,
    /// The line.
    pub line: u32,
    /// The column, if it is given.
    pub column: Option<u32>,
    /// Which of the conditionals in one place, from 1 on.
    pub ordinal: Option<usize>,
}

impl<'a> Location<'a> {
    /// `FILE:LINE`, `FILE:LINE:COLUMN`, `FILE:LINE:COLUMN#K`, or the same without a file.
    #[must_use]
    pub fn read(text: &'a str) -> Option<Self> {
        let (text, ordinal) = match text.rsplit_once('#') {
            Some((text, k)) => (text, Some(k.parse().ok().filter(|k| *k > 0)?)),
            None => (text, None),
        };
        let (before, last) = text.rsplit_once(':').map_or((None, text), |(before, last)| (Some(before), last));
        let last: u32 = last.parse().ok()?;
        let Some(before) = before else { return Some(Self { file: None, line: last, column: None, ordinal }) };
        let (file, line) = before.rsplit_once(':').map_or((None, before), |(file, line)| (Some(file), line));
        Some(match line.parse() {
            Ok(line) => Self { file, line, column: Some(last), ordinal },
            Err(_) => Self { file: Some(before), line: last, column: None, ordinal },
        })
    }

    /// Is it in this file?
    #[must_use]
    pub fn is_in(&self, file: &str) -> bool {
        self.file.is_none_or(|name| is_file(file, name))
    }
}

/// Is `name` the path, or the end of it from some directory on?
#[must_use]
pub fn is_file(path: &str, name: &str) -> bool {
    let name = name.strip_prefix("./").unwrap_or(name);
    path == name || path.strip_suffix(name).is_some_and(|before| before.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_the_end() {
        let of = |text| Location::read(text).map(|p| (p.file, p.line, p.column, p.ordinal));
        assert_eq!(of("12"), Some((None, 12, None, None)));
        assert_eq!(of("12:3"), Some((None, 12, Some(3), None)));
        assert_eq!(of("a.c:12"), Some((Some("a.c"), 12, None, None)));
        assert_eq!(of("d/a.c:12:3"), Some((Some("d/a.c"), 12, Some(3), None)));
        assert_eq!(of("a.c:12:3#2"), Some((Some("a.c"), 12, Some(3), Some(2))));
        assert_eq!(of("a.c"), None);
        assert_eq!(of("12:3#0"), None);
    }

    #[test]
    fn a_file_is_recognised_by_the_end_of_its_path() {
        assert!(is_file("/src/lib/a.c", "lib/a.c") && is_file("a.c", "./a.c"));
        assert!(!is_file("/src/ba.c", "a.c"));
    }

    #[test]
    fn steps_are_repeated() {
        assert_eq!(item("12:T^50").unwrap(), (Item::Branch("12:T"), 50));
        assert_eq!(item("12:T").unwrap(), (Item::Branch("12:T"), 1));
        assert_eq!(item("12:T^18446744073709551615").unwrap().1, MOST + 1, "sums cannot overflow");
        assert!(item("12:T^0").is_err() && item("12:T^x").is_err());
    }
}
