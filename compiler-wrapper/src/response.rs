//! Response files: an argument `@file` is replaced by the arguments in that file, as in GCC and clang.

use std::{fs, path::Path};

use crate::Error;

/// How deep response files may be nested, so that the expansion of a file that names itself ends.
const DEPTH: u32 = 16;

/// The arguments with each response file replaced by its content. As in GCC, `@file` stays if the file does not exist.
pub(crate) fn expand(args: &[String]) -> Result<Vec<String>, Error> {
    let mut expanded = Vec::with_capacity(args.len());
    expand_into(&mut expanded, args, DEPTH)?;
    Ok(expanded)
}

fn expand_into(expanded: &mut Vec<String>, args: &[String], depth: u32) -> Result<(), Error> {
    for arg in args {
        match arg.strip_prefix('@').map(Path::new) {
            Some(path) if depth > 0 && path.exists() => {
                let text =
                    fs::read_to_string(path).map_err(|source| Error::Response { path: path.to_path_buf(), source })?;
                expand_into(expanded, &split(&text), depth - 1)?;
            }
            _ => expanded.push(arg.clone()),
        }
    }
    Ok(())
}

/// Splits at white space. Single and double quotes group; a backslash makes the next character literal, also in quotes.
pub(crate) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (_, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_group() {
        assert_eq!(split("-c 'a b.c'\n\"-DX=\\\"y\\\"\" z\\ z ''"), ["-c", "a b.c", "-DX=\"y\"", "z z", ""]);
    }

    #[test]
    fn a_missing_response_file_stays_an_argument() {
        let args = ["@no/such/file".to_owned(), "x.c".to_owned()];
        assert_eq!(expand(&args).expect("nothing to read"), args);
    }
}
