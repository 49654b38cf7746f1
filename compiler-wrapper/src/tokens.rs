//! The tokens of a C or C++ source, as far as they are needed to find a definition: names and numbers, and single
//! characters. Comments, strings and preprocessor lines are skipped.

/// A token and the position after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// A name or number, one character, `::` or `->`.
    pub(crate) text: &'a str,
    /// The number of bytes of the text up to its end.
    pub(crate) end: usize,
}

/// The tokens of a text. Any text can be tokenized.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut all, mut at, mut is_new_line) = (Vec::new(), 0, true);
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let size = match c {
            '\n' => {
                is_new_line = true;
                at += 1;
                continue;
            }
            _ if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '#' if is_new_line => line(rest),
            '/' if rest.starts_with("//") => line(rest),
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            'R' if rest.starts_with("R\"") => raw_string(rest),
            '"' | '\'' => literal(rest, c),
            _ => {
                let size = token(rest, c);
                all.push(Token { text: &rest[..size], end: at + size });
                size
            }
        };
        is_new_line &= c == '/';
        at += size;
    }
    all
}

/// The number of bytes up to the end of a line; a backslash continues the line.
fn line(rest: &str) -> usize {
    let mut end = 0;
    for part in rest.split_inclusive('\n') {
        end += part.len();
        if !part.trim_end_matches(['\n', '\r']).ends_with('\\') {
            break;
        }
    }
    // The end of the line is not consumed: it begins a new line.
    if rest[..end].ends_with('\n') { end - 1 } else { end }
}

/// The number of bytes of a string or character literal.
fn literal(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // A literal without an end: an apostrophe in text that is skipped.
            '\n' => return i,
            _ if c == quote => return i + 1,
            _ => {}
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> usize {
    let Some(open) = rest.find('(') else { return rest.len() };
    let end = format!("){}\"", &rest[2..open]);
    rest[open..].find(&end).map_or(rest.len(), |at| open + at + end.len())
}

/// The number of bytes of a name, a number (with the separators of C++), or a character.
fn token(rest: &str, first: char) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    if first.is_ascii_digit() {
        return rest.find(|c: char| !is_part(c) && c != '\'' && c != '.').unwrap_or(rest.len());
    }
    if is_part(first) {
        return rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
    }
    if rest.starts_with("::") || rest.starts_with("->") { 2 } else { first.len_utf8() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_strings_and_directives_are_left_out() {
        let text = "#if A \\\n B\nint f /* x */ (n::m 1'000, 'a', '\\'', \"\\\"(\") // {\n->R\"x()\" )x\" # y";
        let all: Vec<&str> = tokens(text).iter().map(|t| t.text).collect();
        assert_eq!(all, ["int", "f", "(", "n", "::", "m", "1'000", ",", ",", ",", ")", "->", "#", "y"]);
    }

    proptest! {
        /// Any text can be tokenized, and each token is at its position.
        #[test]
        fn any_text(text in "(?s).{0,80}", c in "[\"'/*#R(){}a-z0-9 \\\\\n:>-]{0,60}") {
            for text in [text, c] {
                for token in tokens(&text) {
                    prop_assert!(text[..token.end].ends_with(token.text));
                }
            }
        }
    }
}
