//! Reads from a linked file how its sources were compiled, with all options: a proof is about the code that runs.

use std::path::{Path, PathBuf};

use penfuzz_directory::rendering::linked;
use penfuzz_report::c_text::is_source;

use super::translation::Unit;

/// Options that are followed by a value and are kept.
const WITH_VALUE: [&str; 13] = [
    "-I",
    "-D",
    "-U",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-include",
    "-imacros",
    "-target",
    "-resource-dir",
    "-x",
    "-arch",
    "-Xpreprocessor",
];

/// Options that are followed by a value and are dropped: they concern other files.
const OTHER_WITH_VALUE: [&str; 8] = ["-o", "-MF", "-MT", "-MQ", "-Xlinker", "-Xassembler", "-L", "-l"];

/// Dropped options: they concern other files, or pen-cc adds them again.
const OTHER: [&str; 10] = ["-c", "-S", "-E", "-MD", "-MMD", "-MP", "-shared", "-pie", "-frecord-command-line", "-v"];
const OTHER_BEGINNINGS: [&str; 8] =
    ["-o", "-l", "-L", "-Wl,", "-fpass-plugin=", "-fuse-ld", "--start-no-unused", "--end-no-unused"];

/// The sources of the linked file at `path`. A source that was compiled several times has the options of the first
/// time.
pub fn units(path: &Path) -> Vec<Unit> {
    let mut all: Vec<Unit> = Vec::new();
    for (words, directory) in linked::command_lines(path) {
        for unit in units_of(&words, &directory) {
            if !all.iter().any(|known| known.source == unit.source) {
                all.push(unit);
            }
        }
    }
    all
}

/// The sources of one command line, whose first word is the compiler.
fn units_of(words: &[String], directory: &Path) -> Vec<Unit> {
    let (mut flags, mut sources): (Vec<String>, Vec<PathBuf>) = (Vec::new(), Vec::new());
    let mut rest = words.iter().skip(1).peekable();
    while let Some(word) = rest.next() {
        match word.as_str() {
            w if OTHER_WITH_VALUE.contains(&w) => drop(rest.next()),
            "-Xclang" => match rest.next().map(String::as_str) {
                // A plugin of clang: `-Xclang -load -Xclang FILE`.
                Some("-load") => drop((rest.next(), rest.next())),
                Some(value) => flags.extend([word.clone(), value.to_owned()]),
                None => {}
            },
            "-mllvm" => {
                let value = rest.next().filter(|value| !value.starts_with("-pen-"));
                flags.extend(value.into_iter().flat_map(|value| [word.clone(), value.clone()]));
            }
            w if WITH_VALUE.contains(&w) => {
                flags.push(word.clone());
                flags.extend(rest.next().cloned());
            }
            w if OTHER.contains(&w) || OTHER_BEGINNINGS.iter().any(|b| w.starts_with(b)) => {}
            w if w.starts_with('-') => flags.push(word.clone()),
            w if is_source(Path::new(w)) => sources.push(directory.join(w)),
            _ => {}
        }
    }
    let unit = |source| Unit { source, flags: flags.clone(), directory: Some(directory.to_path_buf()) };
    sources.into_iter().map(unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_keeps_every_option_that_changes_its_code() {
        let line = "clang -Ofast -Iinc -D N=1 -o x a.c b.o -lm -Wl,-z,defs -Xclang -load -Xclang /p.so -mllvm \
                    -pen-exceptions -Xclang -fcoverage-mcdc -mllvm -other -fpass-plugin=/p.so \
                    -funsafe-math-optimizations";
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        let units = units_of(&words, Path::new("/d"));
        assert_eq!(units.len(), 1);
        assert_eq!(units[0].source, Path::new("/d/a.c"));
        let kept = "-Ofast -Iinc -D N=1 -Xclang -fcoverage-mcdc -mllvm -other -funsafe-math-optimizations";
        assert_eq!(units[0].flags.join(" "), kept);
    }
}
