//! Finds the project's own header that declares the function under test, so that the emitted tests include it instead
//! of declaring the function again.
//!
//! 1. It follows the `#include` lines of the source through the include directories of its flags. Headers that are not
//!    found there are system headers.
//! 2. A candidate is an include of the source that leads to a file in which the function's name occurs. It is tried as
//!    the source writes it: first alone, then after the source's preceding includes; in a C++ program also inside
//!    `extern "C"`.
//! 3. gcc decides. A program that includes the candidate and calls the function as the emitted tests do must compile
//!    without a prototype and refer to the function's symbol. (A macro, an inline function or another overload refers
//!    to another symbol.) The includes must define no symbols, which the linker would find twice: a source may include
//!    another source.
//! 4. The standard headers that the tests include must be those that gcc finds without the project's flags: a project
//!    may have its own `stdio.h`.
//!
//! If no header passes, or there is no gcc, the tests declare the function.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use object::{Object, ObjectSymbol};

use penfuzz_report::{Header, Report};
use penfuzz_system::files::foreign;

/// Maximum number of candidates tried; each costs one or two runs of gcc (about 30 ms).
const MOST_TRIALS: usize = 12;

/// Maximum number of files followed, and of bytes read from each.
const MOST_FILES: usize = 500;
const LARGEST: u64 = 1 << 22;

/// Standard headers that the emitted tests include in some format, and that a project could replace by its own.
const STANDARD: [&str; 10] = [
    "errno.h", "fenv.h", "setjmp.h", "signal.h", "stdarg.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "unistd.h",
];

/// Looks for the header. If there is one, sets it in `report`.
pub fn complete(report: &mut Report) {
    report.header = find(report);
    if report.header.is_some() {
        report.test_program = Some(penfuzz_testgen::commands(report));
    }
}

/// The header; `None` if the tests must declare the function.
#[must_use]
pub fn find(report: &Report) -> Option<Header> {
    let signature = &report.signature;
    if signature.is_static || report.tests.is_empty() || penfuzz_testgen::is_byte_harness(report) {
        return None;
    }
    let source = Source::of(report)?;
    let name = report.function.rsplit("::").next().unwrap_or(&report.function);
    let name = name.split(['<', '(']).next().unwrap_or(name);
    let includes = source.includes();
    let mut trials = 0;
    for (i, include) in includes.iter().enumerate() {
        if !source.leads_to(include, name) {
            continue;
        }
        let alone = vec![include.text.clone()];
        let behind: Vec<_> = includes[..=i].iter().map(|i| i.text.clone()).collect();
        for lines in if i == 0 { vec![alone] } else { vec![alone, behind] } {
            for extern_c in [false, true] {
                if extern_c && !is_extern_c_possible(report) {
                    continue;
                }
                trials += 1;
                if trials > MOST_TRIALS {
                    return None;
                }
                let header = Header { includes: lines.clone(), flags: source.flags(&lines), extern_c };
                if let Some(header) = accepted(report, header) {
                    return Some(header);
                }
            }
        }
    }
    None
}

/// Whether the test program is C++ and the function is not.
fn is_extern_c_possible(report: &Report) -> bool {
    penfuzz_testgen::file_name(&Report { header: Some(Header::default()), ..report.clone() }).ends_with("pp")
        && !report.signature.symbol.starts_with("_Z")
}

/// An `#include` line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Include {
    /// The name with its quotes or brackets.
    text: String,
    /// The file of the project.
    file: PathBuf,
}

/// The source file of the function under test.
struct Source {
    file: PathBuf,
    /// The compiler options of the file, with absolute paths.
    options: Vec<String>,
    /// The include directories in the options: `quoted` serves `"..."` only, `directories` serves both forms.
    quoted: Vec<PathBuf>,
    directories: Vec<PathBuf>,
}

