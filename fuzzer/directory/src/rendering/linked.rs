//! Reconstructs how pen-cc built a linked file: its sources with the options that they need, and its libraries.
//!
//! pen-cc makes clang record the command line of each object in the section `.GCC.command.line`, which is not loaded
//! and which linkers concatenate. It consists of NUL-terminated strings, one per command; words are separated by
//! spaces, and a backslash escapes a space or backslash within a word. pen-cc also adds the directory to the command
//! line (`-fdebug-compilation-dir=`). The libraries are those of the dynamic section (`DT_NEEDED`), found by
//! `DT_RUNPATH` or by the linker.

use std::path::{Path, PathBuf};

use object::{
    Endianness, Object, ObjectKind, ObjectSection, ObjectSymbol,
    elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader64},
    read::{
        archive::ArchiveFile,
        elf::{Dyn, FileHeader},
    },
};
use penfuzz_compile as build;
use penfuzz_target::program::{
    kind::is_archive,
    mapped::MappedFile,
    undefined::{Stubs, defined_as_zero},
};

use penfuzz_report::{c_text::is_source, model::Compilation};
use penfuzz_testgen::absolute_flags_from;

/// The section with the command lines.
const SECTION: &str = ".GCC.command.line";

/// Prefix of the names of the runtime's functions and of the pass's tables.
const RUNTIME_PREFIX: &[u8] = b"__pen_";

/// The option in which pen-cc records the directory.
const DIRECTORY: &str = "-fdebug-compilation-dir=";

/// Preprocessor options that take the next word as their value.
const WITH_VALUE: [&str; 8] = ["-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"];

/// Other options that take the next word as their value, and that the emitted program does not need.
const SKIPPED: [&str; 14] = [
    "-o",
    "-MF",
    "-MT",
    "-MQ",
    "-Xclang",
    "-mllvm",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-L",
    "-l",
    "-target",
    "-resource-dir",
    "-rpath",
];

/// Prefixes of options that change the meaning of a source, and that gcc accepts as well.
const KEPT_PREFIXES: [&str; 25] = [
    "-I",
    "-D",
    "-U",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-include",
    "-imacros",
    "-std=",
    "-ansi",
    "-pthread",
    "-m",
    "-nostdinc",
    "-fwrapv",
    "-ffast-math",
    "-fno-math-errno",
    "-frounding-math",
    "-funsigned-char",
    "-fsigned-char",
    "-fshort-enums",
    "-fpack-struct",
    "-fno-builtin",
    "-ffreestanding",
    "-fno-strict-aliasing",
    "-ffp-contract=",
];

/// Libraries that every program links, or that are linked by another name.
const DEFAULT_LIBRARIES: [&str; 7] =
    ["libc.so", "libm.so", "libgcc_s.so", "ld-linux", "libpthread.so", "libdl.so", "libstdc++.so"];

/// The sources and libraries of a linked file; both empty if the file records none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildRecord {
    /// Each source once.
    pub compilations: Vec<Compilation>,
    /// Linker arguments.
    pub libs: Vec<String>,
}

impl BuildRecord {
    /// Returns what the tests of the target `linked` are built from. Undefined symbols for which the target has stubs
    /// are defined as zero. Archives that pen-cc compiled are replaced by their sources, because they call the runtime
    /// in the target.
    #[must_use]
    pub fn for_tests(mut self, linked: &Path, sources: &[PathBuf]) -> Self {
        let n = self.libs.len();
        self.libs.retain(|lib| !is_instrumented(lib));
        let has_archive = self.libs.len() < n || sources.iter().any(|s| is_archive(s));
        if has_archive && self.compilations.is_empty() {
            self.compilations = recorded(linked).compilations;
        }
        self.libs = build::libraries(&self.libs);
        self.libs.extend(defined_as_zero(&Stubs::of(linked)));
        self
    }
}

/// Returns whether the file is an archive or an object that pen-cc compiled.
fn is_instrumented(lib: &str) -> bool {
    if lib.starts_with('-') {
        return false;
    }
    let Ok(data) = MappedFile::open(Path::new(lib)) else { return false };
    let has_hooks = |data: &[u8]| {
        object::File::parse(data).is_ok_and(|f| {
            f.kind() == ObjectKind::Relocatable
                && f.symbols().any(|s| s.name_bytes().is_ok_and(|n| n.starts_with(RUNTIME_PREFIX)))
        })
    };
    let Ok(archive) = ArchiveFile::parse(&*data) else { return has_hooks(&data) };
    archive.members().filter_map(|m| m.ok()?.data(&*data).ok()).any(has_hooks)
}

/// Reads the records of the file at `path`.
#[must_use]
pub fn recorded(path: &Path) -> BuildRecord {
    let Ok(data) = MappedFile::open(path) else { return BuildRecord::default() };
    let mut compilations: Vec<Compilation> = Vec::new();
    for (words, directory) in command_lines_in(&data) {
        for compilation in compilations_of(&words, &directory) {
            if !compilations.iter().any(|c| c.source == compilation.source) {
                compilations.push(compilation);
            }
        }
    }
    if compilations.is_empty() {
        return BuildRecord::default();
    }
    BuildRecord { compilations, libs: libraries(&data).unwrap_or_default() }
}

