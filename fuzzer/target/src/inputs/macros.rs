//! The values of constant macros, read from the text of a source and of the headers next to it.
//!
//! Debug information has no macros, and arrays are often declared with them: `double a[N]`, `int b[2 * ROWS]`. A macro
//! has no value here if it has two different definitions, or if its definition is no number, sum, difference, product,
//! or quotient.

use std::{
    collections::{HashMap, HashSet},
    fs,
    io::Read,
    path::{Path, PathBuf},
};

/// Maximum number of bytes that are read from one file.
const LARGEST: u64 = 1 << 23;
/// Maximum number of headers that are read.
const FILES: usize = 200;
/// Maximum nesting of macros and parentheses.
const DEPTH: usize = 20;

/// Reads a source. Returns an empty string if it cannot be read.
pub(super) fn read(path: &Path) -> String {
    let mut text = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&text).into_owned())
}

/// Macros without parameters, and their definitions.
#[derive(Debug, Default)]
pub(super) struct Macros {
    /// `None` if there are two different definitions.
    texts: HashMap<String, Option<String>>,
}

impl Macros {
    /// Reads the macros of a source with the text `text`, and of the headers that it includes from its own directory or
    /// a directory above.
    pub fn of(source: &Path, text: &str) -> Self {
        let mut all = Self::default();
        let mut seen: HashSet<PathBuf> = HashSet::new();
        let mut rest = vec![(source.to_path_buf(), text.to_owned())];
        while let Some((path, text)) = rest.pop() {
            for line in text.replace("\\\n", " ").lines() {
                let Some(directive) = line.trim_start().strip_prefix('#') else { continue };
                let directive = directive.trim_start();
                if let Some(definition) = directive.strip_prefix("define ") {
                    all.define(definition);
                } else if let Some(name) = directive.strip_prefix("include").and_then(included)
                    && seen.len() < FILES
                    && let Some(header) = found(&path, name)
                    && seen.insert(header.clone())
                {
                    let text = read(&header);
                    rest.push((header, text));
                }
            }
        }
        all
    }

    fn define(&mut self, definition: &str) {
        let definition = definition.trim_start();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let (name, value) = definition.split_at(definition.find(|c| !is_part(c)).unwrap_or(definition.len()));
        if value.starts_with('(') {
            return;
        }
        let value =
            value.split("/*").next().unwrap_or_default().split("//").next().unwrap_or_default().trim().to_owned();
        let known = self.texts.entry(name.to_owned()).or_insert_with(|| Some(value.clone()));
        if known.as_ref() != Some(&value) {
            *known = None;
        }
    }

    /// Evaluates a constant expression: numbers, macros, `+ - * /` and parentheses. `None` if it is no such expression.
    pub fn value(&self, expression: &str) -> Option<i64> {
        self.within(expression, DEPTH)
    }

    fn within(&self, expression: &str, depth: usize) -> Option<i64> {
        let mut parser = Parser { rest: expression.trim(), macros: self, depth: depth.checked_sub(1)? };
        let value = parser.sum()?;
        parser.rest.is_empty().then_some(value)
    }
}

/// The name in a quoted `#include`; `None` for system headers, which have angle brackets.
fn included(rest: &str) -> Option<&str> {
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

/// Finds a header next to the file that includes it, in a directory above, or in an `include` directory there.
fn found(from: &Path, name: &str) -> Option<PathBuf> {
    let above = from.ancestors().skip(1).take(4);
    above.flat_map(|d| [d.join(name), d.join("include").join(name)]).find(|path| path.is_file())
}

struct Parser<'a> {
    rest: &'a str,
    macros: &'a Macros,
    depth: usize,
}

impl Parser<'_> {
    fn accept(&mut self, c: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(c) else { return false };
        self.rest = rest.trim_start();
        true
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            if self.accept('+') {
                value = value.checked_add(self.product()?)?;
            } else if self.accept('-') {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.factor()?;
        loop {
            if self.accept('*') {
                value = value.checked_mul(self.factor()?)?;
            } else if self.accept('/') {
                value = value.checked_div(self.factor()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn factor(&mut self) -> Option<i64> {
        if self.depth == 0 {
            return None;
        }
        if self.accept('(') {
            // Each parenthesis calls this function recursively.
            self.depth -= 1;
            let value = self.sum()?;
            self.depth += 1;
            return self.accept(')').then_some(value);
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let (word, rest) = self.rest.split_at(self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        if word.starts_with(|c: char| c.is_ascii_digit()) { number(word) } else { self.named(word) }
    }

    fn named(&self, word: &str) -> Option<i64> {
        let text = self.macros.texts.get(word)?.as_ref()?;
        self.macros.within(text, self.depth)
    }
}

/// Parses an integer literal of C.
fn number(word: &str) -> Option<i64> {
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return i64::from_str_radix(hex, 16).ok();
    }
    match digits.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => i64::from_str_radix(octal, 8).ok(),
        _ => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn constants_are_found_in_the_source_and_its_headers() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("include")).unwrap();
        fs::create_dir_all(dir.path().join("src")).unwrap();
        let source = dir.path().join("src/f.c");
        fs::write(dir.path().join("include/dim.h"), "#include \"dim.h\"\n#  define ROWS 0x10u // rows\n").unwrap();
        let text = "#include \"dim.h\"\n#include <math.h>\n#define N (2 * ROWS + 010)\n#define F(x) 3\n\
                    #define LOOP LOOP\n\
                    #ifdef A\n#define M 3\n#else\n#define M 4\n#endif\n#define X 1.5\n#define LONG \\\n 7\n";
        let all = Macros::of(&source, text);
        let values =
            ["ROWS", "N", "N - 1", "F", "LOOP", "M", "X", "LONG/2", "", "1/0", "(3", "n"].map(|e| all.value(e));
        let wanted = [Some(16), Some(40), Some(39), None, None, None, None, Some(3), None, None, None, None];
        assert_eq!(values, wanted);
    }

    proptest! {
        #[test]
        fn any_text_has_a_value_or_none(
            text in "[-()+*/0-9a-cxuL ]{0,40}",
            macros in "(#define [abc] [-()+*/0-9a-c ]{0,9}\n){0,4}",
        ) {
            let _ = Macros::of(Path::new("/nowhere/f.c"), &macros).value(&text);
        }
    }
}
