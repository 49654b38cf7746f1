//! The shell commands that build and run the program, for the comment at its head and for `report.json`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use penfuzz_report::{
    c_text::{is_cxx, is_source},
    files,
    format::shell_word,
    model::{Report, TestProgram},
};
use penfuzz_system::files::foreign;

use super::{
    access::{file_name, includes_source, is_cxx_program, stem},
    coverage_options,
    plan::{Plan, Source, Unit, access_control},
    streams,
};

/// Directory and purpose of a build command.
struct Build<'a> {
    /// The program that compiles and links, as a shell word.
    compiler: &'a str,
    /// The directory of the program's text, with a final `/`.
    directory: String,
    /// The path of the program to build. Object files are next to it, and their names begin with its name.
    out: String,
    /// Compile with gcov's counters.
    coverage: bool,
}

/// The compiler of the commands for users.
const GCC: &str = "gcc";

/// The command `gcc … && ./test_f && gcov …`, for the directory of the program.
pub(super) fn command_line(report: &Report) -> String {
    let out = stem(report);
    let run = format!("./{out} && {}", gcov(report));
    format!("{} && {run}", Build { compiler: GCC, directory: String::new(), out, coverage: true }.command(report))
}

/// The command `gcc … && ./test_f`, for the directory of the program.
pub(super) fn plain_line(report: &Report) -> String {
    let out = stem(report);
    let build = Build { compiler: GCC, directory: String::new(), out: out.clone(), coverage: false };
    format!("{} && ./{out}", build.command(report))
}

/// The commands, for the output directory.
#[must_use]
pub fn commands(report: &Report) -> TestProgram {
    commands_by(report, GCC)
}

/// The same with another compiler that takes the options of gcc.
#[must_use]
pub fn commands_by(report: &Report, compiler: &str) -> TestProgram {
    let (file, out) = (format!("{}/{}", files::TESTS, file_name(report)), stem(report));
    let in_tests = format!("{}/{out}", files::TESTS);
    let directory = format!("{}/", files::TESTS);
    let build =
        Build { compiler, directory: directory.clone(), out: in_tests.clone(), coverage: false }.command(report);
    // Old counts would be added to the new ones. gcov also runs if a check fails.
    let counted = Build { compiler, directory, out: out.clone(), coverage: true }.command(report);
    let coverage = format!("rm -f *.gcda *.gcno && {counted} && {{ ./{out}; {}; }}", gcov(report));
    let format = report.test_format;
    TestProgram { file, format, build, run: in_tests, coverage }
}

/// Object files by their sources.
pub type Objects = BTreeMap<PathBuf, PathBuf>;

/// The build command for the output directory, with objects in place of sources. `objects` has those of
/// [`project_sources`] that are compiled already.
#[must_use]
pub fn build_with(report: &Report, compiler: &str, objects: &Objects) -> String {
    if objects.is_empty() {
        return commands_by(report, compiler).build;
    }
    let (directory, out) = (format!("{}/", files::TESTS), format!("{}/{}", files::TESTS, stem(report)));
    Build { compiler, directory, out, coverage: false }.of_plan(report, &Plan::of(report), objects)
}

/// The sources of the project that the program links, with their options. They are the same in all tests of a target.
#[must_use]
pub fn project_sources(report: &Report) -> Vec<(PathBuf, Vec<String>)> {
    if bitcode(report).is_some() {
        return Vec::new();
    }
    let units = Plan::of(report).units.into_iter();
    let project = units.filter_map(|unit| match unit.source {
        Source::Project(path) => Some((path, unit.options)),
        Source::Emitted(_) => None,
    });
    project.collect()
}

