//! Reads `compile_commands.json`, which build systems write: the source files of a build, and the flags of each.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use penfuzz_directory::rendering::linked;
use penfuzz_error::{
    bail,
    context::{Context, Result},
};
use penfuzz_report::Compilation;
use penfuzz_system::files::foreign;

/// One command of the file.
#[derive(Debug, Deserialize)]
struct Entry {
    directory: PathBuf,
    #[serde(default)]
    command: String,
    #[serde(default)]
    arguments: Vec<String>,
}

/// Returns each source that is compiled once, with the flags that change its meaning.
///
/// # Errors
/// The file cannot be read, has another format, or names no C or C++ source.
pub(super) fn read(path: &Path) -> Result<Vec<Compilation>> {
    let text = foreign::read_text(path).context(|| format!("cannot read {}", path.display()))?;
    let entries: Vec<Entry> =
        serde_json::from_str(&text).context(|| format!("{} is not a compile_commands.json", path.display()))?;
    let mut all: Vec<Compilation> = Vec::new();
    for entry in entries {
        let words = if entry.arguments.is_empty() { words(&entry.command) } else { entry.arguments };
        for mut compilation in linked::compilations_of(&words, &entry.directory) {
            // The build directory is often a sibling of the sources, so paths contain `..`.
            let source = Path::new(&compilation.source).canonicalize().ok();
            compilation.source = source.map_or(compilation.source, |s| s.to_string_lossy().into_owned());
            if !all.iter().any(|known| known.source == compilation.source) {
                all.push(compilation);
            }
        }
    }
    if all.is_empty() {
        bail!("{} lists no C or C++ source", path.display());
    }
    Ok(all)
}

/// Returns the union of the flags of all files, without those in `known`, because all files of one target are compiled
/// with the same flags. An option and its value stay together.
pub(super) fn flags(all: &[Compilation], known: &[String]) -> Vec<String> {
    let mut groups: Vec<&[String]> = Vec::new();
    for compilation in all {
        for group in linked::groups(&compilation.flags) {
            if !groups.contains(&group) && !known.windows(group.len()).any(|k| k == group) {
                groups.push(group);
            }
        }
    }
    groups.concat()
}

/// Replaces the directory of the sources in the flags by `{sources}`.
pub(super) fn with_sources_variable(sources: &Path, flags: &[String]) -> Vec<String> {
    let Some(root) = sources.to_str().filter(|root| root.len() > 1) else { return flags.to_vec() };
    flags.iter().map(|flag| flag.replace(root, "{sources}")).collect()
}

/// Splits a command into words as a shell does.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = command.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(q), c) if c == q => quote = None,
            (None, '\\') => word.get_or_insert_default().extend(rest.next()),
            (Some('"'), '\\') if rest.peek().is_some_and(|next| "\"\\$`".contains(*next)) => {
                word.get_or_insert_default().extend(rest.next());
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_by_a_shell() {
        let split = words(r#"cc -DA="\"x y\"" '-DB=a\b' -I a\ b  -DC="" x.c"#);
        assert_eq!(split, ["cc", r#"-DA="x y""#, r"-DB=a\b", "-I", "a b", "-DC=", "x.c"]);
    }

    #[test]
    fn each_flag_is_there_once_and_its_value_stays_with_it() {
        let of = |flags: &[&str]| Compilation {
            source: "a.c".to_owned(),
            flags: flags.iter().map(|f| (*f).to_owned()).collect(),
        };
        let all = [of(&["-D", "A=1", "-I/x"]), of(&["-D", "B", "-I/x", "-w"])];
        assert_eq!(flags(&all, &["-w".to_owned()]), ["-D", "A=1", "-I/x", "-D", "B"]);
    }
}