impl Source {
    fn of(report: &Report) -> Option<Self> {
        let file = fs::canonicalize(report.signature.source()).ok()?;
        let is_own = |source: &str| fs::canonicalize(source).is_ok_and(|path| path == file);
        let options = match report.compilations.iter().find(|c| is_own(&c.source)) {
            Some(compilation) => compilation.flags.clone(),
            None => penfuzz_testgen::absolute_flags_from(&report.flags, Path::new(".")),
        };
        let is_cxx =
            penfuzz_testgen::file_name(&Report { header: Some(Header::default()), ..report.clone() }).ends_with("pp");
        let options = penfuzz_testgen::in_language(&options, is_cxx);
        let (mut quoted, mut directories) = (Vec::new(), Vec::new());
        let mut words = options.iter();
        while let Some(word) = words.next() {
            for (option, to) in [("-iquote", &mut quoted), ("-I", &mut directories)] {
                match word.strip_prefix(option) {
                    Some("") => to.extend(words.next().map(PathBuf::from)),
                    Some(directory) => to.push(PathBuf::from(directory)),
                    None => continue,
                }
                break;
            }
        }
        Some(Self { file, options, quoted, directories })
    }

    /// The project headers that the source includes, in order.
    fn includes(&self) -> Vec<Include> {
        self.includes_of(&self.file)
    }

    fn includes_of(&self, file: &Path) -> Vec<Include> {
        let Ok(bytes) = foreign::read(file, LARGEST) else { return Vec::new() };
        let text = String::from_utf8_lossy(&bytes);
        let names = text.lines().filter_map(included);
        names.filter_map(|text| Some(Include { file: self.resolve(text, file)?, text: text.to_owned() })).collect()
    }

    /// The project file that the include `text` in the file `from` refers to.
    fn resolve(&self, text: &str, from: &Path) -> Option<PathBuf> {
        let name = &text[1..text.len() - 1];
        let beside = from.parent().map(Path::to_path_buf);
        let own =
            if text.starts_with('"') { beside.into_iter().chain(self.quoted.clone()).collect() } else { Vec::new() };
        own.iter().chain(&self.directories).map(|directory| directory.join(name)).find(|path| path.is_file())
    }

    /// Whether the name occurs in the header or in a header that it includes.
    fn leads_to(&self, include: &Include, name: &str) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![include.file.clone()]);
        while let Some(file) = open.pop() {
            if seen.len() > MOST_FILES || !seen.insert(file.clone()) {
                continue;
            }
            if foreign::read(&file, LARGEST).is_ok_and(|bytes| has_word(&String::from_utf8_lossy(&bytes), name)) {
                return true;
            }
            open.extend(self.includes_of(&file).into_iter().map(|i| i.file));
        }
        false
    }

    /// The options that a file in another directory needs in order to use these includes.
    fn flags(&self, lines: &[String]) -> Vec<String> {
        let mut flags = self.options.clone();
        let beside = self.file.parent().filter(|_| lines.iter().any(|line| line.starts_with('"')));
        flags.extend(beside.map(|directory| format!("-iquote{}", directory.display())));
        flags
    }
}

/// The name in an `#include` line, with its quotes or brackets.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let end = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    let length = rest[1..].find(end)?;
    (length > 0).then(|| &rest[..length + 2])
}

/// Whether the name occurs as a whole word.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    !name.is_empty()
        && text
            .match_indices(name)
            .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + name.len()..].chars().next()))
}

