//! The sizes of arrays as the source declares them: `double a[10]`, `int m[3][4]`.
//!
//! A parameter of this type is a pointer, in the code and in its debug information: only the text has the number. It is read if it is a
//! number there; one behind the name of a macro is found out by calls.

use std::{collections::HashMap, fs, io::Read};

use crate::program::Function;

/// Bytes of a source file that are read at most, and characters of a declaration.
const LARGEST: u64 = 1 << 23;
const LONGEST: usize = 4000;

/// The first dimensions of the array parameters of a function.
#[derive(Debug, Default)]
pub(super) struct Declared {
    elements: HashMap<String, usize>,
}

impl Declared {
    /// What the text of the definition says; nothing when the source cannot be read, or has no array among its parameters.
    pub fn of(f: &Function) -> Self {
        if !f.parameters.iter().any(|p| p.pointer || p.type_name.contains('*')) {
            return Self::default();
        }
        let mut text = Vec::new();
        let read = fs::File::open(&f.file).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
        if read.is_err() {
            return Self::default();
        }
        let text = String::from_utf8_lossy(&text);
        let from = text.split_inclusive('\n').take((f.line as usize).saturating_sub(1)).map(str::len).sum();
        let definition: String = text[from..].chars().take(LONGEST).take_while(|c| *c != '{').collect();
        let names = f.parameters.iter().map(|p| p.name.clone());
        let elements =
            names.filter_map(|name| Some((first_dimension(&definition, &name)?, name))).map(|(n, name)| (name, n));
        Self { elements: elements.collect() }
    }

    /// The elements of a parameter; `None` if the text does not say.
    pub fn elements(&self, parameter: &str) -> Option<usize> {
        self.elements.get(parameter).copied()
    }
}

/// The number between the brackets behind a name.
fn first_dimension(text: &str, name: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).find_map(|(at, _)| {
        let behind = &text[at + name.len()..];
        if text[..at].ends_with(is_part) || behind.starts_with(is_part) {
            return None;
        }
        let inside = behind.trim_start().strip_prefix('[')?.split(']').next()?;
        let number =
            inside.split_whitespace().find(|word| !["static", "const", "restrict", "volatile"].contains(word))?;
        number.trim_end_matches(['u', 'U', 'l', 'L']).parse().ok().filter(|n| *n > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_read_from_the_text() {
        let text = "double f(const double a[10], int ab[static 4], double m [3][5], int n[N], char *s, int z[])";
        let all = ["a", "ab", "m", "n", "s", "z"].map(|name| first_dimension(text, name));
        assert_eq!(all, [Some(10), Some(4), Some(3), None, None, None]);
    }
}
