//! Requirements: tags in comments of the source (`// REQ-12`), and the tests that execute the lines with these tags.

use std::{collections::BTreeSet, fmt::Write};

use serde::{Deserialize, Serialize};

use super::decisions::quoted;

/// A required tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// The tag.
    pub tag: String,
    /// The lines of code that have it; empty if no comment in the sources of the function contains it.
    pub places: Vec<Place>,
    /// The tests that execute one of these lines, as numbers from 1.
    pub tests: Vec<usize>,
}

/// A line of code with a tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Source file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The tests that execute it, as numbers from 1.
    pub tests: Vec<usize>,
}

/// Returns each tag in `tags` that a comment in `text` contains as a word, with its line of code: the line of the
/// comment, or the next line with code.
#[must_use]
pub fn tagged(text: &str, tags: &BTreeSet<String>) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    let mut waiting: Vec<String> = Vec::new();
    let mut in_comment = false;
    for (number, line) in text.lines().enumerate() {
        let (code, comment) = parts(line, &mut in_comment);
        waiting.extend(words(&comment).filter(|w| tags.contains(*w)).map(str::to_owned));
        if !code.trim().is_empty() {
            found.extend(waiting.drain(..).map(|tag| (tag, number as u32 + 1)));
        }
    }
    found
}

/// Splits text into words as tags are written: letters, digits, and `-_.:` inside.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "-_.:".contains(c);
    text.split(move |c| !is_part(c)).map(|w| w.trim_matches(['-', '.', ':']))
}

/// Returns the code and the comments of a line of C. `in_comment` is whether the line begins within a comment; it is
/// set to whether the line ends within one.
fn parts(line: &str, in_comment: &mut bool) -> (String, String) {
    let (mut code, mut comment) = (String::new(), String::new());
    let (mut rest, mut quote) = (line, None);
    while let Some(c) = rest.chars().next() {
        if *in_comment {
            let end = rest.find("*/");
            comment.push_str(&rest[..end.unwrap_or(rest.len())]);
            comment.push(' ');
            rest = end.map_or("", |end| &rest[end + 2..]);
            *in_comment = end.is_none();
            continue;
        }
        match quote {
            None if rest.starts_with("//") => {
                comment.push_str(&rest[2..]);
                break;
            }
            None if rest.starts_with("/*") => {
                *in_comment = true;
                rest = &rest[2..];
                continue;
            }
            None if c == '"' || c == '\'' => quote = Some(c),
            Some(_) if c == '\\' => {
                code.push(c);
                rest = &rest[1..];
                let Some(escaped) = rest.chars().next() else { break };
                code.push(escaped);
                rest = &rest[escaped.len_utf8()..];
                continue;
            }
            Some(open) if c == open => quote = None,
            _ => {}
        }
        code.push(c);
        rest = &rest[c.len_utf8()..];
    }
    (code, comment)
}

/// The traceability matrix as CSV (RFC 4180): one line per requirement and line of code, and one for a requirement
/// without any.
#[must_use]
pub fn csv(requirements: &[Requirement]) -> String {
    let mut out = "requirement,file,line,tests\r\n".to_owned();
    for requirement in requirements {
        let tag = quoted(&requirement.tag);
        if requirement.places.is_empty() {
            let _ = write!(out, "{tag},,,\r\n");
        }
        for place in &requirement.places {
            let tests: Vec<_> = place.tests.iter().map(usize::to_string).collect();
            let _ = write!(out, "{tag},{},{},{}\r\n", quoted(&place.file), place.line, tests.join(" "));
        }
    }
    out
}

/// Writes one line with the counts, and one for each requirement that no test executes.
pub(super) fn list(requirements: &[Requirement], out: &mut String) {
    if requirements.is_empty() {
        return;
    }
    let covered = requirements.iter().filter(|r| !r.tests.is_empty()).count();
    let _ = writeln!(out, "requirements: {covered} of {} have tests", requirements.len());
    for r in requirements.iter().filter(|r| r.tests.is_empty()) {
        let why = if r.places.is_empty() { "no comment of the sources names it" } else { "no test executes its lines" };
        let _ = writeln!(out, "  without a test: {} ({why})", r.tag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_stand_on_the_line_or_before_it() {
        let text = "int f(int x) {\n  if (x > 1) // REQ-1, REQ-2.\n    return 1;\n  /* REQ-3\n   REQ-12: more */\n\n  \
                    return 0; // REQ-20\n}\n";
        let tags = ["REQ-1", "REQ-2", "REQ-3", "REQ-12"].map(str::to_owned).into();
        let found: Vec<_> = tagged(text, &tags);
        let expected = [("REQ-1", 2), ("REQ-2", 2), ("REQ-3", 7), ("REQ-12", 7)];
        assert_eq!(found, expected.map(|(tag, line)| (tag.to_owned(), line)));
    }

    #[test]
    fn strings_are_no_comments() {
        let tags = ["REQ-1".to_owned()].into();
        assert_eq!(
            tagged("const char *s = \"// REQ-1 \\\" /*\";\nchar c = '\"'; // REQ-1\n", &tags),
            [("REQ-1".to_owned(), 2)]
        );
    }

    #[test]
    fn a_requirement_without_a_line_has_a_row() {
        let place = Place { file: "/a.c".to_owned(), line: 3, tests: vec![1, 4] };
        let all = [
            Requirement { tag: "A-1".to_owned(), places: vec![place], tests: vec![1, 4] },
            Requirement { tag: "A-2".to_owned(), places: Vec::new(), tests: Vec::new() },
        ];
        assert_eq!(csv(&all), "requirement,file,line,tests\r\nA-1,/a.c,3,1 4\r\nA-2,,,\r\n");
        let mut out = String::new();
        list(&all, &mut out);
        assert_eq!(
            out,
            "requirements: 1 of 2 have tests\n  without a test: A-2 (no comment of the sources names it)\n"
        );
    }
}
