//! The file of likely preconditions, which the user can edit: one line per function and condition.
//!
//! ```text
//! add: PEN_ASSUME(list != NULL); // 64 calls
//! // add: PEN_ASSUME(n > 0); // 64 calls
//! ```
//!
//! A line that begins with `//` does not hold. A later recording keeps such lines, and the lines that the user has
//! added.

use std::{collections::BTreeMap, fmt::Write};

use super::preconditions::{Precondition, UnknownForm};

/// The name of the file, in the directory of a recording and in that of a campaign.
pub const PRECONDITIONS: &str = "preconditions.txt";

const HEAD: &str = "\
// Likely preconditions: they hold for all recorded calls. A crash whose input violates one does not count.
// Forms: p != NULL, a <= b, a < b, n > 0, n >= 3, isfinite(x). To drop one, put // before it.
";

/// A condition of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// The symbol of the function.
    pub symbol: String,
    /// The condition.
    pub condition: Precondition,
}

/// Reads the lines of a file.
///
/// # Errors
/// The number of the first line, from 1, that is not of the form `SYMBOL: PEN_ASSUME(CONDITION);`.
pub fn stated(text: &str) -> Result<Vec<Stated>, (usize, UnknownForm)> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with("//"));
    lines.map(|(n, line)| of_line(line).ok_or((n, UnknownForm))).collect()
}

fn of_line(line: &str) -> Option<Stated> {
    let (symbol, rest) = line.split_once(": PEN_ASSUME(")?;
    let (condition, _) = rest.rsplit_once(");")?;
    Some(Stated { symbol: symbol.to_owned(), condition: condition.parse().ok()? })
}

/// The text of the file after a recording. `old` is its text before, and `likely` has the conditions of each function
/// with the numbers of calls that show them.
#[must_use]
pub fn merged(old: &str, likely: &BTreeMap<String, Vec<(Precondition, usize)>>) -> String {
    let key = |line: &str| {
        let line = line.trim().trim_start_matches('/').trim();
        of_line(line).map(|s| (s.symbol, s.condition))
    };
    let dropped: Vec<_> = old.lines().filter(|l| l.trim_start().starts_with("//")).filter_map(key).collect();
    let added = |line: &&str| {
        // Lines of an earlier recording name the number of calls.
        !line.trim_start().starts_with("//") && !line.trim_end().ends_with(" calls") && key(line).is_some()
    };
    let mut text = HEAD.to_owned();
    for line in old.lines().filter(added) {
        let _ = writeln!(text, "{line}");
    }
    for (symbol, conditions) in likely {
        for (condition, n) in conditions {
            let is_dropped = dropped.iter().any(|(s, c)| s == symbol && c == condition);
            let mark = if is_dropped { "// " } else { "" };
            let _ = writeln!(text, "{mark}{symbol}: PEN_ASSUME({condition}); // {n} calls");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_changes_are_kept() {
        let condition = |text: &str| text.parse::<Precondition>().expect("a condition");
        let mut likely =
            BTreeMap::from([("f".to_owned(), vec![(condition("p != NULL"), 12), (condition("n > 0"), 12)])]);
        let first = merged("", &likely);
        assert_eq!(stated(&first).map(|all| all.len()), Ok(2));
        let edited = first.replace("f: PEN_ASSUME(n > 0)", "// f: PEN_ASSUME(n > 0)") + "g: PEN_ASSUME(a < b);\n";
        likely.insert("f".to_owned(), vec![(condition("n > 0"), 20)]);
        let second = merged(&edited, &likely);
        let expected = [Stated { symbol: "g".to_owned(), condition: condition("a < b") }];
        assert_eq!(stated(&second).as_deref(), Ok(&expected[..]), "{second}");
        assert!(second.contains("\n// f: PEN_ASSUME(n > 0); // 20 calls\n"), "{second}");
    }

    #[test]
    fn a_line_of_another_form_is_named() {
        assert_eq!(stated("// a comment\n\nf: PEN_ASSUME(g(x));\n"), Err((3, UnknownForm)));
        assert_eq!(stated("f: n > 0"), Err((1, UnknownForm)));
    }
}
