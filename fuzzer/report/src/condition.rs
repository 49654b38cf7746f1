//! The source text of a condition, and what an outcome of it says in words.

use super::model::Site;

/// Maximum number of bytes before and after a site's position that can belong to its condition.
const REACH: usize = 200;

/// Maximum number of characters of an operand in words.
const LONGEST_OPERAND: usize = 32;

/// Words for characters in the names of tests, except quotes, letters and digits.
const CHARACTERS: [(char, &str); 30] = [
    (' ', "space"),
    ('!', "exclamation"),
    ('#', "hash"),
    ('$', "dollar"),
    ('%', "percent"),
    ('&', "ampersand"),
    ('(', "left_parenthesis"),
    (')', "right_parenthesis"),
    ('*', "star"),
    ('+', "plus"),
    (',', "comma"),
    ('-', "minus"),
    ('.', "dot"),
    ('/', "slash"),
    (':', "colon"),
    (';', "semicolon"),
    ('<', "less"),
    ('=', "equals"),
    ('>', "greater"),
    ('?', "question"),
    ('@', "at"),
    ('[', "left_bracket"),
    (']', "right_bracket"),
    ('^', "caret"),
    ('_', "underscore"),
    ('`', "backtick"),
    ('{', "left_brace"),
    ('|', "bar"),
    ('}', "right_brace"),
    ('~', "tilde"),
];

/// The comparison operators of C, the longer ones first.
const OPERATORS: [&str; 6] = ["==", "!=", "<=", ">=", "<", ">"];

/// The text of the condition at a site: one operand of `&&` and `||`, or the argument of `switch`. `source` is the text
/// of the site's file. `None` if the file does not have it as such, for example because a macro expands to it.
#[must_use]
pub fn text<'a>(site: &Site, source: &'a str) -> Option<&'a str> {
    let line = source.split_inclusive('\n').nth((site.line as usize).checked_sub(1)?)?;
    let column = (site.column as usize).checked_sub(1)?;
    if column >= line.trim_end().len() {
        return None;
    }
    let at = line.as_ptr() as usize - source.as_ptr() as usize + column;
    let found = match source.get(at..)?.strip_prefix("switch") {
        Some(rest) if site.kind == "switch" => {
            let rest = rest.trim_start().strip_prefix('(')?;
            &rest[..end(rest)?]
        }
        _ if site.kind == "switch" => return None,
        _ => {
            let start = at - source.get(at.saturating_sub(REACH)..at).and_then(reach_back)?;
            &source[start..at + end(source.get(at..)?)?]
        }
    };
    let found = found.trim();
    // Texts and comments may contain any bracket or operator.
    let is_plain = !found.is_empty() && !found.contains(['"', '#']) && !found.contains("//");
    (is_plain && !found.contains("/*")).then_some(found)
}

/// The length of the end of `before` that belongs to the operand that continues after it.
fn reach_back(before: &str) -> Option<usize> {
    let bytes = before.as_bytes();
    let mut depth = 0;
    let mut i = bytes.len();
    while i > 0 {
        i -= 1;
        if bytes[i] == b'\'' {
            i = begin_of_character(bytes, i)?;
            continue;
        }
        match bytes[i] {
            b')' | b']' => depth += 1,
            b'(' | b'[' if depth > 0 => depth -= 1,
            b'(' | b'[' | b'{' | b'}' | b';' | b',' | b'?' if depth == 0 => return Some(bytes.len() - i - 1),
            b'&' | b'|' if depth == 0 && i > 0 && bytes[i - 1] == bytes[i] => return Some(bytes.len() - i - 1),
            b':' if depth == 0 && !is_doubled(bytes, i) => return Some(bytes.len() - i - 1),
            b'=' if depth == 0 && is_assignment(bytes, i) => return Some(bytes.len() - i - 1),
            b'n' if depth == 0 && before[..=i].ends_with("return") => return Some(bytes.len() - i - 1),
            _ => {}
        }
    }
    None
}

/// The length of the start of `after` that belongs to the operand.
fn end(after: &str) -> Option<usize> {
    let bytes = after.as_bytes();
    let (mut depth, mut skipped) = (0, 0);
    for (i, c) in bytes.iter().enumerate().take(REACH) {
        if i < skipped {
            continue;
        }
        match c {
            b'\'' => skipped = i + character(&after[i..])?.1,
            b'(' | b'[' => depth += 1,
            b')' | b']' if depth > 0 => depth -= 1,
            b')' | b']' | b'{' | b'}' | b';' | b',' | b'?' if depth == 0 => return Some(i),
            b'&' | b'|' if depth == 0 && bytes.get(i + 1) == Some(c) => return Some(i),
            _ => {}
        }
    }
    None
}