impl Build<'_> {
    /// The build command. The program is compiled separately from the sources, so that flags for the sources (above all
    /// include directories) do not affect it, and it does not occur in gcov's count.
    fn command(&self, report: &Report) -> String {
        if report.compilations.is_empty() && report.test_format.is_plain() && !have_equal_names(report) {
            return self.of_sources(report);
        }
        self.of_plan(report, &Plan::of(report), &Objects::new())
    }

    /// The command for the plain program and the sources that penfuzz compiled, all with the same flags: two calls of
    /// gcc.
    fn of_sources(&self, report: &Report) -> String {
        let (own, compiler) = (absolute(report.signature.source()), self.compiler);
        let file = format!("{}{}", self.directory, file_name(report));
        let mut sources: Vec<PathBuf> = report.sources.iter().map(|s| absolute(s)).filter(|s| is_source(s)).collect();
        let bitcode = bitcode(report);
        if sources.is_empty() && is_source(&own) && bitcode.is_none() {
            sources.push(own.clone());
        }
        let libraries = libraries(report, is_cxx_program(report) || sources.iter().any(|s| is_cxx(s)));
        let mut own_options = Vec::new();
        let (before, first) = if includes_source(report) {
            let own = resolved(&own);
            sources.retain(|s| resolved(s) != own);
            own_options.extend(access_control(report));
            (String::new(), file)
        } else {
            let plan = Plan::of(report);
            let options = words(&plan.units[0].options);
            (format!("{compiler} -O0{options} -c {file} -o {}.o && ", self.out), format!("{}.o", self.out))
        };
        let (before, first) = match bitcode {
            None => (before, first),
            Some(bitcode) => {
                let (clang, object) = (penfuzz_cc::LLVM_MAJOR, format!("{}-target.o", self.out));
                let bitcode = shell_word(&bitcode.to_string_lossy());
                (format!("{before}clang-{clang} -w -c {bitcode} -o {object} && "), format!("{first} {object}"))
            }
        };
        let mut words: Vec<_> = absolute_flags(&report.flags).iter().map(|f| shell_word(f)).collect();
        if !report.is_program() && sources.iter().any(|s| defines_main(s)) {
            words.push("-Dmain=program_main".to_owned());
        }
        words.push("-O0".to_owned());
        words.extend(own_options);
        words.extend(self.counters(report));
        words.push(first);
        words.extend(sources.iter().map(|s| shell_word(&s.to_string_lossy())));
        words.extend(libraries);
        format!("{before}{compiler} {} -o {}", words.join(" "), self.out)
    }

    /// The command that compiles each file with its own flags and those of the framework. A source for which there is
    /// an object is not compiled.
    fn of_plan(&self, report: &Report, plan: &Plan, known: &Objects) -> String {
        let library = &super::formats::format_of(report).library;
        let (mut steps, mut objects, compiler) = (Vec::new(), Vec::new(), self.compiler);
        for (i, unit) in plan.units.iter().enumerate() {
            if let Source::Project(path) = &unit.source
                && let Some(object) = known.get(path)
            {
                objects.push(shell_word(&object.to_string_lossy()));
                continue;
            }
            let object = if i == 0 { format!("{}.o", self.out) } else { format!("{}-{i}.o", self.out) };
            let framework =
                if i == 0 && !library.options.is_empty() { format!(" {}", library.options) } else { String::new() };
            let coverage = if self.coverage && unit.is_counted { " --coverage" } else { "" };
            let options = words(&unit.options);
            steps.push(format!("{compiler} -O0{options}{framework}{coverage} -c {} -o {object}", self.path(unit)));
            objects.push(object);
        }
        if let Some(unit) = plan.counts.as_ref().filter(|_| self.coverage) {
            let object = format!("{}-counts.o", self.out);
            steps.push(format!("{compiler} -O0 -c {} -o {object}", self.path(unit)));
            objects.push(object);
        }
        if !library.source.is_empty() {
            let object = format!("{}-framework.o", self.out);
            steps.push(format!("{compiler} -O0 {} -c {} -o {object}", library.options, library.source));
            objects.push(object);
        }
        let libs = libraries(report, plan.is_cxx);
        let framework = (!library.libs.is_empty()).then(|| library.libs.to_owned()).into_iter().collect();
        let words = [self.counters(report), objects, framework, libs].concat();
        steps.push(format!("{compiler} {} -o {}", words.join(" "), self.out));
        steps.join(" && ")
    }

    fn path(&self, unit: &Unit) -> String {
        match &unit.source {
            Source::Emitted(name) => format!("{}{name}", self.directory),
            Source::Project(path) => shell_word(&path.to_string_lossy()),
        }
    }

    fn counters(&self, report: &Report) -> Vec<String> {
        if !self.coverage {
            return Vec::new();
        }
        ["--coverage"].iter().chain(coverage_options(report)).map(|o| (*o).to_owned()).collect()
    }
}

