//! The commands that build and run the program: for the comment at its head, and for `report.json`.

use std::path::{Path, PathBuf};

use super::{coverage_options, file_name, includes_source, is_cxx_program};
use crate::{
    files::foreign,
    report::{
        c_text::{identifier, is_cxx, is_source},
        files,
        format::shell_word,
        model::{Compilation, Report, TestProgram},
    },
};

/// Where a command works, and what it is for.
struct Build {
    /// The program's text.
    file: String,
    /// The program to make; objects lie beside it and begin with its name.
    out: String,
    /// With gcc's counters.
    coverage: bool,
}

/// `gcc … && ./test_f && gcov …`, for the directory of the program.
pub(super) fn command_line(report: &Report) -> String {
    let (file, out) = (file_name(report), program_name(report));
    let run = format!("./{out} && gcov -b *.gcda");
    format!("{} && {run}", Build { file, out, coverage: true }.command(report))
}

/// The commands for the output directory.
#[must_use]
pub fn commands(report: &Report) -> TestProgram {
    let (file, out) = (files::test_program(report), program_name(report));
    let in_tests = format!("{}/{out}", files::TESTS);
    let build = Build { file: file.clone(), out: in_tests.clone(), coverage: false }.command(report);
    // Old counts would be added to the new ones, and a failed check is no reason to count nothing.
    let counted = Build { file: file.clone(), out: out.clone(), coverage: true }.command(report);
    let coverage = format!("rm -f *.gcda *.gcno && {counted} && {{ ./{out}; gcov -b *.gcda; }}");
    TestProgram { file, build, run: in_tests, coverage }
}

fn program_name(report: &Report) -> String {
    format!("test_{}", identifier(&report.function))
}

impl Build {
    /// The program is compiled apart from the sources, so that flags meant for these (include directories above all) do not reach
    /// it, and it does not show up in gcov's count.
    fn command(&self, report: &Report) -> String {
        if report.compilations.is_empty() { self.of_sources(report) } else { self.of_compilations(report) }
    }

    /// For the sources that penfuzz compiled, all by the same flags.
    fn of_sources(&self, report: &Report) -> String {
        let own = absolute(&report.signature.file);
        let mut sources: Vec<PathBuf> = report.sources.iter().map(|s| absolute(s)).filter(|s| is_source(s)).collect();
        if sources.is_empty() && is_source(&own) {
            sources.push(own.clone());
        }
        let libraries = libraries(report, is_cxx_program(report) || sources.iter().any(|s| is_cxx(s)));
        let (before, first) = if includes_source(report) {
            sources.retain(|s| !same_file(s, &own));
            (String::new(), self.file.clone())
        } else {
            (format!("gcc -O0 -fno-builtin -c {} -o {}.o && ", self.file, self.out), format!("{}.o", self.out))
        };
        let mut words: Vec<_> = absolute_flags(&report.flags).iter().map(|f| shell_word(f)).collect();
        if sources.iter().any(|s| defines_main(s)) {
            words.push("-Dmain=program_main".to_owned());
        }
        words.push("-O0".to_owned());
        words.extend(self.counters(report));
        words.push(first);
        words.extend(sources.iter().map(|s| shell_word(&s.to_string_lossy())));
        words.extend(libraries);
        format!("{before}gcc {} -o {}", words.join(" "), self.out)
    }

    /// For the sources of a file that pen-cc linked, each by its own flags.
    fn of_compilations(&self, report: &Report) -> String {
        let own = absolute(&report.signature.file);
        let is_own = |c: &Compilation| same_file(Path::new(&c.source), &own);
        let included = includes_source(report);
        let counts = |source: &str| self.coverage && has_sites(report, source);
        let mut steps = Vec::new();
        let own_flags = report.compilations.iter().find(|c| is_own(c)).map_or(&[][..], |c| &c.flags);
        let (flags, counted) = if included { (own_flags, self.coverage) } else { (&[][..], false) };
        let option = if included { "" } else { " -fno-builtin" };
        let first = format!("{}.o", self.out);
        steps.push(format!("gcc -O0{option}{} -c {} -o {first}", options(flags, counted), self.file));
        let mut objects = vec![first];
        for (i, c) in report.compilations.iter().filter(|c| !(included && is_own(c))).enumerate() {
            let object = format!("{}-{}.o", self.out, i + 1);
            let main = if defines_main(Path::new(&c.source)) { " -Dmain=program_main" } else { "" };
            let options = options(&c.flags, counts(&c.source));
            steps.push(format!("gcc -O0 -w{options}{main} -c {} -o {object}", shell_word(&c.source)));
            objects.push(object);
        }
        let is_any_cxx = is_cxx_program(report) || report.compilations.iter().any(|c| is_cxx(Path::new(&c.source)));
        let words = [self.counters(report), objects, libraries(report, is_any_cxx)].concat();
        steps.push(format!("gcc {} -o {}", words.join(" "), self.out));
        steps.join(" && ")
    }