/// The words for a character literal at the start of a text, and its length.
fn character(text: &str) -> Option<(String, usize)> {
    let inner = text.strip_prefix('\'')?;
    let is_escaped = inner.starts_with('\\');
    let c = inner.chars().nth(usize::from(is_escaped)).filter(char::is_ascii)?;
    let length = 2 + usize::from(is_escaped);
    if text.as_bytes().get(length) != Some(&b'\'') {
        return None;
    }
    let word = match (is_escaped, c) {
        (true, 'n') => "newline",
        (true, 't') => "tab",
        (true, 'r') => "return",
        (true, '0') => "nul",
        (true, '\\') => "backslash",
        (_, '\'') => "apostrophe",
        (_, '"') => "quote",
        (true, _) => return None,
        (false, _) => match CHARACTERS.iter().find(|(known, _)| *known == c) {
            Some((_, word)) => word,
            None if c.is_ascii_alphabetic() => return Some((c.to_string(), length + 1)),
            None => return Some((format!("digit_{}", c.to_digit(10)?), length + 1)),
        },
    };
    Some((word.to_owned(), length + 1))
}

/// Where the character literal begins whose closing quote is at `end`.
fn begin_of_character(bytes: &[u8], end: usize) -> Option<usize> {
    let starts = |at: &usize| bytes[*at] == b'\'';
    // A character, or an escaped one.
    [2, 3].iter().filter_map(|n| end.checked_sub(*n)).find(starts)
}

fn is_doubled(bytes: &[u8], i: usize) -> bool {
    bytes.get(i + 1) == Some(&bytes[i]) || i > 0 && bytes[i - 1] == bytes[i]
}

fn is_assignment(bytes: &[u8], i: usize) -> bool {
    let is_comparison = i > 0 && b"=!<>".contains(&bytes[i - 1]) && (i < 2 || bytes[i - 2] != bytes[i - 1]);
    !is_comparison && bytes.get(i + 1) != Some(&b'=')
}

/// What holds on this branch, as a part of an identifier: `x_is_nan`, `n_is_not_7`, `a_is_above_b`. `None` if the text
/// does not show it.
#[must_use]
pub fn in_words(site: &Site, outcome: &str, text: &str) -> Option<String> {
    if site.kind == "switch" {
        let values = outcome.strip_prefix("case ").map(|values| values.replace(", ", "_or_").replace('-', "minus_"));
        let operand = operand(text)?;
        return Some(match values {
            Some(values) if values.len() <= LONGEST_OPERAND => format!("{operand}_is_{values}"),
            Some(_) => return None,
            None => format!("{operand}_is_no_case"),
        });
    }
    let holds = match outcome {
        "true" => true,
        "false" => false,
        _ => return None,
    };
    match comparison(text)? {
        Some((left, operator, right)) => compared(site, left, operator, right, holds),
        None => truth(site, text, holds),
    }
}

/// Splits a text at its only comparison outside of brackets: `Some(None)` if there is none, `None` if there are more.
#[expect(clippy::option_option, reason = "whether the text can be split, and whether it is a comparison")]
fn comparison(text: &str) -> Option<Option<(&str, &'static str, &str)>> {
    let mut found = None;
    let (mut depth, mut i) = (0, 0);
    while i < text.len() {
        let c = text.as_bytes()[i];
        if c == b'\'' {
            i += character(&text[i..])?.1;
            continue;
        }
        depth += i32::from(b"([".contains(&c)) - i32::from(b")]".contains(&c));
        let skipped = ["<<", ">>", "->"].iter().find(|o| text.as_bytes()[i..].starts_with(o.as_bytes()));
        let operator = OPERATORS.iter().find(|o| text.as_bytes()[i..].starts_with(o.as_bytes()));
        match (skipped, operator) {
            (Some(_), _) => i += 2,
            (None, Some(operator)) if depth == 0 => {
                if found.is_some() {
                    return None;
                }
                found = Some((text[..i].trim(), *operator, text[i + operator.len()..].trim()));
                i += operator.len();
            }
            _ => i += 1,
        }
    }
    Some(found)
}