/// Returns the header if gcc accepts it.
fn accepted(report: &Report, header: Header) -> Option<Header> {
    let directory = tempfile::tempdir().ok()?;
    let trial = Report { header: Some(header), ..report.clone() };
    let name = penfuzz_testgen::file_name(&trial);
    let is_cxx = name.ends_with("pp");
    let (file, object, dependencies) =
        (directory.path().join(name), directory.path().join("trial.o"), directory.path().join("trial.d"));
    let standard: String = STANDARD.iter().flat_map(|h| ["#include <", h, ">\n"]).collect();
    fs::write(&file, penfuzz_testgen::trial(&trial) + &standard).ok()?;
    let header = trial.header?;
    let mut command = Command::new("gcc");
    // With `-w`, gcc reports no warning as an error either.
    let flags = header.flags.iter().filter(|flag| !["-w", "-Werror", "-fpermissive"].contains(&flag.as_str()));
    command.args(["-O0", "-fno-builtin", "-c"]).args(flags);
    if !is_cxx {
        command.args(
            ["incompatible-pointer-types", "int-conversion", "implicit-function-declaration"]
                .map(|w| format!("-Werror={w}")),
        );
    }
    command.arg("-MD").arg("-MF").arg(&dependencies).arg(&file).arg("-o").arg(&object);
    if !succeeds(&mut command) || !refers_to(&object, &report.signature.symbol) {
        return None;
    }
    if has_definitions(&header, is_cxx, directory.path()) {
        return None;
    }
    let used = fs::read_to_string(&dependencies).ok()?;
    let used: BTreeSet<&str> = used.split_whitespace().collect();
    standard_files(is_cxx, directory.path())?.iter().all(|path| used.contains(path.as_str())).then_some(header)
}

/// The paths of the standard headers that gcc finds without any options.
fn standard_files(is_cxx: bool, directory: &Path) -> Option<Vec<String>> {
    let file = directory.join(if is_cxx { "standard.cpp" } else { "standard.c" });
    let text: String = STANDARD.iter().flat_map(|h| ["#include <", h, ">\n"]).collect();
    fs::write(&file, text).ok()?;
    let dependencies = directory.join("standard.d");
    let mut command = Command::new("gcc");
    command.arg("-M").arg("-MF").arg(&dependencies).arg(&file);
    if !succeeds(&mut command) {
        return None;
    }
    let all = fs::read_to_string(&dependencies).ok()?;
    let is_standard = |path: &&str| STANDARD.iter().any(|name| path.ends_with(&format!("/{name}")));
    Some(all.split_whitespace().filter(is_standard).map(str::to_owned).collect())
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether the object file refers to the symbol without defining it.
fn refers_to(file: &Path, symbol: &str) -> bool {
    let Ok(data) = fs::read(file) else { return false };
    object::File::parse(&*data)
        .is_ok_and(|object| object.symbols().any(|s| s.is_undefined() && s.name().is_ok_and(|name| name == symbol)))
}

/// Whether the includes define functions or variables that the linker would find twice: one of them is a source file,
/// or a header that only one file may include.
fn has_definitions(header: &Header, is_cxx: bool, directory: &Path) -> bool {
    let (file, object) =
        (directory.join(if is_cxx { "includes.cpp" } else { "includes.c" }), directory.join("includes.o"));
    let lines: String = header.includes.iter().flat_map(|name| ["#include ", name, "\n"]).collect();
    let text = if header.extern_c { format!("extern \"C\" {{\n{lines}}}\n") } else { lines };
    let mut command = Command::new("gcc");
    command.args(["-O0", "-fno-builtin", "-c"]).args(&header.flags).arg(&file).arg("-o").arg(&object);
    if fs::write(&file, text).is_err() || !succeeds(&mut command) {
        return false;
    }
    let Ok(data) = fs::read(object) else { return false };
    let is_definition = |s: object::Symbol| s.is_definition() && s.is_global() && !s.is_weak();
    object::File::parse(&*data).is_ok_and(|object| object.symbols().any(is_definition))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_include_is_found_with_its_delimiters() {
        assert_eq!(included("#include \"a/b.h\" // c"), Some("\"a/b.h\""));
        assert_eq!(included("  #  include <a.h>"), Some("<a.h>"));
        for line in ["#include HEADER", "#include \"\"", "#define a <b>", "include <a>", "#include <a"] {
            assert_eq!(included(line), None, "{line}");
        }
    }

    #[test]
    fn a_name_is_a_whole_word() {
        assert!(has_word("double f(double);", "f") && has_word("(f)", "f"));
        assert!(!has_word("ff f_ _f f1", "f") && !has_word("f", ""));
    }
}
