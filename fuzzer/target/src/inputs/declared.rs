//! Array sizes that the source declares: `double a[10]`, `int m[3][4]`.
//!
//! A parameter of such a type is a pointer, both in the code and in its debug information. Only the source text has the
//! size: a number, or an expression of macros ([`Macros`]).

use std::{collections::HashMap, path::Path};

use super::macros::{Macros, read};
use crate::program::Function;

/// Maximum number of characters of a declaration that are parsed.
const LONGEST: usize = 4000;

/// The first dimensions of the array parameters of a function.
#[derive(Debug, Default)]
pub(super) struct Declared {
    elements: HashMap<String, usize>,
}

impl Declared {
    /// Reads the definition of `f` in its source. The result is empty if the source cannot be read, or if no parameter
    /// is declared as an array.
    pub fn of(f: &Function) -> Self {
        if !f.parameters.iter().any(|p| p.pointer || p.type_name.contains('*')) {
            return Self::default();
        }
        let path = Path::new(&f.file);
        let text = read(path);
        let from = text.split_inclusive('\n').take((f.line as usize).saturating_sub(1)).map(str::len).sum();
        let definition: String = text[from..].chars().take(LONGEST).take_while(|c| *c != '{').collect();
        let dimensions: Vec<_> =
            f.parameters.iter().filter_map(|p| Some((&p.name, first_dimension(&definition, &p.name)?))).collect();
        if dimensions.is_empty() {
            return Self::default();
        }
        let macros = Macros::of(path, &text);
        let elements = dimensions.into_iter().filter_map(|(name, expression)| {
            let elements = usize::try_from(macros.value(&expression)?).ok().filter(|n| *n > 0)?;
            Some((name.clone(), elements))
        });
        Self { elements: elements.collect() }
    }

    /// The number of elements of a parameter; `None` if its declaration has no size.
    pub fn elements(&self, parameter: &str) -> Option<usize> {
        self.elements.get(parameter).copied()
    }
}

/// The expression between the brackets after a name, without qualifiers.
fn first_dimension(text: &str, name: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).find_map(|(at, _)| {
        let behind = &text[at + name.len()..];
        if text[..at].ends_with(is_part) || behind.starts_with(is_part) {
            return None;
        }
        let inside = behind.trim_start().strip_prefix('[')?.split(']').next()?;
        let is_qualifier = |word: &str| ["static", "const", "restrict", "volatile"].contains(&word);
        let words: Vec<_> = inside.split_whitespace().filter(|word| !is_qualifier(word)).collect();
        (!words.is_empty()).then(|| words.join(" "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_read_from_the_text() {
        let text = "double f(const double a[10], int ab[static 4], double m [3][5], int n[2 * N], char *s, int z[])";
        let all = ["a", "ab", "m", "n", "s", "z"].map(|name| first_dimension(text, name));
        let wanted = [Some("10"), Some("4"), Some("3"), Some("2 * N"), None, None];
        assert_eq!(all.each_ref().map(Option::as_deref), wanted);
    }
}