/// Returns the recorded command lines of the file at `path`: the words of each, the compiler first, and the working
/// directory.
#[must_use]
pub fn command_lines(path: &Path) -> Vec<(Vec<String>, PathBuf)> {
    MappedFile::open(path).map_or_else(|_| Vec::new(), |data| command_lines_in(&data))
}

fn command_lines_in(data: &[u8]) -> Vec<(Vec<String>, PathBuf)> {
    let lines = object::File::parse(data)
        .ok()
        .and_then(|f| f.section_by_name(SECTION).and_then(|s| s.data().ok().map(<[u8]>::to_vec)))
        .unwrap_or_default();
    let with_directory = |line: &[u8]| {
        let words = words(&String::from_utf8_lossy(line));
        let directory = words.iter().rev().find_map(|w| w.strip_prefix(DIRECTORY)).unwrap_or("/").into();
        (words, directory)
    };
    lines.split(|b| *b == 0).filter(|l| !l.is_empty()).map(with_directory).collect()
}

/// Splits a recorded command line into words.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            ' ' => words.push(String::new()),
            c => {
                let c = if c == '\\' { characters.next().unwrap_or(c) } else { c };
                if let Some(word) = words.last_mut() {
                    word.push(c);
                }
            }
        }
    }
    words.retain(|w| !w.is_empty());
    words
}

/// Returns the sources of a command that was run in `directory`, each with its flags. The first word is the compiler.
#[must_use]
pub fn compilations_of(command: &[String], directory: &Path) -> Vec<Compilation> {
    let (mut flags, mut sources) = (Vec::new(), Vec::new());
    let mut rest = command.iter().skip(1);
    while let Some(word) = rest.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            flags.push(word.clone());
            flags.extend(rest.next().cloned());
        } else if SKIPPED.contains(&word.as_str()) {
            rest.next();
        } else if KEPT_PREFIXES.iter().any(|n| word.starts_with(n)) {
            flags.push(word.clone());
        } else if !word.starts_with('-') && is_source(Path::new(word)) {
            sources.push(directory.join(word).to_string_lossy().into_owned());
        }
    }
    let flags = absolute_flags_from(&flags, directory);
    sources.into_iter().map(|source| Compilation { source, flags: flags.clone() }).collect()
}

/// Splits the flags of a compilation into groups: each flag with its value.
#[must_use]
pub fn groups(flags: &[String]) -> Vec<&[String]> {
    let (mut all, mut rest) = (Vec::new(), flags);
    while let Some(first) = rest.first() {
        let n = if WITH_VALUE.contains(&first.as_str()) { 2 } else { 1 };
        let (group, others) = rest.split_at(n.min(rest.len()));
        all.push(group);
        rest = others;
    }
    all
}

fn libraries(data: &[u8]) -> object::read::Result<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let Some((entries, link)) = sections.dynamic(endian, data)? else { return Ok(Vec::new()) };
    let strings = sections.strings(endian, data, link)?;
    let (mut needed, mut directories) = (Vec::new(), Vec::new());
    for entry in entries {
        let tag = entry.tag32(endian);
        if tag == Some(DT_NEEDED) {
            needed.push(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
        } else if tag == Some(DT_RUNPATH) || tag == Some(DT_RPATH) {
            let text = String::from_utf8_lossy(entry.string(endian, strings)?).into_owned();
            directories.extend(text.split(':').map(PathBuf::from));
        }
    }
    needed.retain(|name| !DEFAULT_LIBRARIES.iter().any(|e| name.starts_with(e)));
    Ok(needed.iter().flat_map(|name| library(name, &directories)).collect())
}

fn library(name: &str, directories: &[PathBuf]) -> Vec<String> {
    match directories.iter().find(|d| d.join(name).is_file()) {
        Some(d) => vec![d.join(name).to_string_lossy().into_owned(), format!("-Wl,-rpath,{}", d.display())],
        None if name.starts_with('/') => vec![name.to_owned()],
        None => vec![format!("-l:{name}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noted_command_is_split_at_its_spaces() {
        assert_eq!(words(r"clang -DA=a\ b\\c  x.c"), ["clang", r"-DA=a b\c", "x.c"]);
    }

    #[test]
    fn flags_that_affect_a_source_are_kept() {
        let line = "clang -fpass-plugin=/p.so -Iinc -D N=1 -std=gnu11 -O2 -g -fPIC -ffreestanding -MF x.d -Xclang \
                    -load -o x.o a.c /b/c.cc -fdebug-compilation-dir=/d";
        let found = compilations_of(&words(line), Path::new("/d"));
        let sources: Vec<_> = found.iter().map(|c| c.source.as_str()).collect();
        assert_eq!(sources, ["/d/a.c", "/b/c.cc"]);
        assert_eq!(found[0].flags, ["-I/d/inc", "-D", "N=1", "-std=gnu11", "-ffreestanding"]);
    }
}
