//! The grammar of paths as text: the part that does not depend on a target. [`super::spec`] describes it, and resolves
//! places.

use penfuzz_error::Error;

/// Maximum number of steps of a path, which has to fit in memory.
pub const MOST: usize = 1 << 22;

/// A step as it is written.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// `*`: any branches.
    Any,
    /// `$`: the end of the path.
    End,
    /// The text of a branch, for [`branch`].
    Branch(&'a str),
}

/// Splits a path into the texts of its steps. Empty steps are skipped.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', '\n']).map(str::trim).filter(|i| !i.is_empty())
}

/// Parses a step and its number of repetitions: 1 without `^`, and [`MOST`] + 1 for any number above [`MOST`].
///
/// # Errors
/// When the last `^` is not followed by a number of at least 1.
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
        _ => {
            Err(Error::new(format!("`{item}`: ^ must be followed by the number of repetitions of the step, 1 or more")))
        }
    }
}

/// Splits a branch into its place and the text of its outcome.
///
/// # Errors
/// When it is neither `FILE:LINE:OUTCOME` nor `FILE:LINE:COLUMN:OUTCOME`.
pub fn branch(text: &str) -> Result<(Location<'_>, &str), Error> {
    let wrong = || {
        Error::new(format!(
            "`{text}` is not a step of a path; write FILE:LINE:OUTCOME or FILE:LINE:COLUMN:OUTCOME (OUTCOME T, F, \
             case N \
             or default), * or $"
        ))
    };
    let (place, outcome) = text.rsplit_once(':').ok_or_else(wrong)?;
    Ok((Location::read(place.trim()).ok_or_else(wrong)?, outcome.trim()))
}

/// A place as it is written.
#[derive(Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// The end of the file's path; `None` if it is omitted.
    pub file: Option<&'a str>,
    /// The line.
    pub line: u32,
    /// The column, if it is given.
    pub column: Option<u32>,
    /// The number of the conditional among those in the same place, from 1 on.
    pub ordinal: Option<usize>,
}

impl<'a> Location<'a> {
    /// Parses `FILE:LINE`, `FILE:LINE:COLUMN`, `FILE:LINE:COLUMN#K`, or the same without a file.
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

    /// Returns true if the place is in this file.
    #[must_use]
    pub fn is_in(&self, file: &str) -> bool {
        self.file.is_none_or(|name| is_file(file, name))
    }
}

/// Returns true if `name` is the path, or its end from some directory on.
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