fn compared(site: &Site, left: &str, operator: &str, right: &str, holds: bool) -> Option<String> {
    let holds = if is_same(&site.predicate, operator) {
        holds
    } else if site.predicate == negated(operator) || site.predicate.strip_prefix('!') == Some(operator) {
        !holds
    } else {
        return None;
    };
    let is_float = site.distance_unit == "floats";
    if left == right && is_float {
        return match (operator, holds) {
            ("!=", true) | ("==", false) => Some(format!("{}_is_nan", operand(left)?)),
            ("!=", false) | ("==", true) => Some(format!("{}_is_not_nan", operand(left)?)),
            _ => None,
        };
    }
    let relation = match (operator, holds, is_float) {
        ("==", true, _) | ("!=", false, _) => "is",
        ("==", false, _) | ("!=", true, _) => "is_not",
        ("<", true, _) | (">=", false, false) => "is_below",
        (">", true, _) | ("<=", false, false) => "is_above",
        ("<=", true, _) | (">", false, false) => "is_at_most",
        (">=", true, _) | ("<", false, false) => "is_at_least",
        // A comparison with NaN does not hold.
        ("<", false, true) => "is_not_below",
        (">", false, true) => "is_not_above",
        ("<=", false, true) => "is_not_at_most",
        _ => "is_not_at_least",
    };
    Some(format!("{}_{relation}_{}", operand(left)?, operand(right)?))
}

/// Whether a predicate of the compiled code is this operator, or the same with exchanged operands.
fn is_same(predicate: &str, operator: &str) -> bool {
    let exchanged = match operator {
        "<" => ">",
        ">" => "<",
        "<=" => ">=",
        ">=" => "<=",
        same => same,
    };
    predicate == operator || predicate == exchanged && !matches!(operator, "==" | "!=")
}

fn negated(operator: &str) -> &'static str {
    match operator {
        "==" => "!=",
        "!=" => "==",
        "<" => ">=",
        ">" => "<=",
        "<=" => ">",
        _ => "<",
    }
}

/// The words for a value that is tested for zero. A negation is an exchange of the branches in the compiled code.
fn truth(site: &Site, text: &str, holds: bool) -> Option<String> {
    let value = text.trim_start_matches(['!', ' ']);
    let is_true = match site.predicate.as_str() {
        "!=" => holds,
        "==" => !holds,
        "" if value == text => holds,
        _ => return None,
    };
    let value = operand(value)?;
    Some(if is_true { format!("{value}_is_set") } else { format!("{value}_is_zero") })
}

/// An operand in words, as a part of an identifier; `None` if it is too long.
fn operand(text: &str) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let rest = &text[i..];
        let is_first = i == 0 || words.is_empty() || b"(+-*/%<>=&|^,".contains(&bytes[i - 1]);
        if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            let length = word_length(rest);
            let word = rest[..length].strip_suffix(".0").unwrap_or(&rest[..length]);
            words.push(word.replace(['.', '+'], "_").replace('-', "_minus_"));
            i += length;
            continue;
        }
        if bytes[i] == b'\'' {
            let (word, length) = character(rest)?;
            words.push(word);
            i += length;
            continue;
        }
        let (word, length) = match bytes[i] {
            b'-' if bytes.get(i + 1) == Some(&b'>') => ("", 2),
            b'<' if bytes.get(i + 1) == Some(&b'<') => ("shl", 2),
            b'>' if bytes.get(i + 1) == Some(&b'>') => ("shr", 2),
            b'-' => ("minus", 1),
            b'+' => ("plus", 1),
            b'*' if !is_first => ("times", 1),
            b'/' => ("over", 1),
            b'%' => ("mod", 1),
            b'&' if !is_first => ("and", 1),
            b'|' => ("or", 1),
            b'^' => ("xor", 1),
            b'~' => ("not", 1),
            b' ' | b'.' | b'(' | b')' | b'[' | b']' | b',' | b'*' | b'&' | b':' | b'\n' => ("", 1),
            _ => return None,
        };
        words.extend((!word.is_empty()).then(|| word.to_owned()));
        i += length;
    }
    let out = words.join("_");
    (!out.is_empty() && out.len() <= LONGEST_OPERAND).then_some(out)
}