    fn counters(&self, report: &Report) -> Vec<String> {
        if !self.coverage {
            return Vec::new();
        }
        ["--coverage"].iter().chain(coverage_options(report)).map(|o| (*o).to_owned()).collect()
    }
}

fn options(flags: &[String], coverage: bool) -> String {
    let counters = coverage.then_some("--coverage".to_owned());
    let words = flags.iter().map(|f| shell_word(f)).chain(counters);
    words.flat_map(|word| [" ".to_owned(), word]).collect()
}

fn libraries(report: &Report, is_cxx: bool) -> Vec<String> {
    let mut libs = absolute_flags(&report.libs);
    if is_cxx {
        libs.push("-lstdc++".to_owned());
    }
    libs.push("-lm".to_owned());
    libs.iter().map(|l| shell_word(l)).collect()
}

/// Does the file hold a condition, or the function under test?
fn has_sites(report: &Report, source: &str) -> bool {
    let is_here = |file: &str| same_file(Path::new(source), &absolute(file));
    is_here(&report.signature.file) || report.sites.iter().any(|s| is_here(&s.file))
}

/// The path from the root: the program may be compiled in another directory than the target was.
pub(super) fn absolute(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path))
}

/// Options whose value is a path, which may be joined to it.
const WITH_PATH: [&str; 7] = ["-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-L"];

/// The same options in any directory: the paths in them are absolute. A word that names a file is a path, too.
#[must_use]
fn absolute_flags(flags: &[String]) -> Vec<String> {
    absolute_flags_from(flags, Path::new("."))
}

/// The same, with paths relative to `directory`. The file of `-include` may lie in a directory of `-I`: then it stays as it is.
#[must_use]
pub fn absolute_flags_from(flags: &[String], directory: &Path) -> Vec<String> {
    let in_directory = |path: &str| absolute(&directory.join(path).to_string_lossy()).to_string_lossy().into_owned();
    let mut out = Vec::with_capacity(flags.len());
    let mut option = None;
    for flag in flags {
        let path = |option: &str, path: &str| {
            let must_exist = ["-include", "-imacros"].contains(&option);
            if must_exist && !directory.join(path).exists() { path.to_owned() } else { in_directory(path) }
        };
        if let Some(before) = option.take() {
            out.push(path(before, flag));
        } else if let Some(known) = WITH_PATH.iter().find(|o| **o == flag) {
            out.push(flag.clone());
            option = Some(*known);
        } else if let Some(known) = WITH_PATH.iter().find(|o| flag.starts_with(**o)) {
            out.push(format!("{known}{}", path(known, &flag[known.len()..])));
        } else if !flag.starts_with('-') && directory.join(flag).exists() {
            out.push(in_directory(flag));
        } else {
            out.push(flag.clone());
        }
    }
    out
}

pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
/// Bytes of a source file that are read at most. The name may be a stranger's, as all of a report.
const LARGEST: u64 = 1 << 25;

/// Does the file seem to define `main`? A wrong yes does no harm: the name is changed everywhere.
#[must_use]
pub fn defines_main(source: &Path) -> bool {
    let Ok(bytes) = foreign::read(source, LARGEST) else {
        return false;
    };
    let text = String::from_utf8_lossy(&bytes);
    text.match_indices("main").any(|(at, _)| {
        let before = text[..at].chars().next_back();
        text[at + 4..].trim_start().starts_with('(') && !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}