/// The command that writes a file of counts for each source.
fn gcov(report: &Report) -> &'static str {
    if have_equal_names(report) { "gcov -b -p *.gcda" } else { "gcov -b *.gcda" }
}

/// Returns whether two sources have the same file stem. Then one call of gcc would give both the same counter file, and
/// gcov would give their counts the same name.
fn have_equal_names(report: &Report) -> bool {
    let sources = report.sources.iter().chain(report.compilations.iter().map(|c| &c.source));
    let mut names: Vec<_> = sources.map(|s| Path::new(s).file_stem()).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// The target, if it is LLVM bitcode or assembly whose source is not available. A program that includes the source
/// would not compile anyway.
fn bitcode(report: &Report) -> Option<PathBuf> {
    let target = absolute(&report.target);
    let is_llvm = target.extension().is_some_and(|e| e == "bc" || e == "ll");
    (report.without_source && is_llvm && !includes_source(report)).then_some(target)
}

fn words(options: &[String]) -> String {
    options.iter().flat_map(|word| [" ".to_owned(), shell_word(word)]).collect()
}

fn libraries(report: &Report, is_cxx: bool) -> Vec<String> {
    let mut libs: Vec<_> = streams::linked(report).chain(absolute_flags(&report.libs)).collect();
    if is_cxx {
        libs.push("-lstdc++".to_owned());
    }
    libs.push("-lm".to_owned());
    libs.iter().map(|l| shell_word(l)).collect()
}

/// The files that contain a site or the function under test.
pub(super) struct SiteFiles(BTreeSet<PathBuf>);

impl SiteFiles {
    pub(super) fn of(report: &Report) -> Self {
        let of_sites = report.sites.iter().map(|s| s.file.as_str());
        // Thousands of sites are in a few files, and resolving a path takes ten system calls.
        let named: BTreeSet<_> =
            [report.signature.source(), &report.signature.file].into_iter().chain(of_sites).collect();
        Self(named.into_iter().map(|file| resolved(&absolute(file))).collect())
    }

    pub(super) fn contain(&self, source: &Path) -> bool {
        self.0.contains(&resolved(source))
    }
}

/// The path without links, or as it is if there is no such file.
pub(super) fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The absolute path: the program may be compiled in another directory than the target was.
pub(super) fn absolute(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path))
}

/// Options whose value is a path, in the same word or the next.
const WITH_PATH: [&str; 7] = ["-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-L"];

/// Makes the paths in options absolute, so that the options mean the same in any directory. A word that names a file is
/// a path, too.
#[must_use]
pub(super) fn absolute_flags(flags: &[String]) -> Vec<String> {
    absolute_flags_from(flags, Path::new("."))
}

/// Makes the paths in options absolute; relative paths are relative to `directory`. The file of `-include` may be in a
/// directory of `-I`: if it does not exist in `directory`, it stays unchanged.
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

/// Maximum size in bytes of a source file that is read. A report from an untrusted source may name any file.
const LARGEST: u64 = 1 << 25;

/// Returns whether the file seems to define `main`. A false positive does no harm: the name is changed everywhere.
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
