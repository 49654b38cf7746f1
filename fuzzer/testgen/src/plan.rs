//! The files from which the test program is compiled, for every build system.

use std::path::{Path, PathBuf};

use penfuzz_report::{
    c_text::{is_cxx, is_source},
    model::{Compilation, Report},
};

use super::{
    access::{Access, file_name, is_cxx_program, wrapper_name},
    command::{SiteFiles, absolute, absolute_flags, defines_main, resolved},
    formats, streams,
};

/// A file to compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// An emitted file, in the directory of the program.
    Emitted(String),
    /// A file of the project, by its absolute path.
    Project(PathBuf),
}

/// A file to compile, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub source: Source,
    pub options: Vec<String>,
    /// Coverage counts include the file.
    pub is_counted: bool,
}

/// The whole program. The first unit is the program's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub units: Vec<Unit>,
    /// Linker arguments, without those of the framework.
    pub libs: Vec<String>,
    /// One of the files is C++.
    pub is_cxx: bool,
    /// A file that only coverage builds need.
    pub counts: Option<Unit>,
}

impl Unit {
    pub fn is_cxx(&self) -> bool {
        match &self.source {
            Source::Emitted(name) => is_cxx(Path::new(name)),
            Source::Project(path) => is_cxx(path),
        }
    }
}

impl Plan {
    pub fn of(report: &Report) -> Self {
        let own = resolved(&absolute(report.signature.source()));
        let is_own = |c: &&Compilation| resolved(Path::new(&c.source)) == own;
        let sources = sources(report);
        let own_flags = sources.iter().find(is_own).map(|c| c.flags.clone());
        let own_flags = own_flags.unwrap_or_else(|| absolute_flags(&report.flags));
        let access = Access::of(report);
        let mut units = vec![program(report, access, &own_flags)];
        if access == Access::Wrapper {
            let source = Source::Emitted(wrapper_name(report));
            units.push(Unit { source, options: including(report, &own_flags), is_counted: true });
        }
        let includes_own = matches!(access, Access::Source | Access::Wrapper);
        let site_files = SiteFiles::of(report);
        for c in sources.iter().filter(|c| !(includes_own && is_own(c))) {
            let renames = !report.is_program() && defines_main(Path::new(&c.source));
            let main = renames.then(|| "-Dmain=program_main".to_owned());
            let options = ["-w".to_owned()].into_iter().chain(joined(&c.flags)).chain(main).collect();
            let source = Source::Project(PathBuf::from(&c.source));
            units.push(Unit { source, options, is_counted: site_files.contain(Path::new(&c.source)) });
        }
        let counts = formats::counts(report, &super::cases::all(report)).map(|_| Unit {
            source: Source::Emitted(formats::COUNTS_FILE.to_owned()),
            options: Vec::new(),
            is_counted: false,
        });
        let is_cxx = units.iter().any(Unit::is_cxx);
        Self { units, libs: streams::linked(report).chain(absolute_flags(&report.libs)).collect(), is_cxx, counts }
    }

    /// The common directory of the project's files; `None` if there are no files.
    pub fn project(&self) -> Option<PathBuf> {
        let mut files = self.units.iter().filter_map(|unit| match &unit.source {
            Source::Project(path) => path.parent(),
            Source::Emitted(_) => None,
        });
        let mut common = files.next()?.to_path_buf();
        for directory in files {
            while !directory.starts_with(&common) {
                common.pop();
            }
        }
        // The root directory is not a project.
        (common.components().count() > 1).then_some(common)
    }
}

fn program(report: &Report, access: Access, own_flags: &[String]) -> Unit {
    let source = Source::Emitted(file_name(report));
    let no_builtin = "-fno-builtin".to_owned();
    match access {
        Access::Source => {
            let mut options = including(report, own_flags);
            options.extend(access_control(report));
            Unit { source, options, is_counted: true }
        }
        Access::Header => {
            let flags = report.header.as_ref().map_or(&[][..], |h| &h.flags);
            let flags = in_language(flags, is_cxx_program(report));
            let options = [no_builtin].into_iter().chain(joined(&flags)).collect();
            Unit { source, options, is_counted: false }
        }
        Access::Prototype | Access::Wrapper => Unit { source, options: vec![no_builtin], is_counted: false },
    }
}

/// The options for a file that includes the source and calls the function. If the function has the name of a C library
/// function (`sqrtl`, `fmax`), a compiler would replace the call by a value or an instruction.
fn including(report: &Report, own_flags: &[String]) -> Vec<String> {
    let symbol = report.signature.symbol.as_str();
    let is_of_c = symbol.is_empty() || symbol == report.function;
    let not_known = is_of_c.then(|| format!("-fno-builtin-{}", report.function));
    joined(own_flags).into_iter().chain(not_known).collect()
}

/// The option for a member function, which may be private, or have private types. A static member function has no
/// `this`, and the symbol does not show whether a scope is a class or a namespace, so all functions with a scope get
/// the option.
pub(super) fn access_control(report: &Report) -> Option<String> {
    let is_scoped = report.signature.symbol.starts_with("_ZN");
    (is_scoped && is_cxx_program(report)).then(|| "-fno-access-control".to_owned())
}

/// The project's sources, each with its flags.
fn sources(report: &Report) -> Vec<Compilation> {
    if !report.compilations.is_empty() {
        return report.compilations.clone();
    }
    let own = absolute(report.signature.source());
    let mut sources: Vec<PathBuf> = report.sources.iter().map(|s| absolute(s)).filter(|s| is_source(s)).collect();
    if sources.is_empty() && is_source(&own) {
        sources.push(own);
    }
    let flags = absolute_flags(&report.flags);
    let compilation = |s: PathBuf| Compilation { source: s.to_string_lossy().into_owned(), flags: flags.clone() };
    sources.into_iter().map(compilation).collect()
}

/// The flags, without those of C language standards if the file is C++.
#[must_use]
pub fn in_language(flags: &[String], is_cxx: bool) -> Vec<String> {
    let is_level = |flag: &&String| flag.starts_with("-std=") && !flag.contains("++") || flag.as_str() == "-ansi";
    flags.iter().filter(|flag| !(is_cxx && is_level(flag))).cloned().collect()
}

/// Joins each option with its value into one word, because build systems drop repeated words.
fn joined(flags: &[String]) -> Vec<String> {
    const WITH_VALUE: [&str; 9] = ["-I", "-D", "-U", "-L", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"];
    let mut out: Vec<String> = Vec::new();
    let mut is_value = false;
    for flag in flags {
        match out.last_mut().filter(|_| is_value) {
            Some(option) => option.push_str(flag),
            None => out.push(flag.clone()),
        }
        is_value = !is_value && WITH_VALUE.contains(&flag.as_str());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_and_its_value_are_one_word() {
        let flags = ["-D", "N=1", "-D", "-D", "-O2", "-I", "/a b"].map(str::to_owned);
        assert_eq!(joined(&flags), ["-DN=1", "-D-D", "-O2", "-I/a b"]);
    }

    #[test]
    fn a_level_of_c_is_not_for_cxx() {
        let flags = ["-std=gnu11", "-DA", "-ansi", "-std=c++20"].map(str::to_owned);
        assert_eq!(in_language(&flags, true), ["-DA", "-std=c++20"]);
        assert_eq!(in_language(&flags, false), flags);
    }
}