/// The length of the number or name at the start of a text: `0x1p-3`, `1e-10`, `2.5f`, `x1`.
fn word_length(text: &str) -> usize {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let bytes = text.as_bytes();
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    let belongs = |i: usize| match bytes[i] {
        b'.' => is_number,
        b'-' | b'+' => {
            let exponent: &[u8] = if is_hex { b"pP" } else { b"eE" };
            is_number && exponent.contains(&bytes[i - 1])
        }
        c => c.is_ascii_alphanumeric() || c == b'_',
    };
    (0..bytes.len()).find(|i| !belongs(*i)).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::{super::example, *};

    fn site(kind: &str, predicate: &str, unit: &str, line: u32, column: u32) -> Site {
        Site {
            kind: kind.to_owned(),
            predicate: predicate.to_owned(),
            distance_unit: unit.to_owned(),
            line,
            column,
            ..example::report().sites[0].clone()
        }
    }

    #[test]
    fn the_text_of_a_condition_ends_at_its_operators() {
        let source = "\n  if (s->f.ready && !(a < b) || x != x) return c >= 0 ? f(a, b) : 1;\n  y = k[i + 1] > 3;\n\
                      \tswitch (v.kind) {\n  CHECK(\"a\", b);\n";
        let at = |line: u32, column: u32, kind: &str| text(&site(kind, "", "", line, column), source);
        assert_eq!(at(2, 7, "branch"), Some("s->f.ready"));
        assert_eq!(at(2, 12, "branch"), Some("s->f.ready"));
        assert_eq!(at(2, 25, "branch"), Some("a < b"));
        assert_eq!(at(2, 35, "branch"), Some("x != x"));
        assert_eq!(at(2, 50, "branch"), Some("c >= 0"));
        assert_eq!(at(3, 16, "branch"), Some("k[i + 1] > 3"));
        assert_eq!(at(4, 2, "switch"), Some("v.kind"));
        assert_eq!(at(5, 3, "branch"), None);
        let parser = "  if (c == '(' || (*s != '\\'' && s[1] >= '0') || d == '\\\\')\n";
        let at_column = |column: u32| text(&site("branch", "", "", 1, column), parser);
        assert_eq!(at_column(7), Some("c == '('"));
        assert_eq!(at_column(23), Some("*s != '\\''"));
        assert_eq!(at_column(38), Some("s[1] >= '0'"));
        assert_eq!(at_column(52), Some("d == '\\\\'"));
        assert_eq!(at(9, 3, "branch"), None);
        assert_eq!(at(2, 99, "branch"), None);
    }

    #[test]
    fn outcomes_are_told_in_words() {
        let told = |text: &str, predicate: &str, unit: &str, outcome: &str| {
            in_words(&site("branch", predicate, unit, 1, 1), outcome, text)
        };
        let is = |text: &str, predicate: &str, unit: &str, truth: &str, falsehood: &str| {
            assert_eq!(told(text, predicate, unit, "true").as_deref(), Some(truth));
            assert_eq!(told(text, predicate, unit, "false").as_deref(), Some(falsehood));
        };
        is("x != x", "!=", "floats", "x_is_nan", "x_is_not_nan");
        is("a->n < b[i - 1]", "<", "integers", "a_n_is_below_b_i_minus_1", "a_n_is_at_least_b_i_minus_1");
        is("x < 1e-10", "<", "floats", "x_is_below_1e_minus_10", "x_is_not_below_1e_minus_10");
        is("c == '('", "==", "integers", "c_is_left_parenthesis", "c_is_not_left_parenthesis");
        is("*s >= '0'", ">=", "integers", "s_is_at_least_digit_0", "s_is_below_digit_0");
        is("c != '\\n'", "!=", "integers", "c_is_not_newline", "c_is_newline");
        is("n == -9", "!=", "integers", "n_is_not_minus_9", "n_is_minus_9");
        is("!s.f.ready", "!=", "integers", "s_f_ready_is_set", "s_f_ready_is_zero");
        is("(x & 7)", "!=", "integers", "x_and_7_is_set", "x_and_7_is_zero");
        is("hx >> 31", "!=", "integers", "hx_shr_31_is_set", "hx_shr_31_is_zero");
        assert_eq!(told("a < b", "==", "integers", "true"), None, "the code does something else than the text says");
        assert_eq!(told("a < b == c", "==", "integers", "true"), None);
        assert_eq!(told("!b", "", "", "true"), None);
        let switched = |outcome: &str| in_words(&site("switch", "", "", 1, 1), outcome, "v.kind");
        assert_eq!(switched("case 1, -2").as_deref(), Some("v_kind_is_1_or_minus_2"));
        assert_eq!(switched("default").as_deref(), Some("v_kind_is_no_case"));
    }
}
